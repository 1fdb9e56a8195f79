//! rTasks on virtual execution units: plans, their verification and their tables.

pub mod alike;
pub mod backend;
pub mod bands;
pub mod costs;
mod cuda_graph;
pub mod dependency;
pub mod edges;
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
pub mod plan;
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
pub mod timeline;
mod variants;
pub mod verify;
pub mod waits;
pub mod wavefront;
pub mod witnesses;

pub use backend::{Backend, BackendChoice, BackendReason, PlanBackend, SegmentReason};
use bands::Bands;
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
pub use verify::{Verified, Violation, verify};

use std::borrow::Cow;

use rayon::prelude::*;
use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::program::{Source, TensorId, TensorProgram};
use warpweave_graph::views::Layout;

use crate::partition::cost::KernelCost;
use crate::partition::{Partition, Template, split};
use interplay::GroupGraph;
use parts::Task;
use plan::OperatorId;
use requirements::Requirements;
use sentinels::Exchanged;
use synchronise::Streams;
use variants::Variants;
use wavefront::{Placement, Work};

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

/// The share of a plan's time for which it is worth making an arena smaller.
const FREE_SHARE: f64 = 0.01;

/// What a makespan is of the longest path, at least, for justification to be tried.
const WORTH_JUSTIFYING: f64 = 1.1;

/// How often a placement is justified at most; each is predicted to gain less than the one before.
const JUSTIFICATIONS: usize = 2;

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
        (BackendChoice::Auto, _) => {
            let variants = task.variants();
            let (program, graph) = rayon::join(|| task.persistent(Some(&variants)), || task.graph(&variants));
            mixed::fastest(&task, &variants, program, graph)
        }
    }
}

/// The plan as one persistent segment, and per rOperator the position of its group. Constants that many groups read are kept
/// on chip where there is room and the plan is predicted to be faster so; the same holds of marks that values carry
/// themselves, of other kernels than the partition's, and of reductions in more parts.
fn plan_persistent(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    partition: &Partition,
    cost: &impl KernelCost,
    (options, known): (&PlanOptions, Option<&Variants>),
) -> (Planned, Vec<usize>) {
    let planner = |partition: &Partition, kind| Planner::new(program, layouts, partition, cost, options, kind);
    let plain = planner(partition, EdgeKind::Counter).map(Planner::planned);
    let mut best = plain.expect("everything can be exchanged by counters");
    let (mut partition, mut by) = (Cow::Borrowed(partition), EdgeKind::Counter);
    if let Some(kept) = keep::keep_constants(program, &partition, options.units, options.shared_bytes) {
        let planned = EdgeKind::ALL.into_par_iter().map(|kind| (kind, planner(&kept, kind).map(Planner::planned)));
        for (kind, planned) in planned.collect::<Vec<_>>() {
            if let Some(other) = planned.filter(|other| other.1.makespan() < best.1.makespan()) {
                (best, partition, by) = (other, Cow::Owned(kept.clone()), kind);
            }
        }
    }
    let marked = |partition: &Partition| planner(partition, EdgeKind::Sentinel);
    let kinds = match by {
        EdgeKind::Counter if !marked(&partition).is_some_and(|marked| marked.is_worth(&best.0, best.1.makespan())) => {
            &EdgeKind::ALL[..1]
        }
        EdgeKind::Counter | EdgeKind::Sentinel => exchanges(options),
    };
    let others = match options.kernels {
        KernelChoice::Own => Vec::new(),
        KernelChoice::Alone | KernelChoice::Interplay => {
            let graph = GroupGraph::new(&best.0.edges, &best.0.origins);
            let variants = match (&partition, known) {
                (Cow::Borrowed(_), Some(known)) => Cow::Borrowed(known),
                (Cow::Borrowed(_), None) | (Cow::Owned(_), _) => {
                    Cow::Owned(variants::variants(program, &partition, cost))
                }
            };
            let chosen = |kind| {
                let chosen = interplay::candidates(&partition, &variants, &graph, options, kind);
                // Those that are fastest alone follow, and are much the same either way.
                let most = if kind == EdgeKind::Sentinel { 1 } else { chosen.len() };
                chosen.into_iter().take(most).map(move |partition| (partition, by.max(kind)))
            };
            let mut found: Vec<(Partition, EdgeKind)> = kinds.par_iter().flat_map_iter(|kind| chosen(*kind)).collect();
            // Who is chosen either way is tried either way below.
            found.dedup_by(|later, earlier| later.0 == earlier.0);
            found
        }
    };
    let roughly = |(partition, kind): &(Partition, EdgeKind)| Some(planner(partition, *kind)?.roughly());
    let mut promising = promising(others.par_iter().filter_map(roughly).collect());
    let is_by_counters = promising.as_ref().map_or(by, |(_, other)| other.kind) == EdgeKind::Counter;
    if is_by_counters && kinds.contains(&EdgeKind::Sentinel) {
        let own = promising.as_ref().map_or(&*partition, |(_, other)| &other.chosen);
        let marked = marked(own).map(Planner::roughly);
        promising = self::promising(promising.into_iter().chain(marked).collect());
    }
    if let Some((rough, other)) = promising {
        let finer = other.in_finer_parts(rough).and_then(|finer| planner(&finer, other.kind));
        promising = self::promising(vec![(rough, other)].into_iter().chain(finer.map(Planner::roughly)).collect());
    }
    let other = promising.filter(|(rough, _)| *rough < best.1.rough).map(|(_, other)| other.planned());
    let (planner, draft) = other.filter(|other| other.1.makespan() < best.1.makespan()).unwrap_or(best);
    (planner.with_small_arena(draft), planner.origins)
}

