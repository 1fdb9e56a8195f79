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
use warpweave_graph::pipeline::PreparedProgram;
use warpweave_plan::plan::backend::Backend;
use warpweave_plan::plan::backend::BackendChoice;

use crate::partition::search::Partition;
use crate::schedule::choice::interplay::GroupGraph;
use crate::schedule::choice::parts::PlanProblem;

/// The plan of a partition under these options: one segment of the kind that they choose, or several where they leave the
/// choice to predictions. Split groups are two rOperators.
pub fn plan(prepared: &PreparedProgram, partition: &Partition, options: &PlanOptions) -> Planned {
    let problem = PlanProblem::of(prepared, options);
    let variants = || problem.variants(partition);
    match (options.backend, options.kernels) {
        (BackendChoice::Only(Backend::Persistent), KernelChoice::Own) => problem.persistent(partition, None).planned,
        (BackendChoice::Only(Backend::Persistent), _) => problem.persistent(partition, Some(&variants())).planned,
        (BackendChoice::Only(Backend::CudaGraph), _) => problem.graph(partition, &variants()).planned,
        (BackendChoice::Mixed, _) => problem.parts(partition, &mixed::in_turn(partition.groups.len()), &variants()),
        (BackendChoice::Auto, _) => {
            let variants = variants();
            let persistent = || problem.persistent(partition, Some(&variants));
            let (persistent, graph) = rayon::join(persistent, || problem.graph(partition, &variants));
            mixed::fastest(&problem, partition, &variants, persistent, graph)
        }
    }
}

/// What plans of a partition are held against, also as they are with the cells of recurrences as groups of their own.
pub fn limits(prepared: &PreparedProgram, partition: &Partition, options: &PlanOptions) -> LowerBounds {
    let PlanProblem { program, layouts, .. } = PlanProblem::of(prepared, options);
    let cost = &*options.cost;
    let of = |partition: &Partition| {
        let planner = PlanProblem::of(prepared, options).planner(partition, Tagging::Nothing);
        let planner = planner.expect("everything can be exchanged by counters");
        let graph = GroupGraph::new(&planner.edges, &planner.origins);
        let kept = resident::make_resident(program, partition, &graph, cost, (options.units, options.shared_bytes));
        LowerBounds::of(program, partition, kept.as_ref(), &graph, options)
    };
    let own = of(partition);
    with_cells(program, layouts, partition, cost).map_or(own, |cells| own.or_lower(&of(&cells)))
}
