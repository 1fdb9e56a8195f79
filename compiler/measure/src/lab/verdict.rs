//! What a record says in a few lines: what agrees, what is wrong, what is fast, which predictions are off, and what to do next.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::findings::{Check, Comparison, Findings, Gpu, Measurement, Outcome, PeerTime, SINGLE};
use super::{Lab, Status};

/// Constants, kernels and edges that are named.
const NAMED: usize = 3;
/// A prediction, or a constant, that is off by less is right.
const TOLERANCE: f64 = 0.15;
/// A share of stalls for want of instructions that plans must reckon with.
const MOST_STARVED: f64 = 0.1;
/// Multiprocessors of the GPUs that plans are made for.
const PLANNED_UNITS: usize = 132;

/// What a record says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Verdict {
    /// What agrees, per device and back end.
    pub agreed: Vec<String>,
    /// What differs or failed, and what was skipped because of it.
    pub wrong: Vec<String>,
    /// Models beside their fastest peer.
    pub peers: Vec<PeerRatio>,
    /// Predictions beside measurements, the worst of each kind first.
    pub predictions: Vec<Prediction>,
    /// The constants that are most wrong.
    pub constants: Vec<Prediction>,
    /// What to do, in this order.
    pub next: Vec<String>,
}

/// A model beside its fastest peer.
#[derive(Clone, PartialEq, Debug)]
pub struct PeerRatio {
    pub model: String,
    /// The back end that is fastest.
    pub backend: String,
    /// The peer's time by this one's.
    pub times_as_fast: f64,
}

/// What a prediction is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Predicted {
    /// A model's time.
    Model,
    /// A kernel's time in a model.
    Kernel,
    /// An exchange, or a launch.
    Edge,
    /// Cycles of a loop.
    Loop,
    /// A constant of a GPU.
    Constant,
}

impl Predicted {
    fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Kernel => "kernel",
            Self::Edge => "edge",
            Self::Loop => "loop",
            Self::Constant => "constant",
        }
    }
}

/// A prediction beside its measurement.
#[derive(Clone, PartialEq, Debug)]
pub struct Prediction {
    /// What it is of.
    pub of: Predicted,
    pub name: String,
    /// Predicted by measured.
    pub ratio: f64,
}

impl Prediction {
    fn new(of: Predicted, name: String, predicted: f64, measured: f64) -> Option<Self> {
        let is_number = predicted > 0.0 && measured > 0.0 && (predicted / measured).is_finite();
        is_number.then(|| Self { of, name, ratio: predicted / measured })
    }

    /// How wrong it is: 0 if it is right, the same for half and double.
    fn error(&self) -> f64 {
        self.ratio.ln().abs()
    }

    fn is_off(&self) -> bool {
        self.error() > (1.0 + TOLERANCE).ln()
    }
}

/// What a record says.
pub fn verdict(lab: &Lab) -> Verdict {
    let (agreed, differing) = agreements(lab);
    let mut wrong = differing;
    wrong.extend(machine(lab));
    wrong.extend(failures(lab));
    // Each is told once, where it was found first.
    let mut told = BTreeSet::new();
    wrong.retain(|line| told.insert(line.clone()));
    let (peers, predictions, constants) = (peers(lab), predictions(lab), constants(lab));
    let mut verdict = Verdict { agreed, wrong, peers, predictions, constants, next: Vec::new() };
    verdict.next = next(lab, &verdict);
    verdict
}

fn findings(lab: &Lab) -> impl Iterator<Item = &Findings> {
    lab.steps.iter().filter_map(|step| step.findings.as_ref())
}

fn on(device: &str, backend: Option<&str>) -> String {
    backend.map_or(device.to_owned(), |backend| format!("{device} {backend}"))
}

