//! A record as tables in Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::findings::{Comparison, Findings, Measurement, Outcome, PartTime, PeerTime, SINGLE, UnitShares};
use super::table::Table;
use super::verdict::verdict;
use super::{Lab, Status, Step};
use warpweave::svg::scale::time;

const NONE: &str = "–";

/// The tables of a record.
pub fn markdown(lab: &Lab) -> String {
    let mut text = String::new();
    head(lab, &mut text);
    unfinished(lab, &mut text);
    checks(lab, &mut text);
    litmus(lab, &mut text);
    comparisons(lab, &mut text);
    cycles(lab, &mut text);
    measurements(lab, &mut text);
    profiles(lab, &mut text);
    tuning(lab, &mut text);
    counters(lab, &mut text);
    failures(lab, &mut text);
    text.push_str(&super::verdict::markdown(&verdict(lab)));
    text
}

fn head(lab: &Lab, text: &mut String) {
    let [ran, failed, skipped] = lab.counts();
    let reduced = if lab.options.reduced { ", few and reduced models" } else { "" };
    let _ = writeln!(text, "# Lab of {}{reduced}\n", lab.options.devices.join(", "));
    if let Some(fault) = &lab.options.dry {
        let _ = writeln!(text, "**DRY RUN: a stand-in driver answered; no time here is a GPU's** (fault: {fault})\n");
    }
    let seconds = (lab.seconds, lab.options.budget_seconds);
    let _ = writeln!(text, "{}, begun {}, {:.0} s of {:.0} s.", lab.binary.version, lab.began, seconds.0, seconds.1);
    let _ = writeln!(text, "{ran} steps ran, {failed} failed, {skipped} were skipped.");
    if !lab.left_out.is_empty() {
        let _ = writeln!(text, "Left out, for their size: {}.", lab.left_out.join("; "));
    }
    let mut priced: Vec<&str> = lab.steps.iter().filter_map(|step| priced_for(step.findings.as_ref()?)).collect();
    priced.sort_unstable();
    priced.dedup();
    if !priced.is_empty() {
        let _ = writeln!(text, "Predictions are by the constants of {}.", priced.join(", "));
    }
    for findings in lab.steps.iter().filter_map(|step| step.findings.as_ref()) {
        let Findings::Doctor { driver, nvrtc, linker, gpus, threads, .. } = findings else { continue };
        let named = |name: &str, version: &Option<String>| match version {
            Some(version) => format!("{name} {version}"),
            None => format!("no {name}"),
        };
        let (driver, nvrtc) = (named("CUDA driver", driver), named("NVRTC", nvrtc));
        let linker = linker.as_ref().map(|version| format!(", nvJitLink {version}")).unwrap_or_default();
        let _ = writeln!(text, "{driver}, {nvrtc}{linker}, {threads} threads of the processor.");
        for gpu in gpus {
            let (name, capability, multiprocessors) = (&gpu.name, &gpu.compute_capability, gpu.multiprocessors);
            let _ = writeln!(text, "{name}: compute capability {capability}, {multiprocessors} multiprocessors.");
        }
    }
}

/// The device whose constants a prediction is by.
fn priced_for(findings: &Findings) -> Option<&str> {
    match findings {
        Findings::Measurement(Measurement { priced_for, .. }) | Findings::Profile { priced_for, .. } => {
            priced_for.as_deref()
        }
        Findings::Doctor { .. }
        | Findings::Checks { .. }
        | Findings::Litmus { .. }
        | Findings::Comparisons { .. }
        | Findings::Microbench { .. }
        | Findings::Counters { .. }
        | Findings::Calibration { .. }
        | Findings::Peers { .. }
        | Findings::Tuning { .. } => None,
    }
}

fn unfinished(lab: &Lab, text: &mut String) {
    let mut table = Table::new(&["step", "status", "reason"], &["s"]);
    for Step { name, status, seconds, .. } in &lab.steps {
        let (status, reason) = match status {
            Status::Ran => continue,
            Status::Failed { reason, .. } => ("failed", reason),
            Status::Skipped { reason } => ("skipped", reason),
        };
        table.row(vec![name.clone(), status.to_owned(), reason.clone(), format!("{seconds:.1}")]);
    }
    table.write("Not done", text);
}

