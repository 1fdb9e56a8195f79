//! What a measurement of a training step has beside one of inference.

use std::fmt::Write;

use warpweave::graph::Tensor;
use warpweave::graph::training::LEARNING_RATE;
use warpweave::prices::{self, GivenPrices};
use warpweave::runtime::bundle::{Bundle, BundleTarget, Signature, TrainingRecord};
use warpweave::runtime::session::Device;
use warpweave::{OpenOptions, Source};
use warpweave_measure::bench::{Known, OptimizerTraffic, StepProfile, TrainingStep};
use warpweave_measure::profile::profile;

use crate::arguments::program::child_compiler;
use crate::error::CliError;

/// The step in `source` and the record of it; `None` if it is no training step.
fn step_of(source: &Source) -> Option<(&Bundle, &TrainingRecord)> {
    match source {
        Source::Bundle(bundle) => Some((bundle, source.training()?)),
        Source::Model(_) => None,
    }
}

/// Gives a step's inputs the learning rate that it was compiled with.
pub fn set_learning_rate(inputs: &mut [Tensor], signature: &Signature, record: &TrainingRecord) {
    let rates = inputs.iter_mut().zip(&signature.inputs).filter(|(_, port)| port.name == LEARNING_RATE);
    rates.for_each(|(rate, _)| *rate = Tensor::scalar(record.learning_rate as f32));
}

/// The phases and the memory of the step in a bundle, of which so many samples were learned from a second.
pub fn training_step(
    source: &Source,
    device: Device,
    options: &OpenOptions,
    inputs: &[Tensor],
    samples_per_second: f64,
    given: &GivenPrices,
) -> Result<Option<TrainingStep>, CliError> {
    let Some((bundle, record)) = step_of(source) else { return Ok(None) };
    let program = |target: BundleTarget| bundle.program_for(target.machine());
    let mut profiles = Vec::new();
    if device == Device::Host {
        let run = profile(source, device, options, &child_compiler, inputs, given)?;
        profiles.push(StepProfile::recorded(&run.plan, &run.recorded, &program(BundleTarget::Host)?, record));
    }
    for &target in bundle.manifest().targets.keys() {
        let BundleTarget::Gpu(gpu) = target else { continue };
        let (part, prices) = (bundle.target(target)?, prices::of_part(gpu, device, given)?);
        profiles.push(StepProfile::predicted(target, part.plan.plan.plan(), &program(target)?, record, &prices));
    }
    let (loss, optimizer) = (record.loss.clone(), record.optimizer.clone());
    Ok(Some(TrainingStep { loss, optimizer, samples_per_second, profiles }))
}

/// A step for people, in lines.
pub fn text(text: &mut String, step: &TrainingStep) {
    let _ = writeln!(
        text,
        "training step ({}, {}): {:.2} samples a second",
        step.loss, step.optimizer, step.samples_per_second
    );
    step.profiles.iter().for_each(|profile| of_profile(text, profile));
}

fn of_profile(text: &mut String, profile: &StepProfile) {
    let known = match profile.known {
        Known::Recorded => "recorded",
        Known::Predicted => "predicted",
    };
    let _ = writeln!(
        text,
        "  {}, {known}: {:.4} ms, units {:.1} % busy",
        profile.target,
        profile.seconds * 1e3,
        profile.utilisation * 1e2
    );
    if let Some(priced_for) = &profile.priced_for {
        let _ = writeln!(text, "    priced for {priced_for}");
    }
    for time in &profile.phases {
        let _ = writeln!(
            text,
            "    {:<10} busy {:>10.4} ms {:>5.1} %, on the critical path {:>5.1} %",
            time.phase.name(),
            time.busy_seconds * 1e3,
            time.busy_share * 1e2,
            time.critical_share * 1e2
        );
    }
    if profile.known == Known::Predicted {
        let _ = writeln!(text, "    states     moved in {:.4} ms behind each launch", profile.advance_seconds * 1e3);
    }
    let OptimizerTraffic { bytes, moved_bytes, least_bytes } = profile.optimizer_traffic;
    let _ = writeln!(
        text,
        "    update     {bytes} bytes, of which {least_bytes} are needed, and {moved_bytes} behind the launch"
    );
    let _ = writeln!(text, "    memory     {}", profile.memory);
}