/// Counts of what agrees, and of what does not, per device and back end.
fn agreements(lab: &Lab) -> (Vec<String>, Vec<String>) {
    let mut small: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut large = small.clone();
    let mut checks = small.clone();
    let mut wrong = Vec::new();
    let count = |counts: &mut BTreeMap<String, (usize, usize)>, key: String, agrees: bool| {
        let (good, all) = counts.entry(key).or_default();
        (*good, *all) = (*good + usize::from(agrees), *all + 1);
    };
    for found in findings(lab) {
        match found {
            Findings::Comparisons { device, backend, comparisons } => {
                let on = on(device, backend.as_deref());
                for Comparison { model, outcome, .. } in
                    comparisons.iter().filter(|one| one.outcome != Outcome::Missing)
                {
                    count(&mut small, on.clone(), *outcome == Outcome::Agree);
                    if *outcome != Outcome::Agree {
                        wrong.push(format!("{model} on {on}: {}", outcome.words()));
                    }
                }
            }
            Findings::Measurement(Measurement { model, device, backend, soak: Some(soak), .. }) => {
                let on = on(device, backend.as_deref());
                let agrees = soak.against.is_none() || soak.excess.is_some_and(|excess| excess <= 1.0);
                count(&mut large, on.clone(), agrees && soak.different == 0);
                if soak.different > 0 {
                    wrong.push(format!(
                        "{model} on {on}: {} of {} launches give other bits",
                        soak.different, soak.launches
                    ));
                }
                if let (false, Some(other)) = (agrees, &soak.against) {
                    wrong.push(format!("{model} on {on}: differs from {other}"));
                }
            }
            Findings::Checks { checks: found } => {
                for Check { name, device, passed, .. } in found {
                    count(&mut checks, device.clone(), *passed);
                    if !passed {
                        wrong.push(format!("{name} on {device} fails"));
                    }
                }
            }
            Findings::Litmus { tests } => {
                let broken = tests.iter().filter(|test| !test.passed);
                wrong.extend(broken.map(|test| format!("memory is not as assumed: {}", test.name)));
            }
            Findings::Doctor { .. }
            | Findings::Microbench { .. }
            | Findings::Counters { .. }
            | Findings::Calibration { .. }
            | Findings::Measurement(_)
            | Findings::Peers { .. }
            | Findings::Profile { .. }
            | Findings::Tuning { .. } => {}
        }
    }
    let told = |counts: BTreeMap<String, (usize, usize)>, what: &'static str| {
        counts.into_iter().map(move |(on, (good, all))| format!("{on}: {good} of {all} {what}"))
    };
    let agreed = told(small, "small models agree with stored outputs")
        .chain(told(large, "benchmark models agree, launch after launch"))
        .chain(told(checks, "checks pass"));
    (agreed.collect(), wrong)
}

/// GPUs that plans were not made for.
fn machine(lab: &Lab) -> Vec<String> {
    let gpus =
        findings(lab).filter_map(|found| if let Findings::Doctor { gpus, .. } = found { Some(gpus) } else { None });
    let other = |gpu: &&Gpu| gpu.compute_capability == "9.0" && gpu.multiprocessors != PLANNED_UNITS;
    let told = |gpu: &Gpu| {
        let Gpu { name, multiprocessors, .. } = gpu;
        format!(
            "{name} has {multiprocessors} multiprocessors: plans for {PLANNED_UNITS} are folded onto them, and slower"
        )
    };
    gpus.flatten().filter(other).map(told).collect()
}

/// Steps that failed, and causes of skipped ones with their number.
fn failures(lab: &Lab) -> Vec<String> {
    let mut told = Vec::new();
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    for step in &lab.steps {
        match &step.status {
            Status::Ran => {}
            Status::Failed { reason, .. } => told.push(format!("{}: {reason}", step.name)),
            Status::Skipped { reason } if is_caused(reason) => *skipped.entry(reason).or_default() += 1,
            Status::Skipped { .. } => {}
        }
    }
    told.extend(skipped.into_iter().map(|(reason, count)| format!("{count} steps skipped: {reason}")));
    told
}

/// Whether a step was skipped because of what an earlier one has shown.
fn is_caused(reason: &str) -> bool {
    [" is lost since ", " is missing: ", " after "].iter().any(|part| reason.contains(part)) && !is_for_time(reason)
}

fn is_for_time(reason: &str) -> bool {
    reason.starts_with("budget")
}

/// Models beside their fastest peer in single precision, the slowest first.
fn peers(lab: &Lab) -> Vec<PeerRatio> {
    let mut best: BTreeMap<&str, f64> = BTreeMap::new();
    for found in findings(lab) {
        let Findings::Peers { peers } = found else { continue };
        for PeerTime { model, median_ms, .. } in peers.iter().filter(|peer| peer.precision == SINGLE) {
            let Some(milliseconds) = median_ms else { continue };
            let best = best.entry(model).or_insert(f64::INFINITY);
            *best = best.min(*milliseconds);
        }
    }
    let mut fastest: BTreeMap<&str, PeerRatio> = BTreeMap::new();
    for found in findings(lab) {
        let Findings::Measurement(Measurement { model, backend, median_seconds, is_device_time: true, .. }) = found
        else {
            continue;
        };
        let Some(peer) = best.get(model.as_str()) else { continue };
        let times_as_fast = peer * 1e-3 / median_seconds;
        let backend = backend.clone().unwrap_or_default();
        let ratio = PeerRatio { model: model.clone(), backend, times_as_fast };
        let known = fastest.entry(model).or_insert_with(|| ratio.clone());
        if known.times_as_fast < times_as_fast {
            *known = ratio;
        }
    }
    let mut ratios: Vec<PeerRatio> = fastest.into_values().collect();
    ratios.sort_by(|a, b| a.times_as_fast.total_cmp(&b.times_as_fast));
    ratios
}

