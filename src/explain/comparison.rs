//! One partition under every way of waiting, with what is uncertain varied.

use warpweave_fusion::partition::Partition;
use warpweave_fusion::schedule::simulate::{self, Jitter};
use warpweave_fusion::schedule::{KernelChoice, Limits, PersistentSegment, PlanOptions, Polls, SyncCosts, SyncPolicy};

use super::{ExplainedPlan, explain};
use crate::compiler::{CompileError, CompileOptions, Prepared};

/// How a plan's time compares with another's over all variations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Win {
    /// Always this many times as fast or faster, up to the second.
    Faster(f64, f64),
    /// Always slower: between these ratios, below 1.
    Slower(f64, f64),
    /// Within half a per cent throughout.
    Equal,
    /// It depends on what is uncertain: the smallest and the largest ratio.
    Undetermined(f64, f64),
}

/// What there is to say of a plan under one policy.
#[derive(Clone, PartialEq, Debug)]
pub struct PolicyFigures {
    /// The policy.
    pub sync: SyncPolicy,
    /// rTasks on the critical path.
    pub critical_steps: usize,
    /// Waits in all streams.
    pub waits: usize,
    /// The share of all units' time in which rTasks run.
    pub utilisation: f64,
    /// Predicted microseconds.
    pub makespan: f64,
    /// Smallest and largest prediction over all variations.
    pub range: (f64, f64),
    /// Bytes of the arena.
    pub arena_bytes: u64,
    /// Bytes that it cannot do without.
    pub arena_bound_bytes: u64,
    /// Seconds that scheduling took.
    pub seconds: f64,
}

/// A partition under all policies.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Per policy, coarsest first.
    pub policies: Vec<PolicyFigures>,
    /// What the plans are held against.
    pub limits: Limits,
    /// Predicted microseconds under waits for bands where every group runs the kernel that is fastest alone.
    pub fastest_alone: f64,
    /// Waits for bands against barriers.
    pub tile_over_barrier: Win,
    /// Waits for bands against waits for whole rOperators.
    pub tile_over_operator: Win,
}

/// Seeds of the varied task times.
const SEEDS: [u64; 4] = [1, 2, 3, 4];
/// Factors of the costs that are assumed.
const FACTORS: [f64; 3] = [0.5, 1.0, 2.0];
/// Ratios within this of 1 say nothing.
const TIE: f64 = 0.005;

/// Compares all policies.
pub fn compare(
    prepared: &Prepared,
    partition: &Partition,
    compile: &CompileOptions,
    options: &PlanOptions,
) -> Result<Comparison, CompileError> {
    let mut policies = Vec::new();
    let mut times = Vec::new();
    for sync in SyncPolicy::ALL {
        let explained = explain(prepared, partition, compile, &PlanOptions { sync: Some(sync), ..*options })?;
        let segment = explained.plan.plan().persistent();
        let polls = Polls::of(segment, &explained.plan.plan().memory);
        let varied = variations(segment, &polls, &options.costs);
        policies.push(figures(&explained, &varied));
        times.push(varied);
    }
    let alone = PlanOptions { sync: Some(SyncPolicy::Tile), kernels: KernelChoice::Alone, ..*options };
    let [barrier, operator, tile] = times.as_slice() else { unreachable!("there are three policies") };
    Ok(Comparison {
        policies,
        limits: prepared.limits(partition, compile, options),
        fastest_alone: prepared.plan(partition, compile, &alone).makespan,
        tile_over_barrier: win(barrier, tile),
        tile_over_operator: win(operator, tile),
    })
}

/// Makespans under every variation, in a fixed order.
fn variations(segment: &PersistentSegment, polls: &Polls, costs: &SyncCosts) -> Vec<f64> {
    let jitters = || std::iter::once(Jitter::None).chain(SEEDS.map(Jitter::Seeded));
    let under = |factor: f64| {
        let costs = costs.with_assumed(factor);
        jitters().map(move |jitter| simulate::simulate(segment, polls, &costs, jitter).makespan)
    };
    FACTORS.into_iter().flat_map(under).collect()
}

fn figures(explained: &ExplainedPlan, varied: &[f64]) -> PolicyFigures {
    let plan = explained.plan.plan();
    let smallest = varied.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = varied.iter().copied().fold(0.0, f64::max);
    PolicyFigures {
        sync: explained.sync,
        critical_steps: explained.simulation.critical_steps(),
        waits: plan.persistent().waits(),
        utilisation: explained.shares().running,
        makespan: explained.simulation.makespan,
        range: (smallest, largest),
        arena_bytes: plan.memory.arena_bytes,
        arena_bound_bytes: explained.arena_bound_bytes,
        seconds: explained.seconds,
    }
}

/// How `ours` compares with `other`, variation by variation.
fn win(other: &[f64], ours: &[f64]) -> Win {
    let ratios = || other.iter().zip(ours).map(|(other, ours)| other / ours.max(f64::MIN_POSITIVE));
    let least = ratios().fold(f64::INFINITY, f64::min);
    let most = ratios().fold(0.0, f64::max);
    if least > 1.0 - TIE && most < 1.0 + TIE {
        Win::Equal
    } else if least > 1.0 {
        Win::Faster(least, most)
    } else if most < 1.0 {
        Win::Slower(least, most)
    } else {
        Win::Undetermined(least, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_win_that_flips_is_undetermined() {
        assert_eq!(win(&[2.0, 3.0], &[1.0, 2.0]), Win::Faster(1.5, 2.0));
        assert_eq!(win(&[1.0, 1.0], &[2.0, 4.0]), Win::Slower(0.25, 0.5));
        assert_eq!(win(&[1.0, 1.001], &[1.0, 1.0]), Win::Equal);
        assert_eq!(win(&[1.0, 2.0], &[2.0, 1.0]), Win::Undetermined(0.5, 2.0));
    }
}
