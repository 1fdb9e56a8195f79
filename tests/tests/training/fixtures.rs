//! Losses and weights of training steps against PyTorch's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use warpweave::frontend::{ImportOptions, NameFilter};
use warpweave::graph::Tensor;
use warpweave::graph::training::{LEARNING_RATE, Loss, Optimizer, StepOptions, TARGET};
use warpweave::runtime::npz;
use warpweave::runtime::session::{Device, Session};
use warpweave::training::TrainingRequest;
use warpweave::{Build, Model, OpenOptions, Source, open};
use warpweave_tests::suite::Suite;

const MODELS: [&str; 5] = ["mlp", "dlrm", "resnet", "lstm", "bert"];
const DEVICES: [Device; 4] = [Device::Reference, Device::Host, Device::Emulator, Device::Text];
/// The name in the archives, the optimizer, and its learning rate.
const OPTIMIZERS: [(&str, Optimizer, f64); 2] = [
    ("sgd", Optimizer::Sgd { momentum: 0.9, dampening: 0.0, weight_decay: 1e-4, nesterov: false }, 0.05),
    ("adam", Optimizer::ADAM, 1e-3),
];
/// Steps that are taken, and after which weights are compared.
const STEPS: usize = 3;
const COMPARED: [usize; 2] = [1, 3];
/// Adam scales gradients up that are rounding errors; those are smaller than this everywhere in their tensor.
const NOISE: f64 = 1e-6;

/// A trial a model, optimizer and device.
pub fn add(suite: &mut Suite) {
    for model in MODELS {
        for optimizer in OPTIMIZERS {
            for device in DEVICES {
                suite.trial(format!("steps {model} {} {device}", optimizer.0), move || check(model, optimizer, device));
            }
        }
    }
}

fn folder(model: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("training").join(model)
}

/// By how much values may differ, as a part of the largest of their tensor.
fn tolerance(device: Device) -> f64 {
    if device == Device::Reference { 1e-4 } else { 1e-3 }
}

fn check(model: &str, (name, optimizer, rate): (&str, Optimizer, f64), device: Device) {
    let arrays = npz::read(&folder(model).join("steps.npz")).expect("the fixture is an archive");
    let step = StepOptions { loss: Loss::CROSS_ENTROPY, output: None, optimizer, largest_norm: None };
    let request = TrainingRequest { step, learning_rate: rate, trainable: NameFilter::default() };
    let options = ImportOptions::default();
    let (step, _) =
        Model::import_step(&folder(model).join("model.onnx"), &options, &request).expect("it can be trained");
    let inputs: Vec<Tensor> = step.signature.inputs.iter().map(|port| input(&arrays, &port.name, rate)).collect();
    let names: Vec<String> =
        step.training.iter().flat_map(|training| &training.states).map(|state| state.name.clone()).collect();
    let source = Source::Model(Box::new(Build::new(step, &mut |_| {})));
    let unavailable = || Err("no device compiler is needed".to_owned());
    let mut session = open(&source, device, &OpenOptions::default(), &unavailable).expect("the device is there");
    if let Some(plan) = session.execution_plan() {
        assert!(plan.only_persistent().is_some(), "{model} is one persistent program");
    }
    let tolerance = tolerance(device);
    let found = first_states(session.as_mut(), &names);
    for number in 1..=STEPS {
        let outputs = session.run(&inputs).unwrap_or_else(|error| panic!("{model} {device}: {error}"));
        session.advance().expect("the states are there");
        let (loss, wanted) = (outputs[0].to_f64()[0], arrays[&format!("{name}_loss_{number}")].to_f64()[0]);
        assert!((loss - wanted).abs() <= tolerance * wanted.abs(), "loss {number} is {loss}, not {wanted}");
        if COMPARED.contains(&number) {
            let states = session.states().expect("the states are there");
            let states: BTreeMap<&str, &Tensor> = names.iter().map(String::as_str).zip(&states).collect();
            let limit = rate * number as f64 * (1.0 + tolerance);
            compare(&arrays, &format!("{name}_w{number}_"), &states, &found, name == "adam", (tolerance, limit));
        }
    }
}

fn first_states(session: &mut dyn Session, names: &[String]) -> BTreeMap<String, Tensor> {
    names.iter().cloned().zip(session.states().expect("the states are there")).collect()
}

fn input(arrays: &BTreeMap<String, Tensor>, name: &str, rate: f64) -> Tensor {
    match name {
        LEARNING_RATE => Tensor::scalar(rate as f32),
        TARGET => arrays[TARGET].clone(),
        name => arrays[&format!("in_{name}")].clone(),
    }
}

/// Every stored tensor against the state of its name.
fn compare(
    arrays: &BTreeMap<String, Tensor>,
    prefix: &str,
    states: &BTreeMap<&str, &Tensor>,
    first: &BTreeMap<String, Tensor>,
    is_scaled: bool,
    (tolerance, limit): (f64, f64),
) {
    let stored = arrays.iter().filter_map(|(name, tensor)| Some((name.strip_prefix(prefix)?, tensor)));
    let mut compared = 0;
    for (name, wanted) in stored {
        let found = states.get(name).unwrap_or_else(|| panic!("the step has no `{name}`"));
        let (wanted, found) = (wanted.to_f64(), found.to_f64());
        let gradient = arrays.get(&format!("grad_{name}"));
        let is_noise = gradient.is_some_and(|gradient| largest(&gradient.to_f64()) < NOISE);
        let (reference, allowed) = match is_scaled && is_noise {
            true => (first[name].to_f64(), limit),
            false => (wanted.clone(), tolerance * largest(&wanted)),
        };
        let distance = reference.iter().zip(&found).map(|(wanted, found)| (wanted - found).abs()).fold(0.0, f64::max);
        assert!(distance <= allowed, "{prefix}{name} differs by {distance}, and {allowed} is allowed");
        compared += 1;
    }
    assert!(compared > 0, "nothing is stored as {prefix}");
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()))
}
