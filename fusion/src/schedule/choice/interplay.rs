//! Kernel choice by interplay (Rammer): which kernel a group runs as follows from what runs beside it.
//!
//! Groups are placed one after another, most urgent first, under each of their variants; the one that ends first at the
//! price of its time on units stays. What that time should cost is not known beforehand. Several prices are tried, with
//! and without regard to how late a group may end. The plans are judged by the simulator.

use crate::tuning::SearchTuning;
use std::cmp::Reverse;

use warpweave_graph::arena::{Arena, Id};

use crate::partition::search::Partition;
use crate::schedule::choice::variants::{Variant, Variants};
use crate::schedule::dependence::edges::Edge;
use crate::schedule::options::{KernelChoice, PlanOptions};
use crate::schedule::placement::profile::{Profile, Round};
use crate::schedule::placement::{Time, nanoseconds};
use warpweave_plan::plan::{EdgeKind, OperatorId};

/// What groups read of one another.
#[derive(Clone, Debug)]
pub struct GroupGraph {
    /// Per group, the groups that it reads.
    predecessors: Vec<Vec<usize>>,
}

impl GroupGraph {
    /// From what the kernels read, and the group that each kernel came of.
    pub fn new(edges: &Arena<OperatorId, Vec<Edge>>, origins: &[usize]) -> Self {
        let groups = origins.last().map_or(0, |last| last + 1);
        let mut predecessors = vec![Vec::new(); groups];
        for (id, edges) in edges.iter() {
            let own = origins[id.index()];
            predecessors[own]
                .extend(edges.iter().map(|edge| origins[edge.producer.index()]).filter(|other| *other != own));
        }
        for predecessors in &mut predecessors {
            predecessors.sort_unstable();
            predecessors.dedup();
        }
        Self { predecessors }
    }

    /// Per group, how many groups have to end before it one after another.
    pub fn steps(&self) -> Vec<usize> {
        let mut steps: Vec<usize> = Vec::with_capacity(self.predecessors.len());
        for predecessors in &self.predecessors {
            steps.push(predecessors.iter().map(|&before| steps[before] + 1).max().unwrap_or(0));
        }
        steps
    }

    /// The groups that a group reads, ascending.
    pub fn predecessors(&self, group: usize) -> &[usize] {
        &self.predecessors[group]
    }
}

/// How a variant is chosen where a group is placed.
#[derive(Clone, Copy, Debug)]
struct Rule {
    /// What time on all units costs, in time until the group's end.
    price: f64,
    /// By when everything has to end, as a share of the best known; what ends in time for that does not end late.
    due: Option<f64>,
}

/// Partitions that differ from this one in kernels alone and may be faster: each group's fastest alone, and those chosen by
/// interplay. `parts` says how the parts of sums are exchanged.
pub(crate) fn candidates(
    partition: &Partition,
    (variants, classes): &Variants,
    graph: &GroupGraph,
    options: &PlanOptions,
    parts: EdgeKind,
) -> Vec<Partition> {
    let chooser = Chooser::new(variants, graph, options, parts);
    let own = chooser.placed(vec![0; variants.len()]);
    let alone = chooser.placed(chooser.alone());
    let chosen = match options.kernels {
        KernelChoice::Own | KernelChoice::Alone => None,
        KernelChoice::Interplay => {
            let start = if alone.end < own.end { alone.clone() } else { own.clone() };
            Some(chooser.by_interplay(start, classes))
        }
    };
    let mut found: Vec<Outcome> = chosen.into_iter().filter(|outcome| outcome.chosen != alone.chosen).collect();
    found.push(alone);
    found.retain(|outcome| outcome.end < own.end);
    let with = |outcome: Outcome| {
        let mut partition = partition.clone();
        for ((group, variants), chosen) in partition.groups.iter_mut().zip(variants).zip(outcome.chosen) {
            group.kernel = group.kernel.like(&variants[chosen].kernel);
        }
        partition
    };
    found.into_iter().map(with).collect()
}

