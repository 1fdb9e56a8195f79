//! What a run of the lab is asked for.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use warpweave_runtime::session::Device;

/// How a run of the lab is made.
#[derive(Clone, PartialEq, Debug)]
pub struct RunOptions {
    /// The program whose subcommands are the steps.
    pub binary: PathBuf,
    /// The folder that receives lab.json, lab.md and lab.zip; the work folder unless given.
    pub results: Option<PathBuf>,
    /// The folder of everything else, from which a later run resumes.
    pub work: PathBuf,
    /// Which steps there are.
    pub call: Call,
    /// Seconds for all steps; the call's own unless given.
    pub budget: Option<f64>,
    /// Where programs run.
    pub devices: Vec<Device>,
    /// How large models are.
    pub scale: Scale,
    /// Names of the steps that are wanted; all if empty.
    pub only: Vec<String>,
    /// Threads of the processor of the machine that runs the steps.
    pub cores: usize,
    /// A stand-in driver and what it injects, instead of a GPU.
    pub dry: Option<Fault>,
}

impl RunOptions {
    /// Seconds for all steps.
    pub fn budget_seconds(&self) -> f64 {
        self.budget.unwrap_or(self.call.seconds())
    }

    /// The GPUs among the devices.
    pub fn gpus(&self) -> impl Iterator<Item = Device> + '_ {
        self.devices.iter().copied().filter(|device| is_gpu(*device))
    }

    /// Whether this is a GPU of which times are asked for.
    pub fn is_timed(&self, device: Device) -> bool {
        is_gpu(device) && self.dry.is_none()
    }
}

/// Whether a device is a GPU.
pub fn is_gpu(device: Device) -> bool {
    match device {
        Device::Cuda(_) => true,
        Device::Reference | Device::Host | Device::Emulator | Device::Text | Device::MachineCode => false,
    }
}

/// A part of the lab that is run by one command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Whether the device works at all, and the constants that decide plans.
    Smoke,
    /// Everything else.
    Measure,
    /// Both in turn.
    All,
}

impl Call {
    /// Seconds that it may take.
    pub fn seconds(self) -> f64 {
        match self {
            Self::Smoke => 150.0,
            Self::Measure => 330.0,
            Self::All => Self::Smoke.seconds() + Self::Measure.seconds(),
        }
    }

    /// Whether steps of `call` are among its own.
    pub fn has(self, call: Call) -> bool {
        self == Self::All || self == call
    }
}

/// How large the models are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// All of them, as published.
    Full,
    /// Few, of less width and depth.
    Reduced,
}

/// What runs the plans of a device that has a choice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Backend {
    /// One persistent program.
    Persistent,
    /// A CUDA graph.
    CudaGraph,
    /// Segments of both in turn.
    Mixed,
    /// Whichever is predicted to be fastest.
    Auto,
}

impl Backend {
    /// Its name on the command line and in records.
    pub fn word(self) -> &'static str {
        match self {
            Self::Persistent => "persistent",
            Self::CudaGraph => "cuda-graph",
            Self::Mixed => "mixed",
            Self::Auto => "auto",
        }
    }

    /// The kinds of segments that its plans may have.
    pub fn parts(self) -> &'static [Backend] {
        match self {
            Self::Persistent => &[Self::Persistent],
            Self::CudaGraph => &[Self::CudaGraph],
            Self::Mixed | Self::Auto => &[Self::Persistent, Self::CudaGraph],
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a stand-in driver injects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Nothing.
    None,
    /// Launches do not end.
    Hang,
    /// Allocations are refused.
    RefusedAllocation,
    /// Launches are aborted.
    Abort,
    /// Outputs are wrong.
    WrongOutput,
    /// The device is lost after some launches.
    LostDevice,
    /// The compiler of device text is missing.
    NoNvrtc,
    /// The device has fewer multiprocessors than plans are made for.
    FewerUnits,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::Hang,
        Self::RefusedAllocation,
        Self::Abort,
        Self::WrongOutput,
        Self::LostDevice,
        Self::NoNvrtc,
        Self::FewerUnits,
    ];

    /// Its name on the command line and in records.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Hang => "hang",
            Self::RefusedAllocation => "refused-allocation",
            Self::Abort => "abort",
            Self::WrongOutput => "wrong-output",
            Self::LostDevice => "lost-device",
            Self::NoNvrtc => "no-nvrtc",
            Self::FewerUnits => "fewer-units",
        }
    }

    /// The driver that children are told to open.
    pub fn driver(self) -> String {
        match self {
            Self::None | Self::NoNvrtc => "stand-in".to_owned(),
            Self::Hang
            | Self::RefusedAllocation
            | Self::Abort
            | Self::WrongOutput
            | Self::LostDevice
            | Self::FewerUnits => format!("stand-in:{}", self.word()),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A text that names no [`Fault`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown fault `{text}`: expected one of {}", Fault::ALL.map(Fault::word).join(", "))]
pub struct UnknownFault {
    text: String,
}

impl FromStr for Fault {
    type Err = UnknownFault;

    fn from_str(text: &str) -> Result<Self, UnknownFault> {
        Self::ALL.into_iter().find(|fault| fault.word() == text).ok_or_else(|| UnknownFault { text: text.to_owned() })
    }
}
