//! One persistent segment: what stays on chip, which kernels groups run as, and how the parts of sums are exchanged.

use crate::tuning::SearchTuning;
use std::borrow::Cow;

use rayon::prelude::*;
use warpweave_graph::arena::Arena;
use warpweave_graph::program::{TensorId, TensorProgram};
use warpweave_graph::views::Layout;

use crate::cost::KernelCost;
use crate::partition::search::Partition;
use crate::schedule::choice::interplay;
use crate::schedule::choice::interplay::GroupGraph;
use crate::schedule::choice::planner::{Draft, Planner};
use crate::schedule::choice::variants;
use crate::schedule::choice::variants::Variants;
use crate::schedule::dependence::bands::SyncPolicy;
use crate::schedule::options::{KernelChoice, PlanOptions, Planned};
use crate::schedule::streams::resident as keep;
use crate::schedule::streams::tagged::Marking;

/// The plan as one persistent segment, and per rOperator the position of its group. Constants that many groups read are kept
/// on chip where there is room and the plan is predicted to be faster so; the same holds of marks that values carry
/// themselves, of other kernels than the partition's, of reductions in more parts, and of factors that are polled.
pub(crate) fn plan_persistent(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    partition: &Partition,
    cost: &impl KernelCost,
    (options, known): (&PlanOptions, Option<&Variants>),
) -> (Planned, Vec<usize>) {
    let search = Search { program, layouts, cost, options };
    let (best, partition, by) = search.with_constants_kept(partition);
    let markings = search.worthwhile_markings(&best, &partition, by);
    let known = known.filter(|_| matches!(partition, Cow::Borrowed(_)));
    let others = search.other_kernels(&best.0, &partition, (by, markings), known);
    let promising = search.promising(others, &partition, (by, markings));
    let other = promising.filter(|(rough, _)| *rough < best.1.rough).map(|(_, other)| other.planned());
    let best = other.filter(|other| other.1.makespan() < best.1.makespan()).unwrap_or(best);
    let (planner, draft) = search.with_factors(best);
    (planner.with_small_arena(draft), planner.origins)
}

/// Whether values may carry their own validity so under the options: marks tell of single tiles.
pub(crate) fn may_mark(marking: Marking, options: &PlanOptions) -> bool {
    match options.sync {
        Some(SyncPolicy::Barrier | SyncPolicy::Operator) => marking == Marking::Nothing,
        Some(SyncPolicy::Tile) | None => marking <= options.marking,
    }
}

/// What partitions are planned with before factors are looked at.
const SUMS: [Marking; 2] = [Marking::Nothing, Marking::Sums];

/// A plan that may still be improved on.
type Found<'a> = (Planner<'a>, Draft);

/// What partitions of one program are planned by.
struct Search<'a, C> {
    program: &'a TensorProgram,
    layouts: &'a Arena<TensorId, Layout>,
    cost: &'a C,
    options: &'a PlanOptions,
}

