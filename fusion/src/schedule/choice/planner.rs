//! A partition whose kernels are chosen, and its plans: in which order, after which waits, in which memory.

use crate::schedule::policy::PlacementPolicy;
use crate::schedule::policy::SyncPolicy;
use crate::schedule::policy::WaitGranularity;
use crate::tuning::SearchTuning;
use rayon::prelude::*;
use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::program::TensorId;

use crate::partition::search::Partition;
use crate::partition::split;
use crate::schedule::choice::parts::PlanProblem;
use crate::schedule::choice::persistent::may_tag;
use crate::schedule::choice::price::price;
use crate::schedule::dependence::bands::Bands;
use crate::schedule::dependence::edges;
use crate::schedule::dependence::requirements::Requirements;
use crate::schedule::memory::ArenaPolicy;
use crate::schedule::options::{PlanOptions, Planned};
use crate::schedule::placement::justify;
use crate::schedule::placement::{Placement, Time, Work, nanoseconds, policies};
use crate::schedule::streams::calls::Calls;
use crate::schedule::streams::factors;
use crate::schedule::streams::synchronise;
use crate::schedule::streams::synchronise::Streams;
use crate::schedule::streams::tagged;
use crate::schedule::streams::tagged::{TaggedProgram, Tagging};
use crate::schedule::{memory, simulation as simulate};
use warpweave_plan::plan::backend::BackendReason;
use warpweave_plan::plan::{ExecutionPlan, MemoryPlan, OperatorId, PersistentSegment, ROperator, Segment};
use warpweave_plan::region::tile_boxes::TileBoxes;
use warpweave_plan::streams::polls::Polls;
use warpweave_plan::streams::prefetch;
use warpweave_plan::streams::prefetch::Prefetching;

/// The share of an rTask's price that a shorter dispatch takes off at most: the least prices are little more than the dispatch.
const MOST_SAVED: f64 = 0.5;

/// A partition whose kernels are chosen, with everything that its plans share.
pub(crate) struct Planner<'a> {
    options: &'a PlanOptions,
    pub(crate) tagging: Tagging,
    /// The partition, reductions in parts as one group each.
    pub(crate) chosen: Partition,
    exchanged: TaggedProgram,
    /// Per rOperator, the position of its group.
    pub(crate) origins: Vec<usize>,
    operators: Arena<OperatorId, ROperator>,
    memory: MemoryPlan,
    polls: Polls,
    calls: Calls,
    pub(crate) edges: Arena<OperatorId, Vec<edges::Edge>>,
    affinity: crate::schedule::placement::affinity::Affinity,
}

/// A plan, and the bands and the placement that it came of.
pub(crate) struct PlacedPlan {
    planned: Planned,
    bands: Bands,
    placement: Placement,
    /// Predicted microseconds of the plan of coarse waits, as rTasks were first placed.
    pub(crate) rough: f64,
}

impl PlacedPlan {
    pub(crate) fn makespan(&self) -> f64 {
        self.planned.makespan
    }

    fn faster(self, other: Self) -> Self {
        if other.makespan() < self.makespan() { other } else { self }
    }
}

impl<'a> Planner<'a> {
    /// The planner of a partition; `None` if no value of it can be tagged so.
    pub(crate) fn new(problem: &PlanProblem<'a>, partition: &Partition, tagging: Tagging) -> Option<Self> {
        let PlanProblem { program, layouts, options } = *problem;
        let cost = problem.cost();
        let expanded = split::expand(program, layouts, partition, tagging.of_parts());
        let origins = expanded.origins.clone();
        let exchanged = match tagging {
            Tagging::Nothing => TaggedProgram::without_tagged_values(expanded),
            Tagging::Sums | Tagging::Factors if !may_tag(tagging, options) => return None,
            Tagging::Sums => tagged::exchange(expanded),
            Tagging::Factors => factors::with_boxes(tagged::exchange(expanded), cost, options)?,
        };
        if tagging != Tagging::Nothing && exchanged.tagged_values.is_empty() {
            return None;
        }
        let loads_before_waits = |tensor: TensorId| exchanged.program.mutability(tensor).loads_before_waits();
        let mut operators: Arena<OperatorId, ROperator> =
            price(&exchanged.partition.groups, cost, loads_before_waits).into_iter().collect();
        let memory = memory::unplaced(&exchanged.program, &exchanged.layouts, &exchanged.tagged_values);
        for operator in operators.values_mut() {
            let dispatch = cost.dispatch_microseconds(&operator.kernel);
            operator.task_microseconds += dispatch.max(-MOST_SAVED * operator.task_microseconds);
            operator.task_microseconds += cost
                .tags_microseconds(tagged::tags_of_task(operator, &memory), operator.tasks())
                + cost.polls_microseconds(tagged::polls_in_turn(operator, &memory));
        }
        let boxes = TileBoxes::of(&operators);
        let edges = edges::edges(&operators, &memory, &boxes);
        let affinity = crate::schedule::placement::affinity::Affinity::of(&operators);
        let calls = Calls::of(&operators, &memory, cost);
        let polls = Polls::of_operators(&operators, &memory, || boxes);
        Some(Self {
            options,
            tagging,
            chosen: partition.clone(),
            exchanged,
            origins,
            operators,
            memory,
            polls,
            calls,
            edges,
            affinity,
        })
    }

