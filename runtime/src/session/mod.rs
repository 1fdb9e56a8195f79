//! Sessions: a loaded program on a device, to be run again and again.

mod error;
mod exchange;
mod host;
mod reference;

#[cfg(feature = "compile")]
mod emulator;
#[cfg(feature = "compile")]
mod text;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use warpweave_graph::Tensor;

pub use error::{FailureKind, SessionError};
pub(crate) use exchange::{check_inputs, input_types, output, place};
pub use exchange::{pack_program, pack_weights};
pub use reference::ReferenceSession;

#[cfg(feature = "compile")]
pub use emulator::{EmulatorOptions, EmulatorSession};
#[cfg(feature = "compile")]
pub use text::TextSession;

/// A program on a device.
pub trait Session {
    /// Runs the program once. Inputs are in the program's order and of exactly its types; so are the outputs.
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError>;

    /// How long the program itself took in the last run, where the device measures it: without copies of inputs and
    /// outputs.
    fn device_time(&self) -> Option<Duration> {
        None
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
    /// The GPU of this number.
    Cuda(u32),
}

/// A text that names no [`Device`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown device `{0}`: expected reference, host, emulator, text, or cuda:N")]
pub struct UnknownDevice(pub String);

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reference => f.write_str("reference"),
            Self::Host => f.write_str("host"),
            Self::Emulator => f.write_str("emulator"),
            Self::Text => f.write_str("text"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}

impl FromStr for Device {
    type Err = UnknownDevice;

    fn from_str(name: &str) -> Result<Self, UnknownDevice> {
        let plain = [Self::Reference, Self::Host, Self::Emulator, Self::Text];
        let ordinal = || name.strip_prefix("cuda:").and_then(|ordinal| ordinal.parse().ok()).map(Self::Cuda);
        let device = plain.into_iter().find(|device| device.to_string() == name).or_else(ordinal);
        device.ok_or_else(|| UnknownDevice(name.to_owned()))
    }
}
