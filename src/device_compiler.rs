//! What turns printed text into device code.

use std::time::Duration;

use warpweave_runtime::nvrtc::{Nvrtc, NvrtcError};
use warpweave_runtime::target::Target;

/// A compiler of printed text.
pub trait DeviceCompiler {
    /// Major and minor version of CUDA that it comes from.
    fn version(&self) -> (u32, u32);

    /// The cubin of a whole translation unit.
    fn compile(&self, source: &str, target: Target) -> Result<Vec<u8>, DeviceCompileError>;
}

/// Why there is no device code.
#[derive(Debug, thiserror::Error)]
pub enum DeviceCompileError {
    /// NVRTC is absent, or refuses.
    #[error(transparent)]
    Nvrtc(#[from] NvrtcError),
    /// The process of the compiler failed.
    #[error("the device compiler failed for {target}: {log}")]
    Process {
        /// The target.
        target: Target,
        /// What it said.
        log: String,
    },
    /// The compiler needs more memory than it may have.
    #[error("the device compiler needs more than {mebibytes} MiB for {target}; give it more with --compiler-memory")]
    MemoryLimit {
        /// The target.
        target: Target,
        /// What it may have beyond what it takes at its start.
        mebibytes: u64,
    },
    /// The memory of the compiler's process cannot be limited.
    #[error("cannot limit the device compiler's memory: {0}; lift the limits of this process")]
    Unlimited(std::io::Error),
    /// The compiler did not end in time.
    #[error("the device compiler did not end within {limit:?} for {target}; split the model, or report its kernels")]
    TimeLimit {
        /// The target.
        target: Target,
        /// The limit.
        limit: Duration,
    },
}

/// NVRTC in this process.
#[derive(Clone, Copy, Debug)]
pub struct InProcess(pub Nvrtc);

impl DeviceCompiler for InProcess {
    fn version(&self) -> (u32, u32) {
        let (major, minor) = self.0.version();
        (u32::try_from(major).unwrap_or(0), u32::try_from(minor).unwrap_or(0))
    }

    fn compile(&self, source: &str, target: Target) -> Result<Vec<u8>, DeviceCompileError> {
        Ok(self.0.compile(source, target)?.bytes)
    }
}
