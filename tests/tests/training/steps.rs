//! Steps of a model on a device, against stored losses and weights.

use std::collections::BTreeMap;
use std::path::PathBuf;

use warpweave::frontend::{ImportOptions, NameFilter};
use warpweave::graph::Tensor;
use warpweave::graph::training::{LEARNING_RATE, StepOptions, TARGET};
use warpweave::runtime::npz;
use warpweave::runtime::session::{Device, Session};
use warpweave::training::TrainingRequest;
use warpweave::{Build, Model, OpenOptions, Source, open};
use warpweave_tests::gates::compiler;

/// Adam scales gradients up that are rounding errors; those are smaller than this everywhere in their tensor.
const NOISE: f64 = 1e-6;

/// What is stored of a model's steps, and how they are taken.
#[derive(Clone, PartialEq, Debug)]
pub struct Steps {
    /// The model.
    pub model: PathBuf,
    /// The archive of arrays.
    pub archive: PathBuf,
    /// What precedes an input's name in the archive.
    pub inputs: String,
    /// The array of what the model should have given.
    pub target: String,
    /// What precedes `loss_` and the step, and `w`, the step, `_` and a tensor's name.
    pub results: String,
    /// Loss and optimizer.
    pub options: StepOptions,
    /// The learning rate.
    pub rate: f64,
    /// The steps after which weights are stored, the last of which is the last.
    pub compared: [usize; 2],
    /// Whether gradients that are rounding errors are scaled up, so that weights need only stay within the steps' reach.
    pub noise: Noise,
}

/// What an optimizer makes of gradients that are rounding errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Noise {
    /// It stays what it is.
    Kept,
    /// It is scaled up; the archive has the gradients of the first step as `grad_` and the tensor's name.
    ScaledUp,
}

/// By how much values may differ, as a part of the largest of their tensor.
fn tolerance(device: Device) -> f64 {
    if device == Device::Reference { 1e-4 } else { 1e-3 }
}

/// Takes the steps, and compares losses and weights.
///
/// # Panics
/// If one differs, or if a device that follows a plan has not one persistent program.
pub fn check(steps: &Steps, device: Device) {
    let arrays = npz::read(&steps.archive).expect("the fixture is an archive");
    let (rate, prefix) = (steps.rate, &steps.results);
    let request =
        TrainingRequest { step: steps.options.clone(), learning_rate: rate, trainable: NameFilter::default() };
    let (step, _) = Model::import_step(&steps.model, &ImportOptions::default(), &request).expect("it can be trained");
    let input = |name: &str| match name {
        LEARNING_RATE => Tensor::scalar(rate as f32),
        TARGET => arrays[&steps.target].clone(),
        name => arrays[&format!("{}{name}", steps.inputs)].clone(),
    };
    let inputs: Vec<Tensor> = step.signature.inputs.iter().map(|port| input(&port.name)).collect();
    let names: Vec<String> =
        step.training.iter().flat_map(|training| &training.states).map(|state| state.name.clone()).collect();
    let source = Source::Model(Box::new(Build::new(step).expect("the passes are right")));
    let mut session = open(&source, device, &OpenOptions::default(), &compiler).expect("the device is there");
    if let Some(plan) = session.execution_plan() {
        assert!(plan.only_persistent().is_some(), "{prefix} is one persistent program");
    }
    let tolerance = tolerance(device);
    let found = first_states(&mut session, &names);
    for number in 1..=steps.compared[1] {
        let outputs = session.run(&inputs).unwrap_or_else(|error| panic!("{prefix} on {device}: {error}"));
        session.advance().expect("the states are there");
        let (loss, wanted) = (outputs[0].to_f64()[0], arrays[&format!("{prefix}loss_{number}")].to_f64()[0]);
        assert!((loss - wanted).abs() <= tolerance * wanted.abs(), "loss {number} is {loss}, not {wanted}");
        if steps.compared.contains(&number) {
            let states = session.states().expect("the states are there");
            let states: BTreeMap<&str, &Tensor> = names.iter().map(String::as_str).zip(&states).collect();
            let limit = rate * number as f64 * (1.0 + tolerance);
            compare(&arrays, &format!("{prefix}w{number}_"), &states, &found, steps.noise, (tolerance, limit));
        }
    }
}

fn first_states(session: &mut dyn Session, names: &[String]) -> BTreeMap<String, Tensor> {
    names.iter().cloned().zip(session.states().expect("the states are there")).collect()
}

/// Every stored tensor against the state of its name.
fn compare(
    arrays: &BTreeMap<String, Tensor>,
    prefix: &str,
    states: &BTreeMap<&str, &Tensor>,
    first: &BTreeMap<String, Tensor>,
    noise: Noise,
    (tolerance, limit): (f64, f64),
) {
    let stored = arrays.iter().filter_map(|(name, tensor)| Some((name.strip_prefix(prefix)?, tensor)));
    let mut compared = 0;
    for (name, wanted) in stored {
        let found = states.get(name).unwrap_or_else(|| panic!("the step has no `{name}`"));
        let (wanted, found) = (wanted.to_f64(), found.to_f64());
        let gradient = arrays.get(&format!("grad_{name}"));
        let is_noise = gradient.is_some_and(|gradient| largest(&gradient.to_f64()) < NOISE);
        let (reference, allowed) = match noise == Noise::ScaledUp && is_noise {
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
