//! What the time of a plan is held against. One measure is what no choice of kernels and no schedule falls below.
//! Another is the groups one after another, each with the kernel that is best for it alone.

use std::collections::HashMap;

use rayon::prelude::*;
use warpweave_graph::program::TensorProgram;

use crate::cost::KernelCost;
use crate::partition::search::{FusionGroup, Partition};
use crate::schedule::choice::interplay::GroupGraph;
use crate::schedule::choice::variants::{Variant, variants};
use crate::schedule::options::PlanOptions;
use crate::schedule::simulation::{Launch, kernel_sequence};
use warpweave_plan::body::signature::Signature;

/// Microseconds that a plan of a partition is held against.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LowerBounds {
    /// The longest path through the groups, an rTask of every kernel on it, each group under the variant that ends first.
    pub critical_path: f64,
    /// The same with an exchange after every kernel, between as many units as have its rTasks or those of its readers.
    /// It is what a path takes that goes through the arena at every step.
    pub with_exchanges: f64,
    /// The time of all rTasks over all units, each group under the variant that takes least.
    pub work: f64,
    /// The groups as nodes of one graph, one after another, each with the kernel that is fastest on the whole device: a lower
    /// estimate, see [`kernel_sequence`].
    pub one_by_one: f64,
}

impl LowerBounds {
    /// The limits of a partition under a plan's options, from what its groups read of one another; `kept` are the same groups
    /// with constants kept on chip.
    pub fn of(
        program: &TensorProgram,
        partition: &Partition,
        kept: Option<&Partition>,
        graph: &GroupGraph,
        options: &PlanOptions,
    ) -> Self {
        let PlanOptions { units, costs, .. } = options;
        let cost = &*options.cost;
        let (mut variants, _) = variants(program, partition, cost);
        for (variants, group) in variants.iter_mut().zip(kept.into_iter().flat_map(|kept| &kept.groups)) {
            variants.push(Variant::new(program, group.kernel.clone(), cost));
        }
        let exchanges = exchanges(&variants, graph, options);
        let launches = |variant: &Variant| -> Vec<f64> {
            variant.kernels.iter().map(|kernel| kernel.rounds(*units) as f64 * kernel.microseconds()).collect()
        };
        let takes = |variant: &Variant| kernel_sequence(launches(variant).into_iter(), Launch::Graph, costs);
        let best = best_of_search(program, partition, cost);
        let alone = partition.groups.iter().zip(&variants).map(|(group, variants)| {
            let all = variants.iter().chain([&best[&Signature::of(group.kernel.body())]]);
            all.min_by(|a, b| takes(a).total_cmp(&takes(b))).expect("a group has a kernel")
        });
        Self {
            critical_path: longest(&variants, graph, &vec![0.0; variants.len()]),
            with_exchanges: longest(&variants, graph, &exchanges),
            work: least_work(&variants) / *units as f64,
            one_by_one: kernel_sequence(alone.flat_map(launches), Launch::Graph, costs),
        }
    }

    /// Each bound, or the other's where that is lower.
    pub(crate) fn or_lower(&self, other: &Self) -> Self {
        Self {
            critical_path: self.critical_path.min(other.critical_path),
            with_exchanges: self.with_exchanges.min(other.with_exchanges),
            work: self.work.min(other.work),
            one_by_one: self.one_by_one.min(other.one_by_one),
        }
    }

    /// Microseconds that no plan falls below.
    pub fn bound(&self) -> f64 {
        self.critical_path.max(self.work)
    }
}

/// The kernel that the search would choose for every group, shapes of contractions unlimited.
fn best_of_search(
    program: &TensorProgram,
    partition: &Partition,
    cost: &dyn KernelCost,
) -> HashMap<Signature, Variant> {
    let groups: HashMap<Signature, &FusionGroup> =
        partition.groups.iter().map(|group| (Signature::of(group.kernel.body()), group)).collect();
    let best = |(signature, group): (Signature, &FusionGroup)| {
        let best = cost.best(program, group.kernel.shared_body());
        let kernel = best.map_or_else(|| group.kernel.clone(), |priced| priced.kernel);
        (signature, Variant::new(program, kernel, cost))
    };
    groups.into_par_iter().map(best).collect()
}

/// Per group, the microseconds from its end to the start of what reads it on another unit.
fn exchanges(variants: &[Vec<Variant>], graph: &GroupGraph, options: &PlanOptions) -> Vec<f64> {
    let fewest = |variants: &Vec<Variant>| -> u32 {
        let tasks = variants.iter().filter_map(|variant| variant.kernels.last());
        tasks.map(|kernel| kernel.tasks).min().unwrap_or(0)
    };
    let own: Vec<u32> = variants.iter().map(fewest).collect();
    let mut readers = vec![0; own.len()];
    for (group, own) in own.iter().enumerate() {
        graph.predecessors(group).iter().for_each(|&other| readers[other] += own);
    }
    let exchange = |(own, readers): (&u32, &u32)| {
        let parties = options.units.min(*own.max(readers) as usize);
        options.costs.signal_microseconds() + options.costs.exchange_microseconds(parties)
    };
    own.iter().zip(&readers).map(exchange).collect()
}

/// The longest path where every kernel takes one rTask, and its group's exchange follows it.
fn longest(variants: &[Vec<Variant>], graph: &GroupGraph, exchanges: &[f64]) -> f64 {
    let mut ends: Vec<f64> = Vec::with_capacity(variants.len());
    for (group, variants) in variants.iter().enumerate() {
        let start = graph.predecessors(group).iter().map(|&other| ends[other] + exchanges[other]).fold(0.0, f64::max);
        let time = |variant: &Variant| {
            let kernels: f64 = variant.kernels.iter().map(|kernel| kernel.microseconds()).sum();
            kernels + exchanges[group] * (variant.kernels.len() - 1) as f64
        };
        ends.push(start + variants.iter().map(time).fold(f64::INFINITY, f64::min));
    }
    ends.into_iter().fold(0.0, f64::max)
}

fn least_work(variants: &[Vec<Variant>]) -> f64 {
    let of_variant = |variant: &Variant| -> f64 {
        variant.kernels.iter().map(|kernel| f64::from(kernel.tasks) * kernel.microseconds()).sum()
    };
    variants.iter().map(|variants| variants.iter().map(of_variant).fold(f64::INFINITY, f64::min)).sum()
}
