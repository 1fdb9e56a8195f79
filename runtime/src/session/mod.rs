//! Sessions: a loaded program on a device, to be run again and again.

pub mod bound;
mod deployment;
mod error;
mod exchange;
mod host;
mod index_error;
#[cfg(feature = "compile")]
mod kernels;
pub mod memory_limit;
mod model;
mod open;
mod reference;
pub(crate) mod states;

#[cfg(feature = "compile")]
mod emulator;
#[cfg(feature = "compile")]
pub mod machine_code;
#[cfg(feature = "compile")]
pub mod missing_wait;
#[cfg(feature = "compile")]
mod text;
mod turns;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use warpweave_graph::Tensor;
use warpweave_graph::pipeline::Machine;
use warpweave_plan::plan::ExecutionPlan;

use bound::{BoundInput, BoundOutput};
pub use deployment::Deployment;
pub use error::{FailureKind, SessionError};
pub(crate) use exchange::{SPOILED, check_inputs, input_types, output, place, run_as};
pub use exchange::{pack_program, pack_weights};
pub(crate) use index_error::check_records;
pub use index_error::{IndexError, IndexTensor};
#[cfg(feature = "compile")]
pub use kernels::{DEFAULT_KERNEL_TARGET, DEFAULT_UNITS, Kernels, open_kernels, open_machine_code};
pub use model::{ModelSession, TensorNames};
pub use open::{OpenOptions, open_bundle};
pub use reference::ReferenceSession;

#[cfg(feature = "compile")]
pub use emulator::{EmulatorOptions, EmulatorSession};
#[cfg(feature = "compile")]
pub use text::TextSession;
pub(crate) use turns::Turns;

/// For so long a device should be busy before times are taken of it: an idle one has low clocks.
pub const CLOCK_RAMP: Duration = Duration::from_millis(25);

/// A program on a device.
pub trait Session: Send {
    /// Runs the program once. Inputs are in the program's order and of exactly its types; so are the outputs.
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError>;

    /// Runs the program once on memory of the caller: inputs are read where they lie, and outputs written where they shall be.
    /// Each has exactly the bytes of its type and is aligned to its element. `false` on devices that have memory of their own.
    fn run_bound(
        &mut self,
        _inputs: &[BoundInput<'_>],
        _outputs: &mut [BoundOutput<'_>],
    ) -> Result<bool, SessionError> {
        Ok(false)
    }

    /// The tensors that live between runs and that runs replace, in the order of the program's states: what the next run finds.
    fn states(&mut self) -> Result<Vec<Tensor>, SessionError> {
        Ok(Vec::new())
    }

    /// Makes these, one a state and of its type, what the next run finds.
    fn set_states(&mut self, states: &[Tensor]) -> Result<(), SessionError> {
        match states {
            [] => Ok(()),
            _ => Err(SessionError::StateCount { expected: 0, found: states.len() }),
        }
    }

    /// Makes what the last run has left of each state what the next run finds. Until then runs find what that one found.
    fn advance(&mut self) -> Result<(), SessionError> {
        Ok(())
    }

    /// How long the program itself took in the last run, where the device measures it: without copies of inputs and
    /// outputs.
    fn device_time(&self) -> Option<Duration> {
        None
    }

    /// The plan as it is run, after any folding; `None` on devices that follow no plan.
    fn execution_plan(&self) -> Option<&ExecutionPlan> {
        None
    }

    /// Bytes of the arena as the last run has left them; `None` on devices without one, or before a run.
    fn read_arena(&mut self, _bytes: Range<usize>) -> Result<Option<Vec<u8>>, SessionError> {
        Ok(None)
    }

    /// Sets every bit of the memory that outputs are read from, which is NaN in every floating-point type: what the next run
    /// leaves unwritten shows. `false` on devices whose outputs have no memory between runs.
    fn spoil_outputs(&mut self) -> Result<bool, SessionError> {
        Ok(false)
    }

    /// Runs on the inputs of the last run, one run right after another, for at least so long, so that the device's clocks are
    /// up for the next ones. `false` on devices whose clocks are their own business.
    fn spin(&mut self, _least: Duration) -> Result<bool, SessionError> {
        Ok(false)
    }

    /// Whether every run from now on begins with caches that hold nothing of the program; what that takes is no part of
    /// the device's time. `false` on devices that cannot empty their caches.
    fn set_cold_cache(&mut self, _cold: bool) -> Result<bool, SessionError> {
        Ok(false)
    }

    /// Sets the memory that launches share to what it is before launch number `epoch`, from 1; numbers wrap. With 1,
    /// this is the reset after a launch that was aborted. `false` on devices whose launches share no memory.
    fn start_at(&mut self, _epoch: i32) -> Result<bool, SessionError> {
        Ok(false)
    }

    /// After how long a wait of the plan gives up, from now on. `false` on devices whose waits cannot give up.
    fn set_wait_limit(&mut self, _limit: Duration) -> bool {
        false
    }

    /// What the caller should be told about how the program was loaded, such as a plan that was folded.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Where a program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Device {
    /// The evaluator of tensor expressions, which defines what is right.
    Reference,
    /// The processor's threads, following the plan.
    Host,
    /// The emulator of kernel IR.
    Emulator,
    /// The printed text, compiled by the host's C++ compiler.
    Text,
    /// The machine code of a GPU, executed without one.
    MachineCode,
    /// The GPU of this number.
    Cuda(u32),
}

impl Device {
    /// Whose program is run: that of GPUs unless the host's plan is.
    pub fn machine(self) -> Machine {
        match self {
            Self::Host => Machine::Processor,
            Self::Reference | Self::Emulator | Self::Text | Self::MachineCode | Self::Cuda(_) => Machine::Gpu,
        }
    }

    /// Whether plans for GPUs run on it, by one back end or another.
    pub fn runs_kernels(self) -> bool {
        match self {
            Self::Reference | Self::Host => false,
            Self::Emulator | Self::Text | Self::MachineCode | Self::Cuda(_) => true,
        }
    }
}

/// A text that names no [`Device`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown device `{0}`; name reference, host, emulator, text, machine-code, or cuda:N")]
pub struct UnknownDevice(pub String);

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reference => f.write_str("reference"),
            Self::Host => f.write_str("host"),
            Self::Emulator => f.write_str("emulator"),
            Self::Text => f.write_str("text"),
            Self::MachineCode => f.write_str("machine-code"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}

impl FromStr for Device {
    type Err = UnknownDevice;

    fn from_str(name: &str) -> Result<Self, UnknownDevice> {
        let plain = [Self::Reference, Self::Host, Self::Emulator, Self::Text, Self::MachineCode];
        let ordinal = || name.strip_prefix("cuda:").and_then(|ordinal| ordinal.parse().ok()).map(Self::Cuda);
        let device = plain.into_iter().find(|device| device.to_string() == name).or_else(ordinal);
        device.ok_or_else(|| UnknownDevice(name.to_owned()))
    }
}
