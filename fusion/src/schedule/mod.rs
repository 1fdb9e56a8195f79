//! rTasks on virtual execution units: plans, their verification and their tables.

pub mod bands;
pub mod costs;
pub mod dependency;
pub mod edges;
pub mod fold;
pub mod grid;
pub mod keep;
pub mod memory;
pub mod plan;
pub mod polls;
pub mod sentinels;
pub mod simulate;
mod synchronise;
pub mod tables;
pub mod text;
pub mod verify;
pub mod wavefront;

pub use bands::SyncPolicy;
pub use costs::SyncCosts;
pub use memory::ArenaPolicy;
pub use plan::{EdgeKind, ExecutionPlan, Instruction, MemoryPlan, PersistentSegment, ROperator, RTask, Segment};
pub use polls::Polls;
pub use verify::{Verified, Violation, verify};

use std::collections::BTreeSet;

use warpweave_graph::arena::Arena;
use warpweave_graph::program::{TensorId, TensorProgram};
use warpweave_graph::views::Layout;

use crate::partition::cost::KernelCost;
use crate::partition::{Partition, split};
use plan::OperatorId;
use sentinels::Exchanged;
use wavefront::Work;

/// What planning decides by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlanOptions {
    /// Virtual execution units.
    pub units: usize,
    /// How fine dependencies are; the finest of what the simulator estimates fastest if none is given.
    pub sync: Option<SyncPolicy>,
    /// When tensors share bytes.
    pub arena: ArenaPolicy,
    /// What waiting costs.
    pub costs: SyncCosts,
    /// Bytes of shared memory of a unit, in which constants may be kept; 0 where there is none.
    pub shared_bytes: usize,
}

impl PlanOptions {
    /// For this many units: the fastest dependencies, memory reused where that costs no time, nothing kept on chip.
    pub fn new(units: usize) -> Self {
        Self { units, sync: None, arena: ArenaPolicy::Fast, costs: SyncCosts::h200(), shared_bytes: 0 }
    }
}

/// A plan and how it came about.
#[derive(Clone, PartialEq, Debug)]
pub struct Planned {
    /// The plan, not verified.
    pub plan: ExecutionPlan,
    /// How fine its dependencies are.
    pub sync: SyncPolicy,
    /// Pairs of an rTask and a counter that it must come after, before redundant waits are removed.
    pub needs: usize,
    /// Bytes of the arena that are in use at once in the order of the plan: no arena can be smaller.
    pub arena_bound_bytes: u64,
    /// Predicted microseconds.
    pub makespan: f64,
}

/// The share of a plan's time for which it is worth making an arena smaller.
const FREE_SHARE: f64 = 0.01;

/// The plan of a partition for `units` virtual execution units: one persistent segment.
pub fn plan(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    partition: &Partition,
    cost: &impl KernelCost,
    units: usize,
) -> ExecutionPlan {
    plan_with(program, layouts, partition, cost, &PlanOptions::new(units)).plan
}

/// The plan of a partition under these options: one persistent segment. Split groups are two rOperators. Constants that
/// many groups read are kept on chip where there is room and the plan is predicted to be faster so; what their rTasks
/// exchange then carries its own validity where that is predicted to be faster still.
pub fn plan_with(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    partition: &Partition,
    cost: &impl KernelCost,
    options: &PlanOptions,
) -> Planned {
    let plain = plan_groups(program, layouts, partition, cost, options, EdgeKind::Counter);
    let mut best = plain.expect("everything can be exchanged by counters");
    let Some(kept) = keep::keep_constants(program, partition, options.units, options.shared_bytes) else { return best };
    for kind in EdgeKind::ALL {
        let planned = plan_groups(program, layouts, &kept, cost, options, kind);
        best = planned.filter(|planned| planned.makespan < best.makespan).unwrap_or(best);
    }
    best
}

/// The plan in which rTasks exchange by these edges what they can; `None` if that is nothing.
fn plan_groups(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    partition: &Partition,
    cost: &impl KernelCost,
    options: &PlanOptions,
    kind: EdgeKind,
) -> Option<Planned> {
    let (program, layouts, partition) = split::expand(program, layouts, partition);
    let exchanged = match kind {
        EdgeKind::Counter => Exchanged { program, layouts, partition, sentinels: BTreeSet::new() },
        EdgeKind::Sentinel => sentinels::exchange(program, layouts, partition)?,
    };
    let Exchanged { program, layouts, partition, sentinels } = &exchanged;
    let operator = |group: &crate::partition::FusionGroup| ROperator {
        body: group.body.clone(),
        params: group.params.clone(),
        task_microseconds: cost.task_microseconds(&group.body, &group.params),
    };
    let operators: Arena<OperatorId, ROperator> = partition.groups.iter().map(operator).collect();
    let memory = memory::unplaced(program, layouts, sentinels);
    let edges = edges::edges(&operators, &memory);
    let made = |sync: SyncPolicy, arena: ArenaPolicy| {
        plan_under(&PlanOptions { arena, ..*options }, sync, program, &memory, &operators, &edges)
    };
    // Where all units meet, marks tell nothing new.
    let is_useful = |sync: &SyncPolicy| kind == EdgeKind::Counter || *sync != SyncPolicy::Barrier;
    let wanted = SyncPolicy::ALL.into_iter().filter(|sync| options.sync.is_none_or(|wanted| wanted == *sync));
    let candidates = wanted.rev().filter(is_useful).map(|sync| made(sync, options.arena));
    let fastest = candidates.min_by(|a, b| a.makespan.total_cmp(&b.makespan))?;
    Some(match options.arena {
        ArenaPolicy::Small | ArenaPolicy::Separate => fastest,
        ArenaPolicy::Fast => {
            let small = made(fastest.sync, ArenaPolicy::Small);
            let free = small.makespan <= fastest.makespan * (1.0 + FREE_SHARE);
            if free && small.plan.memory.arena_bytes < fastest.plan.memory.arena_bytes { small } else { fastest }
        }
    })
}

fn plan_under(
    options: &PlanOptions,
    sync: SyncPolicy,
    program: &TensorProgram,
    memory: &MemoryPlan,
    operators: &Arena<OperatorId, ROperator>,
    edges: &Arena<OperatorId, Vec<edges::Edge>>,
) -> Planned {
    let (units, costs) = (options.units, &options.costs);
    let bands = bands::Bands::choose(operators, edges, sync, units, costs);
    let homes = keep::Homes::of(operators);
    let work = Work { operators, edges, bands: &bands, homes: &homes };
    let placement = wavefront::place(&work, units, sync, costs);
    let exchange = wavefront::nanoseconds(costs.signal_microseconds() + costs.exchange_microseconds(2));
    let placed = memory::place(memory.clone(), program, operators, &placement, options.arena, exchange);
    let streams = synchronise::synchronise(&work, &placement, &placed.after, units);
    let kept = keep::with_keeps(streams.streams, operators);
    let segment = PersistentSegment { operators: operators.clone(), counters: streams.counters, streams: kept };
    let makespan = simulate::makespan(&segment, &Polls::of(&segment, &placed.memory), costs);
    let plan = ExecutionPlan { segments: vec![Segment::Persistent(segment)], memory: placed.memory };
    Planned { plan, sync, needs: streams.needs, arena_bound_bytes: placed.bound_bytes, makespan }
}
