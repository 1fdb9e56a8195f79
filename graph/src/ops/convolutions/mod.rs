//! Convolutions.

pub(in crate::ops) mod channels_last;
pub(in crate::ops) mod window;

pub mod causal_conv_with_state;
pub mod col2im;
pub mod conv;
pub mod conv_integer;
pub mod conv_transpose;
pub mod deform_conv;
