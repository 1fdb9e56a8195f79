//! Why a GPU cannot be used, or fails.

use crate::session::FailureKind;
use crate::session_memory::TimedOutWait;
use crate::target::Target;

/// A failure of the driver or of a launch. Every message names the culprit and what to do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CudaError {
    /// No driver library can be opened.
    #[error(
        "no CUDA driver is installed (libcuda.so.1 cannot be opened); install the GPU's driver, or use another device"
    )]
    NoDriver,
    /// The environment asks for a driver that there is not.
    #[error("WARPWEAVE_DRIVER names `{name}`, which is no driver here; {known}")]
    UnknownDriver {
        /// What it names.
        name: String,
        /// What it may name, or why it may name nothing.
        known: String,
    },
    /// The driver is older than what the code needs.
    #[error(
        "the driver supports CUDA {}.{}, the code needs {}.{}; install a newer driver, or compile with an older NVRTC",
        found.0, found.1, needed.0, needed.1
    )]
    OldDriver {
        /// The version of CUDA that the driver supports.
        found: (u32, u32),
        /// What the code needs.
        needed: (u32, u32),
    },
    /// There are fewer devices.
    #[error("cuda:{ordinal} does not exist: the driver shows {count} devices; name one of them")]
    NoDevice {
        /// The number asked for.
        ordinal: u32,
        /// The number of devices.
        count: u32,
    },
    /// The device cannot run the code.
    #[error(
        "{target} code does not run on {device}, which has compute capability {}.{}; compile the model for it with \
         --target",
        capability.0, capability.1
    )]
    Capability {
        /// What the code is for.
        target: Target,
        /// The device's name.
        device: String,
        /// Its compute capability.
        capability: (u32, u32),
    },
    /// The device has no cooperative launches.
    #[error("{device} does not support cooperative launches, which persistent programs need; use another device")]
    NotCooperative {
        /// The device's name.
        device: String,
    },
    /// A block does not fit a multiprocessor.
    #[error(
        "a block of {threads} threads with {shared_bytes} bytes of shared memory does not fit a multiprocessor of \
         {device}, which offers {available_bytes} bytes a block; compile the model for this device"
    )]
    BlockTooLarge {
        /// The device's name.
        device: String,
        /// Threads of a block.
        threads: u32,
        /// Shared-memory bytes of a block.
        shared_bytes: u32,
        /// Shared-memory bytes that a block can have.
        available_bytes: u32,
    },
    /// The program's memory is more than the device has free.
    #[error("the program needs {needed} bytes of device memory, {free} are free; free memory or use another device")]
    Memory {
        /// Bytes that the program takes.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// A call of the driver fails.
    #[error("{call} failed: {reason}; a new process is needed if the device has failed")]
    Driver {
        /// The call.
        call: &'static str,
        /// The driver's code and words.
        reason: String,
        /// Whether the process can use no device any more.
        is_fault: bool,
    },
    /// A wait of the plan gave up.
    #[error("{0}; the session must be reset before it runs again")]
    Wait(TimedOutWait),
    /// A launch did not end in time.
    #[error("the launch did not end within {seconds} s; this process can use the device no more, start a new one")]
    TimeLimit {
        /// The limit.
        seconds: u64,
    },
    /// An earlier launch failed.
    #[error("an earlier launch has failed; reset the session, or open a new one")]
    Poisoned,
}

impl CudaError {
    /// The sort of failure.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::NoDriver
            | Self::UnknownDriver { .. }
            | Self::OldDriver { .. }
            | Self::NoDevice { .. }
            | Self::Capability { .. }
            | Self::NotCooperative { .. }
            | Self::BlockTooLarge { .. }
            | Self::Memory { .. } => FailureKind::Environment,
            Self::Driver { is_fault, .. } => {
                if *is_fault {
                    FailureKind::DeviceFault
                } else {
                    FailureKind::Environment
                }
            }
            Self::Wait(_) | Self::TimeLimit { .. } => FailureKind::TimeOut,
            Self::Poisoned => FailureKind::DeviceFault,
        }
    }
}
