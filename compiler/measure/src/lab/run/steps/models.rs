//! The benchmark models: measured, profiled, tuned.

use std::path::PathBuf;

use serde::Deserialize;
use warpweave_runtime::json::Value;
use warpweave_runtime::session::Device;

use crate::lab::run::bundles::{Model, Wanted};
use crate::lab::run::child::Ended;
use crate::lab::run::context::{Context, Deadline, Found, Stop, no_bundle, on_device, word};
use crate::lab::run::options::{Backend, Scale};
use crate::lab::run::predict::{FIRST, is_first, windows};
use crate::lab::run::step::ZooModel;
use crate::lab::{Findings, Measurement, PartTime, SoakFound, UnitShares};

/// Launches of a soak with reduced models.
const REDUCED_LAUNCHES: usize = 10;
/// Seconds that a group of kernels takes which has been begun when the time for tuning is over.
const GROUP_SECONDS: f64 = 15.0;

/// What a step measures.
pub struct Measured<'a> {
    pub step: &'a str,
    pub model: &'a ZooModel,
    pub device: Device,
    /// What runs the plan, where there is a choice.
    pub backend: Option<Backend>,
}

#[derive(Deserialize)]
struct Benched {
    latency: Times,
    device_time: Option<Times>,
    plan: Option<Planned>,
    soak: Option<Soaked>,
    priced_for: Option<String>,
}

#[derive(Deserialize)]
struct Times {
    p50: f64,
    coefficient_of_variation: f64,
}

#[derive(Deserialize)]
struct Planned {
    predicted_seconds: Option<f64>,
    estimated_seconds: Option<f64>,
    priced_for: Option<String>,
}

#[derive(Deserialize)]
struct Soaked {
    launches: usize,
    different: usize,
    against: Option<Against>,
}

#[derive(Deserialize)]
struct Against {
    device: String,
    excess: Option<f64>,
}

/// A model's time and a soak. Outputs of its first back end are held against the host's, those of others against the first's.
pub fn measure(context: &Context, measured: &Measured, deadline: Deadline) -> Found {
    let Measured { step, model, device, backend } = *measured;
    let bundle = zoo_bundle(context, model, backend, deadline)?;
    let is_reduced = context.options.scale == Scale::Reduced;
    let (warm_up, window, launches) = match is_reduced {
        true => (0.0, 0.0, REDUCED_LAUNCHES),
        false => (windows::WARM_UP, windows::MEASURED, windows::LAUNCHES),
    };
    let milliseconds = |seconds: f64| format!("{:.0}", seconds * 1e3);
    let mut words = vec!["bench".to_owned(), word(&bundle)];
    words.extend(on_device(device));
    words.extend(["--warmup-ms".to_owned(), milliseconds(warm_up), "--duration-ms".to_owned(), milliseconds(window)]);
    words.extend(["--input-sets", "1", "--soak", &windows::SOAK.to_string()].map(str::to_owned));
    words.extend(["--launches".to_owned(), launches.to_string()]);
    let outputs = outputs_file(context, model, device);
    let first = outputs.exists().then(|| word(&outputs)).filter(|_| !is_first(backend));
    let reference = if device == Device::Host && is_reduced { "reference" } else { "host" };
    words.extend(["--against".to_owned(), first.clone().unwrap_or_else(|| reference.to_owned())]);
    if device.runs_kernels() && is_first(backend) {
        let _ = std::fs::remove_file(&outputs);
        words.extend(["--save-outputs".to_owned(), word(&outputs)]);
    }
    let (told, ended): (Benched, Ended) = context.observed((device, backend), step, &words, deadline)?;
    let time = told.device_time.as_ref().unwrap_or(&told.latency);
    let priced_for = told.priced_for.or_else(|| told.plan.as_ref().and_then(|plan| plan.priced_for.clone()));
    let predicted = told.plan.as_ref().and_then(|plan| plan.predicted_seconds.or(plan.estimated_seconds));
    let against = |against: Against| match &first {
        Some(_) => (format!("{device} {FIRST}"), against.excess),
        None => (against.device, against.excess),
    };
    let soak = told.soak.map(|soak| {
        let (against, excess) = soak.against.map(against).unzip();
        SoakFound { launches: soak.launches, different: soak.different, against, excess: excess.flatten() }
    });
    let found = Findings::Measurement(Measurement {
        model: named(context, model),
        device: device.to_string(),
        backend: backend.map(|backend| backend.to_string()),
        predicted_seconds: predicted,
        median_seconds: time.p50,
        is_device_time: told.device_time.is_some(),
        coefficient_of_variation: time.coefficient_of_variation,
        priced_for,
        soak,
    });
    if ended.is_ok() {
        return Ok(found);
    }
    let reason = "launches differ from one another or from another device";
    Err(Stop::failed(reason, ended).with(found))
}

