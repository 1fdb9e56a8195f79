//! Parts that several models share.

pub(crate) mod attention;
pub(crate) mod image;
pub(crate) mod sequence;
