//! What `profile` says, as text and as JSON.

use std::fmt::Write;

use warpweave::fusion::schedule::simulation::Simulation;
use warpweave::graph::legible::counted;
use warpweave::graph::program::Names;
use warpweave::plan::plan::ROperator;
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::session::Device;
use warpweave_measure::profile::{OperatorTimes, PartTimes, Profile, UnitTime};

/// rOperators that are listed.
const LISTED: usize = 20;

/// A recorded run as text.
pub fn text(name: &str, device: Device, profile: &Profile, names: &Names) -> String {
    let segment = profile.plan.persistent();
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{name} on {device}: {}, {}",
        counted(segment.units(), "unit"),
        counted(segment.tasks(), "rTask")
    );
    let heading = ["run", "wait", "signal", "dispatch", "idle"].map(|name| format!("{name:>9}")).join(" ");
    let _ = writeln!(text, "  {:<28} {:>12} {heading}", "", "whole");
    let recorded = |value: f64| format!("{} {}", profile.clock.number(value), profile.clock.unit());
    let runs = [
        ("predicted by the cost model", format!("{:.2} µs", profile.predicted.makespan), &profile.predicted),
        ("recorded", recorded(profile.recorded.makespan), &profile.recorded),
    ];
    for (what, whole, run) in runs {
        let UnitTime { running, waiting, signalling, dispatching, idle } = UnitTime::of(run);
        let shares = [running, waiting, signalling, dispatching, idle];
        let shares = shares.map(|share| format!("{:>9}", format!("{:.1} %", share * 100.0))).join(" ");
        let _ = writeln!(text, "  {what:<28} {whole:>12} {shares}");
    }
    let _ = writeln!(text, "  recorded times are {}", profile.clock.words());
    let _ = writeln!(text, "  priced for {}", profile.priced_for);
    for (name, part) in profile.templates() {
        let PartTimes { operators, tasks, predicted, recorded: own } = part;
        let own = recorded(own);
        let _ = writeln!(
            text,
            "  {name:<12} {}, {}, {predicted:.2} µs predicted, {own} recorded",
            counted(operators, "rOperator"),
            counted(tasks, "rTask")
        );
    }
    let operators = profile.operators();
    let _ = writeln!(
        text,
        "  {:<10} {:>7} {:>15} {:>15}  of all rTasks of the rOperator together; {} of {}",
        "rOperator",
        "rTasks",
        "predicted, µs",
        format!("recorded, {}", profile.clock.unit()),
        operators.len().min(LISTED),
        operators.len()
    );
    for times in operators.iter().take(LISTED) {
        let OperatorTimes { operator, tasks, predicted, recorded } = times;
        let ROperator { kernel, origins, .. } = &segment.operators[*operator];
        let nodes = names.label(origins);
        let recorded = profile.clock.number(*recorded);
        let name = operator.to_string();
        let _ = writeln!(text, "  {name:<10} {tasks:>7} {predicted:>15.2} {recorded:>15}  {kernel}  {nodes}");
    }
    text
}

/// A recorded run as JSON.
pub fn value(name: &str, device: Device, profile: &Profile, names: &Names) -> Value {
    let shares = |run: &Simulation| {
        let UnitTime { running, waiting, signalling, dispatching, idle } = UnitTime::of(run);
        json!({"running": running, "waiting": waiting, "signalling": signalling, "dispatching": dispatching, "idle": idle})
    };
    let segment = profile.plan.persistent();
    let operator = |times: &OperatorTimes| {
        json!({
            "operator": times.operator.to_string(), "nodes": names.label(&segment.operators[times.operator].origins), "params": segment.operators[times.operator].kernel.params().to_string(),
            "tasks": times.tasks, "predicted_microseconds": times.predicted, "recorded": times.recorded
        })
    };
    let part = |name: String, part: PartTimes| {
        json!({
            "name": name, "operators": part.operators, "tasks": part.tasks,
            "predicted_microseconds": part.predicted, "recorded": part.recorded
        })
    };
    let templates = profile.templates().into_iter().map(|(name, times)| part(name.to_owned(), times));
    let kernels = profile.kernels().into_iter().map(|(number, times)| part(format!("k{number}"), times));
    json!({
        "model": name, "device": device.to_string(), "priced_for": profile.priced_for, "units": segment.units(), "tasks": segment.tasks(),
        "clock": profile.clock.words(), "clock_step": profile.step, "recorded": profile.recorded.makespan,
        "predicted_microseconds": profile.predicted.makespan, "recorded_shares": shares(&profile.recorded),
        "predicted_shares": shares(&profile.predicted), "multiprocessors": profile.multiprocessors,
        "templates": templates.collect::<Vec<Value>>(), "kernels": kernels.collect::<Vec<Value>>(),
        "operators": profile.operators().iter().map(operator).collect::<Vec<Value>>()
    })
}
