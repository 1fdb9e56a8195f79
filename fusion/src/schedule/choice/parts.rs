//! Plans whose segments are made one by one: each of neighbouring groups, as a program of its own, and then put together.

use std::collections::BTreeSet;
use std::ops::Range;

use rayon::prelude::*;
use warpweave_graph::arena::Arena;
use warpweave_graph::pipeline::PreparedProgram;
use warpweave_graph::program::{Source, TensorId, TensorProgram};
use warpweave_graph::views::Layout;

use crate::cost::KernelCost;
use crate::partition::search::Partition;
use crate::schedule::choice::cuda_graph;
use crate::schedule::choice::persistent::plan_persistent;
use crate::schedule::choice::planner::Planner;
use crate::schedule::choice::variants::{Variants, variants};
use crate::schedule::memory::join::join;
use crate::schedule::options::{KernelChoice, PlanOptions, Planned};
use crate::schedule::policy::SyncPolicy;
use crate::schedule::simulation::Jitter;
use crate::schedule::simulation::plan::simulate_plan;
use crate::schedule::streams::resident::kernel_bytes;
use crate::schedule::streams::tagged::Tagging;
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::plan::backend::{Backend, BackendReason};

/// Neighbouring groups that make a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SegmentGroups {
    /// The groups, by position.
    pub groups: Range<usize>,
    /// What runs them.
    pub backend: Backend,
}

/// A program whose partitions are planned, and what their plans are decided by.
#[derive(Clone, Copy)]
pub(crate) struct PlanProblem<'a> {
    pub(crate) program: &'a TensorProgram,
    pub(crate) layouts: &'a Arena<TensorId, Layout>,
    pub(crate) options: &'a PlanOptions,
}

/// A plan as one segment.
pub(crate) struct Whole {
    pub(crate) planned: Planned,
    /// Per rOperator, the position of its group.
    pub(crate) origins: Vec<usize>,
}

impl<'a> PlanProblem<'a> {
    /// The problem of a program under options.
    pub(crate) fn of(prepared: &'a PreparedProgram, options: &'a PlanOptions) -> Self {
        let PreparedProgram { program, layouts } = prepared;
        Self { program, layouts, options }
    }

