//! GPUs through the CUDA driver, which is opened at run time.
//!
//! Nothing here has run on a GPU yet. It type-checks, and its errors without a driver are tested. The programs that it
//! launches are tested on the emulator and as printed text.

mod calls;
#[cfg(feature = "clocks")]
mod clocks;
mod driver;
mod error;
mod fit;
mod graph;
mod launches;
mod library;
mod memory;
mod probes;
mod session;
mod stamps;

#[cfg(feature = "clocks")]
pub use clocks::{ClocksError, GpuClocks};
pub use driver::{DeviceInfo, Driver};
pub use error::CudaError;
pub use memory::ResidentContext;
pub use probes::{EmptyBlocks, EmptyKernels, NodeKind};
pub use session::{CudaOptions, CudaSession};
pub use stamps::{LaunchData, Stamp, StampedLaunch, StampedProgram};