/// A benchmark model's bundle.
fn zoo_bundle(
    context: &Context,
    model: &ZooModel,
    backend: Option<Backend>,
    deadline: Deadline,
) -> Result<PathBuf, Stop> {
    let wanted = Wanted { model: Model::Zoo(model.clone()), backend: backend.unwrap_or(FIRST) };
    context.bundle(&wanted, deadline)
}

/// Where the outputs of a model's first back end are.
fn outputs_file(context: &Context, model: &ZooModel, device: Device) -> PathBuf {
    let device = device.to_string().replace(':', "");
    context.work.join("zoo").join(model.label()).join(format!("outputs.{device}.npz"))
}

/// A model's name as the program gives it.
fn named(context: &Context, model: &ZooModel) -> String {
    let reduced = if context.options.scale == Scale::Reduced { "-reduced" } else { "" };
    format!("{}{reduced}", model.label())
}

#[derive(Deserialize)]
struct Profiled {
    clock: String,
    predicted_microseconds: f64,
    recorded: f64,
    predicted_shares: UnitShares,
    recorded_shares: UnitShares,
    templates: Vec<PartTime>,
    kernels: Vec<PartTime>,
    priced_for: Option<String>,
}

/// Where the time of a model goes.
pub fn profile(context: &Context, measured: &Measured, deadline: Deadline) -> Found {
    let Measured { step, model, device, .. } = *measured;
    let bundle = zoo_bundle(context, model, None, deadline)?;
    let mut words = vec!["profile".to_owned(), word(&bundle)];
    words.extend(on_device(device));
    let backend = device.runs_kernels().then_some(FIRST);
    let (told, _): (Profiled, Ended) = context.observed((device, backend), step, &words, deadline)?;
    Ok(Findings::Profile {
        model: named(context, model),
        device: device.to_string(),
        clock: told.clock,
        predicted_microseconds: told.predicted_microseconds,
        recorded: told.recorded,
        predicted_shares: told.predicted_shares,
        recorded_shares: told.recorded_shares,
        templates: told.templates,
        kernels: told.kernels,
        priced_for: told.priced_for,
    })
}

#[derive(Deserialize)]
struct Tuned {
    recorded: usize,
    left: usize,
    refused: Vec<Value>,
}

/// Times of a model's kernels.
pub fn tune(context: &Context, model: &ZooModel, deadline: Deadline) -> Found {
    let device = context.gpu()?;
    let path = context.bundles.exported(model, deadline.left()).map_err(no_bundle)?;
    let seconds = (deadline.left().as_secs_f64() - GROUP_SECONDS).max(1.0);
    let timings = word(&context.kept_file("timings.txt"));
    let words = ["tune", &word(&path), "--timings", &timings, "--device", &device.to_string()].map(str::to_owned);
    let words: Vec<String> = words.into_iter().chain(["--budget".to_owned(), format!("{seconds:.1}")]).collect();
    let (told, ended): (Tuned, Ended) = context.printed(&words, deadline)?;
    let Tuned { recorded, left, refused } = told;
    let refused = refused.len();
    let found = Findings::Tuning { model: named(context, model), recorded, left, refused };
    if ended.is_ok() {
        Ok(found)
    } else {
        Err(Stop::failed(format!("{refused} kernels were refused"), ended).with(found))
    }
}
