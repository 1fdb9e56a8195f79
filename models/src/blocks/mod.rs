//! Parts that several models share.

pub(crate) mod image;
pub(crate) mod sequence;
