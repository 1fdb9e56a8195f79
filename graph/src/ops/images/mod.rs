//! Images resampled, and regions of them.

pub(in crate::ops) mod boxes;
pub(in crate::ops) mod grid_padding;
pub(in crate::ops) mod interpolation;
pub(in crate::ops) mod resampling;

pub mod affine_grid;
pub mod grid_sample;
pub mod non_max_suppression;
pub mod resize;
pub mod roi_align;
pub mod upsample;
