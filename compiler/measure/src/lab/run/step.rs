//! The steps of a run, in order of worth.

use warpweave_models as models;
use warpweave_runtime::session::Device;

use super::options::{Backend, Call, RunOptions, Scale, is_gpu};
use crate::lab::LabPart;
use crate::lab::costs::{Costs, bundle_of};

/// The benchmark models of most worth, first; others come after them.
const ORDER: [&str; 19] = [
    "resnet50",
    "bert_base_128",
    "lstm_tc",
    "mobilenet_v2",
    "densenet121",
    "dlrm",
    "inception_v3",
    "vit_b_16",
    "gpt2",
    "alexnet",
    "resnext50",
    "transformer_base",
    "deepspeech2",
    "seq2seq",
    "attention_rnn",
    "vgg16",
    "nasnet",
    "bert_large_384",
    "llama_1b_decode",
];
/// Those of a reduced run.
const FEW: [&str; 2] = ["bert_base_128", "lstm_tc"];
/// Models profiled before any is measured.
const PROFILED: usize = 3;
/// Models measured before PyTorch measures its own.
const BEFORE_PEERS: usize = 3;
/// Models of which ncu reads counters.
const COUNTED: [&str; 2] = ["resnet50", "bert_base_128"];
/// Models tuned at most.
const TUNED: usize = 4;

/// One benchmark model, as it is exported.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ZooModel {
    /// Its name in `warpweave models list`.
    pub name: String,
    /// Whether recurrent layers are written as the products of every step.
    pub is_unrolled: bool,
}

impl ZooModel {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), is_unrolled: false }
    }

    /// Its name in steps and files.
    pub fn label(&self) -> String {
        format!("{}{}", self.name, if self.is_unrolled { "-unrolled" } else { "" })
    }
}

/// What `microbench` counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Probe {
    /// Exchanges between units, and launches.
    Edges,
    /// Instruction fetch.
    Code,
    /// Cycles of loops.
    Loops,
}

impl Probe {
    /// Its subcommand.
    pub fn word(self) -> &'static str {
        match self {
            Self::Edges => "edges",
            Self::Code => "code",
            Self::Loops => "loops",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Says what the machine offers.
    Doctor,
    /// Compares one small model.
    Smoke { device: Device, backend: Option<Backend> },
    /// Tries what plans assume of memory.
    Litmus { device: Device },
    /// Compares the small models with stored outputs.
    Compare { device: Device, backend: Option<Backend> },
    /// Counts cycles, or times exchanges.
    Microbench { device: Device, probe: Probe },
    /// Records when each rTask of a benchmark model runs.
    Profile { device: Device, model: ZooModel },
    /// Measures a benchmark model.
    Model { device: Device, model: ZooModel, backend: Option<Backend> },
    /// Has PyTorch measure the same models.
    Peers,
    /// Has ncu count stalls of a benchmark model.
    Counters { model: ZooModel },
    /// Measures the constants of the GPU.
    Calibrate,
    /// Runs the built-in programs.
    SelfTest { device: Device },
    /// Measures kernels of a benchmark model.
    Tune { model: ZooModel },
    /// Runs models that differed under compute-sanitizer.
    Sanitizer,
}

/// A step and the call that it belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LabStep {
    pub kind: Kind,
    pub call: Call,
}

impl LabStep {
    /// Its name, unique among all.
    pub fn name(&self) -> String {
        let dotted = |words: &[&str]| words.join(".");
        let on = |device: &Device, backend: &Option<Backend>| match backend {
            Some(backend) => format!("{device}.{backend}"),
            None => device.to_string(),
        };
        match &self.kind {
            Kind::Doctor => "doctor".to_owned(),
            Kind::Smoke { device, backend } => dotted(&["smoke", &on(device, backend)]),
            Kind::Litmus { device } => dotted(&["litmus", &device.to_string()]),
            Kind::Compare { device, backend } => dotted(&["compare", &on(device, backend)]),
            Kind::Microbench { device, probe } => dotted(&["microbench", probe.word(), &device.to_string()]),
            Kind::Profile { device, model } => dotted(&["profile", &model.label(), &device.to_string()]),
            Kind::Model { device, model, backend } => dotted(&["model", &model.label(), &on(device, backend)]),
            Kind::Peers => "peers".to_owned(),
            Kind::Counters { model } => dotted(&["ncu", &model.label()]),
            Kind::Calibrate => "calibrate".to_owned(),
            Kind::SelfTest { device } => dotted(&["selftest", &device.to_string()]),
            Kind::Tune { model } => dotted(&["tune", &model.label()]),
            Kind::Sanitizer => "sanitizer".to_owned(),
        }
    }

    /// The part of the record that it belongs to.
    pub fn part(&self) -> LabPart {
        match self.kind {
            Kind::Doctor | Kind::Litmus { .. } | Kind::SelfTest { .. } | Kind::Sanitizer => LabPart::Machine,
            Kind::Smoke { .. } | Kind::Compare { .. } => LabPart::Correctness,
            Kind::Microbench { .. } | Kind::Calibrate | Kind::Counters { .. } => LabPart::Cycles,
            Kind::Model { .. } | Kind::Peers => LabPart::Models,
            Kind::Profile { .. } => LabPart::Profiles,
            Kind::Tune { .. } => LabPart::Tuning,
        }
    }

