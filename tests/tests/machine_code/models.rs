//! Outputs of exported models under every back end, and under memory as weak as its model allows.

use warpweave::plan::plan::backend::{Backend, BackendChoice};
use warpweave::runtime::session::Device;
use warpweave::{OpenOptions, Source, open};
use warpweave_tests::gates::compiler;
use warpweave_tests::models::{self, Model};
use warpweave_tests::stored::Stored;
use warpweave_tests::suite::{Suite, is_full};

/// Those of the default run: every template, and both exporters.
const SAMPLE: [&str; 6] =
    ["bert/dynamo", "dlrm/torchscript", "gpt2/dynamo", "lstm/dynamo", "mobilenet_v2/torchscript", "squeezenet/dynamo"];
/// The fewest models in all, so that lost files fail.
const FEWEST: usize = 22;

/// A trial a model and back end.
pub fn add(suite: &mut Suite) {
    let all = models::all();
    assert!(all.len() >= FEWEST, "{} models are there", all.len());
    let chosen = all.into_iter().filter(|model| is_full() || SAMPLE.contains(&model.name.as_str()));
    for model in chosen {
        let backends =
            [BackendChoice::Only(Backend::Persistent), BackendChoice::Only(Backend::CudaGraph), BackendChoice::Mixed];
        for backend in backends {
            let model = model.clone();
            suite.trial(format!("{} as {backend}", model.name), move || check(&model, backend, 1));
        }
        if is_full() || model.name == SAMPLE[0] || model.name == SAMPLE[3] {
            let persistent = BackendChoice::Only(Backend::Persistent);
            suite.trial(format!("{} with weak memory", model.name), move || check(&model, persistent, 3));
        }
    }
}

/// Compares the outputs of stored inputs with stored outputs.
fn check(model: &Model, backend: BackendChoice, interleavings: u64) {
    let Source::Model(mut build) = Source::load(&model.path, &Default::default()).expect("the model imports") else {
        panic!("a model is no bundle");
    };
    build.backend = backend;
    let source = Source::Model(build);
    let stored = Stored::read(source.signature(), &model.arrays());
    let options = OpenOptions { units: Some(4), interleavings, threads: 2, ..OpenOptions::default() };
    let mut session = open(&source, Device::MachineCode, &options, &compiler).expect("the device opens");
    // The second launch finds what the first has left.
    for launch in 0..2 {
        let outputs = session.run(&stored.inputs()).unwrap_or_else(|error| panic!("launch {launch}: {error}"));
        stored.assert_outputs(&outputs);
    }
}