/// A kernel a group, the order in which groups were placed, and when the last one ends.
#[derive(Clone, Debug)]
struct Outcome {
    chosen: Vec<usize>,
    urgency: Urgency,
    end: Time,
}

struct Chooser<'a> {
    variants: &'a [Vec<Variant>],
    graph: &'a GroupGraph,
    units: usize,
    signal: Time,
    exchange: Time,
    /// From the end of the parts of a sum to the sum.
    between: Time,
}

/// How urgent groups are under one choice of kernels.
#[derive(Clone, Debug)]
struct Urgency {
    /// Per group, from its start to the end of everything that depends on it.
    to_the_end: Vec<Time>,
    /// Per group, from its start to its own end.
    alone: Vec<Time>,
    /// Most urgent first.
    order: Vec<usize>,
}

impl<'a> Chooser<'a> {
    fn new(variants: &'a [Vec<Variant>], graph: &'a GroupGraph, options: &PlanOptions, parts: EdgeKind) -> Self {
        let (units, costs) = (options.units, &options.costs);
        let signal = nanoseconds(costs.signal_microseconds());
        let exchange = signal + nanoseconds(costs.exchange_microseconds(units));
        let between = match parts {
            EdgeKind::Counter => exchange,
            EdgeKind::Tagged => nanoseconds(costs.tagged_value.value),
        };
        Self { variants, graph, units, signal, exchange, between }
    }

    fn urgency(&self, chosen: &[usize]) -> Urgency {
        let own = |(variants, &at): (&Vec<Variant>, &usize)| variants[at].alone(self.units, self.between);
        let alone: Vec<Time> = self.variants.iter().zip(chosen).map(own).collect();
        let mut to_the_end = vec![0; alone.len()];
        for group in (0..alone.len()).rev() {
            to_the_end[group] += alone[group];
            for &other in self.graph.predecessors(group) {
                to_the_end[other] = to_the_end[other].max(to_the_end[group] + self.exchange);
            }
        }
        let mut order: Vec<usize> = (0..alone.len()).collect();
        order.sort_by_key(|&group| (Reverse(to_the_end[group]), group));
        Urgency { to_the_end, alone, order }
    }

    /// Per group, the variant that is fastest on a device of its own; the first of equals.
    fn alone(&self) -> Vec<usize> {
        let takes = |variant: &Variant| variant.alone(self.units, self.between);
        let fastest = |variants: &Vec<Variant>| {
            let of = (0..variants.len()).min_by_key(|&at| takes(&variants[at]));
            of.expect("a group has a kernel")
        };
        self.variants.iter().map(fastest).collect()
    }

    fn placed(&self, chosen: Vec<usize>) -> Outcome {
        self.fixed(self.urgency(&chosen), &chosen)
    }

    /// The best of all rules' choices and `start`, improved. Every rule chooses again where urgency follows from its choice.
    fn by_interplay(&self, start: Outcome, classes: &[usize]) -> Outcome {
        // Nothing is faster than the longest path of kernels that are fastest alone.
        let path = self.urgency(&self.alone()).to_the_end.into_iter().max().unwrap_or(0);
        if start.end as f64 <= path as f64 * (1.0 + SearchTuning::DEFAULT.schedule.worthwhile_kernel_share) {
            return start;
        }
        let mut best = start.clone();
        for (due, price) in SearchTuning::DEFAULT
            .schedule
            .due_shares
            .into_iter()
            .flat_map(|due| SearchTuning::DEFAULT.schedule.unit_prices.map(|price| (due, price)))
        {
            let mut urgency = start.urgency.clone();
            for _ in 0..SearchTuning::DEFAULT.schedule.interplay_repeats {
                let outcome = self.by_rule(urgency, Rule { price, due }, best.end);
                urgency = self.urgency(&outcome.chosen);
                if outcome.end < best.end {
                    best = outcome;
                }
            }
        }
        self.improve(best, classes, SearchTuning::DEFAULT.schedule.interplay_steps)
    }