    /// What kernels cost.
    pub(crate) fn cost(&self) -> &'a dyn KernelCost {
        &*self.options.cost
    }

    /// The planner of a partition; `None` if no value of it can be tagged so.
    pub(crate) fn planner(&self, partition: &Partition, tagging: Tagging) -> Option<Planner<'a>> {
        Planner::new(self, partition, tagging)
    }

    /// What groups may run as.
    pub(crate) fn variants(&self, partition: &Partition) -> Variants {
        variants(self.program, partition, self.cost())
    }

    /// A partition as one persistent segment.
    pub(crate) fn persistent(&self, partition: &Partition, variants: Option<&Variants>) -> Whole {
        plan_persistent(self, partition, variants)
    }

    /// A partition as one graph.
    pub(crate) fn graph(&self, partition: &Partition, variants: &Variants) -> Whole {
        cuda_graph::plan(self, partition, variants)
    }

    /// A partition as one segment a part. The parts follow one another and hold all groups.
    pub(crate) fn parts(&self, partition: &Partition, parts: &[SegmentGroups], variants: &Variants) -> Planned {
        let uses: Vec<RootUses> = parts.iter().map(|part| self.uses(partition, part)).collect();
        let numbers: Vec<usize> = (0..parts.len()).collect();
        let planned =
            numbers.par_iter().map(|&at| self.part(partition, &parts[at], self.exchanged(&uses, at), variants));
        let planned: Vec<Planned> = planned.collect();
        let first_sync = parts.iter().zip(&planned).find(|(part, _)| part.backend == Backend::Persistent);
        let (sync, needs) = (
            first_sync.map_or(SyncPolicy::BARRIER, |(_, planned)| planned.sync),
            planned.iter().map(|planned| planned.needs).sum(),
        );
        let bounds = planned.iter().map(|planned| planned.arena_bound_bytes).max().unwrap_or(0);
        let plans: Vec<ExecutionPlan> = planned.into_iter().map(|planned| planned.plan).collect();
        let plan = join(self.program, self.options.arena, plans);
        let makespan = simulate_plan(&plan, &self.options.costs, Jitter::None).makespan;
        Planned { plan, sync, needs, arena_bound_bytes: bounds, makespan, reason: BackendReason::Asked }
    }

    /// One part as a plan of its own.
    fn part(
        &self,
        whole: &Partition,
        part: &SegmentGroups,
        exchanged: SegmentInterface,
        variants: &Variants,
    ) -> Planned {
        let program = exchanged.program(self.program);
        let partition = Partition { groups: whole.groups[part.groups.clone()].to_vec() };
        let variants: Variants = (variants.0[part.groups.clone()].to_vec(), variants.1[part.groups.clone()].to_vec());
        // All segments run in one program, whose blocks have the memory of its largest kernel and of all that is kept.
        let beyond = kernel_bytes(whole.groups.iter()) - kernel_bytes(partition.groups.iter());
        let shared_bytes = self.options.shared_bytes.saturating_sub(beyond);
        let tagging = self.options.tagging.min(Tagging::Sums);
        let options = PlanOptions { shared_bytes, tagging, ..self.options.clone() };
        let problem = PlanProblem { program: &program, layouts: self.layouts, options: &options };
        let segment = match (part.backend, self.options.kernels) {
            (Backend::Persistent, KernelChoice::Own) => problem.persistent(&partition, None),
            (Backend::Persistent, KernelChoice::Alone | KernelChoice::Interplay) => {
                problem.persistent(&partition, Some(&variants))
            }
            (Backend::CudaGraph, _) => problem.graph(&partition, &variants),
        };
        segment.planned
    }

    fn uses(&self, partition: &Partition, part: &SegmentGroups) -> RootUses {
        let bodies = || partition.groups[part.groups.clone()].iter().map(|group| group.kernel.body());
        let changes = |root: &TensorId| self.program.mutability(*root).changes_in_launch();
        let roots = |tensors: &mut dyn Iterator<Item = TensorId>| -> BTreeSet<TensorId> {
            tensors.map(|tensor| self.layouts[tensor].root).filter(changes).collect()
        };
        RootUses {
            touched: roots(&mut bodies().flat_map(|body| body.operands.iter().chain(&body.outputs)).copied()),
            written: roots(&mut bodies().flat_map(|body| &body.outputs).copied()),
        }
    }

    /// What one part takes over from those before it and the host, and what it leaves to those behind it and the host.
    fn exchanged(&self, uses: &[RootUses], at: usize) -> SegmentInterface {
        let root = |tensor: TensorId| self.layouts[tensor].root;
        let given: BTreeSet<TensorId> = self.program.live_in().map(root).collect();
        let taken: BTreeSet<TensorId> = self.program.live_out().map(root).collect();
        let RootUses { touched, written } = &uses[at];
        let before =
            |root: &&TensorId| given.contains(root) || uses[..at].iter().any(|part| part.written.contains(root));
        let behind =
            |root: &&TensorId| taken.contains(root) || uses[at + 1..].iter().any(|part| part.touched.contains(root));
        SegmentInterface {
            inputs: touched.iter().filter(before).copied().collect(),
            outputs: written.iter().filter(behind).copied().collect(),
        }
    }
}

/// The roots that a part uses, of those that a launch changes.
struct RootUses {
    touched: BTreeSet<TensorId>,
    written: BTreeSet<TensorId>,
}

/// The inputs and outputs of a part.
struct SegmentInterface {
    inputs: Vec<TensorId>,
    outputs: Vec<TensorId>,
}

impl SegmentInterface {
    /// A part of `whole` as a program. States are inputs of the parts that read them.
    fn program(self, whole: &TensorProgram) -> TensorProgram {
        let mut program = TensorProgram { inputs: self.inputs, outputs: self.outputs, ..whole.clone() };
        for (state, _) in whole.states() {
            let position = program.inputs.iter().position(|input| *input == state);
            program.tensors[state].source = Source::Input(position.unwrap_or(usize::MAX));
        }
        program
    }
}

/// The plan of a partition as one segment a part, under these options but their back end, which each part names itself.
///
/// # Panics
/// If the parts do not follow one another from the first group to the last.
pub fn plan_parts(
    prepared: &PreparedProgram,
    partition: &Partition,
    options: &PlanOptions,
    parts: &[SegmentGroups],
) -> Planned {
    let starts = std::iter::once(0).chain(parts.iter().map(|part| part.groups.end));
    let ends = parts.iter().map(|part| part.groups.start).chain([partition.groups.len()]);
    assert!(starts.eq(ends), "parts follow one another and hold all groups");
    let problem = PlanProblem::of(prepared, options);
    problem.parts(partition, parts, &problem.variants(partition))
}
