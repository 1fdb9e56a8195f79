//! What must hold of segments and of a plan before its order is looked at.

use crate::verify::operators::Operators;
use std::collections::BTreeSet;

use warpweave_graph::arena::Arena;
use warpweave_graph::expr::{Atom, AxisId, Index};
use warpweave_graph::program::TensorId;

use crate::plan::{
    BUFFER_ALIGNMENT, BufferSpace, CounterId, EdgeKind, Instruction, MemoryPlan, OperatorId, PersistentSegment, RTask,
    TAGS,
};
use crate::region::Region;
use crate::streams::prefetch::{leading_waits, prologue_sides};
use crate::streams::residency::resident_numbers;
use crate::template::weight_stationary::reads::resident_reads;
use crate::verify::indices;
use crate::verify::violation::Violation;

pub(super) fn check_tiles(operators: &Operators) -> Vec<Violation> {
    let tiles = operators.iter().filter(|(_, operator)| !operator.kernel.has_tile());
    tiles.map(|(id, _)| Violation::Tile(id)).collect()
}

/// Violations of what only a persistent segment has, but for order.
pub(super) fn check(segment: &PersistentSegment, memory: &MemoryPlan) -> Vec<Violation> {
    let mut violations = Vec::new();
    check_streams(segment, &mut violations);
    check_residents(segment, memory, &mut violations);
    check_prefetches(segment, memory, &mut violations);
    violations
}

/// Violations of outputs and memory in the rOperators of a whole plan.
pub(super) fn check_whole(operators: &Operators, memory: &MemoryPlan) -> Vec<Violation> {
    let mut violations = Vec::new();
    check_outputs(operators, memory, &mut violations);
    check_memory(operators, memory, &mut violations);
    check_tagged(operators, memory, &mut violations);
    indices::check(operators, memory, &mut violations);
    violations
}

fn check_streams(segment: &PersistentSegment, violations: &mut Vec<Violation>) {
    let mut runs: Arena<OperatorId, Vec<usize>> =
        segment.operators.values().map(|operator| vec![0; operator.tasks() as usize]).collect();
    let mut signals: Arena<CounterId, u32> = segment.counters.values().map(|_| 0).collect();
    let mut signallers: Arena<CounterId, BTreeSet<usize>> =
        segment.counters.values().map(|_| BTreeSet::new()).collect();
    for (unit, stream) in segment.streams.iter().enumerate() {
        for (position, instruction) in stream.iter().enumerate() {
            let known = match *instruction {
                Instruction::Run(task) => {
                    let count = segment.operators.get(task.operator).is_some().then(|| &mut runs[task.operator]);
                    count.and_then(|counts| counts.get_mut(task.tile as usize)).map(|count| *count += 1).is_some()
                }
                Instruction::Hold(task) => {
                    let operator = segment.operators.get(task.operator);
                    operator.is_some_and(|operator| {
                        operator.kernel.rules().holds_residents() && task.tile < operator.tasks()
                    })
                }
                Instruction::Prefetch(task) => {
                    let operator = segment.operators.get(task.operator);
                    operator.is_some_and(|operator| task.tile < operator.tasks())
                }
                Instruction::Wait { counter, .. } => segment.counters.get(counter).is_some(),
                Instruction::Signal(counter) => {
                    let known = segment.counters.get(counter).is_some();
                    if known {
                        signals[counter] += 1;
                        signallers[counter].insert(unit);
                    }
                    known
                }
            };
            if !known {
                violations.push(Violation::Unknown { unit, position });
            }
        }
    }
    for (operator, counts) in runs.iter() {
        for (tile, &runs) in counts.iter().enumerate().filter(|(_, runs)| **runs != 1) {
            violations.push(Violation::TaskCount { task: RTask { operator, tile: tile as u32 }, runs });
        }
    }
    for (counter, declared) in segment.counters.iter() {
        let (declared, found) = (declared.arrivals, signals[counter]);
        if declared != found {
            violations.push(Violation::Arrivals { counter, declared, found });
        }
    }
    check_waits(segment, &signallers, violations);
}

