//! Plans of partitions.

pub mod cuda_graph;
pub mod interplay;
pub mod lower_bounds;
pub mod mixed;
pub mod parts;
pub mod persistent;
pub mod planner;
pub mod price;
mod shared_shapes;
pub mod variants;

use crate::schedule::choice::lower_bounds::LowerBounds;
use crate::schedule::options::KernelChoice;
use crate::schedule::options::PlanOptions;
use crate::schedule::options::Planned;
use crate::schedule::streams::cells::with_cells;
use crate::schedule::streams::resident;
use crate::schedule::streams::tagged::Tagging;
use warpweave_graph::arena::Arena;
use warpweave_graph::program::{TensorId, TensorProgram};
use warpweave_graph::views::Layout;
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::plan::backend::Backend;
use warpweave_plan::plan::backend::BackendChoice;

use crate::cost::KernelCost;
use crate::partition::search::Partition;
use crate::schedule::choice::interplay::GroupGraph;
use crate::schedule::choice::parts::Task;
use crate::schedule::choice::planner::Planner;

/// The plan of a partition for `units` virtual execution units: one persistent segment.
pub fn plan(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    partition: &Partition,
    cost: &dyn KernelCost,
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
    cost: &dyn KernelCost,
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

/// What plans of a partition are held against, also as they are with the cells of recurrences as groups of their own.
pub fn limits(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    partition: &Partition,
    cost: &dyn KernelCost,
    options: &PlanOptions,
) -> LowerBounds {
    let of = |partition: &Partition| {
        let planner = Planner::new(program, layouts, partition, cost, options, Tagging::Nothing);
        let planner = planner.expect("everything can be exchanged by counters");
        let graph = GroupGraph::new(&planner.edges, &planner.origins);
        let kept = resident::make_resident(program, partition, &graph, cost, (options.units, options.shared_bytes));
        LowerBounds::of(program, partition, kept.as_ref(), &graph, cost, options)
    };
    let own = of(partition);
    with_cells(program, layouts, partition, cost).map_or(own, |cells| own.or_lower(&of(&cells)))
}