/// The one that is predicted to be fastest, the first of equals.
fn promising(planners: Vec<(f64, Planner)>) -> Option<(f64, Planner)> {
    planners.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))
}

/// How the parts of sums may be exchanged under the options: marks tell of single tiles.
fn exchanges(options: &PlanOptions) -> &'static [EdgeKind] {
    match options.sync {
        Some(SyncPolicy::Barrier | SyncPolicy::Operator) => &[EdgeKind::Counter],
        Some(SyncPolicy::Tile) | None => &EdgeKind::ALL,
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
    let planner = Planner::new(program, layouts, partition, cost, options, EdgeKind::Counter);
    let planner = planner.expect("everything can be exchanged by counters");
    let graph = GroupGraph::new(&planner.edges, &planner.origins);
    let kept = keep::keep_constants(program, partition, options.units, options.shared_bytes);
    Limits::of(program, partition, kept.as_ref(), &graph, cost, options)
}

/// Exchanges between all units that the ends of an rOperator's rTasks are apart before it has bands.
const WORTH_EXCHANGES: f64 = 2.0;

/// The least share of a makespan by which marks have to shorten the longest path to be tried.
const WORTH_MARKS: f64 = 0.01;

/// What a makespan is of the longest path, at most, for finer parts to be tried.
const WORTH_FINER: f64 = 1.2;

/// Rounds of rTasks over all units that a reduction in finer parts may take.
const MOST_ROUNDS: usize = 2;

/// A partition whose kernels are chosen, with everything that its plans share.
struct Planner<'a> {
    options: &'a PlanOptions,
    kind: EdgeKind,
    /// The partition, reductions in parts as one group each.
    chosen: Partition,
    exchanged: Exchanged,
    /// Per rOperator, the position of its group.
    origins: Vec<usize>,
    operators: Arena<OperatorId, ROperator>,
    memory: MemoryPlan,
    edges: Arena<OperatorId, Vec<edges::Edge>>,
    homes: keep::Homes,
}

/// A plan, and the bands and the placement that it came of.
struct Draft {
    planned: Planned,
    bands: Bands,
    placement: Placement,
    /// Predicted microseconds where nothing waits for less than an rOperator, as rTasks were first placed.
    rough: f64,
}

impl Draft {
    fn makespan(&self) -> f64 {
        self.planned.makespan
    }

    fn faster(self, other: Self) -> Self {
        if other.makespan() < self.makespan() { other } else { self }
    }
}

