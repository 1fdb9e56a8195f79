//! Measuring a program: warm-up until latency settles, a window of runs, and what the numbers mean beside the plan, the
//! device and other programs.

mod caches;
mod error;
mod identity;
mod measure;
mod optimizer_traffic;
mod peers;
mod profile;
mod result;
mod soak;
mod stability;
mod statistics;
mod sweep;
mod training;

pub use caches::ProcessorCaches;
pub use error::BenchError;
pub use identity::{Hardware, ModelIdentity, Precision, Work};
pub use measure::{LEAST_RUNS, Measured, Method, WarmUp, measure};
pub use optimizer_traffic::OptimizerTraffic;
pub use peers::{Difference, LeftOut, Peer, PeerComparison, PeerKey, compare_with_peers, left_out_text, read_peers};
pub use profile::{Estimator, GroupProfile, LowerBounds, PlanProfile, profile};
pub use result::{Achieved, BenchResult, Clocks, MethodRecord, SCHEMA, Samples, read_results};
pub use soak::{Against, Soak, SoakLimit, soak};
pub use stability::{StabilityDetector, StabilityRule};
pub use statistics::{Distribution, NOISY_VARIATION, TimeUnit};
pub use sweep::{SATURATION_GAIN, Sweep, SweepPoint};
pub use training::{Known, PhaseTime, StepProfile, TrainingStep};
