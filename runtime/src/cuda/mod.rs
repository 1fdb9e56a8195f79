//! GPUs through the CUDA driver, which is opened at run time.
//!
//! Nothing here has run on a GPU yet. Everything but [`library`], the driver's own calls, runs in tests on a stand-in driver
//! that answers from the emulator.

mod calls;
#[cfg(feature = "clocks")]
mod clocks;
mod device;
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
#[cfg(feature = "compile")]
mod stand_in;

#[cfg(feature = "clocks")]
pub use clocks::{ClocksError, GpuClocks};
pub use device::DeviceInfo;
pub use driver::Driver;
pub use error::CudaError;
#[cfg(feature = "compile")]
pub(crate) use launches::Addresses;
#[cfg(feature = "compile")]
pub(crate) use launches::{NodeArguments, StreamArguments};
pub use memory::ResidentContext;
pub use probes::{EmptyBlocks, EmptyKernels, NodeKind};
pub use session::{CudaOptions, CudaSession};
pub use stamps::{LaunchData, Stamp, StampedLaunch, StampedProgram};