    /// The GPU that it needs; the first one where it names none.
    pub fn gpu(&self, first: Option<Device>) -> Option<Device> {
        let gpu = match &self.kind {
            Kind::Doctor => None,
            Kind::Smoke { device, .. }
            | Kind::Litmus { device }
            | Kind::Compare { device, .. }
            | Kind::Microbench { device, .. }
            | Kind::Profile { device, .. }
            | Kind::Model { device, .. }
            | Kind::SelfTest { device } => Some(*device),
            Kind::Peers | Kind::Counters { .. } | Kind::Calibrate | Kind::Tune { .. } | Kind::Sanitizer => first,
        };
        gpu.filter(|device| is_gpu(*device))
    }

    /// The back end whose programs it runs.
    pub fn backend(&self) -> Option<Backend> {
        match &self.kind {
            Kind::Smoke { backend, .. } | Kind::Compare { backend, .. } | Kind::Model { backend, .. } => *backend,
            Kind::Profile { .. } | Kind::Counters { .. } | Kind::Litmus { .. } | Kind::SelfTest { .. } => {
                Some(Backend::Persistent)
            }
            Kind::Doctor
            | Kind::Microbench { .. }
            | Kind::Peers
            | Kind::Calibrate
            | Kind::Tune { .. }
            | Kind::Sanitizer => None,
        }
    }
}

/// Every step of a run, of most worth first.
pub fn all_steps(options: &RunOptions, costs: &Costs) -> Vec<LabStep> {
    let mut steps = Vec::new();
    smoke(options, &mut steps);
    measure(options, costs, &mut steps);
    steps.retain(|step: &LabStep| options.call.has(step.call));
    steps
}

/// The back ends that make a difference on a device, out of some.
fn on(device: Device, backends: &[Backend]) -> Vec<Option<Backend>> {
    match device.runs_kernels() {
        true => backends.iter().copied().map(Some).collect(),
        false => vec![None],
    }
}

fn smoke(options: &RunOptions, steps: &mut Vec<LabStep>) {
    let mut add = |kind| steps.push(LabStep { kind, call: Call::Smoke });
    let devices = || options.devices.iter().copied();
    add(Kind::Doctor);
    for device in devices() {
        for backend in on(device, &[Backend::Persistent, Backend::CudaGraph, Backend::Mixed]) {
            add(Kind::Smoke { device, backend });
        }
    }
    devices().for_each(|device| add(Kind::Litmus { device }));
    for device in devices() {
        for backend in on(device, &[Backend::Persistent, Backend::CudaGraph]) {
            add(Kind::Compare { device, backend });
        }
    }
    for device in devices() {
        [Probe::Edges, Probe::Code].into_iter().for_each(|probe| add(Kind::Microbench { device, probe }));
    }
}

fn measure(options: &RunOptions, costs: &Costs, steps: &mut Vec<LabStep>) {
    let mut add = |kind| steps.push(LabStep { kind, call: Call::Measure });
    let devices = || options.devices.iter().copied();
    let models = models_of(options.scale);
    let profiled = models.iter().take(PROFILED);
    for model in profiled {
        devices().for_each(|device| add(Kind::Profile { device, model: model.clone() }));
    }
    for (at, model) in models.iter().enumerate() {
        if at == BEFORE_PEERS.min(models.len() - 1) {
            add(Kind::Peers);
        }
        for device in devices() {
            for backend in on(device, &[Backend::Persistent, Backend::CudaGraph]) {
                add(Kind::Model { device, model: model.clone(), backend });
            }
        }
        if COUNTED.last() == Some(&model.name.as_str()) && !model.is_unrolled {
            let counted = COUNTED.into_iter().map(ZooModel::new).filter(|model| models.contains(model));
            counted.for_each(|model| add(Kind::Counters { model }));
        }
    }
    // Segments of both kinds are predicted to be fastest for few models, and those are known.
    for model in models.iter().filter(|model| options.scale == Scale::Full && is_mixed(costs, model)) {
        for device in devices().filter(|device| device.runs_kernels()) {
            add(Kind::Model { device, model: model.clone(), backend: Some(Backend::Auto) });
        }
    }
    add(Kind::Calibrate);
    for device in devices() {
        add(Kind::Microbench { device, probe: Probe::Loops });
    }
    for device in devices().filter(|device| device.runs_kernels()) {
        add(Kind::Compare { device, backend: Some(Backend::Mixed) });
    }
    devices().for_each(|device| add(Kind::SelfTest { device }));
    add(Kind::Sanitizer);
    let tuned = models.iter().filter(|model| !model.is_unrolled).take(TUNED);
    tuned.for_each(|model| add(Kind::Tune { model: model.clone() }));
}

/// Whether the plan that is predicted to be fastest is of neither back end alone.
fn is_mixed(costs: &Costs, model: &ZooModel) -> bool {
    let bundles = costs.model(&model.name, model.is_unrolled).map(|costs| costs.bundles.as_slice());
    let auto = bundles.and_then(|bundles| bundle_of(bundles, Backend::Auto.word()));
    auto.is_some_and(|bundle| bundle.made == Backend::Mixed.word())
}

/// The benchmark models of a run, of most worth first.
pub fn models_of(scale: Scale) -> Vec<ZooModel> {
    match scale {
        Scale::Reduced => FEW.map(ZooModel::new).into(),
        Scale::Full => {
            let listed = || models::all().iter().map(|model| model.name);
            let known = ORDER.iter().copied().filter(|name| listed().any(|other| other == *name));
            let others = listed().filter(|name| !ORDER.contains(name));
            let mut found: Vec<ZooModel> = known.chain(others).map(ZooModel::new).collect();
            found.push(ZooModel { name: "lstm_tc".to_owned(), is_unrolled: true });
            found
        }
    }
}