/// Every rTask that expects constants on chip finds its own there: they are what its unit brought last. Only constants stay
/// the same for as long as they are kept.
fn check_residents(segment: &PersistentSegment, memory: &MemoryPlan, violations: &mut Vec<Violation>) {
    let numbers = resident_numbers(&segment.operators);
    for (id, operator) in segment.operators.iter().filter(|(id, _)| numbers[*id].is_some()) {
        for kept in resident_reads(operator.kernel.body()) {
            let tensor = operator.kernel.body().operands[kept.operand];
            let in_weights = memory.tensors[tensor].buffer.is_some_and(|buffer| buffer.space == BufferSpace::Weights);
            if !in_weights {
                violations.push(Violation::ResidentVariable { operator: id, tensor });
            }
        }
    }
    let number = |task: RTask| numbers.get(task.operator).copied().flatten().map(|number| (number, task.tile));
    for (unit, stream) in segment.streams.iter().enumerate() {
        let mut held = None;
        for instruction in stream {
            match *instruction {
                Instruction::Hold(task) => held = number(task),
                Instruction::Run(task) => {
                    if number(task).is_some_and(|wanted| held != Some(wanted)) {
                        violations.push(Violation::NotResident { task, unit });
                    }
                }
                Instruction::Prefetch(_) | Instruction::Wait { .. } | Instruction::Signal(_) => {}
            }
        }
    }
}

/// What is loaded before an rTask's waits are constants that its kernel begins with, and it runs right after them.
fn check_prefetches(segment: &PersistentSegment, memory: &MemoryPlan, violations: &mut Vec<Violation>) {
    let has_prologue: Arena<OperatorId, bool> =
        segment.operators.values().map(|operator| !prologue_sides(operator, memory).is_empty()).collect();
    for (unit, stream) in segment.streams.iter().enumerate() {
        for (position, instruction) in stream.iter().enumerate() {
            let Instruction::Prefetch(task) = *instruction else { continue };
            if has_prologue.get(task.operator) == Some(&false) {
                violations.push(Violation::PrefetchesVariable(task.operator));
            }
            let after = &stream[position + 1..];
            let waits = leading_waits(after);
            if after.get(waits) != Some(&Instruction::Run(task)) {
                violations.push(Violation::StrayPrefetch { unit, position });
            }
        }
    }
}

fn check_waits(
    segment: &PersistentSegment,
    signallers: &Arena<CounterId, BTreeSet<usize>>,
    violations: &mut Vec<Violation>,
) {
    for (unit, stream) in segment.streams.iter().enumerate() {
        for (position, instruction) in stream.iter().enumerate() {
            let Instruction::Wait { counter, signals } = *instruction else { continue };
            let Some(declared) = segment.counters.get(counter) else { continue };
            if signals < declared.arrivals && signallers[counter].len() > 1 {
                violations.push(Violation::AmbiguousWait { unit, position });
            }
        }
    }
}

fn check_outputs(operators: &Operators, memory: &MemoryPlan, violations: &mut Vec<Violation>) {
    let mut written: Vec<(TensorId, Region)> = Vec::new();
    for (id, operator) in operators.iter() {
        for (stage, output) in operator
            .kernel
            .body()
            .stages
            .iter()
            .enumerate()
            .filter_map(|(at, stage)| Some((at, stage.output.as_ref()?)))
        {
            let tensor = operator.kernel.body().outputs[output.position];
            let expr = &operator.kernel.body().stages[stage].expr;
            let extent = |axis: AxisId| expr.axes[axis].extent as i64;
            let shape = &memory.tensors[tensor].ty.shape;
            let linear = Index::linear(&output.index, &shape.strides(), 0);
            let parallel: Vec<AxisId> = expr.parallel().collect();
            if !shape.contains(&0) && !visits_each_once(&linear, &parallel, &extent, shape.elements() as i64) {
                violations.push(Violation::Output { operator: id, stage });
            }
            let region = Region::whole(memory, tensor);
            let double = written.iter().filter(|(_, other)| other.overlaps(&region));
            violations.extend(double.map(|(other, _)| Violation::DoubleWrite(*other, tensor)));
            written.push((tensor, region));
        }
    }
}

