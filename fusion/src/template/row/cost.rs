//! What kernels of the row template cost.

use std::collections::BTreeSet;

use crate::cost::bound::BlockShape;
use crate::cost::bound::OperandLevel;
use crate::cost::bound::extents;
use crate::cost::counts::KernelCounts;
use crate::cost::counts::Sampling;
use crate::cost::cpu::Processor;
use crate::cost::host::evaluated;
use crate::cost::instructions::{
    BRANCHING_CYCLES, CHECK_CYCLES, COMBINE_LATENCY, DEPENDENT_CYCLES, NEAR_CYCLES, arithmetic, branching,
};
use crate::template::pricing::CountedKernel;
use crate::template::pricing::Pricing;
use crate::template::pricing::reduced;
use crate::template::row::counts::counts;
use crate::template::staged::cost::operand_bytes;
use warpweave_graph::expr::{BinaryOp, Index, Read, ReadId, Reducer, Scalar, TensorExpr};
use warpweave_plan::body::StageSource;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::block::WARP;
use warpweave_plan::template::row::RowThreads;
use warpweave_plan::template::row::rounds::{Round, is_fixed_along_row, rounds};
use warpweave_plan::template::rules::Rules;

/// Cycles that a reduction beside another adds to combining the lanes of each of a block's warps: five shuffles.
const SHUFFLE_CYCLES: f64 = 5.0;

/// Cycles until a thread has its operands and knows its row.
const ENTRY_CYCLES: f64 = 400.0;
/// Cycles in which a block combines what its warps have, beyond what each of them takes: stores, a barrier, loads of vectors.
const BLOCK_COMBINE_CYCLES: f64 = 130.0;
/// Instructions of a load with address and descriptor, of a condition of its guard, and of a store.
const LOAD_INSTRUCTIONS: f64 = 5.0;
const CONDITION_INSTRUCTIONS: f64 = 3.0;
const STORE_INSTRUCTIONS: f64 = 4.0;
/// Instructions of a trip along the row beside what it does at its points, and those that divide its place by the extent of an
/// axis: a product's high part with its operands, a shift and the remainder.
const TRIP_INSTRUCTIONS: f64 = 3.0;
const DIVISION_INSTRUCTIONS: f64 = 6.0;
/// Cycles an instruction of what follows a reduction: each waits for the one before it.
const FINISH_CYCLES: f64 = 4.0;
/// Trips along a row whose loads are under way together: all of a few, else so many.
const WRITTEN_OUT: usize = 8;
const TOGETHER: usize = 4;

impl Pricing for RowThreads {
    fn counts(&self, kernel: &Kernel, sampling: Sampling) -> KernelCounts {
        counts(kernel, *self, sampling)
    }

    /// The rows that a block takes one after another, each a sequence of rounds; no faster than loads pass through the
    /// first-level cache, nor than their sectors arrive. What several warps read arrives once.
    fn tile_cycles(&self, counted: &CountedKernel<'_>) -> f64 {
        let latency = counted.arch.load_latency_cycles.value;
        let rows = counted.kernel.tile().iter().product::<usize>();
        let warps = self.block_size().warps();
        let (passes, busy) = match self {
            RowThreads::Warp => (rows.div_ceil(warps), rows.min(warps)),
            RowThreads::Block => (1, warps),
        };
        let sharing = busy as f64 / counted.arch.schedulers.value as f64;
        let pass: f64 =
            rounds(counted.kernel.body()).iter().map(|round| round_cycles(counted, round, *self, sharing)).sum();
        let sector = counted.arch.transaction_bytes.value;
        let distinct = operand_bytes(counted.kernel, &[], sector) as f64 / sector as f64 * counted.tiles();
        let transfer = counted.transfer(counted.counts.load_sectors.min(distinct) + counted.counts.store_sectors);
        let lines = counted.counts.load_lines / counted.tiles();
        ENTRY_CYCLES + (passes as f64 * pass).max(latency + transfer.max(lines))
    }

    fn block_shape(&self, kernel: &Kernel, stage: usize) -> Option<BlockShape> {
        let width = match self {
            Self::Warp => WARP,
            Self::Block => self.block_size().threads(),
        };
        Some(shared_row(kernel, stage, width))
    }

    fn host_microseconds(&self, kernel: &Kernel, processor: Processor<'_>) -> f64 {
        evaluated(kernel, processor.arch)
    }
}

/// The boxes of a stage whose rows `width` threads share.
pub(crate) fn shared_row(kernel: &Kernel, stage: usize, mut width: usize) -> BlockShape {
    let block = extents(&kernel.body().stages[stage].expr, kernel.tile());
    let mut thread = block.clone();
    thread[..kernel.body().tile_rank].fill(1);
    for extent in thread[kernel.body().tile_rank..].iter_mut().rev() {
        let across = width.min(*extent);
        *extent = extent.div_ceil(across);
        width /= across;
    }
    BlockShape { block, thread, level: OperandLevel::Registers }
}

