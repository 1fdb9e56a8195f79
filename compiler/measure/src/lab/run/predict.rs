//! What a step needs: seconds, and bundles.

use warpweave_runtime::session::Device;

use super::bundles::{Model, Wanted};
use super::fixtures::Fixtures;
use super::options::{Backend, RunOptions, Scale, is_gpu};
use super::step::{Kind, LabStep, Probe, ZooModel};
use crate::lab::costs::{Costs, bundle_of};

/// Seconds until a process runs and has read a small bundle.
const PROCESS: f64 = 0.2;
/// Seconds of a context of a GPU, made and destroyed.
const CONTEXT: f64 = 0.8;
/// Seconds of compiling one small program for a GPU.
const SMALL_COMPILE: f64 = 0.8;
/// Bytes a second of weights from a file into a GPU.
const LOAD: f64 = 1.5e9;
/// What a step may take beyond what is predicted: a share of that, and seconds.
const SLACK: (f64, f64) = (0.2, 0.3);
/// Processor seconds of compiling a small and a benchmark model of which no costs are known, and of a run on the host.
const UNKNOWN_FIXTURE: f64 = 6.0;
const UNKNOWN_MODEL: f64 = 20.0;
/// The share of a processor's threads that a run on the host keeps busy, while others compile.
const HOST_SHARE: f64 = 0.25;
/// Threads that one compilation keeps busy on average, of the two that it has.
const COMPILE_THREADS: f64 = 1.5;
const UNKNOWN_HOST: f64 = 1.0;

/// How a benchmark model is measured, in seconds and launches.
pub mod windows {
    /// Seconds of warm-up.
    pub const WARM_UP: f64 = 0.1;
    /// Seconds of measured runs.
    pub const MEASURED: f64 = 0.3;
    /// Seconds of a soak.
    pub const SOAK: u64 = 1;
    /// Most launches of a soak.
    pub const LAUNCHES: usize = 10_000;
    /// Most seconds of each litmus program.
    pub const LITMUS: u64 = 1;
}

/// Programs that `litmus` runs.
const LITMUS_PROGRAMS: f64 = 8.0;
/// Programs that `microbench` compiles.
const EDGE_PROGRAMS: f64 = 9.0;
const CODE_PROGRAMS: f64 = 20.0;
const LOOP_PROGRAMS: f64 = 12.0;
/// Programs that calibration and the self-test compile.
const CONSTANTS: f64 = 20.0;
const SELF_TESTS: f64 = 16.0;
/// Seconds for PyTorch: its start, and of one model in both precisions.
pub const PEERS: f64 = 52.0;
/// Seconds of ncu with a program that it replays.
const COUNTERS: f64 = 11.0;
/// Seconds of small models under compute-sanitizer.
const SANITIZING: f64 = 20.0;
/// Seconds of tuning one model.
const TUNING: f64 = 30.0;

/// What a step takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prediction {
    /// Seconds, without what it waits for.
    pub seconds: f64,
    /// Seconds after which it is killed, without what it waits for.
    pub budget: f64,
    /// Seconds of the call that are set aside for it: its budget, or what it takes where that is no GPU's time.
    pub reserved: f64,
    /// Whether it takes what time others leave.
    pub is_spare: bool,
}

/// Predicts steps of a run.
pub struct Predictor<'a> {
    pub options: &'a RunOptions,
    pub costs: &'a Costs,
    pub fixtures: &'a Fixtures,
}