/// Whether a linear index is a mixed-radix number of exactly these axes with this many values.
fn visits_each_once(linear: &Index, axes: &[AxisId], extent: &impl Fn(AxisId) -> i64, elements: i64) -> bool {
    let mut digits: Vec<(i64, AxisId)> = Vec::new();
    for (atom, coefficient) in linear.terms() {
        match atom {
            Atom::Axis(axis) => digits.push((*coefficient, *axis)),
            Atom::FloorDiv(..) | Atom::Mod(..) | Atom::Clamp(..) | Atom::Indirect(_) => return false,
        }
    }
    digits.sort();
    let mut radix = 1;
    for &(coefficient, axis) in &digits {
        if coefficient != radix || !axes.contains(&axis) {
            return false;
        }
        radix *= extent(axis);
    }
    let idle = axes.iter().filter(|axis| digits.iter().all(|(_, digit)| digit != *axis));
    linear.offset() == 0 && radix == elements && idle.map(|&axis| extent(axis)).all(|extent| extent == 1)
}

fn check_memory(operators: &Operators, memory: &MemoryPlan, violations: &mut Vec<Violation>) {
    let mut used: BTreeSet<TensorId> = memory.live_in().chain(memory.live_out()).collect();
    for operator in operators.values() {
        used.extend(operator.kernel.body().operands.iter().chain(&operator.kernel.body().outputs));
    }
    for &tensor in &used {
        let planned = &memory.tensors[tensor];
        let limit = |space: BufferSpace| match space {
            BufferSpace::Arena => memory.arena_bytes,
            BufferSpace::Weights => memory.weights_bytes,
        };
        let root = &memory.tensors[planned.layout.root];
        let proper = planned.buffer.is_some_and(|buffer| {
            let same = root.buffer == Some(buffer) && buffer.bytes == root.bytes();
            let aligned = buffer.offset.is_multiple_of(BUFFER_ALIGNMENT);
            same && aligned && buffer.offset.checked_add(buffer.bytes).is_some_and(|end| end <= limit(buffer.space))
        });
        if !proper || !lies_within(memory, tensor) {
            violations.push(Violation::Buffer(tensor));
        }
    }
    for operator in operators.values() {
        for &output in &operator.kernel.body().outputs {
            let in_weights = memory.tensors[output].buffer.is_some_and(|buffer| buffer.space == BufferSpace::Weights);
            if in_weights || memory.is_live_in(memory.tensors[output].layout.root) {
                violations.push(Violation::WritesConstant(output));
            }
        }
    }
}

/// TaggedValues are single-precision tensors of their own in the arena which the host does not touch, and kernels of all
/// rOperators that use them can tag and poll.
fn check_tagged(operators: &Operators, memory: &MemoryPlan, violations: &mut Vec<Violation>) {
    let is_tagged = |tensor: TensorId| memory.tensors[memory.tensors[tensor].layout.root].edge == EdgeKind::Tagged;
    let mut used: BTreeSet<TensorId> = memory.live_in().chain(memory.live_out()).collect();
    for (id, operator) in operators.iter() {
        let (body, rules) = (operator.kernel.body(), operator.kernel.rules());
        used.extend(body.operands.iter().chain(&body.outputs));
        let tags = body.outputs.iter().filter(|_| !rules.can_tag());
        let polls = body.operands.iter().enumerate().filter(|(position, _)| !rules.can_poll(body, *position));
        let unable = tags.chain(polls.map(|(_, tensor)| tensor)).copied().filter(|tensor| is_tagged(*tensor));
        violations.extend(unable.map(|tensor| Violation::CannotExchange { operator: id, tensor }));
    }
    for &tensor in &used {
        let planned = &memory.tensors[tensor];
        if !is_tagged(tensor) && planned.edge == EdgeKind::Counter {
            continue;
        }
        let same = planned.edge == EdgeKind::Tagged && planned.layout.is_own(tensor, &planned.ty);
        let in_arena = planned.buffer.is_none_or(|buffer| buffer.space == BufferSpace::Arena);
        let by_host = memory.live_in().chain(memory.live_out()).any(|live| live == tensor);
        if !same || !in_arena || by_host || !planned.ty.element.is_single() || planned.tag >= TAGS {
            violations.push(Violation::Tagged(tensor));
        }
    }
}

/// Whether a tensor's box lies within its root.
fn lies_within(memory: &MemoryPlan, tensor: TensorId) -> bool {
    let layout = &memory.tensors[tensor].layout;
    let root = &memory.tensors[layout.root];
    let contiguous = layout.strides == root.ty.shape.strides() && layout.strides.len() == root.ty.shape.len();
    contiguous && {
        let region = Region::whole(memory, tensor);
        region.ranges.iter().zip(root.ty.shape.iter()).all(|(range, &extent)| range.within(0, extent as i64))
    }
}