impl<'a, C: KernelCost> Search<'a, C> {
    fn planner(&self, partition: &Partition, marking: Marking) -> Option<Planner<'a>> {
        Planner::new(self.program, self.layouts, partition, self.cost, self.options, marking)
    }

    /// The plan of the partition, or of it with constants on chip where that is predicted to be faster under coarse waits; its
    /// partition, and how rOperators exchange what they may.
    fn with_constants_kept<'p>(&self, partition: &'p Partition) -> (Found<'a>, Cow<'p, Partition>, Marking) {
        let plain = self.planner(partition, Marking::Nothing).expect("everything can be exchanged by counters");
        let graph = GroupGraph::new(&plain.edges, &plain.origins);
        let PlanOptions { units, shared_bytes, .. } = *self.options;
        let kept = keep::keep_constants(self.program, partition, &graph, (units, shared_bytes));
        let Some(kept) = kept else { return (plain.planned(), Cow::Borrowed(partition), Marking::Nothing) };
        let with_kept = |marking| Some(self.planner(&kept, marking)?.roughly());
        let others = SUMS.into_par_iter().filter_map(with_kept).collect();
        let plain = plain.roughly();
        match fastest(others) {
            Some((rough, other)) if rough < plain.0 => {
                let marking = other.marking;
                (other.planned(), Cow::Owned(kept), marking)
            }
            Some(_) | None => (plain.1.planned(), Cow::Borrowed(partition), Marking::Nothing),
        }
    }

    /// The markings that other plans are tried with: those of the best, and marks where they shorten the longest path enough.
    fn worthwhile_markings(&self, best: &Found<'a>, partition: &Partition, by: Marking) -> &'static [Marking] {
        let pays = || {
            let marked = self.planner(partition, Marking::Sums);
            marked.is_some_and(|marked| marked.is_worth(&best.0, best.1.makespan()))
        };
        match by {
            Marking::Nothing if !pays() => &SUMS[..1],
            Marking::Nothing => &SUMS,
            Marking::Sums | Marking::Factors => &SUMS[1..],
        }
    }

    /// Partitions with kernels chosen anew, each with the marking that it was chosen for; `known` are the kernels
    /// that this partition's groups may run as, where they have been found before.
    fn other_kernels(
        &self,
        best: &Planner,
        partition: &Partition,
        (by, markings): (Marking, &[Marking]),
        known: Option<&Variants>,
    ) -> Vec<(Partition, Marking)> {
        if self.options.kernels == KernelChoice::Own {
            return Vec::new();
        }
        let graph = GroupGraph::new(&best.edges, &best.origins);
        let variants = match known {
            Some(known) => Cow::Borrowed(known),
            None => Cow::Owned(variants::variants(self.program, partition, self.cost)),
        };
        let chosen = |marking: &Marking| {
            let (marking, parts) = (by.max(*marking), *marking);
            let chosen = interplay::candidates(partition, &variants, &graph, self.options, parts.of_parts());
            // Those that are fastest alone follow, and are much the same either way.
            let most = if parts == Marking::Sums { 1 } else { chosen.len() };
            chosen.into_iter().take(most).map(move |partition| (partition, marking))
        };
        let mut found: Vec<(Partition, Marking)> = markings.par_iter().flat_map_iter(chosen).collect();
        // Who is chosen either way is tried either way afterwards.
        found.dedup_by(|later, earlier| later.0 == earlier.0);
        found
    }

    /// The most promising of these partitions, then of it with marks and without, then of it in finer parts and as it is;
    /// with its rough microseconds.
    fn promising(
        &self,
        others: Vec<(Partition, Marking)>,
        partition: &Partition,
        (by, markings): (Marking, &[Marking]),
    ) -> Option<(f64, Planner<'a>)> {
        let roughly = |(partition, marking): &(Partition, Marking)| Some(self.planner(partition, *marking)?.roughly());
        let mut best = fastest(others.par_iter().filter_map(roughly).collect());
        let is_by_counters = best.as_ref().map_or(by, |(_, other)| other.marking) == Marking::Nothing;
        if is_by_counters && markings.contains(&Marking::Sums) {
            let own = best.as_ref().map_or(partition, |(_, other)| &other.chosen);
            let marked = self.planner(own, Marking::Sums).map(Planner::roughly);
            best = fastest(best.into_iter().chain(marked).collect());
        }
        let (rough, other) = best?;
        let finer = other.in_finer_parts(rough).and_then(|finer| self.planner(&finer, other.marking));
        fastest(std::iter::once((rough, other)).chain(finer.map(Planner::roughly)).collect())
    }

    /// This plan, or the one of its kernels in which factors are polled too, if it is predicted to be faster by enough.
    fn with_factors(&self, best: Found<'a>) -> Found<'a> {
        let marked = self.planner(&best.0.chosen, Marking::Factors);
        let Some(marked) = marked.filter(|marked| marked.is_worth(&best.0, best.1.makespan())) else { return best };
        let other = marked.planned();
        if other.1.makespan() < best.1.makespan() * (1.0 - SearchTuning::DEFAULT.schedule.worthwhile_tags_share) {
            other
        } else {
            best
        }
    }
}

/// The one that is predicted to be fastest, the first of equals.
fn fastest(planners: Vec<(f64, Planner)>) -> Option<(f64, Planner)> {
    planners.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))
}