impl<'a> Planner<'a> {
    fn new(
        program: &TensorProgram,
        layouts: &Arena<TensorId, Layout>,
        partition: &Partition,
        cost: &impl KernelCost,
        options: &'a PlanOptions,
        kind: EdgeKind,
    ) -> Option<Self> {
        let expanded = split::expand(program, layouts, partition);
        let origins = expanded.origins.clone();
        let exchanged = match kind {
            EdgeKind::Counter => Exchanged::without_sentinels(expanded),
            EdgeKind::Sentinel if !exchanges(options).contains(&kind) => return None,
            EdgeKind::Sentinel => sentinels::exchange(expanded)?,
        };
        let is_constant = |tensor: TensorId| matches!(exchanged.program.tensors[tensor].source, Source::Constant(_));
        let mut operators: Arena<OperatorId, ROperator> =
            ROperator::of(&exchanged.partition.groups, cost, is_constant).into_iter().collect();
        let memory = memory::unplaced(&exchanged.program, &exchanged.layouts, &exchanged.sentinels);
        for operator in operators.values_mut() {
            operator.task_microseconds +=
                cost.marks_microseconds(sentinels::marks_of_task(operator, &memory), operator.tasks());
        }
        let edges = edges::edges(&operators, &memory);
        let homes = keep::Homes::of(&operators);
        Some(Self { options, kind, chosen: partition.clone(), exchanged, origins, operators, memory, edges, homes })
    }

    /// Nanoseconds of the longest estimated path, exchanges included.
    fn path(&self) -> f64 {
        let bands = Bands::whole_operators(&self.operators);
        self.work(&bands).path(self.options.units, &self.options.costs) as f64
    }

    /// Whether the longest path is shorter than another's by so much of its makespan that it is worth to plan for it.
    fn is_worth(&self, other: &Self, makespan: f64) -> bool {
        other.path() - self.path() >= WORTH_MARKS * wavefront::nanoseconds(makespan) as f64
    }

    /// The partition with reductions in twice as many parts where these read what several rOperators write: parts of
    /// what is there early run early, and what is last is shorter. `None` if there is no such reduction, or units have more
    /// to do than to wait for the longest path, which is known by how long the plan takes.
    fn in_finer_parts(&self, makespan: f64) -> Option<Partition> {
        if wavefront::nanoseconds(makespan) as f64 > self.path() * WORTH_FINER {
            return None;
        }
        let mut partition = self.chosen.clone();
        let tensor = TensorId::from_index(self.exchanged.program.tensors.len());
        let mut is_finer = false;
        for (id, _) in self.edges.iter().filter(|(_, edges)| edges.len() > 1) {
            let operator = &self.operators[id];
            let group = &mut partition.groups[self.origins[id.index()]];
            let is_few = 2 * operator.tasks() as usize <= MOST_ROUNDS * self.options.units;
            if let (Template::Contraction(_), true) = (operator.params.template, is_few)
                && let Some(finer) = split::in_twice_the_parts(group, tensor)
            {
                group.params = finer;
                is_finer = true;
            }
        }
        is_finer.then_some(partition)
    }

    /// With the plan under the options' way of waiting, or under the fastest.
    fn planned(self) -> (Self, Draft) {
        let policies: &[SyncPolicy] = match (&self.options.sync, self.kind) {
            (Some(sync), _) => std::slice::from_ref(sync),
            (None, EdgeKind::Counter) => &[SyncPolicy::Tile, SyncPolicy::Barrier],
            (None, EdgeKind::Sentinel) => &[SyncPolicy::Tile],
        };
        let drafts: Vec<Draft> = policies.par_iter().map(|sync| self.plan(*sync)).collect();
        let fastest = drafts.into_iter().reduce(Draft::faster).expect("there are policies");
        (self, fastest)
    }

    /// With the predicted microseconds where nothing waits for less than an rOperator.
    fn roughly(self) -> (f64, Self) {
        let sync = match self.options.sync {
            Some(SyncPolicy::Barrier) => SyncPolicy::Barrier,
            Some(SyncPolicy::Operator | SyncPolicy::Tile) | None => SyncPolicy::Operator,
        };
        (self.without_bands(sync).makespan(), self)
    }

    fn plan(&self, sync: SyncPolicy) -> Draft {
        let whole = self.without_bands(sync);
        match sync {
            SyncPolicy::Barrier => whole,
            SyncPolicy::Operator => self.justified(whole),
            SyncPolicy::Tile => {
                let fine = self.tile_bands(&whole.placement);
                if fine.len() == whole.bands.len() {
                    return self.justified(whole);
                }
                let fine = || self.justified(self.with_bands(fine, sync));
                let (whole, fine) = rayon::join(|| self.justified(whole), fine);
                Draft { rough: whole.rough, ..whole.faster(fine) }
            }
        }
    }

