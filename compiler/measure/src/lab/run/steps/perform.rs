//! How a step is performed within its time, whatever becomes of it.

use std::time::Instant;

use super::correctness::{self, Compared};
use super::models::{self, Measured};
use super::{cycles, machine, peers};
use crate::lab::run::book::rounded;
use crate::lab::run::context::{Context, Deadline, Found, Stop};
use crate::lab::run::step::{Kind, LabStep};
use crate::lab::{Status, Step};

/// A step that a dry run leaves out: a stand-in has no times.
pub const DRY_RUN: &str = "dry run";

/// The result of a step that has until `deadline`.
pub fn perform(context: &Context, step: &LabStep, deadline: Deadline) -> Step {
    let start = Instant::now();
    let found = run(context, step, deadline);
    if let (Err(Stop::Failed { .. }), Some(gpu)) = (&found, step.gpu(context.options.gpus().next())) {
        context.check_device(gpu, &step.name());
    }
    result(step, start.elapsed().as_secs_f64(), found)
}

/// A step that is not run.
pub fn skipped(step: &LabStep, reason: impl Into<String>) -> Step {
    result(step, 0.0, Err(Stop::Skip(reason.into())))
}

fn result(step: &LabStep, seconds: f64, found: Found) -> Step {
    let (status, findings) = match found {
        Ok(findings) => (Status::Ran, Some(findings)),
        Err(Stop::Skip(reason)) => (Status::Skipped { reason }, None),
        Err(Stop::Time { reason, findings }) => (Status::Skipped { reason }, findings.map(|found| *found)),
        Err(Stop::Failed { reason, ended, findings }) => {
            let (command, exit_code, tail) = match ended {
                Some(ended) => (ended.command.clone(), ended.exit.code(), ended.tail()),
                None => (Vec::new(), None, String::new()),
            };
            (Status::Failed { reason, command, exit_code, tail }, findings.map(|found| *found))
        }
    };
    Step { name: step.name(), part: step.part(), seconds: rounded(seconds, 1e3), status, findings }
}

fn run(context: &Context, step: &LabStep, deadline: Deadline) -> Found {
    let first = context.options.gpus().next();
    if let Some(reason) = context.conditions().blocked(step, first) {
        return Err(Stop::Skip(reason));
    }
    if context.options.dry.is_some() && is_of_times(&step.kind) {
        return Err(Stop::Skip(DRY_RUN.to_owned()));
    }
    let name = step.name();
    match &step.kind {
        Kind::Doctor => machine::doctor(context),
        Kind::Smoke { device, backend } => {
            correctness::smoke(context, &Compared { step: &name, device: *device, backend: *backend }, deadline)
        }
        Kind::Litmus { device } => machine::litmus(context, &name, *device, deadline),
        Kind::Compare { device, backend } => {
            correctness::compare(context, &Compared { step: &name, device: *device, backend: *backend }, deadline)
        }
        Kind::Microbench { device, probe } => cycles::microbench(context, *device, *probe, deadline),
        Kind::Profile { device, model } => {
            models::profile(context, &Measured { step: &name, model, device: *device, backend: None }, deadline)
        }
        Kind::Model { device, model, backend } => {
            models::measure(context, &Measured { step: &name, model, device: *device, backend: *backend }, deadline)
        }
        Kind::Peers => peers::peers(context, deadline),
        Kind::Counters { model } => cycles::counters(context, model, deadline),
        Kind::Calibrate => cycles::calibrate(context, deadline),
        Kind::SelfTest { device } => machine::self_test(context, *device, deadline),
        Kind::Tune { model } => models::tune(context, model, deadline),
        Kind::Sanitizer => machine::sanitizer(context, deadline),
    }
}

/// Whether a step measures what a stand-in does not have.
fn is_of_times(kind: &Kind) -> bool {
    match kind {
        Kind::Microbench { .. } | Kind::Peers | Kind::Counters { .. } | Kind::Calibrate | Kind::Tune { .. } => true,
        Kind::Doctor
        | Kind::Smoke { .. }
        | Kind::Litmus { .. }
        | Kind::Compare { .. }
        | Kind::Profile { .. }
        | Kind::Model { .. }
        | Kind::SelfTest { .. }
        | Kind::Sanitizer => false,
    }
}
