//! GPUs through the CUDA driver, which is opened at run time.

mod error;

pub use error::CudaError;
