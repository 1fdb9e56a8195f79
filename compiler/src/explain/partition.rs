//! A model's partition: its levels side by side, and why each group is what it is.

use std::time::Instant;

use warpweave_fusion::cost::PricedKernel;
use warpweave_fusion::cost::arch::GpuArch;
use warpweave_fusion::cost::bound::group::group_bound;
use warpweave_fusion::cost::bound::{BoundMode, PerformanceUpperBound};
use warpweave_fusion::cost::timings::Timing;
use warpweave_fusion::cost::traffic::Traffic;
use warpweave_fusion::partition::search::neighbours;
use warpweave_fusion::partition::search::neighbours::Neighbour;
use warpweave_fusion::partition::search::{FusionLevel, Partition, SearchEnd};
use warpweave_fusion::partition::split;
use warpweave_fusion::schedule::options::PlanOptions;
use warpweave_graph::pipeline::PreparedProgram;
use warpweave_plan::plan::EdgeKind;

use crate::search_limit::SearchLimit;

/// What a level of fusion comes to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LevelFigures {
    /// The level.
    pub level: FusionLevel,
    /// Kernels that run: rOperators of the plan.
    pub kernels: usize,
    /// Bytes through global memory.
    pub traffic: Traffic,
    /// Estimated microseconds, kernels one after another.
    pub microseconds: f64,
    /// Seconds that the search took.
    pub seconds: f64,
    /// How the search ended.
    pub end: SearchEnd,
}

/// A group and what it was chosen from.
#[derive(Clone, PartialEq, Debug)]
pub struct ExplainedGroup {
    /// The bound of its kernel and what limits it.
    pub bound: PerformanceUpperBound,
    /// Its recorded time.
    pub timing: Option<Timing>,
    /// The next cheapest parameters with their microseconds, recorded or estimated.
    pub runners_up: Vec<PricedKernel>,
    /// The groups around it.
    pub neighbours: Vec<Neighbour>,
}

/// Runners-up that are shown.
const RUNNERS_UP: usize = 4;

/// The partition at a level as far as the search came, and its figures.
pub fn at_level(
    prepared: &PreparedProgram,
    options: &PlanOptions,
    limit: &SearchLimit,
    level: FusionLevel,
) -> (Partition, LevelFigures) {
    let start = Instant::now();
    let (partition, search) = limit.partition(prepared, &PlanOptions { fusion: level, ..options.clone() });
    let seconds = start.elapsed().as_secs_f64();
    let split::Expanded { program, partition: expanded, .. } =
        split::expand(&prepared.program, &prepared.layouts, &partition, EdgeKind::Counter);
    let figures = LevelFigures {
        level,
        kernels: expanded.groups.len(),
        traffic: Traffic::of(&program, &expanded),
        microseconds: partition.groups.iter().map(|group| group.microseconds).sum(),
        seconds,
        end: search.end,
    };
    (partition, figures)
}

/// Why the group at a position of a partition is what it is.
pub fn group(
    prepared: &PreparedProgram,
    arch: &GpuArch,
    options: &PlanOptions,
    partition: &Partition,
    position: usize,
) -> ExplainedGroup {
    let PlanOptions { cost, fusion, .. } = options;
    let own = &partition.groups[position];
    let bound = group_bound(&own.kernel.in_one_part(), arch, BoundMode::Corrected);
    let mut others = cost.ranked(&prepared.program, own.kernel.shared_body());
    others.retain(|priced| priced.kernel.params() != own.kernel.params());
    others.truncate(RUNNERS_UP);
    let neighbours = neighbours::neighbours(prepared, &**cost, *fusion, partition, position);
    let timing = cost.timing(&own.kernel);
    ExplainedGroup { bound, timing, runners_up: others, neighbours }
}
