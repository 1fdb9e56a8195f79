//! One persistent segment: what stays on chip, which kernels groups run as, and how the parts of sums are exchanged.

use crate::schedule::policy::WaitGranularity;
use crate::tuning::SearchTuning;
use std::borrow::Cow;

use rayon::prelude::*;

use crate::partition::search::{FusionLevel, Partition};
use crate::schedule::choice::interplay;
use crate::schedule::choice::interplay::GroupGraph;
use crate::schedule::choice::parts::{PlanProblem, Whole};
use crate::schedule::choice::planner::{PlacedPlan, Planner};
use crate::schedule::choice::variants;
use crate::schedule::choice::variants::Variants;
use crate::schedule::options::{KernelChoice, PlanOptions};
use crate::schedule::policy::SyncPolicy;
use crate::schedule::streams::cells::with_cells;
use crate::schedule::streams::ends::with_longer_ends;
use crate::schedule::streams::resident;
use crate::schedule::streams::tagged::Tagging;

/// The plan as one persistent segment. Constants that many groups read are
/// kept on chip where there is room and the plan is predicted to be faster so. The same holds of tags that values carry
/// themselves, of other kernels than the partition's, of reductions in more parts, and of factors that are polled.
pub(crate) fn plan_persistent(search: &PlanProblem<'_>, partition: &Partition, known: Option<&Variants>) -> Whole {
    let (best, partition, by) = search.with_residents(partition);
    let taggings = search.worthwhile_taggings(&best, &partition, by);
    let known = known.filter(|_| matches!(partition, Cow::Borrowed(_)));
    let others = search.other_kernels(&best.0, &partition, (by, taggings), known);
    let mut promising = search.promising(others, &partition, (by, taggings));
    promising.retain(|(rough, _)| *rough < best.1.rough);
    let planned: Vec<Found> = promising.into_par_iter().map(|(_, other)| other.planned()).collect();
    let planned = std::iter::once(best).chain(planned);
    let best = planned.min_by(|a, b| a.1.makespan().total_cmp(&b.1.makespan())).expect("there is one");
    let (planner, placed) = search.with_factors(search.with_longer_ends(best));
    Whole { planned: planner.with_small_arena(placed), origins: planner.origins }
}

/// Whether values may carry their own validity so under the options: tags tell of single tiles.
pub(crate) fn may_tag(tagging: Tagging, options: &PlanOptions) -> bool {
    match options.sync.map(SyncPolicy::waits) {
        Some(WaitGranularity::Device | WaitGranularity::Operator) => tagging == Tagging::Nothing,
        Some(WaitGranularity::Band) | None => tagging <= options.tagging,
    }
}

/// What partitions are planned with before factors are looked at.
const SUMS: [Tagging; 2] = [Tagging::Nothing, Tagging::Sums];

/// A plan that may still be improved on.
type Found<'a> = (Planner<'a>, PlacedPlan);

impl<'a> PlanProblem<'a> {
    fn may_join(&self) -> bool {
        match self.options.fusion {
            FusionLevel::None => false,
            FusionLevel::Register | FusionLevel::Full => true,
        }
    }