/// Predictions of models, and the worst ones of kernels, edges and loops, the worst first in each kind.
fn predictions(lab: &Lab) -> Vec<Prediction> {
    if lab.options.dry.is_some() {
        // A stand-in has no times.
        return Vec::new();
    }
    let mut found: BTreeMap<Predicted, Vec<Prediction>> = BTreeMap::new();
    let mut add = |prediction: Option<Prediction>| {
        if let Some(prediction) = prediction {
            found.entry(prediction.of).or_default().push(prediction);
        }
    };
    for findings in findings(lab) {
        match findings {
            Findings::Measurement(Measurement {
                model, device, backend, predicted_seconds, median_seconds, ..
            }) if findings.is_timed() => {
                let name = format!("{model} on {}", on(device, backend.as_deref()));
                add(Prediction::new(Predicted::Model, name, predicted_seconds.unwrap_or(0.0), *median_seconds));
            }
            Findings::Profile { model, kernels, .. } if findings.is_timed() => {
                for kernel in kernels {
                    let name = format!("{} of {model}", kernel.name);
                    add(Prediction::new(Predicted::Kernel, name, kernel.predicted_microseconds, kernel.recorded));
                }
            }
            Findings::Microbench { loops, edges, .. } => {
                for edge in edges {
                    let units = edge.units.map(|units| format!(", {units} units")).unwrap_or_default();
                    let name = format!("{}{units}", edge.edge.words());
                    let predicted = edge.predicted_microseconds.unwrap_or(0.0);
                    add(Prediction::new(Predicted::Edge, name, predicted, edge.microseconds));
                }
                for one in loops {
                    let predicted = one.predicted_cycles.unwrap_or(0.0);
                    add(Prediction::new(Predicted::Loop, one.name.clone(), predicted, one.cycles));
                }
            }
            Findings::Measurement(_)
            | Findings::Profile { .. }
            | Findings::Doctor { .. }
            | Findings::Checks { .. }
            | Findings::Litmus { .. }
            | Findings::Comparisons { .. }
            | Findings::Counters { .. }
            | Findings::Calibration { .. }
            | Findings::Peers { .. }
            | Findings::Tuning { .. } => {}
        }
    }
    let worst = |(of, mut predictions): (Predicted, Vec<Prediction>)| {
        predictions.sort_by(|a, b| b.error().total_cmp(&a.error()));
        let most = if of == Predicted::Model { usize::MAX } else { NAMED };
        predictions.into_iter().take(most)
    };
    found.into_iter().flat_map(worst).collect()
}

/// The constants that are most wrong: those of the GPU, and exchanges beside what plans reckon with.
fn constants(lab: &Lab) -> Vec<Prediction> {
    let calibrated = findings(lab).filter_map(|found| match found {
        Findings::Calibration { constants } => Some(constants),
        _ => None,
    });
    let constant = |constant: &super::Calibrated| {
        Prediction::new(Predicted::Constant, constant.constant.clone(), constant.before, constant.now?)
    };
    let mut found: Vec<Prediction> = calibrated.flatten().filter_map(constant).collect();
    found.extend(predictions(lab).into_iter().filter(|prediction| prediction.of == Predicted::Edge));
    found.sort_by(|a, b| b.error().total_cmp(&a.error()));
    found.retain(Prediction::is_off);
    found.truncate(NAMED);
    found
}

