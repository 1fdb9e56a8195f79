//! A run as a trace that Chrome and Perfetto show.

use std::fmt::Write;

use warpweave_fusion::schedule::simulation::Simulation;
use warpweave_graph::arena::Arena;
use warpweave_graph::program::Names;
use warpweave_plan::plan::Instruction;
use warpweave_plan::plan::{OperatorId, ROperator};
use warpweave_runtime::json::{Value, json};

use super::clock::Clock;

/// How every trace begins.
pub const TRACE_BEGINNING: &str =
    "{\"otherData\":{\"producer\":\"warpweave\"},\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";

/// The trace as JSON text: a process for the device, a thread a unit, an event an rTask, poll, wait or signal. The name of an
/// rTask is `operator.tile`, the same in every run of a plan; the name of the process says what its times are.
pub fn trace(operators: &Arena<OperatorId, ROperator>, names: &Names, simulation: &Simulation, clock: Clock) -> String {
    let mut text = TRACE_BEGINNING.to_owned();
    let name = json!({"ph": "M", "pid": 0, "name": "process_name", "args": {"name": clock.words()}});
    let _ = writeln!(text, "{name},");
    for unit in 0..simulation.units.len() {
        let name = json!({
            "ph": "M", "pid": 0, "tid": unit, "name": "thread_name", "args": {"name": format!("vEU {unit}")}
        });
        let _ = writeln!(text, "{name},");
    }
    for (unit, events) in simulation.units.iter().enumerate() {
        for event in events {
            let (name, category, detail) = describe(operators, event.instruction);
            let begun = event.start + event.polled;
            let mut write = |name: &str, category: &str, (start, end): (f64, f64), about: &Value| {
                let event = json!({
                    "ph": "X", "pid": 0, "tid": unit, "name": name, "cat": category, "ts": start, "dur": end - start, "args": about
                });
                let _ = writeln!(text, "{event},");
            };
            let nodes = event.instruction.task().map(|task| names.label(&operators[task.operator].origins));
            let about = match nodes.filter(|nodes| !nodes.is_empty()) {
                Some(nodes) => json!({"what": detail, "nodes": nodes}),
                None => json!({"what": detail}),
            };
            if event.polled > 0.0 {
                write(&format!("poll {name}"), "poll", (event.start, begun), &about);
            }
            write(&name, category, (begun, event.end), &about);
        }
    }
    let end = json!({"ph": "i", "pid": 0, "tid": 0, "s": "g", "name": "end", "ts": simulation.makespan});
    let _ = write!(text, "{end}\n]}}\n");
    text
}

fn describe(operators: &Arena<OperatorId, ROperator>, instruction: Instruction) -> (String, &'static str, String) {
    match instruction {
        Instruction::Run(task) => {
            let params = operators[task.operator].kernel.params().to_string();
            (format!("{}.{}", task.operator, task.tile), "run", params)
        }
        Instruction::Hold(task) => (format!("hold {}.{}", task.operator, task.tile), "hold", String::new()),
        Instruction::Prefetch(task) => (format!("prefetch {}.{}", task.operator, task.tile), "prefetch", String::new()),
        Instruction::Wait { counter, signals } => (format!("wait {counter}"), "wait", format!("{signals} signals")),
        Instruction::Signal(counter) => (format!("signal {counter}"), "signal", String::new()),
    }
}
