//! Which rTasks load constants and states before they wait: the plan's [`Instruction::Prefetch`]s.
//!
//! A contraction begins with a fetch of both factors' first steps. Of a factor that consists of constants nothing has to
//! be waited for, so its fetch stands before the waits of the rTask, which then do nothing but hide it. The same holds of
//! states: what they become has a place of its own.

use warpweave_graph::arena::Arena;
use warpweave_graph::program::TensorId;

use crate::plan::{BufferSpace, Instruction, MemoryPlan, OperatorId, PersistentSegment, ROperator};
use crate::template::contraction::AxisClass;

/// Whether rTasks load constants before they wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prefetching {
    /// Never: an rTask begins when its waits have ended.
    Never,
    /// Where an rTask waits and begins with constants.
    BeforeWaits,
}

/// The sides in the prologue of an rOperator whose memory is planned.
pub fn prologue_sides(operator: &ROperator, memory: &MemoryPlan) -> Vec<AxisClass> {
    let stands_there = |tensor: TensorId| {
        let in_weights = memory.tensors[tensor].buffer.is_some_and(|buffer| buffer.space == BufferSpace::Weights);
        in_weights || memory.is_state(tensor)
    };
    operator.kernel.rules().prefetchable(&operator.kernel, &stands_there)
}

/// Per rOperator, whether its kernel does the waits of its rTasks itself: it has a prologue, and the segment prefetches.
pub fn awaiting(segment: &PersistentSegment, memory: &MemoryPlan) -> Arena<OperatorId, bool> {
    let prefetches = segment.prefetches() > 0;
    segment.operators.values().map(|operator| prefetches && !prologue_sides(operator, memory).is_empty()).collect()
}

/// The streams with a prefetch before the waits of every rTask that waits and has a prologue. What they said of it before
/// does not count.
pub fn with_prefetches(
    streams: Vec<Vec<Instruction>>,
    operators: &Arena<OperatorId, ROperator>,
    memory: &MemoryPlan,
) -> Vec<Vec<Instruction>> {
    let has_prologue: Arena<OperatorId, bool> =
        operators.values().map(|operator| !prologue_sides(operator, memory).is_empty()).collect();
    streams.into_iter().map(|stream| with_own_prefetches(without_own_prefetches(stream), &has_prologue)).collect()
}

/// The streams without any prefetch.
pub fn without_prefetches(streams: Vec<Vec<Instruction>>) -> Vec<Vec<Instruction>> {
    streams.into_iter().map(without_own_prefetches).collect()
}

fn without_own_prefetches(mut stream: Vec<Instruction>) -> Vec<Instruction> {
    stream.retain(|instruction| !matches!(instruction, Instruction::Prefetch(_)));
    stream
}

fn with_own_prefetches(stream: Vec<Instruction>, has_prologue: &Arena<OperatorId, bool>) -> Vec<Instruction> {
    let mut found: Vec<Instruction> = Vec::with_capacity(stream.len() + stream.len() / 4);
    for instruction in stream {
        if let Instruction::Run(task) = instruction
            && has_prologue[task.operator]
        {
            let waits = found.iter().rev().take_while(|instruction| is_wait(instruction)).count();
            if waits > 0 {
                found.insert(found.len() - waits, Instruction::Prefetch(task));
            }
        }
        found.push(instruction);
    }
    found
}

/// The waits with which instructions begin.
pub fn leading_waits(instructions: &[Instruction]) -> usize {
    instructions.iter().take_while(|instruction| is_wait(instruction)).count()
}

fn is_wait(instruction: &Instruction) -> bool {
    matches!(instruction, Instruction::Wait { .. })
}