/// What to do, of most worth first.
fn next(lab: &Lab, verdict: &Verdict) -> Vec<String> {
    let mut actions = Vec::new();
    let reasons = || {
        lab.steps.iter().filter_map(|step| match &step.status {
            Status::Ran => None,
            Status::Failed { reason, .. } | Status::Skipped { reason } => Some(reason.as_str()),
        })
    };
    let has = |part: &str| reasons().any(|reason| reason.contains(part));
    if has(" is lost since ") {
        actions.push("The device is lost: take another one, and run the same call again; what ran is kept.".to_owned());
    }
    if has("NVRTC is missing") || has("nvJitLink is missing") {
        let text = "The compiler or linker is missing: name a CUDA folder that has both in WARPWEAVE_CUDA_DIR, look at \
                    `warpweave doctor`, and run the same call again.";
        actions.push(text.to_owned());
    }
    let mut kept: Vec<&str> = comparisons(lab).filter_map(|comparison| comparison.case.as_deref()).collect();
    kept.sort_unstable();
    kept.dedup();
    for case in kept {
        actions.push(format!(
            "Replay {case} of lab.zip: `warpweave compare model.weave --io io.npz --device emulator`. If it agrees there, the \
             fault is below the plan; then run it under compute-sanitizer."
        ));
    }
    let ended: Vec<&str> = reasons().filter(|reason| reason.contains(" programs ")).collect();
    if let Some(reason) = ended.first().and_then(|reason| reason.rsplit("; ").next()) {
        actions.push(format!("Mend first: {reason}."));
    }
    if has("do not agree") || has("launches differ") || has("self-test is wrong") || has("not as plans assume") {
        actions.push("Mend what differs before any time is looked at: a wrong program's time says nothing.".to_owned());
    }
    let late = reasons().filter(|reason| is_for_time(reason)).count();
    if late > 0 {
        actions.push(format!("Run `--call measure` again with the same folders: {late} steps had no time."));
    }
    for PeerRatio { model, times_as_fast, .. } in verdict.peers.iter().filter(|ratio| ratio.times_as_fast < 1.0) {
        actions.push(format!("Look at the profile of {model}: its peer is {:.2} times as fast.", 1.0 / times_as_fast));
    }
    for constant in &verdict.constants {
        let Prediction { name, ratio, .. } = constant;
        actions.push(format!("Correct {name}: plans reckon with {ratio:.2} times what was measured (kept/arch.json)."));
    }
    let starved = findings(lab).filter_map(|found| match found {
        Findings::Counters { model, kernels, .. } => {
            let share = kernels.iter().map(|kernel| kernel.no_instruction).fold(0.0, f64::max);
            (share > MOST_STARVED).then_some((model, share))
        }
        _ => None,
    });
    for (model, share) in starved {
        actions.push(format!("Price instruction fetch: {:.0} % of the stalls of {model} are for it.", share * 100.0));
    }
    let off = |of: Predicted| verdict.predictions.iter().find(|prediction| prediction.of == of && prediction.is_off());
    for prediction in [Predicted::Kernel, Predicted::Model].into_iter().filter_map(off) {
        let Prediction { of, name, ratio } = prediction;
        let what = of.word();
        actions.push(format!("Look at the {what} {name}: predicted is {ratio:.2} times what was measured."));
    }
    if lab.options.dry.is_none() && lab.options.devices.iter().any(|device| device.starts_with("cuda")) {
        actions.push("Commit lab.json under models/lab/, named after the device and the day.".to_owned());
    }
    actions
}

fn comparisons(lab: &Lab) -> impl Iterator<Item = &Comparison> {
    findings(lab).flat_map(|found| match found {
        Findings::Comparisons { comparisons, .. } => comparisons.as_slice(),
        _ => &[],
    })
}

/// The verdict in Markdown.
pub fn markdown(verdict: &Verdict) -> String {
    let mut text = String::from("\n## Verdict\n");
    let mut list = |heading: &str, rows: Vec<String>, none: &str| {
        let _ = writeln!(text, "\n**{heading}**\n");
        match rows.is_empty() {
            true => _ = writeln!(text, "- {none}"),
            false => rows.iter().for_each(|row| _ = writeln!(text, "- {row}")),
        }
    };
    list("Agrees", verdict.agreed.clone(), "nothing was compared");
    list("Differs or failed", verdict.wrong.clone(), "nothing");
    let peer = |ratio: &PeerRatio| {
        let PeerRatio { model, backend, times_as_fast } = ratio;
        let word = if *times_as_fast < 1.0 { "SLOWER" } else { "faster" };
        format!("{model}, {backend}: {times_as_fast:.2} times as fast as its fastest peer in {SINGLE}, {word}")
    };
    list("Beside peers", verdict.peers.iter().map(peer).collect(), "no peer was measured");
    let row = |prediction: &Prediction| {
        let Prediction { of, name, ratio } = prediction;
        format!("{} {name}: {ratio:.2}", of.word())
    };
    let rows = |predictions: &[Prediction]| predictions.iter().map(row).collect::<Vec<String>>();
    list("Predicted over measured", rows(&verdict.predictions), "no time of a GPU was measured");
    list("The constants most wrong", rows(&verdict.constants), "none is off by more than 15 %, of those measured");
    let _ = writeln!(text, "\n**Next**\n");
    for (at, action) in verdict.next.iter().enumerate() {
        let _ = writeln!(text, "{}. {action}", at + 1);
    }
    if verdict.next.is_empty() {
        let _ = writeln!(text, "Nothing follows from this run.");
    }
    text
}