impl Predictor<'_> {
    /// What a step takes.
    pub fn predict(&self, step: &LabStep) -> Prediction {
        let is_spare = match &step.kind {
            Kind::Compare { backend, .. } => *backend == Some(Backend::Mixed),
            Kind::Microbench { probe, .. } => *probe == Probe::Loops,
            Kind::SelfTest { .. } | Kind::Tune { .. } | Kind::Sanitizer => true,
            Kind::Doctor
            | Kind::Smoke { .. }
            | Kind::Litmus { .. }
            | Kind::Profile { .. }
            | Kind::Model { .. }
            | Kind::Peers
            | Kind::Counters { .. }
            | Kind::Calibrate => false,
        };
        let gpu = self.options.gpus().next();
        let is_timed = step.gpu(gpu).is_some_and(|device| self.options.is_timed(device));
        if is_timed && self.options.scale == Scale::Full {
            let seconds = self.on_gpu(&step.kind);
            let budget = seconds * (1.0 + SLACK.0) + SLACK.1;
            Prediction { seconds, budget, reserved: budget, is_spare }
        } else {
            let (seconds, budget) = self.elsewhere(&step.kind);
            Prediction { seconds, budget, reserved: seconds, is_spare }
        }
    }

    /// Seconds of a step with a full model on a GPU.
    fn on_gpu(&self, kind: &Kind) -> f64 {
        let start = PROCESS + CONTEXT;
        match kind {
            Kind::Doctor => start + 2.0 * SMALL_COMPILE,
            Kind::Smoke { .. } => start + 0.3,
            Kind::Litmus { .. } => start + LITMUS_PROGRAMS * (SMALL_COMPILE + 0.5 * windows::LITMUS as f64),
            Kind::Compare { .. } => self.fixtures.chosen(self.options.scale).len() as f64 * (start + 0.1),
            Kind::Microbench { probe: Probe::Edges, .. } => start + EDGE_PROGRAMS * SMALL_COMPILE,
            Kind::Microbench { probe: Probe::Code, .. } => start + CODE_PROGRAMS * SMALL_COMPILE,
            Kind::Microbench { probe: Probe::Loops, .. } => start + LOOP_PROGRAMS * SMALL_COMPILE,
            Kind::Profile { model, .. } => start + self.load(model) + 1.0,
            Kind::Model { model, backend, .. } => {
                let windows = windows::WARM_UP + windows::MEASURED + windows::SOAK as f64;
                // The first back end is held against the host, further ones against the first.
                let host = if is_first(*backend) { self.host(model) } else { 0.0 };
                start + self.load(model) + windows + host
            }
            Kind::Peers => PEERS,
            Kind::Counters { .. } => COUNTERS,
            Kind::Calibrate => start + CONSTANTS * SMALL_COMPILE,
            Kind::SelfTest { .. } => start + SELF_TESTS * SMALL_COMPILE,
            Kind::Tune { .. } => TUNING,
            Kind::Sanitizer => SANITIZING,
        }
    }

    /// Seconds, and the limit, of a step with small models, or on a device that is slow.
    fn elsewhere(&self, kind: &Kind) -> (f64, f64) {
        let compared = self.fixtures.chosen(self.options.scale).len() as f64;
        match kind {
            Kind::Doctor => (3.0, 40.0),
            Kind::Smoke { .. } => (2.0, 20.0),
            // A stand-in emulates every message of every unit.
            Kind::Litmus { .. } => (25.0, 120.0),
            Kind::Compare { .. } => (2.0 * compared, 15.0 + 15.0 * compared),
            Kind::Microbench { .. } | Kind::Calibrate => (10.0, 60.0),
            Kind::Profile { .. } => (4.0, 40.0),
            Kind::Model { .. } => (6.0, 60.0),
            Kind::Peers => (PEERS, 90.0),
            Kind::Counters { .. } => (COUNTERS, 60.0),
            Kind::SelfTest { .. } => (10.0, 120.0),
            Kind::Tune { .. } => (TUNING, 60.0),
            Kind::Sanitizer => (0.0, 90.0),
        }
    }

    /// Seconds after which one comparison of a step is killed.
    pub fn comparison_limit(&self, device: Device) -> f64 {
        let is_timed = self.options.is_timed(device) && self.options.scale == Scale::Full;
        match (is_timed, is_gpu(device)) {
            (true, _) => PROCESS + CONTEXT + 2.0 * WAIT_LIMIT as f64,
            (false, true) => 8.0,
            (false, false) => 40.0,
        }
    }

    fn load(&self, model: &ZooModel) -> f64 {
        let costs = self.costs.model(&model.name, model.is_unrolled);
        costs.map_or(0.3, |costs| costs.bytes as f64 / LOAD)
    }

    fn host(&self, model: &ZooModel) -> f64 {
        let costs = self.costs.model(&model.name, model.is_unrolled);
        let threads = (self.options.cores as f64 * HOST_SHARE).max(1.0);
        costs.and_then(|costs| costs.host_seconds).unwrap_or(UNKNOWN_HOST) / threads
    }

    /// Seconds until a bundle is compiled, once it is begun. The first one of a benchmark model exports it.
    pub fn compile_seconds(&self, wanted: &Wanted, is_first: bool) -> f64 {
        let backend = wanted.backend.word();
        match &wanted.model {
            Model::Fixture { name, .. } => {
                let costs = self.costs.fixture(name).and_then(|costs| bundle_of(&costs.bundles, backend));
                costs.map_or(UNKNOWN_FIXTURE, |costs| costs.processor_seconds) / COMPILE_THREADS
            }
            Model::Zoo(model) => {
                let costs = self.costs.model(&model.name, model.is_unrolled);
                let export = costs.filter(|_| is_first).map_or(0.0, |costs| costs.export_seconds);
                let bundle = costs.and_then(|costs| bundle_of(&costs.bundles, backend));
                export + bundle.map_or(UNKNOWN_MODEL, |costs| costs.processor_seconds) / COMPILE_THREADS
            }
        }
    }

    /// The bundles that a step runs, in that order.
    pub fn wanted(&self, step: &LabStep) -> Vec<Wanted> {
        let zoo = |model: &ZooModel, backend| vec![Wanted { model: Model::Zoo(model.clone()), backend }];
        match &step.kind {
            Kind::Smoke { backend, .. } => self.fixtures.smoke(backend.unwrap_or(FIRST)).into_iter().collect(),
            Kind::Compare { backend, .. } => {
                let chosen = self.fixtures.chosen(self.options.scale);
                chosen.iter().map(|fixture| fixture.wanted(backend.unwrap_or(FIRST))).collect()
            }
            Kind::Profile { model, .. } | Kind::Counters { model } => zoo(model, FIRST),
            Kind::Model { model, backend, .. } => zoo(model, backend.unwrap_or(FIRST)),
            Kind::Doctor
            | Kind::Litmus { .. }
            | Kind::Microbench { .. }
            | Kind::Peers
            | Kind::Calibrate
            | Kind::SelfTest { .. }
            | Kind::Tune { .. }
            | Kind::Sanitizer => Vec::new(),
        }
    }
}

/// The back end whose bundles run where the device has no choice.
pub const FIRST: Backend = Backend::Persistent;
/// Seconds after which a wait on a GPU gives up.
pub const WAIT_LIMIT: u64 = 2;

/// Whether a measurement of this back end is the first one of its model on a device.
pub fn is_first(backend: Option<Backend>) -> bool {
    backend.is_none_or(|backend| backend == FIRST)
}