    /// Nanoseconds of the longest estimated path, exchanges included.
    pub(crate) fn path(&self) -> f64 {
        let bands = Bands::whole_operators(&self.operators);
        self.work(&bands).path(self.options.units, &self.options.costs) as f64
    }

    /// Whether the longest path is shorter than another's by so much of its makespan that it is worth to plan for it.
    pub(crate) fn is_worth(&self, other: &Self, makespan: f64) -> bool {
        other.path() - self.path()
            >= SearchTuning::DEFAULT.schedule.worthwhile_tags_share * nanoseconds(makespan) as f64
    }

    /// The partition with reductions in twice as many parts where these read what several rOperators write: parts of
    /// what is there early run early, and what is last is shorter. `None` if there is no such reduction, or units have more
    /// to do than to wait for the longest path, which is known by how long the plan takes.
    pub(crate) fn in_finer_parts(&self, makespan: f64) -> Option<Partition> {
        if nanoseconds(makespan) as f64 > self.path() * SearchTuning::DEFAULT.schedule.worthwhile_split_ratio {
            return None;
        }
        let mut partition = self.chosen.clone();
        let tensor = TensorId::from_index(self.exchanged.program.tensors.len());
        let mut is_finer = false;
        for (id, _) in self.edges.iter().filter(|(_, edges)| edges.len() > 1) {
            let operator = &self.operators[id];
            let group = &mut partition.groups[self.origins[id.index()]];
            let is_few =
                2 * operator.tasks() as usize <= SearchTuning::DEFAULT.schedule.most_split_rounds * self.options.units;
            if is_few && let Some(finer) = split::in_twice_the_parts(&group.kernel, tensor) {
                group.kernel = finer;
                is_finer = true;
            }
        }
        is_finer.then_some(partition)
    }

    /// With the plan under the options' way of waiting, or under the fastest.
    pub(crate) fn planned(self) -> (Self, PlacedPlan) {
        let policies: &[SyncPolicy] = match (&self.options.sync, self.tagging) {
            (Some(sync), _) => std::slice::from_ref(sync),
            (None, Tagging::Nothing) => &[SyncPolicy::TILE, SyncPolicy::BARRIER, SyncPolicy::IN_ORDER],
            (None, Tagging::Sums | Tagging::Factors) => &[SyncPolicy::TILE, SyncPolicy::IN_ORDER],
        };
        let placed: Vec<PlacedPlan> = policies.par_iter().map(|sync| self.plan(*sync)).collect();
        let fastest = placed.into_iter().reduce(PlacedPlan::faster).expect("there are policies");
        (self, fastest)
    }

    /// With the predicted microseconds of a plan of coarse waits.
    pub(crate) fn roughly(self) -> (f64, Self) {
        (self.coarse(self.options.sync.unwrap_or(SyncPolicy::TILE)).makespan(), self)
    }

    fn plan(&self, sync: SyncPolicy) -> PlacedPlan {
        let coarse = self.coarse(sync);
        match sync.waits() {
            WaitGranularity::Device => coarse,
            WaitGranularity::Operator => self.justified(coarse),
            WaitGranularity::Band => {
                let fine = self.fine_bands(&coarse.placement);
                if fine.len() == coarse.bands.len() {
                    return self.justified(coarse);
                }
                let fine = || self.justified(self.with_bands(fine, sync));
                let (coarse, fine) = rayon::join(|| self.justified(coarse), fine);
                PlacedPlan { rough: coarse.rough, ..coarse.faster(fine) }
            }
        }
    }

    /// The plan that waits for whole rOperators. It waits by tiles for those whose rTasks stay on their units, if waits
    /// may be so fine. Each of these rTasks may read back what was written there without waiting for the others.
    fn coarse(&self, sync: SyncPolicy) -> PlacedPlan {
        let bands = match sync.waits() {
            WaitGranularity::Device | WaitGranularity::Operator => Bands::whole_operators(&self.operators),
            WaitGranularity::Band => self.tile_bands(|_| false),
        };
        self.with_bands(bands, sync)
    }

    fn with_bands(&self, bands: Bands, sync: SyncPolicy) -> PlacedPlan {
        let PlanOptions { units, costs, arena, .. } = self.options;
        let placement = policies::place(&self.work(&bands), *units, sync, costs);
        let planned = self.under(&bands, &placement, sync, (*arena, self.exchange()));
        PlacedPlan { rough: planned.makespan, planned, bands, placement }
    }

    /// Finer bands too, of the rOperators whose rTasks end at such different times that it pays to wait for some of them.
    fn fine_bands(&self, placement: &Placement) -> Bands {
        let PlanOptions { units, costs, .. } = self.options;
        let spread = placement.spread(self.operators.len());
        let exchange = costs.signal_microseconds() + costs.exchange_microseconds(*units);
        let worth = nanoseconds(SearchTuning::DEFAULT.schedule.worthwhile_spread_exchanges * exchange);
        self.tile_bands(|id| spread[id] >= worth)
    }

