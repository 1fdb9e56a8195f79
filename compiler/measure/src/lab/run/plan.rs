//! When each step begins and ends, before any of them runs.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::bundles::{Model, Wanted};
use super::options::{Call, RunOptions};
use super::predict::{Prediction, Predictor};
use super::step::{LabStep, ZooModel};
use crate::lab::Table;

/// Seconds that both calls together may take.
pub const MOST_SECONDS: f64 = 480.0;
/// Seconds of a call for its start, and for the record after its last step.
const AROUND: f64 = 6.0;

/// A step with its time.
#[derive(Clone, PartialEq, Debug)]
pub struct Planned {
    pub step: LabStep,
    /// Seconds that it waits for bundles.
    pub wait: f64,
    /// What it takes beside.
    pub prediction: Prediction,
    /// Whether an earlier run has its result.
    pub is_kept: bool,
    /// Seconds of the call that are set aside for it, after which it is killed; none where the call has no time for it.
    pub budget: Option<f64>,
}

/// The steps of a call with their times.
#[derive(Clone, PartialEq, Debug)]
pub struct CallPlan {
    pub call: Call,
    pub steps: Vec<Planned>,
    /// Seconds that it may take.
    pub seconds: f64,
    /// Seconds at which each bundle that it makes is predicted to be there.
    ready: Vec<(Wanted, f64)>,
}

impl CallPlan {
    /// Seconds of all budgets, and around them.
    pub fn budget(&self) -> f64 {
        self.steps.iter().filter_map(|planned| planned.budget).sum::<f64>() + AROUND
    }

    /// Seconds that are predicted.
    pub fn predicted(&self) -> f64 {
        let taken = self.steps.iter().filter(|planned| planned.budget.is_some() && !planned.is_kept);
        taken.map(|planned| planned.wait + planned.prediction.seconds).sum::<f64>() + AROUND
    }

    /// Steps that have no time and do not live on what others leave.
    pub fn cut(&self) -> impl Iterator<Item = &Planned> {
        self.steps.iter().filter(|planned| planned.budget.is_none() && !planned.prediction.is_spare)
    }

    /// Bundles that are there when it ends.
    fn made(&self) -> impl Iterator<Item = Wanted> + '_ {
        let end = self.predicted();
        self.ready.iter().filter(move |(_, ready)| *ready <= end).map(|(wanted, _)| wanted.clone())
    }
}

/// What is there before a call.
pub struct Before<'a> {
    /// Whether an earlier run has the result of the step of this name.
    pub is_done: &'a dyn Fn(&str) -> bool,
    /// The bundles that are there.
    pub made: BTreeSet<Wanted>,
    /// Bundles that are compiled side by side.
    pub workers: usize,
}

/// The bundles of steps in the order in which they are needed, each once.
pub fn order(predictor: &Predictor, steps: &[LabStep]) -> Vec<Wanted> {
    let mut seen = BTreeSet::new();
    let all = steps.iter().flat_map(|step| predictor.wanted(step));
    all.filter(|wanted| seen.insert(wanted.clone())).collect()
}

/// When each bundle is there, compiled in this order by so many workers.
fn ready(predictor: &Predictor, order: &[Wanted], before: &Before) -> Vec<(Wanted, f64)> {
    let mut workers = vec![0.0_f64; before.workers.max(1)];
    let mut exported: BTreeSet<ZooModel> = BTreeSet::new();
    let mut found = Vec::new();
    for wanted in order.iter().filter(|wanted| !before.made.contains(*wanted)) {
        let is_first = match &wanted.model {
            Model::Zoo(model) => exported.insert(model.clone()),
            Model::Fixture { .. } => false,
        };
        let next = (0..workers.len()).min_by(|a, b| workers[*a].total_cmp(&workers[*b])).unwrap_or(0);
        workers[next] += predictor.compile_seconds(wanted, is_first);
        found.push((wanted.clone(), workers[next]));
    }
    found
}

