//! The order in which a thread runs the rTasks of a step.
//!
//! The steps of a recurrent layer read the same weights, which are more than a core's caches hold. A step that begins where the last one
//! began finds nothing of them there, one that begins where it ended finds what was read last. So the rTasks that multiply a constant
//! go through it forwards and backwards in turn.

use std::collections::{HashMap, HashSet};

use warpweave_graph::program::TensorId;
use warpweave_plan::plan::{BufferSpace, CounterId, ExecutionPlan, Instruction, MemoryPlan, OperatorId, Segment};
use warpweave_plan::streams::polls::Polls;

use super::signals::{awaited_in_part, without_past_waits};

/// A folded plan whose threads go through constants forwards and backwards in turn. Must be verified again.
pub(in crate::host) fn turning(plan: ExecutionPlan) -> ExecutionPlan {
    let ExecutionPlan { mut segments, memory } = plan;
    for segment in &mut segments {
        let Segment::Persistent(segment) = segment else { continue };
        if !Polls::of(segment, &memory).is_empty() {
            continue;
        }
        let of = |operator: OperatorId| largest_constant(&segment.operators[operator].kernel.body().operands, &memory);
        let constants: HashMap<OperatorId, TensorId> =
            segment.operators.ids().filter_map(|operator| Some((operator, of(operator)?))).collect();
        let in_part = awaited_in_part(&segment.streams);
        for stream in &mut segment.streams {
            *stream = without_past_waits(stream);
            turn(stream, &constants, &in_part);
        }
    }
    ExecutionPlan { segments, memory }
}

/// The constant that has most bytes.
fn largest_constant(operands: &[TensorId], memory: &MemoryPlan) -> Option<TensorId> {
    let bytes = |tensor: &TensorId| {
        let buffer = memory.tensors[*tensor].buffer.filter(|buffer| buffer.space == BufferSpace::Weights)?;
        Some((buffer.bytes, *tensor))
    };
    operands.iter().filter_map(bytes).max().map(|(_, tensor)| tensor)
}

/// Turns every other of the groups of rTasks that read the same constant.
fn turn(stream: &mut [Instruction], constants: &HashMap<OperatorId, TensorId>, in_part: &HashSet<CounterId>) {
    let mut is_forwards: HashMap<TensorId, bool> = HashMap::new();
    let mut first = 0;
    while let Some(instruction) = stream.get(first) {
        let Instruction::Run(task) = *instruction else {
            first += 1;
            continue;
        };
        let is_own = |instruction: &Instruction| match *instruction {
            Instruction::Run(other) => other.operator == task.operator,
            Instruction::Signal(_) => true,
            Instruction::Wait { .. } | Instruction::Hold(_) | Instruction::Prefetch(_) => false,
        };
        let length = stream[first..].iter().take_while(|instruction| is_own(instruction)).count();
        let group = &mut stream[first..first + length];
        first += length;
        let Some(constant) = constants.get(&task.operator) else { continue };
        let forwards = is_forwards.entry(*constant).or_insert(false);
        *forwards = !*forwards;
        let is_free =
            group.iter().all(|step| !matches!(step, Instruction::Signal(counter) if in_part.contains(counter)));
        if !*forwards && is_free {
            // A signal is one of every rTask before it.
            let (tasks, signals): (Vec<Instruction>, Vec<Instruction>) =
                group.iter().partition(|step| matches!(step, Instruction::Run(_)));
            let turned: Vec<Instruction> = tasks.into_iter().rev().chain(signals).collect();
            group.copy_from_slice(&turned);
        }
    }
}

#[cfg(test)]
mod tests {
    use warpweave_graph::arena::Id;
    use warpweave_plan::plan::RTask;

    use super::super::instructions::{signal, wait};
    use super::*;

    fn run(operator: usize, tile: u32) -> Instruction {
        Instruction::Run(RTask { operator: OperatorId::from_index(operator), tile })
    }

    #[test]
    fn every_other_step_goes_through_a_constant_backwards() {
        let step = |operator: usize| [run(operator, 0), signal(operator), run(operator, 1), signal(operator)];
        let turned = |operator: usize| [run(operator, 1), run(operator, 0), signal(operator), signal(operator)];
        let constants: HashMap<OperatorId, TensorId> =
            [0, 1, 2].map(|operator| (OperatorId::from_index(operator), TensorId::from_index(7))).into();
        let given = [&step(0)[..], &[wait(0, 2)], &step(1), &step(3), &step(2)].concat();
        let expected = [&step(0)[..], &[wait(0, 2)], &turned(1), &step(3), &step(2)].concat();
        let mut stream = given.clone();
        turn(&mut stream, &constants, &HashSet::new());
        assert_eq!(stream, expected);
        let mut stream = given.clone();
        turn(&mut stream, &constants, &HashSet::from([CounterId::from_index(1)]));
        assert_eq!(stream, given, "something waits for the first of the signals");
    }
}
