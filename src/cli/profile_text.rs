//! What `profile` says, as text and as JSON.

use std::fmt::Write;

use warpweave::fusion::schedule::simulate::Shares;
use warpweave::profile::{OperatorTimes, Profile};
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::session::Device;

/// rOperators that are listed.
const LISTED: usize = 20;

/// A recorded run as text.
pub fn text(name: &str, device: Device, profile: &Profile) -> String {
    let segment = profile.plan.persistent();
    let mut text = String::new();
    let _ = writeln!(text, "{name} on {device}: {} units, {} rTasks", segment.units(), segment.tasks());
    let _ = writeln!(text, "  {:<28} {:>12} {:>9} {:>9} {:>9}", "", "whole", "run", "wait", "signal");
    let runs = [
        ("predicted by the cost model", format!("{:.1} us", profile.predicted.makespan), profile.predicted.shares()),
        ("recorded", profile.clock.label(profile.recorded.makespan), profile.recorded.shares()),
    ];
    for (what, whole, Shares { running, waiting, signalling }) in runs {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let (run, wait, signal) = (percent(running), percent(waiting), percent(signalling));
        let _ = writeln!(text, "  {what:<28} {whole:>12} {run:>9} {wait:>9} {signal:>9}");
    }
    let _ = writeln!(text, "  recorded times are {}", profile.clock.words());
    let operators = profile.operators();
    let _ = writeln!(
        text,
        "  {:<10} {:>7} {:>15} {:>15}  of all rTasks of the rOperator together; {} of {}",
        "rOperator",
        "rTasks",
        "predicted, us",
        "recorded",
        operators.len().min(LISTED),
        operators.len()
    );
    for times in operators.iter().take(LISTED) {
        let OperatorTimes { operator, tasks, predicted, recorded } = times;
        let params = &segment.operators[*operator].params;
        let recorded = profile.clock.label(*recorded);
        let name = operator.to_string();
        let _ = writeln!(text, "  {name:<10} {tasks:>7} {predicted:>15.2} {recorded:>15}  {params}");
    }
    text
}

/// A recorded run as JSON.
pub fn value(name: &str, device: Device, profile: &Profile) -> Value {
    let shares =
        |shares: Shares| json!({"running": shares.running, "waiting": shares.waiting, "signalling": shares.signalling});
    let operators: Vec<Value> = profile
        .operators()
        .iter()
        .map(|times| {
            json!({
                "operator": times.operator.to_string(), "tasks": times.tasks,
                "predicted_microseconds": times.predicted, "recorded": times.recorded
            })
        })
        .collect();
    let segment = profile.plan.persistent();
    json!({
        "model": name, "device": device.to_string(), "units": segment.units(), "tasks": segment.tasks(),
        "clock": profile.clock.words(), "recorded": profile.recorded.makespan,
        "predicted_microseconds": profile.predicted.makespan, "recorded_shares": shares(profile.recorded.shares()),
        "predicted_shares": shares(profile.predicted.shares()), "multiprocessors": profile.multiprocessors,
        "operators": operators
    })
}
