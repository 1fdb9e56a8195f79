//! What pointwise kernels cost.

use std::collections::BTreeSet;

use crate::cost::bound::BlockShape;
use crate::cost::bound::OperandLevel;
use crate::cost::bound::extents;
use crate::cost::counts::KernelCounts;
use crate::cost::counts::Sampling;
use crate::cost::counts::evaluation::element_of_output;
use crate::cost::cpu::Processor;
use crate::cost::host::evaluated;
use crate::cost::instructions::{BRANCHING_CYCLES, CHECK_CYCLES, DEPENDENT_CYCLES, NEAR_CYCLES};
use crate::template::pointwise::computed::Computed;
use crate::template::pointwise::counts::{kernel_counts, side_by_side};
use crate::template::pricing::Pricing;
use crate::template::pricing::{CountedKernel, reduced};
use crate::template::staged::cost::operand_bytes;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{IndirectIndex, TensorExpr};
use warpweave_plan::body::{GroupBody, Stage};
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::block::WARP;
use warpweave_plan::template::block::fill;
use warpweave_plan::template::pointwise::fetches::Points;
use warpweave_plan::template::pointwise::runs::{Runs, VECTOR};
use warpweave_plan::template::pointwise::walk::Walk;
use warpweave_plan::template::pointwise::{PointOrder, Pointwise};
use warpweave_plan::template::rules::Rules;

/// Cycles until a thread has its operands and knows its point.
const ENTRY_CYCLES: f64 = 370.0;
/// Instructions that decode an axis of the tile beside the innermost: a division with its operands. Those that every kernel has.
const AXIS_INSTRUCTIONS: f64 = 22.0;
const KERNEL_INSTRUCTIONS: f64 = 25.0;
/// Instructions of a load: its own, an address, and two moves of the memory's descriptor.
const LOAD_INSTRUCTIONS: f64 = 4.0;
/// Instructions of a load's guard: its conditions, and their operands, are shared with other loads; the value elsewhere is its
/// own.
const GUARD_INSTRUCTIONS: f64 = 2.6;
/// Instructions of a store with address and descriptor.
const STORE_INSTRUCTIONS: f64 = 4.0;

/// What a warp of a pointwise kernel does.
struct WarpWork {
    /// Warps that have a point.
    warps: f64,
    /// Instructions of one warp to its last load.
    loading: f64,
    /// Its other instructions, functions that branch left out.
    straight: f64,
    /// Points whose instructions stand between one another's.
    interleaved: f64,
    /// Instructions of functions that branch.
    branching: f64,
    /// Loads that wait for one another.
    rounds: f64,
    /// Elements that name places, loaded and checked one after another.
    named: f64,
    /// Of these, those that no earlier point has loaded.
    named_anew: f64,
}

impl WarpWork {
    fn of(own: Pointwise, counted: &CountedKernel<'_>) -> Self {
        let (body, counts) = (counted.kernel.body(), &counted.counts);
        let points = counted.kernel.tile().iter().product::<usize>().max(1);
        let sides = side_by_side(own, counted.kernel);
        // A thread has the more neighbours the fewer threads have any, and points far apart once all threads have one.
        let all = own.block_size().threads();
        let (threads, each) = match own.order {
            PointOrder::Run => (points.div_ceil(own.per_thread).min(all), own.per_thread),
            PointOrder::Strided => (points.min(all), points.div_ceil(all).min(own.per_thread)),
        };
        let warps = threads.div_ceil(WARP) as f64;
        let a_warp = 1.0 / (counted.tiles() * warps);
        // Points one after another wait one after another.
        let (count, turns) = sides.map_or((1, each), |sides| (sides.count, 1));
        let trips = |expr: &TensorExpr| Walk::of(expr, count).trips() as f64;
        let reductions = body.stages.iter().filter(|stage| stage.expr.reducer.is_some());
        let rounds: f64 = reductions.map(|stage| trips(&stage.expr)).sum();
        let stores: usize = (0..body.stages.len()).map(|stage| stores(body, stage, each, sides)).sum();
        let axes = counted.kernel.tile().iter().filter(|extent| **extent > 1).count().saturating_sub(1);
        let decoded = axes * if own.order == PointOrder::Run { 1 } else { each };
        let loading = KERNEL_INSTRUCTIONS
            + decoded as f64 * AXIS_INSTRUCTIONS
            + counts.warp_loads * a_warp * LOAD_INSTRUCTIONS
            + counts.guarded_loads * a_warp * GUARD_INSTRUCTIONS;
        let Computed { instructions, branching } = Computed::of(body);
        let branching = branching * each as f64;
        Self {
            warps,
            loading,
            straight: instructions * each as f64 - branching + stores as f64 * STORE_INSTRUCTIONS,
            interleaved: interleaved(own, counted, sides) as f64,
            branching,
            rounds: rounds.max(1.0) * turns as f64,
            named: named(body) * turns as f64,
            named_anew: named(body) * if names_once(counted.kernel) { 1.0 } else { turns as f64 },
        }
    }

    /// Cycles of a warp that waits for no other.
    fn alone(&self) -> f64 {
        self.loading * DEPENDENT_CYCLES + self.after()
    }

