//! rTasks on virtual execution units: plans, their verification and their tables.

pub mod backend;
pub mod bands;
pub mod costs;
mod cuda_graph;
pub mod dependency;
pub mod edges;
mod factors;
pub mod fold;
pub mod grid;
mod insertion;
pub mod interplay;
mod join;
mod justify;
pub mod keep;
pub mod limits;
pub mod memory;
mod mixed;
pub mod parts;
mod persistent;
pub mod plan;
mod planner;
pub mod polls;
pub mod prefetch;
pub mod profile;
pub mod quiet;
mod requirements;
pub mod segments;
pub mod sentinels;
pub mod simulate;
pub mod simulate_graph;
pub mod simulate_plan;
mod synchronise;
pub mod tables;
pub mod text;
mod tile_boxes;
pub mod timeline;
mod variants;
pub mod verify;
pub mod waits;
pub mod wavefront;
pub mod witnesses;

pub use backend::{Backend, BackendChoice, BackendReason, PlanBackend, SegmentReason};
pub use bands::SyncPolicy;
pub use costs::SyncCosts;
pub use limits::Limits;
pub use memory::ArenaPolicy;
pub use parts::{Part, plan_parts};
pub use plan::{
    EdgeKind, ExecutionPlan, GraphSegment, Instruction, MemoryPlan, PersistentSegment, ROperator, RTask, Segment,
};
pub use polls::Polls;
pub use prefetch::Prefetching;
pub use segments::SegmentId;
pub use sentinels::Marking;
pub use verify::{Verified, Violation, verify};

use warpweave_graph::arena::Arena;
use warpweave_graph::program::{TensorId, TensorProgram};
use warpweave_graph::views::Layout;

use crate::partition::Partition;
use crate::partition::cost::KernelCost;
use interplay::GroupGraph;
use parts::Task;
use planner::Planner;

/// What planning decides by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlanOptions {
    /// Virtual execution units.
    pub units: usize,
    /// How fine dependencies are; the finest of what the simulator estimates fastest if none is given.
    pub sync: Option<SyncPolicy>,
    /// Which values may carry their own validity at most.
    pub marking: Marking,
    /// When tensors share bytes.
    pub arena: ArenaPolicy,
    /// What waiting costs.
    pub costs: SyncCosts,
    /// Bytes of shared memory of a unit, in which constants may be kept; 0 where there is none.
    pub shared_bytes: usize,
    /// Which kernels groups run as in a persistent program.
    pub kernels: KernelChoice,
    /// Whether rTasks load constants before they wait.
    pub prefetching: Prefetching,
    /// What may run the plan.
    pub backend: BackendChoice,
}

/// Which kernels groups run as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KernelChoice {
    /// Those of the partition.
    Own,
    /// Those of the partition or the variants that are fastest alone, whichever is predicted to be faster.
    Alone,
    /// Those of the partition or variants for parts of the device, whichever is predicted to be faster together.
    Interplay,
}

impl PlanOptions {
    /// For a persistent program on this many units: the fastest dependencies, memory reused where that costs no time, nothing
    /// kept on chip, constants loaded before waits, kernels as they are.
    pub fn new(units: usize) -> Self {
        Self {
            units,
            sync: None,
            marking: Marking::Factors,
            arena: ArenaPolicy::Fast,
            costs: SyncCosts::h200(),
            shared_bytes: 0,
            kernels: KernelChoice::Own,
            prefetching: Prefetching::BeforeWaits,
            backend: BackendChoice::Only(Backend::Persistent),
        }
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
    /// Predicted microseconds, launch left out.
    pub makespan: f64,
    /// Why it has the back end that it has.
    pub reason: BackendReason,
}
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

/// The plan of a partition under these options: one segment of the kind that they choose, or several where they leave the
/// choice to predictions. Split groups are two rOperators.
pub fn plan_with(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    partition: &Partition,
    cost: &impl KernelCost,
    options: &PlanOptions,
) -> Planned {
    let task = Task { program, layouts, partition, cost, options };
    match (options.backend, options.kernels) {
        (BackendChoice::Only(Backend::Persistent), KernelChoice::Own) => task.persistent(None).planned,
        (BackendChoice::Only(Backend::Persistent), _) => task.persistent(Some(&task.variants())).planned,
        (BackendChoice::Only(Backend::CudaGraph), _) => task.graph(&task.variants()).planned,
        (BackendChoice::Mixed, _) => task.parts(&mixed::in_turn(partition.groups.len()), &task.variants()),
        (BackendChoice::Auto, _) => {
            let variants = task.variants();
            let (program, graph) = rayon::join(|| task.persistent(Some(&variants)), || task.graph(&variants));
            mixed::fastest(&task, &variants, program, graph)
        }
    }
}

/// What plans of a partition are held against.
pub fn limits(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    partition: &Partition,
    cost: &impl KernelCost,
    options: &PlanOptions,
) -> Limits {
    let planner = Planner::new(program, layouts, partition, cost, options, Marking::Nothing);
    let planner = planner.expect("everything can be exchanged by counters");
    let graph = GroupGraph::new(&planner.edges, &planner.origins);
    let kept = keep::keep_constants(program, partition, &graph, (options.units, options.shared_bytes));
    Limits::of(program, partition, kept.as_ref(), &graph, cost, options)
}