    /// Places every group under the variant that `choose` gives, which knows when it may start.
    fn run(
        &self,
        urgency: Urgency,
        mut choose: impl FnMut(&Urgency, usize, Time, &mut Profile, &mut Vec<Round>) -> usize,
    ) -> Outcome {
        let mut profile = Profile::new(self.units);
        let mut ends: Vec<Time> = vec![0; self.variants.len()];
        let mut chosen = vec![0; self.variants.len()];
        let mut rounds = Vec::new();
        for &group in &urgency.order {
            let read = self.graph.predecessors(group).iter().map(|&other| ends[other] + self.exchange);
            let from = read.max().unwrap_or(0);
            chosen[group] = choose(&urgency, group, from, &mut profile, &mut rounds);
            ends[group] = self.place(&mut profile, &self.variants[group][chosen[group]], from, &mut rounds);
        }
        Outcome { chosen, urgency, end: ends.into_iter().max().unwrap_or(0) }
    }

    fn fixed(&self, urgency: Urgency, chosen: &[usize]) -> Outcome {
        self.run(urgency, |_, group, _, _, _| chosen[group])
    }

    /// Chooses by a rule; `best` is when the best known ends.
    fn by_rule(&self, urgency: Urgency, rule: Rule, best: Time) -> Outcome {
        self.run(urgency, |urgency, group, from, profile, rounds| {
            let variants = &self.variants[group];
            if variants.len() == 1 {
                return 0;
            }
            let due = rule.due.map_or(0, |share| {
                let after = urgency.to_the_end[group] - urgency.alone[group];
                ((best as f64 * share) as Time).saturating_sub(after)
            });
            let score = |variant: &Variant| {
                let end = self.place(profile, variant, from, rounds);
                rounds.iter().for_each(|&round| profile.give_back(round));
                let work = variant.work(self.signal) as f64 / self.units as f64;
                end.max(due) + (rule.price * work) as Time
            };
            let scores: Vec<Time> = variants.iter().map(score).collect();
            (0..variants.len()).min_by_key(|&at| scores[at]).expect("a group has a kernel")
        })
    }

    /// Places a group; when it ends. `rounds` are those of its rTasks afterwards.
    fn place(&self, profile: &mut Profile, variant: &Variant, from: Time, rounds: &mut Vec<Round>) -> Time {
        rounds.clear();
        let (mut from, mut end) = (from, from);
        for kernel in &variant.kernels {
            let signal = if kernel.tasks as usize <= self.units { self.signal } else { 0 };
            profile.place(from, kernel.time + signal, kernel.tasks, rounds);
            end = rounds.last().map_or(end, |round| round.end() - signal);
            from = end + self.between;
        }
        end
    }

    /// Changes one class of groups, then one group at a time, again and again while that ends earlier; `steps` placements of
    /// groups at most.
    fn improve(&self, mut best: Outcome, classes: &[usize], mut steps: usize) -> Outcome {
        let moves = moves(classes);
        let mut rejected = 0;
        for moved in moves.iter().cycle() {
            let before = best.end;
            for at in 0..self.variants[moved[0]].len() {
                if moved.iter().all(|&group| best.chosen[group] == at) {
                    continue;
                }
                let Some(left) = steps.checked_sub(classes.len()) else { return best };
                steps = left;
                let mut chosen = best.chosen.clone();
                moved.iter().for_each(|&group| chosen[group] = at);
                let other = self.fixed(best.urgency.clone(), &chosen);
                if other.end < best.end {
                    best = other;
                }
            }
            rejected = if best.end < before { 0 } else { rejected + 1 };
            if rejected == moves.len() {
                break;
            }
        }
        best
    }
}

/// Groups to change together: all that compute the same, then each by itself.
fn moves(classes: &[usize]) -> Vec<Vec<usize>> {
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); classes.iter().max().map_or(0, |last| last + 1)];
    (0..classes.len()).for_each(|group| members[classes[group]].push(group));
    let several = members.into_iter().filter(|members| members.len() > 1);
    several.chain((0..classes.len()).map(|group| vec![group])).collect()
}