    /// Of these, the cycles behind its loads.
    fn after(&self) -> f64 {
        self.straight * (DEPENDENT_CYCLES / self.interleaved).max(1.0) + self.branching * BRANCHING_CYCLES
    }
}

/// Stores of a thread with so many points: vectors where a run of them is one in memory.
fn stores(body: &GroupBody, stage: usize, points: usize, sides: Option<Points>) -> usize {
    let Some(place) = element_of_output(body, stage) else { return 0 };
    let expr = &body.stages[stage].expr;
    let is_wide = |runs: Runs| expr.element.is_single() && runs.is_wide(expr, &place);
    if sides.and_then(|sides| sides.runs).is_some_and(is_wide) { points.div_ceil(VECTOR) } else { points }
}

/// Points of a thread that no branch parts: those of runs that all exist, and those far apart of a whole tile.
fn interleaved(own: Pointwise, counted: &CountedKernel<'_>, sides: Option<Points>) -> usize {
    let tile = counted.kernel.tile();
    let is_full = || {
        let even = |(extent, tile): (usize, &usize)| extent.is_multiple_of(*tile);
        tile.iter().product::<usize>() == own.per_thread * own.block_size().threads()
            && counted.kernel.body().tile_extents().into_iter().zip(tile).all(even)
    };
    match sides {
        Some(Points { count, runs: Some(runs) }) if runs.is_even => count,
        Some(Points { runs: None, .. }) if is_full() => own.per_thread,
        Some(_) | None => 1,
    }
}

/// Whether the elements that name places are the same along the axis where a tile's neighbours lie.
fn names_once(kernel: &Kernel) -> bool {
    let body = kernel.body();
    let Some(along) = kernel.tile().iter().rposition(|extent| *extent > 1) else { return true };
    body.stages.iter().all(|stage| {
        let mut once = true;
        stage.expr.visit_indices(&mut |index| {
            index.visit(&mut |_| {}, &mut |read| {
                let place = &stage.expr.reads[read].index;
                place.iter().for_each(|index| {
                    index.visit(&mut |axis| once &= axis.index() != along, &mut |_| {});
                });
            });
        });
        once
    })
}

/// Elements that name places at one point, of all stages: those that are the same all along a reduction, and those that are
/// loaded again at every tap.
fn named(body: &GroupBody) -> f64 {
    let of_stage = |stage: &Stage| {
        let (fixed, repeated) = stage.expr.indirect_indices_by_reduction();
        let elements =
            |places: Vec<IndirectIndex>| places.into_iter().map(|place| place.read).collect::<BTreeSet<_>>().len();
        elements(fixed) as f64 + elements(repeated) as f64 * reduced(&stage.expr)
    };
    body.stages.iter().map(of_stage).sum()
}

impl Pricing for Pointwise {
    fn counts(&self, kernel: &Kernel, sampling: Sampling) -> KernelCounts {
        kernel_counts(*self, kernel, sampling)
    }

    /// A thread finds its point, and loads that wait for one another take a latency each. What follows is the slowest
    /// of: the instructions of a scheduler's warps, those of one warp, and its share of the loads with what it does
    /// afterwards. The loads of all warps go through the first-level cache or come from the second while other warps
    /// wait. With a latency and what the last of them does afterwards they are a bound of their own. All tiles together
    /// are no faster than the second-level cache.
    fn tile_cycles(&self, counted: &CountedKernel<'_>) -> f64 {
        let (arch, work) = (counted.arch, WarpWork::of(*self, counted));
        let latency = arch.load_latency_cycles.value;
        let issued = work.loading + work.straight + work.branching;
        let sharing = work.warps / arch.schedulers.value as f64;
        let bytes = |sectors: f64| sectors / counted.tiles() * arch.transaction_bytes.value as f64;
        let loaded = bytes(counted.counts.load_sectors).min(operand_bytes(counted.kernel, &[], 1) as f64);
        let passes = counted.counts.load_lines / counted.tiles();
        let arrived = passes.max(arch.cycles_of_bytes(loaded, 1));
        let last = arrived + work.after() / work.rounds;
        let near = (work.named - work.named_anew) * NEAR_CYCLES;
        let places = work.named_anew * latency + near + work.named * CHECK_CYCLES;
        let own = (issued * sharing).max(work.alone()).max(arrived / work.warps + work.after());
        let alone = ENTRY_CYCLES + places + (work.rounds * latency + own).max(latency + last);
        let tiles = counted.kernel.tiles().max(1);
        alone.max(arch.cycles_of_bytes(loaded + bytes(counted.counts.store_sectors), tiles))
    }

    fn block_shape(&self, kernel: &Kernel, stage: usize) -> Option<BlockShape> {
        let block = extents(&kernel.body().stages[stage].expr, kernel.tile());
        let mut thread = block.clone();
        let axes: Vec<usize> = (0..kernel.body().tile_rank).collect();
        thread[..kernel.body().tile_rank].copy_from_slice(&fill(kernel.tile(), &axes, self.per_thread));
        Some(BlockShape { block, thread, level: OperandLevel::Registers })
    }

    fn host_microseconds(&self, kernel: &Kernel, processor: Processor<'_>) -> f64 {
        evaluated(kernel, processor.arch)
    }
}
