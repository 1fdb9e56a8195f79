//! rTasks on virtual execution units: plans, their verification and their tables.

pub mod dependency;
pub mod fold;
pub mod memory;
pub mod plan;
pub mod reach;
pub mod tables;
pub mod verify;
pub mod wavefront;

pub use plan::{ExecutionPlan, Instruction, MemoryPlan, PersistentSegment, ROperator, RTask, Segment};
pub use verify::{Verified, Violation, verify};

use warpweave_graph::arena::Arena;
use warpweave_graph::program::{TensorId, TensorProgram};
use warpweave_graph::views::Layout;

use crate::partition::cost::KernelCost;
use crate::partition::{Partition, split};

/// The plan of a partition for `units` virtual execution units: one persistent segment. Split groups are two rOperators.
pub fn plan(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    partition: &Partition,
    cost: &impl KernelCost,
    units: usize,
) -> ExecutionPlan {
    let (program, layouts, partition) = split::expand(program, layouts, partition);
    let (program, layouts) = (&program, &layouts);
    let operator = |group: &crate::partition::FusionGroup| ROperator {
        body: group.body.clone(),
        params: group.params.clone(),
        task_microseconds: cost.task_microseconds(&group.body, &group.params),
    };
    let operators: Arena<plan::OperatorId, ROperator> = partition.groups.iter().map(operator).collect();
    let memory = memory::unplaced(program, layouts);
    let producers = dependency::operator_graph(&operators, &memory);
    let ancestors = reach::ancestors(&producers);
    let memory = memory::place(memory, program, &operators, &ancestors);
    let segment = wavefront::schedule(operators, &producers, &ancestors, units);
    ExecutionPlan { segments: vec![Segment::Persistent(segment)], memory }
}