fn checks(lab: &Lab, text: &mut String) {
    let mut table = Table::new(&["check", "device", "passed", "seen"], &[]);
    for findings in lab.steps.iter().filter_map(|step| step.findings.as_ref()) {
        let Findings::Checks { checks } = findings else { continue };
        for check in checks {
            let detail = check.detail.clone().unwrap_or_default();
            table.row(vec![check.name.clone(), check.device.clone(), yes(check.passed).to_owned(), detail]);
        }
    }
    table.write("Checks", text);
}

fn litmus(lab: &Lab, text: &mut String) {
    let mut table = Table::new(&["program", "passed", "outcomes"], &["rounds"]);
    for findings in lab.steps.iter().filter_map(|step| step.findings.as_ref()) {
        let Findings::Litmus { tests } = findings else { continue };
        for test in tests {
            let outcomes = test.outcomes.iter().map(|(outcome, count)| format!("{outcome}: {count}"));
            let outcomes = outcomes.collect::<Vec<String>>().join(", ");
            table.row(vec![test.name.clone(), yes(test.passed).to_owned(), outcomes, test.rounds.to_string()]);
        }
    }
    table.write("Memory system", text);
}

fn yes(passed: bool) -> &'static str {
    if passed { "yes" } else { "NO" }
}

/// A row a model, a column a device and back end.
fn comparisons(lab: &Lab, text: &mut String) {
    let mut columns: Vec<String> = Vec::new();
    let mut rows: BTreeMap<&str, BTreeMap<usize, &Comparison>> = BTreeMap::new();
    for findings in lab.steps.iter().filter_map(|step| step.findings.as_ref()) {
        let Findings::Comparisons { device, backend, comparisons } = findings else { continue };
        let column = on(device, backend.as_deref());
        for comparison in comparisons {
            rows.entry(&comparison.model).or_default().insert(columns.len(), comparison);
        }
        columns.push(column);
    }
    let words: Vec<&str> = ["model"].into_iter().chain(columns.iter().map(String::as_str)).collect();
    let mut table = Table::new(&words, &[]);
    for (model, found) in rows {
        let cells = (0..columns.len()).map(|column| found.get(&column).map_or(NONE.to_owned(), |found| outcome(found)));
        table.row([model.to_owned()].into_iter().chain(cells).collect());
    }
    table.write("Outputs beside stored ones, with the largest relative error", text);
}

fn outcome(comparison: &Comparison) -> String {
    let word = match comparison.outcome {
        Outcome::Agree => "agree",
        Outcome::Differ => "DIFFER",
        Outcome::DeviceFault => "DEVICE FAULT",
        Outcome::TimeOut => "TIME-OUT",
        Outcome::Crash => "CRASH",
        Outcome::Refused => "REFUSED",
        Outcome::Missing => return "missing".to_owned(),
    };
    let error = comparison.worst_relative.map(|error| format!(" {error:.0e}")).unwrap_or_default();
    let case = comparison.case.as_ref().map(|case| format!(", kept as {case}")).unwrap_or_default();
    format!("{word}{error}{case}")
}

fn on(device: &str, backend: Option<&str>) -> String {
    backend.map_or(device.to_owned(), |backend| format!("{device} {backend}"))
}