/// The times of a call's steps. `further` are the steps of the next call, whose bundles are made in what time is left.
pub fn plan_call(
    predictor: &Predictor,
    (call, steps): (Call, &[LabStep]),
    further: &[LabStep],
    before: &Before,
    seconds: f64,
) -> CallPlan {
    let to_do: Vec<LabStep> = steps.iter().filter(|step| !(before.is_done)(&step.name())).cloned().collect();
    let order = order(predictor, &[&to_do, further].concat());
    let ready = ready(predictor, &order, before);
    let (mut now, mut left) = (AROUND / 2.0, seconds - AROUND);
    let mut planned = Vec::new();
    for step in steps {
        let prediction = predictor.predict(step);
        if (before.is_done)(&step.name()) {
            planned.push(Planned { step: step.clone(), wait: 0.0, prediction, is_kept: true, budget: Some(0.0) });
            continue;
        }
        let needed = predictor.wanted(step);
        let there = |(wanted, at): &(Wanted, f64)| needed.contains(wanted).then_some(*at);
        let last = ready.iter().filter_map(there).fold(0.0, f64::max);
        // A series of comparisons goes on while its last bundles are compiled.
        let overlapped = if needed.len() > 1 { prediction.seconds } else { 0.0 };
        let wait = (last - now - overlapped).max(0.0);
        let budget = prediction.reserved + wait;
        let has_time = if prediction.is_spare { left >= prediction.seconds.min(2.0) } else { left >= budget };
        let budget = has_time.then_some(budget.min(left));
        if let Some(budget) = budget {
            left -= budget;
            now += wait + prediction.seconds;
        }
        planned.push(Planned { step: step.clone(), wait, prediction, is_kept: false, budget });
    }
    CallPlan { call, steps: planned, seconds, ready }
}

/// The plans of a run's calls, in turn.
pub fn plan_calls(predictor: &Predictor, steps: &[LabStep], all: &[LabStep], before: Before) -> Vec<CallPlan> {
    let RunOptions { call, budget, .. } = predictor.options;
    let of = |steps: &[LabStep], call: Call| -> Vec<LabStep> {
        steps.iter().filter(|step| call.has(step.call)).cloned().collect()
    };
    let mut before = before;
    let mut plans = Vec::new();
    let mut left = budget.unwrap_or(call.seconds());
    for part in [Call::Smoke, Call::Measure].into_iter().filter(|part| call.has(*part)) {
        let further = if part == Call::Smoke { of(all, Call::Measure) } else { Vec::new() };
        let seconds = if *call == Call::All && budget.is_none() { part.seconds() } else { left };
        let plan = plan_call(predictor, (part, &of(steps, part)), &further, &before, seconds);
        before.made.extend(plan.made());
        left = (left - plan.budget()).max(0.0);
        plans.push(plan);
    }
    plans
}

/// The plans as a table, with totals and what is cut.
pub fn text(plans: &[CallPlan]) -> String {
    let mut table = Table::new(&["call", "step"], &["waits, s", "predicted, s", "budget, s"]);
    for plan in plans {
        for Planned { step, wait, prediction, is_kept, budget } in &plan.steps {
            let seconds = |seconds: f64| format!("{seconds:.1}");
            let budget = match (is_kept, budget, prediction.is_spare) {
                (true, ..) => "kept".to_owned(),
                (false, Some(budget), _) => seconds(*budget),
                (false, None, true) => "what is left".to_owned(),
                (false, None, false) => "CUT".to_owned(),
            };
            let call = call_word(plan.call).to_owned();
            table.row(vec![call, step.name(), seconds(*wait), seconds(prediction.seconds), budget]);
        }
    }
    let mut text = String::new();
    table.write("Plan", &mut text);
    text.push('\n');
    for plan in plans {
        let (predicted, budget) = (plan.predicted(), plan.budget());
        let name = call_word(plan.call);
        let _ = writeln!(text, "{name}: {predicted:.0} s predicted, {budget:.0} s of budgets in {:.0} s", plan.seconds);
        let cut: Vec<String> = plan.cut().map(|planned| planned.step.name()).collect();
        if !cut.is_empty() {
            let _ = writeln!(text, "{name}: no time for {}", cut.join(", "));
        }
    }
    let _ = writeln!(text, "together {:.0} s of {MOST_SECONDS:.0} s", total(plans));
    text
}

fn call_word(call: Call) -> &'static str {
    match call {
        Call::Smoke => "smoke",
        Call::Measure => "measure",
        Call::All => "all",
    }
}

/// Seconds of all budgets.
pub fn total(plans: &[CallPlan]) -> f64 {
    plans.iter().map(CallPlan::budget).sum()
}

/// Whether every step has its time, and all of them together are not above the most.
pub fn fits(plans: &[CallPlan]) -> bool {
    total(plans) <= MOST_SECONDS && plans.iter().all(|plan| plan.cut().next().is_none())
}