    fn without_bands(&self, sync: SyncPolicy) -> Draft {
        self.with_bands(Bands::whole_operators(&self.operators), sync)
    }

    fn with_bands(&self, bands: Bands, sync: SyncPolicy) -> Draft {
        let PlanOptions { units, costs, arena, .. } = self.options;
        let placement = wavefront::place(&self.work(&bands), *units, sync, costs);
        let planned = self.under(&bands, &placement, sync, *arena);
        Draft { rough: planned.makespan, planned, bands, placement }
    }

    /// Bands of the rOperators whose rTasks end at such different times that it pays to wait for some of them, and of those
    /// whose rTasks stay on their units, where each may read back what was written there without waiting for the others.
    fn tile_bands(&self, placement: &Placement) -> Bands {
        let PlanOptions { units, costs, .. } = self.options;
        let spread = placement.spread(self.operators.len());
        let exchange = costs.signal_microseconds() + costs.exchange_microseconds(*units);
        let worth = wavefront::nanoseconds(WORTH_EXCHANGES * exchange);
        let stays = |id| self.operators[id].params.template == Template::Kept;
        Bands::of_tiles(&self.operators, &self.edges, |id| spread[id] >= worth || stays(id), *units, costs)
    }

    fn work<'w>(&'w self, bands: &'w Bands) -> Work<'w> {
        Work { operators: &self.operators, edges: &self.edges, bands, homes: &self.homes }
    }

    /// The plan of a placement.
    fn under(&self, bands: &Bands, placement: &Placement, sync: SyncPolicy, arena: ArenaPolicy) -> Planned {
        let (operators, program, PlanOptions { units, costs, .. }) =
            (&self.operators, &self.exchanged.program, self.options);
        let exchange = wavefront::nanoseconds(costs.signal_microseconds() + costs.exchange_microseconds(2));
        let placed = memory::place(self.memory.clone(), program, operators, placement, arena, exchange);
        let streams = synchronise::synchronise(&self.work(bands), placement, &placed.after, *units);
        let streams = self.with_loads(streams, &placed.memory);
        let segment =
            PersistentSegment { operators: operators.clone(), counters: streams.counters, streams: streams.streams };
        let makespan = simulate::makespan(&segment, &Polls::of(&segment, &placed.memory), costs);
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
        let kept = keep::with_keeps(streams.streams, &self.operators);
        let loaded = match self.options.prefetching {
            Prefetching::Never => kept,
            Prefetching::BeforeWaits => prefetch::with_prefetches(kept, &self.operators, memory),
        };
        Streams { streams: loaded, ..streams }
    }

    /// The draft with its rTasks justified, for as long as that is predicted to be faster. Where rTasks have units of their
    /// own there is little to choose.
    fn justified(&self, mut draft: Draft) -> Draft {
        let PlanOptions { units, costs, arena, .. } = self.options;
        let path = self.work(&draft.bands).path(*units, costs) as f64;
        let is_close = wavefront::nanoseconds(draft.makespan()) as f64 <= path * WORTH_JUSTIFYING;
        if is_close || self.homes.are_given() {
            return draft;
        }
        for _ in 0..JUSTIFICATIONS {
            let work = self.work(&draft.bands);
            let placement = justify::justify(&Requirements::new(&work, *units, costs), &draft.placement);
            if placement.end() >= draft.placement.end() {
                break;
            }
            let planned = self.under(&draft.bands, &placement, draft.planned.sync, *arena);
            if planned.makespan >= draft.planned.makespan {
                break;
            }
            draft = Draft { planned, placement, ..draft };
        }
        draft
    }

    /// The same plan with a smaller arena, if that costs next to no time.
    fn with_small_arena(&self, fastest: Draft) -> Planned {
        let Draft { planned, bands, placement, .. } = fastest;
        match self.options.arena {
            ArenaPolicy::Small | ArenaPolicy::Separate => planned,
            ArenaPolicy::Fast => {
                let small = self.under(&bands, &placement, planned.sync, ArenaPolicy::Small);
                let free = small.makespan <= planned.makespan * (1.0 + FREE_SHARE);
                if free && small.plan.memory.arena_bytes < planned.plan.memory.arena_bytes { small } else { planned }
            }
        }
    }
}