    /// The plan of the partition, or of it with constants on chip where that is predicted to be faster under coarse
    /// waits. With it come its partition, and how rOperators exchange what they may.
    fn with_residents<'p>(&self, partition: &'p Partition) -> (Found<'a>, Cow<'p, Partition>, Tagging) {
        let plain = self.planner(partition, Tagging::Nothing).expect("everything can be exchanged by counters");
        let cells = || with_cells(self.program, self.layouts, partition, self.cost());
        let of_cells = self.may_join().then(cells).flatten().and_then(|cells| {
            let planner = self.planner(&cells, Tagging::Nothing)?;
            self.kept(&cells, &planner)
        });
        let kept: Vec<Partition> = self.kept(partition, &plain).into_iter().chain(of_cells).collect();
        if kept.is_empty() {
            return (plain.planned(), Cow::Borrowed(partition), Tagging::Nothing);
        }
        let tried: Vec<(usize, Tagging)> = (0..kept.len()).flat_map(|at| SUMS.map(|tagging| (at, tagging))).collect();
        let with_kept = |(at, tagging): (usize, Tagging)| {
            let (rough, planner) = self.planner(&kept[at], tagging)?.roughly();
            Some((rough, planner, at))
        };
        let others: Vec<(f64, Planner, usize)> = tried.into_par_iter().filter_map(with_kept).collect();
        let plain = plain.roughly();
        let best = others.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        match best.filter(|(rough, ..)| *rough < plain.0) {
            Some((_, other, at)) => {
                let tagging = other.tagging;
                let kept = kept.into_iter().nth(at).expect("it is one of them");
                (other.planned(), Cow::Owned(kept), tagging)
            }
            None => (plain.1.planned(), Cow::Borrowed(partition), Tagging::Nothing),
        }
    }

    /// The partition with constants on chip, where units have room for them.
    fn kept(&self, partition: &Partition, planner: &Planner) -> Option<Partition> {
        let graph = GroupGraph::new(&planner.edges, &planner.origins);
        let PlanOptions { units, shared_bytes, .. } = self.options;
        resident::make_resident(self.program, partition, &graph, self.cost(), (*units, *shared_bytes))
    }

    /// The taggings that other plans are tried with: those of the best, and tags where they shorten the longest path enough.
    fn worthwhile_taggings(&self, best: &Found<'a>, partition: &Partition, by: Tagging) -> &'static [Tagging] {
        let pays = || {
            let tagged = self.planner(partition, Tagging::Sums);
            tagged.is_some_and(|tagged| tagged.is_worth(&best.0, best.1.makespan()))
        };
        match by {
            Tagging::Nothing if !pays() => &SUMS[..1],
            Tagging::Nothing => &SUMS,
            Tagging::Sums | Tagging::Factors => &SUMS[1..],
        }
    }

    /// Partitions with kernels chosen again, each with the tagging that it was chosen for. `known` are the kernels that
    /// this partition's groups may run as, where they have been found before.
    fn other_kernels(
        &self,
        best: &Planner,
        partition: &Partition,
        (by, taggings): (Tagging, &[Tagging]),
        known: Option<&Variants>,
    ) -> Vec<(Partition, Tagging)> {
        if self.options.kernels == KernelChoice::Own {
            return Vec::new();
        }
        let graph = GroupGraph::new(&best.edges, &best.origins);
        let variants = match known {
            Some(known) => Cow::Borrowed(known),
            None => Cow::Owned(variants::variants(self.program, partition, self.cost())),
        };
        let chosen = |tagging: &Tagging| {
            let (tagging, parts) = (by.max(*tagging), *tagging);
            let chosen = interplay::candidates(partition, &variants, &graph, self.options, parts.of_parts());
            // Those that are fastest alone follow, and are much the same either way.
            let most = if parts == Tagging::Sums { 1 } else { chosen.len() };
            chosen.into_iter().take(most).map(move |partition| (partition, tagging))
        };
        let mut found: Vec<(Partition, Tagging)> = taggings.par_iter().flat_map_iter(chosen).collect();
        // Who is chosen either way is tried either way afterwards.
        found.dedup_by(|later, earlier| later.0 == earlier.0);
        found
    }

    /// The most promising of these partitions and of the given one with tags, then of it with tags and without, then of it in finer
    /// parts and as it is; with rough microseconds. Where the last two are close, both.
    fn promising(
        &self,
        others: Vec<(Partition, Tagging)>,
        partition: &Partition,
        (by, taggings): (Tagging, &[Tagging]),
    ) -> Vec<(f64, Planner<'a>)> {
        let roughly = |(partition, tagging): &(Partition, Tagging)| Some(self.planner(partition, *tagging)?.roughly());
        let own = taggings.contains(&Tagging::Sums).then(|| (partition.clone(), Tagging::Sums));
        let others: Vec<(Partition, Tagging)> = others.into_iter().chain(own).collect();
        let mut best = fastest(others.par_iter().filter_map(roughly).collect());
        let is_by_counters = best.as_ref().map_or(by, |(_, other)| other.tagging) == Tagging::Nothing;
        if is_by_counters && taggings.contains(&Tagging::Sums) {
            let own = best.as_ref().map_or(partition, |(_, other)| &other.chosen);
            let tagged = self.planner(own, Tagging::Sums).map(Planner::roughly);
            best = fastest(best.into_iter().chain(tagged).collect());
        }
        let Some((rough, other)) = best else { return Vec::new() };
        let finer = other.in_finer_parts(rough).and_then(|finer| self.planner(&finer, other.tagging));
        let mut found: Vec<(f64, Planner)> =
            std::iter::once((rough, other)).chain(finer.map(Planner::roughly)).collect();
        let least = found.iter().map(|(rough, _)| *rough).fold(f64::INFINITY, f64::min);
        found.retain(|(rough, _)| *rough <= least * (1.0 + SearchTuning::DEFAULT.schedule.close_plans_share));
        found
    }

    /// This plan, or the one in which reductions in parts end with what reads them, if it is predicted to be faster.
    fn with_longer_ends(&self, best: Found<'a>) -> Found<'a> {
        if !self.may_join() {
            return best;
        }
        let graph = GroupGraph::new(&best.0.edges, &best.0.origins);
        let longer = with_longer_ends(self.program, self.layouts, &best.0.chosen, &graph, self.cost());
        let other = longer.and_then(|longer| self.planner(&longer, best.0.tagging)).map(Planner::roughly);
        let Some((_, other)) = other.filter(|(rough, _)| *rough < best.1.rough) else { return best };
        let other = other.planned();
        if other.1.makespan() < best.1.makespan() { other } else { best }
    }

    /// This plan, or the one of its kernels in which factors are polled too, if it is predicted to be faster by enough.
    fn with_factors(&self, best: Found<'a>) -> Found<'a> {
        let tagged = self.planner(&best.0.chosen, Tagging::Factors);
        let Some(tagged) = tagged.filter(|tagged| tagged.is_worth(&best.0, best.1.makespan())) else { return best };
        let other = tagged.planned();
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
