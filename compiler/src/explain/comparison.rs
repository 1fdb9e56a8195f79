//! One partition planned in every way, with what is uncertain varied.

use warpweave_fusion::cost::sync::SyncCosts;
use warpweave_fusion::partition::search::Partition;
use warpweave_fusion::schedule::choice::lower_bounds::LowerBounds;
use warpweave_fusion::schedule::choice::{limits, plan};
use warpweave_fusion::schedule::options::{KernelChoice, PlanOptions};
use warpweave_fusion::schedule::policy::SyncPolicy;
use warpweave_fusion::schedule::simulation as simulate;
use warpweave_fusion::schedule::simulation::Jitter;
use warpweave_graph::pipeline::PreparedProgram;
use warpweave_plan::plan::ExecutionPlan;
use warpweave_plan::streams::polls::Polls;
use warpweave_plan::streams::prefetch::Prefetching;

use super::{ExplainedPlan, explain};
use crate::error::CompileError;

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

/// A way to plan. From waits by tile on, each has what the one before has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// All units meet between waves.
    Barrier,
    /// Readers wait for whole rOperators.
    Operator,
    /// Readers wait for the tiles that they read.
    Tile,
    /// Constants are loaded before waits.
    Prefetch,
    /// Constants are kept on chip, and what is exchanged then carries its own validity.
    Residency,
}

impl Way {
    /// All ways, in order.
    pub const ALL: [Self; 5] = [Self::Barrier, Self::Operator, Self::Tile, Self::Prefetch, Self::Residency];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Operator => "operator",
            Self::Tile => "tile",
            Self::Prefetch => "+ prefetch",
            Self::Residency => "+ residency",
        }
    }

    /// The options with which it plans.
    fn options(self, all: &PlanOptions) -> PlanOptions {
        let sync = match self {
            Self::Barrier => SyncPolicy::BARRIER,
            Self::Operator => SyncPolicy::OPERATOR,
            Self::Tile | Self::Prefetch | Self::Residency => SyncPolicy::TILE,
        };
        let (prefetching, shared_bytes) = match self {
            Self::Barrier | Self::Operator | Self::Tile => (Prefetching::Never, 0),
            Self::Prefetch => (Prefetching::BeforeWaits, 0),
            Self::Residency => (Prefetching::BeforeWaits, all.shared_bytes),
        };
        PlanOptions { sync: Some(sync), prefetching, shared_bytes, ..all.clone() }
    }
}

/// What there is to say of a plan that was made in one way.
#[derive(Clone, PartialEq, Debug)]
pub struct WayFigures {
    /// The way.
    pub way: Way,
    /// rTasks on the critical path.
    pub critical_steps: usize,
    /// Waits in all streams.
    pub waits: usize,
    /// rTasks that load constants before they wait.
    pub prefetches: usize,
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

/// A partition planned in all ways.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The ways, in their order.
    pub ways: Vec<WayFigures>,
    /// What the plans are held against.
    pub limits: LowerBounds,
    /// Predicted microseconds with all of that where every group runs the kernel that is fastest alone.
    pub fastest_alone: f64,
    /// Waits for bands against barriers.
    pub tile_over_barrier: Win,
    /// Waits for bands against waits for whole rOperators.
    pub tile_over_operator: Win,
    /// Loads before waits against none.
    pub prefetch_over_tile: Win,
    /// Constants on chip against constants loaded by every rTask.
    pub residency_over_prefetch: Win,
    /// Waits for bands against barriers, both with loads before waits and constants on chip.
    pub all_over_barrier: Win,
}

/// Seeds of the varied task times.
const SEEDS: [u64; 4] = [1, 2, 3, 4];
/// Factors of the costs that are assumed.
const FACTORS: [f64; 3] = [0.5, 1.0, 2.0];
/// Ratios within this of 1 say nothing.
const TIE: f64 = 0.005;

/// Compares all ways.
pub fn compare(
    prepared: &PreparedProgram,
    partition: &Partition,
    options: &PlanOptions,
) -> Result<Comparison, CompileError> {
    let planned = |options: &PlanOptions| {
        let explained = explain(prepared, partition, options)?;
        let varied = variations(explained.plan.plan(), &options.costs);
        Ok::<_, CompileError>((explained, varied))
    };
    let mut ways = Vec::new();
    let mut times = Vec::new();
    for way in Way::ALL {
        let (explained, varied) = planned(&way.options(options))?;
        ways.push(figures(way, &explained, &varied));
        times.push(varied);
    }
    let (_, barrier_with_all) = planned(&PlanOptions { sync: Some(SyncPolicy::BARRIER), ..options.clone() })?;
    let alone = PlanOptions { sync: Some(SyncPolicy::TILE), kernels: KernelChoice::Alone, ..options.clone() };
    let [barrier, operator, tile, prefetch, residency] = times.as_slice() else { unreachable!("there are five ways") };
    Ok(Comparison {
        ways,
        limits: limits(prepared, partition, options),
        fastest_alone: plan(prepared, partition, &alone).makespan,
        tile_over_barrier: win(barrier, tile),
        tile_over_operator: win(operator, tile),
        prefetch_over_tile: win(tile, prefetch),
        residency_over_prefetch: win(prefetch, residency),
        all_over_barrier: win(&barrier_with_all, residency),
    })
}

/// Makespans under every variation, in a fixed order.
fn variations(plan: &ExecutionPlan, costs: &SyncCosts) -> Vec<f64> {
    let segment = plan.persistent();
    let polls = &Polls::of(segment, &plan.memory);
    let jitters = || std::iter::once(Jitter::None).chain(SEEDS.map(Jitter::Seeded));
    let under = |factor: f64| {
        let costs = costs.with_assumed(factor);
        jitters().map(move |jitter| simulate::simulate(segment, polls, &costs, jitter).makespan)
    };
    FACTORS.into_iter().flat_map(under).collect()
}

fn figures(way: Way, explained: &ExplainedPlan, varied: &[f64]) -> WayFigures {
    let plan = explained.plan.plan();
    let smallest = varied.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = varied.iter().copied().fold(0.0, f64::max);
    WayFigures {
        way,
        critical_steps: explained.simulation.critical_steps(),
        waits: plan.persistent().waits(),
        prefetches: plan.persistent().prefetches(),
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
