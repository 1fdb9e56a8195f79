//! Plans of kernel nodes: a kernel a group, one after another, each the one that is fastest on the whole device.

use std::collections::BTreeSet;

use warpweave_graph::arena::Arena;

use crate::partition::search::Partition;
use crate::partition::split;
use crate::schedule::choice::parts::{PlanProblem, Whole};
use crate::schedule::choice::variants::{Variant, Variants};
use crate::schedule::memory;
use crate::schedule::memory::ArenaPolicy;
use crate::schedule::options::{PlanOptions, Planned};
use crate::schedule::placement::{Placement, Step, Time, nanoseconds};
use crate::schedule::policy::SyncPolicy;
use crate::schedule::simulation::Jitter;
use crate::schedule::simulation::graph::simulate_graph;
use warpweave_plan::plan::backend::BackendReason;
use warpweave_plan::plan::{EdgeKind, ExecutionPlan, Segment};
use warpweave_plan::plan::{GraphSegment, KernelNode, OperatorId, ROperator, RTask};

/// The plan of a partition as a graph. Its nodes stand in the order of the
/// groups; bytes are reused along it, which takes no waits.
pub(crate) fn plan(problem: &PlanProblem<'_>, partition: &Partition, (variants, _): &Variants) -> Whole {
    let PlanProblem { program, layouts, options } = *problem;
    let partition = fastest_alone(partition, variants, options);
    let split::Expanded { program, layouts, partition, origins, .. } =
        split::expand(program, layouts, &partition, EdgeKind::Counter);
    let operators: Arena<OperatorId, ROperator> =
        crate::schedule::choice::price::price(&partition.groups, problem.cost(), |_| false).into_iter().collect();
    let arena = match options.arena {
        ArenaPolicy::Small | ArenaPolicy::Fast => ArenaPolicy::Small,
        ArenaPolicy::Separate => ArenaPolicy::Separate,
    };
    let unplaced = memory::unplaced(&program, &layouts, &BTreeSet::new());
    let placed = memory::place(unplaced, &program, &operators, &one_by_one(&operators), arena, 0);
    let ran = operators.iter().filter(|(_, operator)| operator.tasks() > 0);
    let nodes = ran.map(|(id, operator)| KernelNode { operator: id, blocks: operator.tasks() }).collect();
    let segment = GraphSegment { operators, nodes, units: options.units };
    let makespan = simulate_graph(&segment, &options.costs, Jitter::None).makespan;
    let planned = Planned {
        plan: ExecutionPlan { segments: vec![Segment::CudaGraph(segment)], memory: placed.memory },
        sync: SyncPolicy::BARRIER,
        needs: 0,
        arena_bound_bytes: placed.bound_bytes,
        makespan,
        reason: BackendReason::Asked,
    };
    Whole { planned, origins }
}

/// The partition with every group's kernel the one that ends first on the whole device.
fn fastest_alone(partition: &Partition, variants: &[Vec<Variant>], options: &PlanOptions) -> Partition {
    let node = nanoseconds(options.costs.node_microseconds());
    let mut partition = partition.clone();
    for (group, variants) in partition.groups.iter_mut().zip(variants) {
        let takes = |variant: &&Variant| variant.alone(options.units, node);
        let fastest = variants.iter().min_by_key(takes).expect("a group has a kernel");
        group.kernel = group.kernel.like(&fastest.kernel);
    }
    partition
}

/// All rTasks of an rOperator as one step, after those of the rOperator before it.
fn one_by_one(operators: &Arena<OperatorId, ROperator>) -> Placement {
    let step = |(at, operator)| {
        let start = at as Time;
        Step { task: RTask { operator, tile: 0 }, unit: 0, start, end: start + 1 }
    };
    Placement { steps: operators.ids().enumerate().map(step).collect(), barriers: Vec::new() }
}