/// Cycles of one round on the rows that a block takes at once. Trips along the row come first, so many together, each
/// group of them a wait for memory. Then comes what combines lanes, and what follows.
fn round_cycles(counted: &CountedKernel<'_>, round: &Round, threads: RowThreads, sharing: f64) -> f64 {
    let latency = counted.arch.load_latency_cycles.value;
    let (width, combine) = match threads {
        RowThreads::Warp => (WARP, COMBINE_LATENCY),
        RowThreads::Block => (threads.block_size().threads(), COMBINE_LATENCY + BLOCK_COMBINE_CYCLES),
    };
    let first = round.stages.start;
    let lead = &counted.kernel.body().stages[first].expr;
    let extra =
        counted.kernel.body().extra_axes(first).into_iter().map(|axis| lead.axes[axis].extent).product::<usize>();
    let points = reduced(lead) as usize * extra;
    let trips = points.div_ceil(width * round.run);
    let together = if trips <= WRITTEN_OUT { trips.max(1) } else { TOGETHER };
    let reads = round.reads(counted.kernel.body());
    let of_read = |(at, _, read): &(usize, ReadId, &Read)| {
        let stage = &counted.kernel.body().stages[*at];
        let own = match stage.sources[read.operand] {
            StageSource::Operand(_) => LOAD_INSTRUCTIONS / round.run as f64,
            StageSource::Stage(_) | StageSource::Staged(_) => 0.0,
        };
        own + CONDITION_INSTRUCTIONS * read.guard.conditions().len() as f64
    };
    let stages = &counted.kernel.body().stages[round.stages.clone()];
    let branching: f64 = stages.iter().map(|stage| branching(&stage.expr.body)).sum();
    let own: f64 = stages.iter().map(|stage| accumulated(&stage.expr)).sum::<f64>() - branching;
    let stored = if lead.reducer.is_none() { STORE_INSTRUCTIONS } else { 0.0 };
    let point = own + stored + reads.iter().map(of_read).sum::<f64>();
    let points = (trips * round.run) as f64;
    let axes = lead.reduced().count().max(counted.kernel.body().extra_axes(first).len());
    let trip = TRIP_INSTRUCTIONS + axes.saturating_sub(1) as f64 * DIVISION_INSTRUCTIONS;
    let instructions = points * point + trips as f64 * trip;
    let from_memory = |(at, _, read): &(usize, ReadId, &Read)| {
        matches!(counted.kernel.body().stages[*at].sources[read.operand], StageSource::Operand(_))
    };
    // A place that data name is loaded and checked first: once a row, or, where it changes along the row, before each
    // trip. In the latter case no trip begins before the one before it.
    let named = |repeated: bool| {
        let of_read = |(at, _, read): &(usize, ReadId, &Read)| {
            let expr = &counted.kernel.body().stages[*at].expr;
            let fixed = |index: &Index| is_fixed_along_row(counted.kernel.body(), expr, index);
            read.index.iter().filter(|index| !index.is_free_of_reads() && fixed(index) != repeated).count()
        };
        reads.iter().map(of_read).sum::<usize>() as f64
    };
    // What an earlier round has read of the row is near.
    let read_before: BTreeSet<StageSource> =
        counted.kernel.body().stages[..first].iter().flat_map(|stage| stage.sources.clone()).collect();
    let is_fresh = |(at, _, read): &(usize, ReadId, &Read)| {
        !read_before.contains(&counted.kernel.body().stages[*at].sources[read.operand])
    };
    let arrival = if reads.iter().any(|read| from_memory(read) && is_fresh(read)) { latency } else { NEAR_CYCLES };
    let found = if reads.iter().any(is_fresh) { latency } else { NEAR_CYCLES };
    let places = named(false).min(1.0) * found + named(false) * CHECK_CYCLES;
    let waits = match reads.iter().any(from_memory) {
        true if named(true) > 0.0 => places + trips as f64 * (latency + named(true) * (latency + CHECK_CYCLES)),
        true => places + trips.div_ceil(together) as f64 * arrival,
        false => 0.0,
    };
    let along =
        waits + instructions * sharing.max(DEPENDENT_CYCLES) + points * branching * sharing.max(BRANCHING_CYCLES);
    if lead.reducer.is_none() {
        return along;
    }
    let beside = ((round.stages.len() - 1) * threads.block_size().warps()) as f64 * SHUFFLE_CYCLES;
    // What epilogues read is loaded together.
    let epilogues = || stages.iter().filter_map(|stage| Some((stage, stage.expr.epilogue.as_ref()?)));
    let reads = epilogues().any(|(stage, epilogue)| !stage.expr.reads_of(epilogue).is_empty());
    let loaded = if reads { latency } else { 0.0 };
    // The longest of the epilogues is a chain, and the others stand between its instructions.
    let lengths = || epilogues().map(|(_, epilogue)| arithmetic(epilogue));
    let (longest, all) = (lengths().fold(0.0, f64::max), lengths().sum::<f64>());
    let finished = (longest * FINISH_CYCLES).max(all * DEPENDENT_CYCLES);
    along + combine + beside + loaded + finished + FINISH_CYCLES
}

/// Instructions of a stage's arithmetic at one point; the sum of products is one instruction with the product.
fn accumulated(expr: &TensorExpr) -> f64 {
    let fuses = expr.reducer == Some(Reducer::Sum) && matches!(expr.body, Scalar::Binary(BinaryOp::Multiply, ..));
    arithmetic(&expr.body) + if fuses { 0.0 } else { 1.0 }
}
