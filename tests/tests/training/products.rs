//! The multiply-adds of a step's products, as they are told.

use warpweave::Model;
use warpweave::codegen::emulate::LaunchOptions;
use warpweave::frontend::{ImportOptions, NameFilter};
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::training::{Loss, Objective, Optimizer, StepOptions};
use warpweave::plan::template::Template;
use warpweave::training::TrainingRequest;
use warpweave_tests::machine::Machine;
use warpweave_tests::pipeline::compile;
use warpweave_tests::random::{self, Random};
use warpweave_tests::suite::Suite;

use super::fixtures::{MODELS, file};

const UNITS: usize = 8;
/// How many more there may be: those of points beyond a tensor's edges, and of epilogues.
const MOST_BEYOND: u64 = 4;

/// A trial a model.
pub fn add(suite: &mut Suite) {
    for model in MODELS {
        suite.trial(format!("products {model}"), move || check(model));
    }
}

/// The multiply-adds that contractions are said to have are what the emulator counts, but for what is beyond edges.
fn check(model: &str) {
    let path = file(model, "model.onnx");
    let loss = Objective::Loss(Loss::MeanSquaredError);
    let step = StepOptions { loss, output: None, optimizer: Optimizer::SGD, largest_norm: None };
    let request = TrainingRequest { step, learning_rate: 0.1, trainable: NameFilter::default() };
    let (model, _) = Model::import_step(&path, &ImportOptions::default(), &request).expect("it can be trained");
    let compiled = compile(&model.program, UNITS, FusionLevel::Full);
    let inputs = random::inputs(&mut Random::new(3), &compiled.program);
    let options = LaunchOptions { count: true, ..LaunchOptions::seeded(7) };
    let (report, _) = Machine::new(&compiled).launch(&inputs, &options);
    assert!(report.is_clean(), "{report}");
    let operators = &compiled.plan.plan().persistent().operators;
    let kernel = |id| compiled.lowered.bindings[id].kernel as usize;
    let mut said = vec![0; report.kernel_counts.len()];
    for (id, operator) in operators.iter() {
        if let Template::Contraction(_) = *operator.kernel.template() {
            said[kernel(id)] += operator.kernel.body().multiply_adds();
        }
    }
    for (kernel, said) in said.into_iter().enumerate().filter(|(_, said)| *said > 0) {
        let counts = &report.kernel_counts[kernel];
        let counted = counts.multiply_adds + counts.tensor_products;
        assert!((said..=said * MOST_BEYOND).contains(&counted), "k{kernel} does {counted} multiply-adds, not {said}");
    }
}
