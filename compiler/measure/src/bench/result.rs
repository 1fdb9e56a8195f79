//! What a measurement is stored as.

use std::path::Path;

use serde::{Deserialize, Serialize};
use warpweave_runtime::json::{self, Value};
use warpweave_runtime::session::{Device, UnknownDevice};

use super::error::BenchError;
use super::identity::{Hardware, ModelIdentity, Work};
use super::measure::WarmUp;
use super::peers::{LeftOut, PeerComparison, PeerKey};
use super::profile::{LowerBounds, PlanProfile};
use super::soak::Soak;
use super::statistics::Distribution;
use super::sweep::Sweep;
use super::training::TrainingStep;

/// The schema that is written, and the only one that is read.
pub const SCHEMA: &str = "warpweave.bench/1";

/// How it was measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MethodRecord {
    /// Milliseconds of warm-up asked for.
    pub warmup_ms: u64,
    /// Milliseconds after which the warm-up ends, settled or not.
    pub warmup_limit_ms: u64,
    /// Milliseconds of measured runs asked for.
    pub duration_ms: u64,
    /// Threads of the host back end at most.
    pub threads: usize,
    /// The seed of the first set of inputs.
    pub seed: u64,
    /// Sets of inputs that were taken in turn.
    pub input_sets: usize,
    /// Whether caches were emptied before every run.
    pub cold_l2: bool,
}

/// Times in seconds in the order of the runs; of many runs, every so many-th.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Samples {
    /// Of so many runs one is kept.
    pub every: usize,
    /// Latencies.
    pub latency: Vec<f64>,
    /// Times of the device, where it measures.
    pub device_time: Option<Vec<f64>>,
}

/// More samples than this are thinned out.
const MOST_SAMPLES: usize = 2000;

impl Samples {
    /// Keeps what a report needs.
    pub fn of(latencies: &[f64], device_times: &[f64]) -> Self {
        let every = latencies.len().div_ceil(MOST_SAMPLES).max(1);
        let thin = |times: &[f64]| times.iter().copied().step_by(every).collect::<Vec<f64>>();
        let device_time = (!device_times.is_empty()).then(|| thin(device_times));
        Self { every, latency: thin(latencies), device_time }
    }
}

/// Rates that a run reached, by its median time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Achieved {
    /// Scalar operations a second.
    pub operations_per_second: f64,
    /// Bytes a second, counted as in the plan.
    pub bytes_per_second: f64,
    /// What the device can do, where it is known.
    pub limits: Option<LowerBounds>,
}

impl Achieved {
    /// The rates of a plan that takes `seconds`; `None` if that is no time.
    pub fn of(plan: &PlanProfile, seconds: f64, limits: Option<LowerBounds>) -> Option<Self> {
        (seconds > 0.0).then(|| Self {
            operations_per_second: plan.operations as f64 / seconds,
            bytes_per_second: plan.bytes as f64 / seconds,
            limits,
        })
    }
}

/// A GPU's state right after the measured runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Clocks {
    /// Megahertz of the multiprocessors.
    pub multiprocessor_mhz: u32,
    /// Megahertz of the memory.
    pub memory_mhz: u32,
    /// Why clocks are lower than they could be, if they are.
    pub throttle_reasons: Vec<String>,
}

/// One measurement, and the sweep that it began.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BenchResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name and version of the program that measured.
    pub producer: String,
    /// What was measured.
    pub model: ModelIdentity,
    /// The device's name on the command line.
    pub device: String,
    /// The product's name, for a GPU.
    pub product: Option<String>,
    /// Which device's constants the plan's estimated and predicted times follow from, and where these come from; `None` on
    /// devices without a model of costs, and in records that do not say it.
    #[serde(default)]
    pub priced_for: Option<String>,
    /// How it was measured.
    pub method: MethodRecord,
    pub warmup: WarmUp,
    /// Measured runs.
    pub runs: usize,
    /// Seconds that the measured runs took together.
    pub seconds: f64,
    /// Runs a second.
    pub throughput: f64,
    /// Items a second, where the batch is known.
    pub items_per_second: Option<f64>,
    /// By the monotonic clock: from inputs to outputs in the host's memory.
    pub latency: Distribution,
    /// By the device's events: the program alone.
    pub device_time: Option<Distribution>,
    /// What the device's time leaves of the latency.
    pub transfers: Option<Distribution>,
    pub samples: Samples,
    /// The plan, on devices that follow one.
    pub plan: Option<PlanProfile>,
    /// Rates, where there is a plan.
    pub achieved: Option<Achieved>,
    /// Clocks of a GPU, where the driver tells them.
    pub clocks: Option<Clocks>,
    /// Launches after the measured ones, where they were asked for.
    pub soak: Option<Soak>,
    /// What makes the numbers doubtful.
    pub warnings: Vec<String>,
    /// The same model elsewhere.
    pub peers: Vec<PeerComparison>,
    /// Lines of the same model that were not compared.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// All batch sizes, if there were several; the measurement above is that of the first one given.
    pub sweep: Option<Sweep>,
    /// The phases and the memory of a training step; absent for inference.
    pub training: Option<TrainingStep>,
}

impl BenchResult {
    /// The median of the device's time, or of the latency where the device measures nothing.
    pub fn median_seconds(&self) -> f64 {
        self.device_time.unwrap_or(self.latency).p50
    }

    /// What it was measured on, where such times can be compared.
    pub fn hardware(&self) -> Option<Hardware> {
        match self.device.parse() {
            Ok(Device::Host) => Some(Hardware::Processor),
            Ok(Device::Cuda(_)) => self.product.clone().map(Hardware::Gpu),
            Ok(Device::Reference | Device::Emulator | Device::Text | Device::MachineCode) | Err(UnknownDevice(_)) => {
                None
            }
        }
    }

    /// What its peers are equal in.
    pub fn key(&self) -> PeerKey {
        let work = if self.training.is_some() { Work::TrainingStep } else { Work::Inference };
        PeerKey::new(&self.model, self.hardware(), work)
    }

    /// Whether [`Self::median_seconds`] is the device's.
    pub fn is_device_time(&self) -> bool {
        self.device_time.is_some()
    }
}

/// The results in a file: one, or several one after the other.
pub fn read_results(path: &Path) -> Result<Vec<BenchResult>, BenchError> {
    let read = std::fs::read(path);
    let bytes = read.map_err(|source| BenchError::File { path: path.to_owned(), source })?;
    let damaged = |reason: String| BenchError::Results { path: path.to_owned(), reason };
    let values: Result<Vec<Value>, _> = json::Deserializer::from_slice(&bytes).into_iter().collect();
    let values = values.map_err(|error| damaged(error.to_string()))?;
    if values.is_empty() {
        return Err(damaged("it is empty".to_owned()));
    }
    let result = |value: Value| {
        let found = value.get("schema").and_then(Value::as_str).map(str::to_owned);
        if found.as_deref() != Some(SCHEMA) {
            let found = found.map_or_else(|| "without a schema".to_owned(), |name| format!("of the schema `{name}`"));
            return Err(BenchError::Schema { path: path.to_owned(), found, expected: SCHEMA });
        }
        let result: BenchResult = json::from_value(value).map_err(|error| damaged(error.to_string()))?;
        Ok(result)
    };
    values.into_iter().map(result).collect()
}