fn cycles(lab: &Lab, text: &mut String) {
    let mut loops = Table::new(&["loop", "per"], &["cycles", "predicted", "measured / predicted"]);
    let mut exchanges = Table::new(&["exchange"], &["units", "µs", "predicted"]);
    let mut fetched = Table::new(&["code"], &["KB", "kernels", "cycles an instruction"]);
    let mut constants = Table::new(&["constant"], &["before", "measured"]);
    for findings in lab.steps.iter().filter_map(|step| step.findings.as_ref()) {
        if let Findings::Microbench { loops: found, edges, code } = findings {
            for one in found {
                let numbers = [Some(one.cycles), one.predicted_cycles].map(|cycles| number(cycles, 1));
                let ratio = ratio(one.cycles, one.predicted_cycles);
                loops.row([one.name.clone(), one.per.clone()].into_iter().chain(numbers).chain([ratio]).collect());
            }
            for edge in edges {
                let units = edge.units.map_or(NONE.to_owned(), |units| units.to_string());
                let times = [Some(edge.microseconds), edge.predicted_microseconds].map(|time| number(time, 3));
                exchanges.row([edge.edge.words().to_owned(), units].into_iter().chain(times).collect());
            }
            for one in code {
                let kernels = one.kernels.map_or(NONE.to_owned(), |kernels| kernels.to_string());
                let numbers = [number(Some(one.kilobytes), 1), kernels, number(Some(one.cycles_per_instruction), 2)];
                fetched.row([one.kind.words().to_owned()].into_iter().chain(numbers).collect());
            }
        }
        if let Findings::Calibration { constants: found } = findings {
            for constant in found {
                let now = constant.now.map_or("not measured".to_owned(), |now| format!("{now:.4e}"));
                constants.row(vec![constant.constant.clone(), format!("{:.4e}", constant.before), now]);
            }
        }
    }
    loops.write("Cycles", text);
    exchanges.write("Exchanges", text);
    fetched.write("Instruction fetch", text);
    constants.write("Constants", text);
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or(NONE.to_owned(), |value| format!("{value:.decimals$}"))
}

fn ratio(measured: f64, predicted: Option<f64>) -> String {
    let ratio = predicted.filter(|predicted| *predicted > 0.0).map(|predicted| measured / predicted);
    number(ratio, 2)
}

fn measurements(lab: &Lab, text: &mut String) {
    let findings = || lab.steps.iter().filter_map(|step| step.findings.as_ref());
    let peers: Vec<&PeerTime> = findings()
        .filter_map(|findings| if let Findings::Peers { peers } = findings { Some(peers) } else { None })
        .flatten()
        .collect();
    let numbers = [
        "predicted",
        "measured",
        "measured / predicted",
        "CV",
        "launches",
        "other bits",
        "first launch",
        "best peer",
        "times as fast",
    ];
    let mut table = Table::new(&["model", "on"], &numbers);
    for findings in findings() {
        if let Findings::Measurement(found) = findings {
            table.row(measured(found, &peers));
        }
    }
    table.write("Models: times, and launches with outputs filled with NaN before each", text);
    let mut table = Table::new(&["model", "program", "mode", "precision"], &["ms"]);
    for peer in peers {
        let words = [&peer.model, &peer.peer, &peer.mode, &peer.precision].map(String::clone);
        table.row(words.into_iter().chain([number(peer.median_ms, 4)]).collect());
    }
    table.write("Other programs in the same run", text);
}

fn measured(found: &Measurement, peers: &[&PeerTime]) -> Vec<String> {
    let Measurement { model, device, backend, predicted_seconds, median_seconds, .. } = found;
    let soak = found.soak.as_ref();
    let excess = soak.map(|soak| match (&soak.against, soak.excess) {
        (None, _) => NONE.to_owned(),
        (Some(other), Some(excess)) if excess <= 1.0 => format!("agrees with {other}"),
        (Some(other), Some(excess)) => format!("DIFFERS from {other} {excess:.1}×"),
        (Some(other), None) => format!("DIFFERS from {other}"),
    });
    let is_like = |peer: &&&PeerTime| peer.model == *model && peer.precision == SINGLE;
    let of_model = peers.iter().filter(is_like).filter_map(|peer| peer.median_ms);
    let best = of_model.min_by(f64::total_cmp).map(|milliseconds| milliseconds * 1e-3);
    // Only a device's own time compares with replays of a graph.
    let speed = best.filter(|_| found.is_device_time).map(|best| best / median_seconds);
    let seconds = |seconds: Option<f64>| seconds.map_or(NONE.to_owned(), time);
    vec![
        model.clone(),
        on(device, backend.as_deref()),
        seconds(*predicted_seconds),
        seconds(Some(*median_seconds)),
        ratio(*median_seconds, *predicted_seconds),
        format!("{:.1} %", found.coefficient_of_variation * 100.0),
        soak.map_or(NONE.to_owned(), |soak| soak.launches.to_string()),
        soak.map_or(NONE.to_owned(), |soak| soak.different.to_string()),
        excess.unwrap_or(NONE.to_owned()),
        seconds(best),
        number(speed, 2),
    ]
}

