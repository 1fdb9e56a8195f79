//! Which part of a program runs how. The two whole plans, cut where little is in use, tell what each stretch takes
//! either way. The cheapest sequence is planned, and kept if it is predicted to be faster than both.

use crate::tuning::SearchTuning;
use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::arena::Id;
use warpweave_graph::program::TensorId;

use crate::cost::sync::SyncCosts;
use crate::partition::search::Partition;
use crate::schedule::choice::parts::{PlanProblem, SegmentGroups, Whole};
use crate::schedule::choice::variants::Variants;
use crate::schedule::options::Planned;
use crate::schedule::placement::nanoseconds;
use crate::schedule::simulation::plan::{simulate_plan, simulate_segment};
use crate::schedule::simulation::{Event, Jitter, Simulation};
use warpweave_plan::plan::Instruction;
use warpweave_plan::plan::Segment;
use warpweave_plan::plan::backend::{Backend, BackendReason, SegmentReason};

/// The plan that is predicted to be fastest, launch included: persistent, a graph, or segments of both kinds; of equals the
/// first of these.
pub(crate) fn fastest(
    problem: &PlanProblem<'_>,
    partition: &Partition,
    variants: &Variants,
    persistent: Whole,
    graph: Whole,
) -> Planned {
    let costs = &problem.options.costs;
    let stretches = Stretches::of(problem, partition, &persistent, &graph);
    let persistent_nanoseconds = with_launch(Backend::Persistent, persistent.planned.makespan, costs);
    let cuda_graph_nanoseconds = with_launch(Backend::CudaGraph, graph.planned.makespan, costs);
    let whole = persistent_nanoseconds.min(cuda_graph_nanoseconds);
    let promising = |(microseconds, parts): &(f64, Vec<SegmentGroups>)| {
        let least = SearchTuning::DEFAULT.schedule.worthwhile_change_share * (parts.len() - 1) as f64;
        with_any_launch(*microseconds, costs) as f64 <= whole as f64 * (1.0 - least)
    };
    if let Some((_, parts)) = stretches.cheapest(costs).filter(promising) {
        let planned = problem.parts(partition, &parts, variants);
        let mixed_nanoseconds = with_any_launch(planned.makespan, costs);
        if mixed_nanoseconds < whole {
            let segments = stretches.reasons(&planned, &parts, costs);
            let reason =
                BackendReason::Mixed { mixed_nanoseconds, persistent_nanoseconds, cuda_graph_nanoseconds, segments };
            return Planned { reason, ..planned };
        }
    }
    let chosen = if cuda_graph_nanoseconds < persistent_nanoseconds { graph } else { persistent };
    let reason = BackendReason::Predicted { persistent_nanoseconds, cuda_graph_nanoseconds };
    Planned { reason, ..chosen.planned }
}

/// Segments of about equally many groups, the kinds in turn.
pub(crate) fn in_turn(groups: usize) -> Vec<SegmentGroups> {
    let segments = SearchTuning::DEFAULT.schedule.segments_in_turn.min(groups).max(1);
    let start = |segment: usize| segment * groups / segments;
    let part =
        |segment| SegmentGroups { groups: start(segment)..start(segment + 1), backend: KINDS[segment % KINDS.len()] };
    (0..segments).map(part).collect()
}

fn with_launch(backend: Backend, makespan: f64, costs: &SyncCosts) -> u64 {
    nanoseconds(costs.launch_microseconds(backend) + makespan)
}

/// The same with the dearer of all launches: that of a graph with a cooperative node has not been measured.
fn with_any_launch(makespan: f64, costs: &SyncCosts) -> u64 {
    KINDS.map(|backend| with_launch(backend, makespan, costs)).into_iter().max().unwrap_or(0)
}

/// What stretches of groups between cuts take in the two whole plans, in microseconds.
struct Stretches {
    /// Positions of groups before which a program may be cut, and its two ends.
    cuts: Vec<usize>,
    /// Per cut, when the last rTask of the groups before it ends in the persistent plan.
    persistent: Vec<f64>,
    /// The same in the graph.
    graph: Vec<f64>,
    /// Per cut, how long a unit of the persistent plan has brought constants on chip by then for groups behind it. A
    /// segment that begins there has to bring them itself.
    brought: Vec<f64>,
}

