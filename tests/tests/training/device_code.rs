//! Training steps as device code, gated on what NVRTC makes of it.

use std::path::Path;

use warpweave::codegen::print::UnitSize;
use warpweave::frontend::{ImportOptions, NameFilter};
use warpweave::graph::training::{Loss, Objective, Optimizer, StepOptions};
use warpweave::runtime::bundle::BundleTarget;
use warpweave::runtime::target::Target;
use warpweave::training::TrainingRequest;
use warpweave::{Build, Model, compile};
use warpweave_tests::suite::Suite;
use warpweave_tests::{gates, models};

use super::fixtures::{MODELS, file};

/// Of how many benchmark models one step is compiled unless every bar is asked for.
const STRIDE: usize = 3;

/// A trial a fixture, and one a benchmark model in a full run or for one in [`STRIDE`] of them.
pub fn add(suite: &mut Suite) {
    for model in MODELS {
        let path = file(model, "model.onnx");
        suite.trial(format!("step of {model} as sm_90a code"), move || check(&path));
    }
    for model in models::by_turns_from(0, STRIDE) {
        let path = model.path;
        suite.trial(format!("step of {} as sm_90a code", model.name), move || check(&path));
    }
}

fn check(path: &Path) {
    let optimizer = Optimizer::Sgd { momentum: 0.9, dampening: 0.0, weight_decay: 0.0, nesterov: false };
    let step =
        StepOptions { loss: Objective::Loss(Loss::MeanSquaredError), output: None, optimizer, largest_norm: None };
    let request = TrainingRequest { step, learning_rate: 0.1, trainable: NameFilter::default() };
    let (model, _) = Model::import_step(path, &ImportOptions::default(), &request).expect("it can be trained");
    let build = Build::new(model).expect("the passes are right");
    let part = compile(&build, BundleTarget::Gpu(Target::Sm90a), None, &mut |_| {}).expect("there is a plan");
    let program = part.program.expect("a part for a GPU has kernels");
    gates::check(&program, UnitSize::default(), Target::Sm90a);
}
