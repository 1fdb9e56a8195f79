//! Where elements stand, and tensors of a given shape.

pub(crate) mod movement;

pub mod center_crop_pad;
pub mod concat;
pub mod constant_of_shape;
pub mod depth_to_space;
pub mod expand;
pub mod eye_like;
pub mod flatten;
pub mod identity;
pub mod optional_get_element;
pub mod optional_has_element;
pub mod pad;
pub mod range;
pub mod reshape;
pub mod shape;
pub mod size;
pub mod slice;
pub mod space_to_depth;
pub mod split;
pub mod squeeze;
pub mod tile;
pub mod transpose;
pub mod trilu;
pub mod unsqueeze;