/// Per kind, of the cheapest sequence that ends with a stretch of that kind.
#[derive(Clone, Copy)]
struct Cheapest {
    microseconds: f64,
    /// The kind of the stretch before.
    before: Backend,
}

const KINDS: [Backend; 2] = [Backend::Persistent, Backend::CudaGraph];

impl Stretches {
    fn of(problem: &PlanProblem<'_>, partition: &Partition, persistent: &Whole, graph: &Whole) -> Self {
        let cuts = cuts(problem, partition);
        let costs = &problem.options.costs;
        let groups = partition.groups.len();
        let simulated = |whole: &Whole| simulate_plan(&whole.planned.plan, costs, Jitter::None);
        let (in_program, in_graph) = (simulated(persistent), simulated(graph));
        let ends = |whole: &Whole, run: &Simulation| -> Vec<f64> {
            let mut latest = vec![0.0f64];
            let ends = group_ends(whole, run, groups);
            ends.iter().for_each(|end| latest.push(latest[latest.len() - 1].max(*end)));
            cuts.iter().map(|cut| latest[*cut]).collect()
        };
        let ends = (ends(persistent, &in_program), ends(graph, &in_graph));
        let holds = holds(persistent, &in_program);
        let brought = cuts.iter().zip(&ends.0).map(|(cut, end)| brought_before(&holds, *cut, *end));
        Self { brought: brought.collect(), persistent: ends.0, graph: ends.1, cuts }
    }

    /// Microseconds from one cut to another. A stretch of a graph has the launch of its first node in it, but for the
    /// graph's first.
    fn takes(&self, backend: Backend, from: usize, to: usize) -> f64 {
        let ends = match backend {
            Backend::Persistent => &self.persistent,
            Backend::CudaGraph => &self.graph,
        };
        ends[to] - ends[from]
    }

    /// The sequence of both kinds that is predicted to be cheapest, and its microseconds; `None` if one kind alone is.
    fn cheapest(&self, costs: &SyncCosts) -> Option<(f64, Vec<SegmentGroups>)> {
        let change = |from: Backend, to: Backend, at: usize| match (from, to) {
            (Backend::CudaGraph, Backend::Persistent) => costs.node_microseconds() + self.brought[at],
            (Backend::Persistent, _) | (Backend::CudaGraph, Backend::CudaGraph) => 0.0,
        };
        let first = |backend| Cheapest { microseconds: self.takes(backend, 0, 1), before: backend };
        let mut steps: Vec<[Cheapest; 2]> = vec![KINDS.map(first)];
        for at in 1..self.cuts.len() - 1 {
            let last = steps[at - 1];
            let next = |backend: Backend| {
                let over = |(before, last): (Backend, Cheapest)| Cheapest {
                    microseconds: last.microseconds + change(before, backend, at) + self.takes(backend, at, at + 1),
                    before,
                };
                let ways = KINDS.into_iter().zip(last).map(over);
                // Of equals that which stays what it is.
                let rank = |way: &Cheapest| (way.microseconds, way.before != backend);
                ways.min_by(|a, b| rank(a).partial_cmp(&rank(b)).expect("times are numbers")).expect("there are kinds")
            };
            steps.push(KINDS.map(next));
        }
        let end = steps[steps.len() - 1];
        let mut kind = if end[1].microseconds < end[0].microseconds { KINDS[1] } else { KINDS[0] };
        let mut parts: Vec<SegmentGroups> = Vec::new();
        for (at, step) in steps.iter().enumerate().rev() {
            match parts.last_mut() {
                Some(last) if last.backend == kind => last.groups.start = self.cuts[at],
                _ => parts.push(SegmentGroups { groups: self.cuts[at]..self.cuts[at + 1], backend: kind }),
            }
            kind = step[KINDS.iter().position(|other| *other == kind).expect("there are two kinds")].before;
        }
        parts.reverse();
        (parts.len() > 1).then_some((end[0].microseconds.min(end[1].microseconds), parts))
    }

