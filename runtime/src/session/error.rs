//! Why a session cannot be opened or a run fails.

use warpweave_graph::TensorType;

use super::bound::BoundError;
use super::memory_limit::NotEnoughMemory;
use super::{Device, IndexError, UnknownDevice};
use crate::bundle::BundleError;
use crate::host::HostError;

/// A failure to open a session or to run a program. Every message names the culprit and what to do.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Another number of inputs than the program takes.
    #[error("the program takes {expected} inputs and was given {found}; give every input")]
    InputCount {
        /// What the program takes.
        expected: usize,
        /// What it was given.
        found: usize,
    },
    /// An input of another type or shape.
    #[error("input {position} is {found} and must be {expected}; convert it, or compile the model for that shape")]
    InputType {
        /// Which input, from 0.
        position: usize,
        /// What the program takes.
        expected: TensorType,
        /// What it was given.
        found: TensorType,
    },
    /// Memory that cannot be what it is bound to.
    #[error(transparent)]
    Bound(#[from] BoundError),
    /// Another number of states than live between runs.
    #[error("{expected} tensors live between runs, and {found} states are given; give as many")]
    StateCount {
        /// What lives between runs.
        expected: usize,
        /// What was given.
        found: usize,
    },
    /// A state of another type or shape.
    #[error("state {position} is {found} and must be {expected}; give a tensor of that type and shape")]
    StateType {
        /// Which state, from 0.
        position: usize,
        /// What lives between runs.
        expected: TensorType,
        /// What was given.
        found: TensorType,
    },
    /// A name of a device that there is not.
    #[error(transparent)]
    UnknownDevice(#[from] UnknownDevice),
    /// A run before has failed in a way that leaves the session in an unknown state.
    #[error("the session cannot run, because a run before failed: {reason}; reset it, or open another")]
    Faulted {
        /// The failure.
        reason: String,
    },
    /// The process that opened the session was forked, and this is the child.
    #[error(
        "the session's threads belong to process {opened_in}, and this is its child; open the bundle after the fork"
    )]
    Forked {
        /// The process.
        opened_in: u32,
    },
    /// The device is not there, or not for this build.
    #[error("{device} is not available: {reason}")]
    Unavailable {
        /// The device.
        device: Device,
        /// Why, and what to do.
        reason: String,
    },
    /// The bundle is unfit.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The emulator has seen what no correct program does: an error of warpweave.
    #[error("the program is wrong on the emulator with seed {seed}: {report}; report this as an error of warpweave")]
    Violations {
        /// The interleaving.
        seed: u64,
        /// What was seen.
        report: String,
    },
    /// Two interleavings give different results: an error of warpweave.
    #[error("output {output} differs between the seeds {first} and {second}; report this as an error of warpweave")]
    OrderDependent {
        /// The output.
        output: usize,
        /// A seed.
        first: u64,
        /// Another seed.
        second: u64,
    },
    /// The printed text fails.
    #[cfg(feature = "compile")]
    #[error(transparent)]
    Text(#[from] crate::text::TextError),
    /// The machine code cannot be executed, or does what it must not.
    #[cfg(feature = "compile")]
    #[error(transparent)]
    MachineCode(#[from] crate::sass::execute::failure::MachineCodeError),
    /// An element is no index of the dimension that it indexes.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The GPU refuses or fails.
    #[error(transparent)]
    Cuda(#[from] crate::cuda::CudaError),
    /// `WARPWEAVE_CPU` names no vector extensions.
    #[error(transparent)]
    Extensions(HostError),
    /// The host back end refuses or fails.
    #[error("the host back end failed: {0}; report this as an error of warpweave")]
    Host(HostError),
    /// The machine has less memory than the run takes.
    #[error(transparent)]
    Memory(#[from] NotEnoughMemory),
    /// A failure inside warpweave.
    #[error("{0}; report this as an error of warpweave")]
    Internal(String),
}

/// What sort of failure it is: what an exit code tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// A check has failed.
    Check,
    /// The caller's input is wrong.
    Usage,
    /// The machine lacks something.
    Environment,
    /// A device has failed; the process should not use it again.
    DeviceFault,
    /// Something did not end in time.
    TimeOut,
    /// An element is no index of the dimension that it indexes.
    Index,
    /// A bundle is not what was written.
    Damage,
}

impl From<HostError> for SessionError {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Memory(error) => Self::Memory(error),
            HostError::Bound(error) => Self::Bound(error),
            error @ HostError::Extensions(_) => Self::Extensions(error),
            other => Self::Host(other),
        }
    }
}

impl SessionError {
    /// A short name of the kind of error that stays the same across versions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InputCount { .. } | Self::InputType { .. } | Self::Bound(_) => "input",
            Self::StateCount { .. } | Self::StateType { .. } => "input",
            Self::UnknownDevice(_) | Self::Extensions(_) => "argument",
            Self::Faulted { .. } => "faulted",
            Self::Forked { .. } => "forked",
            Self::Unavailable { .. } => "device",
            Self::Bundle(error) => error.code(),
            Self::Violations { .. } => "emulator-violation",
            Self::OrderDependent { .. } => "emulator-order",
            #[cfg(feature = "compile")]
            Self::Text(_) => "text",
            #[cfg(feature = "compile")]
            Self::MachineCode(_) => "machine-code",
            Self::Index(_) => "index",
            Self::Cuda(_) => "cuda",
            Self::Host(_) => "host",
            Self::Memory(_) => "memory",
            Self::Internal(_) => "internal",
        }
    }

    /// Whether a session that fails so cannot tell what a next run would find.
    pub fn is_fault(&self) -> bool {
        match self {
            Self::Host(HostError::Thread | HostError::Outside) => true,
            Self::Cuda(error) => matches!(error.kind(), FailureKind::DeviceFault | FailureKind::TimeOut),
            _ => false,
        }
    }

    /// The sort of failure.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::InputCount { .. } | Self::InputType { .. } | Self::Bound(_) | Self::Forked { .. } => {
                FailureKind::Usage
            }
            Self::StateCount { .. } | Self::StateType { .. } => FailureKind::Usage,
            Self::UnknownDevice(_) | Self::Extensions(_) => FailureKind::Usage,
            Self::Faulted { .. } => FailureKind::DeviceFault,
            Self::Bundle(error) => error.kind(),
            Self::Unavailable { .. } | Self::Memory(_) => FailureKind::Environment,
            Self::Violations { .. } | Self::OrderDependent { .. } | Self::Host(_) | Self::Internal(_) => {
                FailureKind::Check
            }
            #[cfg(feature = "compile")]
            Self::Text(error) => {
                use crate::text::TextError;
                match error {
                    TextError::NoCompiler { .. } | TextError::Files(_) => FailureKind::Environment,
                    TextError::Wait(_) | TextError::TimeLimit { .. } => FailureKind::TimeOut,
                    TextError::Compile { .. } | TextError::Run { .. } => FailureKind::Check,
                }
            }
            #[cfg(feature = "compile")]
            Self::MachineCode(error) => {
                use crate::sass::SassError;
                use crate::sass::execute::failure::MachineCodeError;
                use crate::sass::execute::image::LoadError;
                match error {
                    MachineCodeError::Load(LoadError::Sass(SassError::NotFound(_) | SassError::Files(_))) => {
                        FailureKind::Environment
                    }
                    MachineCodeError::Load(_) | MachineCodeError::Launch(_) => FailureKind::Check,
                    MachineCodeError::Wait(_) => FailureKind::TimeOut,
                }
            }
            Self::Index(_) => FailureKind::Index,
            Self::Cuda(error) => error.kind(),
        }
    }
}
