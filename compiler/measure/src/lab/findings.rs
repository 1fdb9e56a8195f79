//! What the steps of a lab find.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
pub use warpweave_fusion::cost::edges::{Edge, EdgeTime};

/// The precision in which models are measured.
pub const SINGLE: &str = "fp32";

/// What a step found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Findings {
    /// What the machine offers.
    Doctor {
        /// The CUDA version that the driver supports.
        driver: Option<String>,
        /// The compiler of device text.
        nvrtc: Option<String>,
        /// The linker of device code.
        #[serde(default)]
        linker: Option<String>,
        /// The disassembler of device code.
        #[serde(default)]
        disassembler: Option<String>,
        gpus: Vec<Gpu>,
        /// Threads of the processor.
        threads: usize,
    },
    /// Things that hold or do not.
    Checks { checks: Vec<Check> },
    /// Programs for what is assumed of a memory system, as `warpweave litmus --json` prints them.
    Litmus { tests: Vec<LitmusTest> },
    /// Outputs beside stored ones.
    Comparisons {
        device: String,
        /// What ran the plans; none on devices that have one way.
        backend: Option<String>,
        comparisons: Vec<Comparison>,
    },
    /// Cycles of small programs, as `warpweave microbench --json` prints them.
    Microbench {
        /// Loops and dispatches.
        loops: Vec<LoopCycles>,
        /// Exchanges between units, and launches.
        #[serde(default)]
        edges: Vec<EdgeTime>,
        /// Instruction fetch.
        #[serde(default)]
        code: Vec<CodeCycles>,
    },
    /// What warps wait for, as the profiler of the CUDA toolkit counts it.
    Counters {
        model: String,
        device: String,
        /// What ran the plan.
        backend: String,
        kernels: Vec<KernelStalls>,
    },
    /// A device's constants.
    Calibration { constants: Vec<Calibrated> },
    /// A benchmark model's time.
    Measurement(Measurement),
    /// Other programs' times.
    Peers {
        /// Their times.
        peers: Vec<PeerTime>,
    },
    /// Where the time of a model goes.
    Profile {
        model: String,
        device: String,
        /// What recorded times are.
        clock: String,
        /// Microseconds by the cost model.
        predicted_microseconds: f64,
        /// The recorded run, by that clock.
        recorded: f64,
        /// What units do with their time by the cost model.
        predicted_shares: UnitShares,
        /// What they did.
        recorded_shares: UnitShares,
        /// By template.
        templates: Vec<PartTime>,
        /// By kernel.
        kernels: Vec<PartTime>,
        /// The device whose constants the prediction is by, where the program tells.
        #[serde(default)]
        priced_for: Option<String>,
    },
    /// Kernels whose times were recorded.
    Tuning {
        model: String,
        /// Kernels recorded.
        recorded: usize,
        /// Groups left.
        left: usize,
        /// Kernels refused.
        refused: usize,
    },
}

impl Findings {
    /// Whether its time is a device's own, not that of steps or of the host.
    pub fn is_timed(&self) -> bool {
        match self {
            Self::Measurement(found) => found.is_device_time,
            Self::Profile { clock, .. } => clock == "measured",
            Self::Doctor { .. }
            | Self::Checks { .. }
            | Self::Litmus { .. }
            | Self::Comparisons { .. }
            | Self::Microbench { .. }
            | Self::Counters { .. }
            | Self::Calibration { .. }
            | Self::Peers { .. }
            | Self::Tuning { .. } => false,
        }
    }
}

/// A GPU.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Gpu {
    pub name: String,
    /// The compute capability, such as `9.0`.
    pub compute_capability: String,
    /// Streaming multiprocessors.
    pub multiprocessors: usize,
    /// Bytes of its memory.
    pub memory_bytes: u64,
}

/// Something that holds or does not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Check {
    /// What.
    pub name: String,
    /// Where.
    pub device: String,
    /// Whether it holds.
    pub passed: bool,
    /// What was seen.
    pub detail: Option<String>,
}

/// A program whose outcomes are counted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LitmusTest {
    pub name: String,
    /// How often it ran.
    pub rounds: u64,
    /// How often each outcome was seen.
    pub outcomes: BTreeMap<String, u64>,
    /// Whether none was seen that is assumed impossible.
    pub passed: bool,
}

/// A model's outputs beside stored ones.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Comparison {
    pub model: String,
    /// How it went.
    pub outcome: Outcome,
    /// The largest relative error, where there are outputs.
    pub worst_relative: Option<f64>,
    /// The folder of the case that was kept.
    pub case: Option<String>,
}