    /// Bands of these rOperators, and of those whose rTasks stay on their units.
    fn tile_bands(&self, is_fine: impl Fn(OperatorId) -> bool) -> Bands {
        let PlanOptions { units, costs, .. } = self.options;
        let stays = |id| self.operators[id].kernel.rules().holds_residents();
        Bands::of_tiles(&self.operators, &self.edges, |id| is_fine(id) || stays(id), *units, costs)
    }

    fn work<'w>(&'w self, bands: &'w Bands) -> Work<'w> {
        Work { operators: &self.operators, edges: &self.edges, bands, affinity: &self.affinity }
    }

    /// Nanoseconds from the end of one rTask to the start of another that waits for it.
    fn exchange(&self) -> Time {
        let costs = &self.options.costs;
        nanoseconds(costs.signal_microseconds() + costs.exchange_microseconds(2))
    }

    /// The plan of a placement, with the nanoseconds that bytes have to lie idle before they are used again where that shall cost
    /// no time.
    fn under(
        &self,
        bands: &Bands,
        placement: &Placement,
        sync: SyncPolicy,
        (arena, idle): (ArenaPolicy, Time),
    ) -> Planned {
        let (operators, program, PlanOptions { units, costs, .. }) =
            (&self.operators, &self.exchanged.program, self.options);
        let placed = memory::place(self.memory.clone(), program, operators, placement, arena, idle);
        let streams = synchronise::synchronise(&self.work(bands), placement, &placed.after, *units);
        let streams = self.with_loads(streams, &placed.memory);
        let mut operators = operators.clone();
        self.calls.add_beginnings(&mut operators, &streams.streams);
        let segment = PersistentSegment { operators, counters: streams.counters, streams: streams.streams };
        let makespan = simulate::makespan(&segment, &self.polls, costs);
        let plan = ExecutionPlan { segments: vec![Segment::Persistent(segment)], memory: placed.memory };
        Planned {
            plan,
            sync,
            needs: streams.needs,
            arena_bound_bytes: placed.bound_bytes,
            makespan,
            reason: BackendReason::Asked,
        }
    }

    /// The streams with the loads of constants that do not belong to one rTask alone.
    fn with_loads(&self, streams: Streams, memory: &MemoryPlan) -> Streams {
        let kept = warpweave_plan::streams::residency::with_holds(streams.streams, &self.operators);
        let loaded = match self.options.prefetching {
            Prefetching::Never => kept,
            Prefetching::BeforeWaits => prefetch::with_prefetches(kept, &self.operators, memory),
        };
        Streams { streams: loaded, ..streams }
    }

    /// The plan with its rTasks justified, for as long as that is predicted to be faster. Where rTasks have units of their
    /// own there is little to choose, and other orders than that of list scheduling stay as they are.
    fn justified(&self, mut placed: PlacedPlan) -> PlacedPlan {
        let PlanOptions { units, costs, arena, .. } = self.options;
        let path = self.work(&placed.bands).path(*units, costs) as f64;
        let is_close = nanoseconds(placed.makespan()) as f64
            <= path * SearchTuning::DEFAULT.schedule.worthwhile_justification_ratio;
        let is_listed = placed.planned.sync.placement() == PlacementPolicy::ListScheduling;
        if is_close || !is_listed || self.affinity.are_given() {
            return placed;
        }
        for _ in 0..SearchTuning::DEFAULT.schedule.justifications {
            let work = self.work(&placed.bands);
            let placement = justify::justify(&Requirements::new(&work, *units, costs), &placed.placement);
            if placement.end() >= placed.placement.end() {
                break;
            }
            let planned = self.under(&placed.bands, &placement, placed.planned.sync, (*arena, self.exchange()));
            if planned.makespan >= placed.planned.makespan {
                break;
            }
            placed = PlacedPlan { planned, placement, ..placed };
        }
        placed
    }

    /// The same plan with a smaller arena, if that costs next to no time: in whatever order bytes are used, or as they lie
    /// idle.
    pub(crate) fn with_small_arena(&self, fastest: PlacedPlan) -> Planned {
        let PlacedPlan { planned, bands, placement, .. } = fastest;
        match self.options.arena {
            ArenaPolicy::Small | ArenaPolicy::Separate => return planned,
            ArenaPolicy::Fast => {}
        }
        let most = planned.makespan * (1.0 + SearchTuning::DEFAULT.schedule.free_arena_share);
        let small = |arena: (ArenaPolicy, Time)| {
            let small = self.under(&bands, &placement, planned.sync, arena);
            let is_smaller = small.plan.memory.arena_bytes < planned.plan.memory.arena_bytes;
            (small.makespan <= most && is_smaller).then_some(small)
        };
        let (small, later) = rayon::join(|| small((ArenaPolicy::Small, 0)), || small((ArenaPolicy::Fast, 1)));
        small.or(later).unwrap_or(planned)
    }
}
