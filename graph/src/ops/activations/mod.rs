//! Activation functions, and the normalised exponentials.

pub(in crate::ops) mod exponential;

pub mod celu;
pub mod elu;
pub mod gelu;
pub mod hard_sigmoid;
pub mod hard_swish;
pub mod hardmax;
pub mod leaky_relu;
pub mod log_softmax;
pub mod mish;
pub mod prelu;
pub mod relu;
pub mod selu;
pub mod shrink;
pub mod sigmoid;
pub mod softmax;
pub mod softplus;
pub mod softsign;
pub mod swiglu;
pub mod swish;
pub mod thresholded_relu;
