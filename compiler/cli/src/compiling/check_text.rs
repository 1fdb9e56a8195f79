//! What `check` says, as text and as JSON.

use std::fmt::Write;

use warpweave::graph::legible::counted;
use warpweave::graph::program::Names;
use warpweave::plan::plan::RTask;
use warpweave::plan::plan::{Instruction, PersistentSegment};
use warpweave::runtime::json::{Value, json};
use warpweave::runtime::session::missing_wait::Corruption;
use warpweave::{Checked, WithoutWait};

use super::check::Shows;

/// Wrong elements of a tile that are listed.
const LISTED: usize = 4;

/// What a device shows of a plan without a wait.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// Which device ran the plan.
    pub by: Shows,
    /// What it shows; nothing where nothing is out of order.
    pub corruption: Option<&'a Corruption>,
}

/// What is proved, as text.
pub fn plan(checked: &Checked) -> String {
    let (plan, evidence) = (checked.plan.plan.plan(), checked.evidence());
    let mut text = String::new();
    let _ = writeln!(
        text,
        "plan for {}: {}, {}, {}, {}, {}",
        checked.target,
        plan.backend(),
        counted(plan.units(), "unit"),
        counted(plan.operators().len(), "rOperator"),
        counted(evidence.tasks, "rTask"),
        counted(plan.launches(), "launch")
    );
    let _ =
        writeln!(text, "  waits    {} and {} polls, all proved to end: 0 deadlocks", evidence.waits, evidence.polls);
    let _ = writeln!(text, "  reads    {} proved to follow their writes: 0 races", evidence.ordered_reads);
    let _ = writeln!(
        text,
        "  memory   pairs of buffers that share bytes, one after the other: {}",
        evidence.ordered_buffers
    );
    text
}

/// What is proved, as JSON.
pub fn plan_value(checked: &Checked) -> Value {
    let (plan, evidence) = (checked.plan.plan.plan(), checked.evidence());
    json!({
        "target": checked.target.to_string(), "backend": plan.backend().to_string(),
        "units": plan.units(), "operators": plan.operators().len(),
        "tasks": evidence.tasks, "waits": evidence.waits, "polls": evidence.polls, "deadlocks": 0, "races": 0,
        "ordered_reads": evidence.ordered_reads, "ordered_buffers": evidence.ordered_buffers
    })
}

/// What a missing wait does, as text.
pub fn without(checked: &Checked, without: &WithoutWait, shown: Shown<'_>, names: &Names) -> String {
    let segment = checked.plan.plan.plan().persistent();
    let (wait, violations) = (without.wait, &without.violations);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "without wait {} of {}, vEU {} at {}: wait {} >= {}",
        without.number,
        checked.evidence().waits,
        wait.unit,
        wait.position,
        wait.counter,
        wait.signals
    );
    let Some(first) = violations.iter().find(|found| found.conflict().is_some()).or(violations.first()) else {
        let _ = writeln!(text, "  verifier proves the plan all the same: what the wait is for is ordered without it");
        return text;
    };
    let _ = writeln!(text, "  verifier refuses the plan, {}, such as:", counted(violations.len(), "violation"));
    let _ = writeln!(text, "    {first}");
    for task in first.conflict().into_iter().flat_map(|(one, other)| [one, other]) {
        let _ = writeln!(text, "      {}", labelled(segment, task, names));
    }
    let Some(corruption) = shown.corruption else { return text };
    let device = match shown.by {
        Shows::Emulator => "emulator",
        Shows::MachineCode => "machine code",
    };
    let _ = writeln!(
        text,
        "  {device} ran {} of {} rTasks, those two and what leads to them; vEU {}, which runs {}, is held back:",
        corruption.tasks,
        segment.tasks(),
        corruption.held_back,
        labelled(segment, corruption.first, names)
    );
    match (shown.by, &corruption.example) {
        (Shows::Emulator, Some(first)) => {
            _ = writeln!(text, "    {}, such as {first}", counted(corruption.violations, "violation"));
        }
        (Shows::Emulator, None) => _ = writeln!(text, "    no violation in this interleaving"),
        (Shows::MachineCode, Some(fault)) => {
            let _ = writeln!(text, "    {fault}");
            return text;
        }
        (Shows::MachineCode, None) => {}
    }
    for tile in &corruption.tiles {
        let _ = writeln!(
            text,
            "    rTask {} on vEU {} writes {} {}: {} of its {} elements are wrong, such as",
            labelled(segment, tile.task, names),
            unit(segment, tile.task),
            tile.tensor,
            tile.ty,
            tile.wrong.len(),
            tile.elements
        );
        for wrong in tile.wrong.iter().take(LISTED) {
            let _ = writeln!(text, "      {:?}: {:e} instead of {:e}", wrong.index, wrong.found, wrong.right);
        }
    }
    if corruption.tiles.is_empty() {
        let _ = writeln!(text, "    all that the two rTasks write is right in this interleaving");
    }
    text
}

/// What a missing wait does, as JSON.
pub fn without_value(checked: &Checked, without: &WithoutWait, shown: Shown<'_>) -> Value {
    let segment = checked.plan.plan.plan().persistent();
    let violations: Vec<Value> = without
        .violations
        .iter()
        .map(|violation| {
            let tasks = violation.conflict().map(|(one, other)| [name(one), name(other)]);
            json!({"message": violation.to_string(), "tasks": tasks})
        })
        .collect();
    let seen = shown.corruption.map(|corruption| {
        let tiles: Vec<Value> = corruption
            .tiles
            .iter()
            .map(|tile| {
                let wrong: Vec<Value> = tile
                    .wrong
                    .iter()
                    .map(|wrong| json!({"index": wrong.index, "found": wrong.found, "right": wrong.right}))
                    .collect();
                json!({
                    "task": name(tile.task), "unit": unit(segment, tile.task), "tensor": tile.tensor.to_string(),
                    "type": tile.ty.to_string(), "elements": tile.elements, "wrong": wrong
                })
            })
            .collect();
        json!({
            "tasks": corruption.tasks, "held_back": corruption.held_back, "first": name(corruption.first),
            "violations": corruption.violations, "example": corruption.example, "tiles": tiles
        })
    });
    let (emulated, executed) = match shown.by {
        Shows::Emulator => (seen, None),
        Shows::MachineCode => (None, seen),
    };
    json!({
        "number": without.number, "unit": without.wait.unit, "position": without.wait.position,
        "counter": without.wait.counter.to_string(), "signals": without.wait.signals,
        "violations": violations, "emulated": emulated, "executed": executed
    })
}

fn name(task: RTask) -> String {
    format!("{}.{}", task.operator, task.tile)
}

/// An rTask with the nodes of the model that it is of.
fn labelled(segment: &PersistentSegment, task: RTask, names: &Names) -> String {
    names.labelled(name(task), &segment.operators[task.operator].origins)
}

/// The unit that runs an rTask of a plan.
fn unit(segment: &PersistentSegment, task: RTask) -> usize {
    let runs = |stream: &Vec<Instruction>| stream.contains(&Instruction::Run(task));
    segment.streams.iter().position(runs).expect("every rTask of a verified plan runs")
}