    /// Why each segment is what it is: what it takes as planned, and what its groups take in the whole plan of the other kind.
    fn reasons(&self, planned: &Planned, parts: &[SegmentGroups], costs: &SyncCosts) -> Vec<SegmentReason> {
        let position = |group: usize| self.cuts.iter().position(|cut| *cut == group).expect("parts end at cuts");
        let reason = |(segment, part): (&Segment, &SegmentGroups)| {
            let (from, to) = (position(part.groups.start), position(part.groups.end));
            let own = simulate_segment(segment, &planned.plan.memory, costs, Jitter::None).makespan;
            let takes = |backend: Backend| {
                nanoseconds(if backend == part.backend { own } else { self.takes(backend, from, to) })
            };
            SegmentReason {
                backend: part.backend,
                persistent_nanoseconds: takes(Backend::Persistent),
                cuda_graph_nanoseconds: takes(Backend::CudaGraph),
            }
        };
        planned.plan.segments.iter().zip(parts).map(reason).collect()
    }
}

/// Per group, when its last rTask ends.
fn group_ends(whole: &Whole, run: &Simulation, groups: usize) -> Vec<f64> {
    let mut ends = vec![0.0; groups];
    for event in run.units.iter().flatten() {
        if let Instruction::Run(task) = event.instruction {
            let end: &mut f64 = &mut ends[whole.origins[task.operator.index()]];
            *end = end.max(event.end);
        }
    }
    ends
}

/// A unit brings constants on chip for a group.
struct Held {
    group: usize,
    start: f64,
    end: f64,
}

/// Per unit that brings constants on chip, when and for which groups it does.
fn holds(whole: &Whole, run: &Simulation) -> Vec<Vec<Held>> {
    let held = |event: &Event| match event.instruction {
        Instruction::Hold(task) => {
            Some(Held { group: whole.origins[task.operator.index()], start: event.start, end: event.end })
        }
        _ => None,
    };
    let of_unit = |unit: &Vec<Event>| unit.iter().filter_map(held).collect::<Vec<_>>();
    run.units.iter().map(of_unit).filter(|held| !held.is_empty()).collect()
}

/// The most time for which a unit brings constants on chip before `end` for groups from `first` on.
fn brought_before(holds: &[Vec<Held>], first: usize, end: f64) -> f64 {
    let counts = |held: &&Held| held.start < end && held.group >= first;
    let of_unit = |unit: &Vec<Held>| unit.iter().filter(counts).map(|held| held.end - held.start).sum();
    holds.iter().map(of_unit).fold(0.0, f64::max)
}

/// Where a program may be cut: its ends, and before some groups. Before such a group no more than one root goes from
/// those before to those behind, or no more bytes than at the places around it.
fn cuts(problem: &PlanProblem<'_>, partition: &Partition) -> Vec<usize> {
    let crossing = crossing(problem, partition);
    let groups = partition.groups.len();
    let is_narrow = |cut: &usize| {
        let here = &crossing[*cut];
        let least = |other: usize| here.bytes <= crossing[other].bytes;
        here.roots <= 1 || least(cut - 1) && least(cut + 1)
    };
    std::iter::once(0).chain((1..groups).filter(is_narrow)).chain([groups]).collect()
}

/// What is in use between two groups.
#[derive(Clone, Copy, Default)]
struct Crossing {
    roots: usize,
    bytes: u64,
}

/// Per position of a group, what groups before it write and those from it on use.
fn crossing(problem: &PlanProblem<'_>, partition: &Partition) -> Vec<Crossing> {
    let groups = &partition.groups;
    let root = |tensor: &TensorId| problem.layouts[*tensor].root;
    let mut spans: BTreeMap<TensorId, (usize, usize)> = BTreeMap::new();
    let given: BTreeSet<TensorId> = problem.program.inputs.iter().map(root).collect();
    let is_given = |root: TensorId| given.contains(&root) || !problem.program.mutability(root).changes_in_launch();
    for (position, group) in groups.iter().enumerate() {
        for root in group
            .kernel
            .body()
            .operands
            .iter()
            .chain(&group.kernel.body().outputs)
            .map(root)
            .filter(|root| !is_given(*root))
        {
            spans.entry(root).or_insert((position, position)).1 = position;
        }
    }
    let mut crossing = vec![Crossing::default(); groups.len() + 1];
    for (root, (first, last)) in spans {
        let ty = &problem.program.tensors[root].ty;
        for here in &mut crossing[first + 1..=last] {
            here.roots += 1;
            here.bytes += ty.bytes() as u64;
        }
    }
    crossing
}