/// How a comparison went.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Outputs agree.
    Agree,
    /// They do not, or the device found the program wrong.
    Differ,
    /// The device failed.
    DeviceFault,
    /// A wait gave up, or the process did not end.
    TimeOut,
    /// The process ended without a word.
    Crash,
    /// The program refused the model, its arrays or the device.
    Refused,
    /// It was not begun for want of time, or not compiled.
    Missing,
}

impl Outcome {
    /// What it is, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Agree => "agrees",
            Self::Differ => "differs",
            Self::DeviceFault => "device fault",
            Self::TimeOut => "time-out",
            Self::Crash => "crash",
            Self::Refused => "refused",
            Self::Missing => "missing",
        }
    }
}

/// A loop, or a dispatch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LoopCycles {
    /// What it does.
    pub name: String,
    /// What the cycles are counted for, such as `step` or `dispatch`.
    pub per: String,
    /// Cycles of a multiprocessor.
    pub cycles: f64,
    /// Cycles that the cost model reckons with, where it does.
    pub predicted_cycles: Option<f64>,
}

/// Cycles of code by its size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct CodeCycles {
    /// How it runs.
    pub kind: CodeKind,
    /// Kilobytes of a kernel's code.
    pub kilobytes: f64,
    /// Kernels that take turns, where more than one does.
    pub kernels: Option<usize>,
    /// Cycles of a multiprocessor an instruction of a warp.
    pub cycles_per_instruction: f64,
}

/// How code runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeKind {
    /// Again and again.
    Loop,
    /// Once.
    Straight,
    /// In turn with other kernels.
    Rotation,
}

impl CodeKind {
    /// What it is, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Straight => "straight, once",
            Self::Rotation => "kernels in turn",
        }
    }
}

/// What the warps of a kernel wait for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct KernelStalls {
    pub name: String,
    /// The share of all stalls that is for want of an instruction.
    pub no_instruction: f64,
    /// Cycles between two instructions of a warp.
    pub cycles_per_instruction: Option<f64>,
}

/// A constant that was measured, or was to be.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Calibrated {
    pub constant: String,
    /// Its value before.
    pub before: f64,
    /// Its value now; none if it could not be measured.
    pub now: Option<f64>,
}

/// A benchmark model's time on a device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measurement {
    pub model: String,
    pub device: String,
    /// What ran the plan; none on devices that have one way.
    pub backend: Option<String>,
    /// Seconds by the cost model, where there is one of the device.
    pub predicted_seconds: Option<f64>,
    /// Median seconds of a run: of the device where it measures, else with copies of inputs and outputs.
    pub median_seconds: f64,
    /// Whether these are the device's.
    pub is_device_time: bool,
    /// Standard deviation by mean.
    pub coefficient_of_variation: f64,
    /// The device whose constants the prediction is by, where the program tells.
    #[serde(default)]
    pub priced_for: Option<String>,
    /// The launches after the measured ones.
    pub soak: Option<SoakFound>,
}

/// Many launches of one program.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SoakFound {
    /// Launches.
    pub launches: usize,
    /// Launches with other bits than the first.
    pub different: usize,
    /// The device that the first was compared with.
    pub against: Option<String>,
    /// The largest difference to that in multiples of what passes; none where only one of two elements is a number.
    pub excess: Option<f64>,
}

/// Another program's time for a model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PeerTime {
    pub model: String,
    /// The program with its version.
    pub peer: String,
    /// How it ran the model.
    pub mode: String,
    /// The type of weights and activations: `fp32` or `fp16`.
    #[serde(default = "single")]
    pub precision: String,
    /// Median of a run in milliseconds; none if it did not run it.
    pub median_ms: Option<f64>,
}

/// The precision of a time that tells none.
fn single() -> String {
    SINGLE.to_owned()
}

/// What units do with their time; together 1.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct UnitShares {
    /// rTasks run.
    pub running: f64,
    /// Units wait or poll.
    pub waiting: f64,
    /// They signal.
    pub signalling: f64,
    /// They go from one instruction to the next.
    pub dispatching: f64,
    /// They have not begun, or are done.
    pub idle: f64,
}

/// The rTasks of a template or a kernel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PartTime {
    pub name: String,
    pub tasks: usize,
    /// Their microseconds by the cost model.
    pub predicted_microseconds: f64,
    /// Their recorded time by the profile's clock.
    pub recorded: f64,
}