fn profiles(lab: &Lab, text: &mut String) {
    let shares = ["run", "wait", "signal", "dispatch", "idle"];
    let mut whole = Table::new(&["model", "on", "what", "whole"], &shares);
    let mut parts =
        Table::new(&["model", "on", "part"], &["rTasks", "predicted, µs", "recorded", "recorded / predicted"]);
    for findings in lab.steps.iter().filter_map(|step| step.findings.as_ref()) {
        let Findings::Profile { model, device, predicted_microseconds, recorded, .. } = findings else { continue };
        let Findings::Profile { clock, predicted_shares, recorded_shares, templates, kernels, .. } = findings else {
            continue;
        };
        let is_time = clock == "measured";
        let unit = if is_time { "µs" } else { "steps" };
        let runs = [
            ("predicted", format!("{predicted_microseconds:.1} µs"), predicted_shares),
            ("recorded", format!("{recorded:.1} {unit}"), recorded_shares),
        ];
        for (what, time, shares) in runs {
            let cells = [model.clone(), device.clone(), what.to_owned(), time];
            whole.row(cells.into_iter().chain(percents(shares)).collect());
        }
        for part in templates.iter().chain(kernels) {
            let PartTime { name, tasks, predicted_microseconds, recorded } = part;
            let ratio = if is_time { ratio(*recorded, Some(*predicted_microseconds)) } else { NONE.to_owned() };
            let numbers = [tasks.to_string(), format!("{predicted_microseconds:.2}"), format!("{recorded:.2} {unit}")];
            let cells = [model.clone(), device.clone(), name.clone()].into_iter();
            parts.row(cells.chain(numbers).chain([ratio]).collect());
        }
    }
    whole.write("What units do with their time", text);
    parts.write("Templates and kernels: all of their rTasks together", text);
}

fn percents(shares: &UnitShares) -> [String; 5] {
    let UnitShares { running, waiting, signalling, dispatching, idle } = *shares;
    [running, waiting, signalling, dispatching, idle].map(|share| format!("{:.1} %", share * 100.0))
}

fn tuning(lab: &Lab, text: &mut String) {
    let mut table = Table::new(&["model"], &["kernels recorded", "refused", "groups left"]);
    for findings in lab.steps.iter().filter_map(|step| step.findings.as_ref()) {
        if let Findings::Tuning { model, recorded, left, refused } = findings {
            table.row(vec![model.clone(), recorded.to_string(), refused.to_string(), left.to_string()]);
        }
    }
    table.write("Kernels measured", text);
}

fn counters(lab: &Lab, text: &mut String) {
    let mut table =
        Table::new(&["model", "on", "kernel"], &["stalls for want of instructions", "cycles an instruction"]);
    for findings in lab.steps.iter().filter_map(|step| step.findings.as_ref()) {
        let Findings::Counters { model, device, backend, kernels } = findings else { continue };
        for kernel in kernels {
            let words = [model.clone(), on(device, Some(backend)), kernel.name.clone()];
            let share = format!("{:.1} %", kernel.no_instruction * 100.0);
            let numbers = [share, number(kernel.cycles_per_instruction, 1)];
            table.row(words.into_iter().chain(numbers).collect());
        }
    }
    table.write("What warps wait for", text);
}

fn failures(lab: &Lab, text: &mut String) {
    for step in &lab.steps {
        let Status::Failed { command, exit_code, tail, .. } = &step.status else { continue };
        let ended = exit_code.map_or("was stopped".to_owned(), |code| format!("ended with {code}"));
        let _ = writeln!(text, "\n## {}: `{}` {ended}\n", step.name, command.join(" ").replace('`', "'"));
        tail.lines().for_each(|line| _ = writeln!(text, "    {line}"));
    }
}
