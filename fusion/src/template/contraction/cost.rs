//! What kernels of the contraction template cost.

use crate::cost::bound::BlockShape;
use crate::cost::bound::OperandLevel;
use crate::cost::bound::extents;
use crate::cost::counts::KernelCounts;
use crate::cost::counts::Sampling;
use crate::cost::counts::evaluation::element_of_output;
use crate::cost::cpu::Processor;
use crate::cost::instructions::{BARRIER_CYCLES, arithmetic};
use crate::template::contraction::counts::{ContractionModel, matrix_words};
use crate::template::contraction::factor_loads::{DEPENDENT_CYCLES, FactorLoads, lies_along, place_instructions};
use crate::template::contraction::host_tiles;
use crate::template::pricing::CountedKernel;
use crate::template::pricing::Pricing;
use crate::template::pricing::reduced;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Read, ReadId, TensorExpr};
use warpweave_plan::body::{Stage, StageSource};
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::block::fill;
use warpweave_plan::template::contraction::AxisClass;
use warpweave_plan::template::contraction::column_runs::ColumnRuns;
use warpweave_plan::template::contraction::shape::Pipeline;
use warpweave_plan::template::contraction::shape::{ContractionShape, Finish};
use warpweave_plan::template::contraction::unit::{ComputeUnit, mma};

/// Instructions for the index and the store of an element, or of a run of them, after a contraction's reduction.
const STORE_INSTRUCTIONS: f64 = 8.0;

/// The share of cycles in which a scheduler of two warps issues beside the products, where instructions depend on one another.
const DEPENDENT_ISSUE: f64 = 0.5;

/// The share of the passes through the data path of shared memory that issuing does not hide where both take as long.
/// All warps of a block meet every step, and load before they multiply. The busier the path is, the longer is its
/// queue.
const EXPOSED_PASSES: f64 = 0.12;

/// The share of the chain to a step's loads that the other warps' products do not hide.
const EXPOSED_CHAIN: f64 = 0.5;

/// Products along the reduction by which copies have less time than their steps take, where factors are loaded ahead. Copies stand behind
/// the first product of a step. What they bring is loaded before the last product of the step before.
const COPIED_LATER: f64 = 1.6;

/// Cycles in which a load of matrices occupies the data path of shared memory, a matrix. It follows from what eight warps with sums
/// of 32 × 16 were measured to reach on an H200.
const MATRIX_CYCLES: f64 = 1.085;

/// Cycles until the first operands are there: they lie in constant or in shared memory.
const OPERANDS_CYCLES: f64 = 80.0;

/// Cycles that a tile takes less where a stream calls the kernel than where it is a node. Its operands are there, and what may
/// be loaded before a wait is asked for before the tile's place is known.
const STREAM_SAVING_CYCLES: f64 = 200.0;

/// Integer instructions between the number of a tile and the address of its first fetch that depend on one another.
const PLACE_CHAIN: f64 = 30.0;

impl Pricing for ContractionShape {
    fn counts(&self, kernel: &Kernel, sampling: Sampling) -> KernelCounts {
        ContractionModel::new(kernel.body()).counts(kernel, *self, sampling)
    }

    fn tile_cycles(&self, counted: &CountedKernel<'_>) -> f64 {
        tile_cycles(counted, self, &FactorLoads::new(counted.arch, counted.kernel, self))
    }

    fn stream_saving_cycles(&self) -> f64 {
        STREAM_SAVING_CYCLES
    }

    fn prefetched_cycles(&self, counted: &CountedKernel<'_>, sides: &[AxisClass]) -> f64 {
        let elements = |sides: &[AxisClass]| sides.iter().map(|side| self.length(*side)).sum::<usize>() as f64;
        let share = elements(sides) / elements(&[AxisClass::Row, AxisClass::Column]);
        share * step_fetch(counted, self)
    }

    fn block_shape(&self, kernel: &Kernel, stage: usize) -> Option<BlockShape> {
        let body = kernel.body();
        let expr = &body.stages[stage].expr;
        let block = extents(expr, kernel.tile());
        let mut thread = block.clone();
        thread[..body.tile_rank].fill(1);
        if let Some(contraction) = kernel.contraction() {
            for (class, side) in [(AxisClass::Row, self.rows), (AxisClass::Column, self.columns)] {
                let axes = contraction.tile_axes(body, class);
                let filled = fill(kernel.tile(), &axes, side);
                axes.iter().for_each(|&axis| thread[axis] = filled[axis]);
            }
        }
        let level = if expr.reducer.is_some() { sliced(expr, &block, self) } else { OperandLevel::Registers };
        Some(BlockShape { block, thread, level })
    }

    fn host_microseconds(&self, kernel: &Kernel, processor: Processor<'_>) -> f64 {
        host_tiles::host_microseconds(kernel, processor)
    }
}

/// A slice of one step's points of the reduction. Reads from shared memory do not conflict: lanes read neighbouring
/// columns, or the same rows.
fn sliced(expr: &TensorExpr, block: &[usize], shape: &ContractionShape) -> OperandLevel {
    let reduced: Vec<usize> = expr.reduced().map(Id::index).collect();
    let filled = fill(block, &reduced, shape.k_tile);
    let slice = reduced.into_iter().map(|axis| filled[axis]).collect();
    OperandLevel::Shared { slice, overlapped: shape.pipeline != Pipeline::Unpipelined, conflict_degree: 1.0 }
}

/// The time of a tile: what stands before the loop, its steps, and what follows the sums.
///
/// - *Before*: the first operands, the places of the thread's elements, which depend on one another, and
///   the first fetch, whose latency nothing hides.
/// - *A step*: see [`loop_cycles`].
/// - *Between*: where threads are slices, their sums are added; see [`adding_cycles`].
/// - *After*: instructions of the stages behind the sums and of the stores, or the transfer of what is stored. What the stages
///   load comes on top; see [`waits_behind_sums`].
pub(super) fn tile_cycles(counted: &CountedKernel<'_>, shape: &ContractionShape, loads: &FactorLoads) -> f64 {
    let latency = counted.arch.load_latency_cycles.value;
    let finish = shape.finish().expect("slices divide a thread's elements");
    let elements = (finish.rows * finish.columns) as f64;
    let finished = [(AxisClass::Row, finish.rows), (AxisClass::Column, finish.columns)];
    let places = loads.places
        + finished.map(|(class, count)| place_instructions(counted.kernel, class, count)).iter().sum::<f64>();
    let before =
        OPERANDS_CYCLES + PLACE_CHAIN * DEPENDENT_CYCLES + issue_cycles(counted, shape, places) / DEPENDENT_ISSUE;
    let stored = STORE_INSTRUCTIONS / stored_at_once(counted, shape) as f64;
    let after = issue_cycles(counted, shape, elements * (stored + finishing(counted.kernel))) / DEPENDENT_ISSUE;
    let in_turn = waits_behind_sums(counted, (shape, finish)) * latency;
    before
        + loads.first
        + loop_cycles(counted, shape, loads)
        + adding_cycles(counted, shape)
        + after.max(counted.transfer(counted.counts.store_sectors))
        + in_turn
}

/// Instructions of the arithmetic on an element after the sum.
fn finishing(kernel: &Kernel) -> f64 {
    let stages = &kernel.body().stages;
    let later = stages[1..].iter().map(|stage| arithmetic(&stage.expr.body));
    stages[0].expr.epilogue.iter().map(arithmetic).chain(later).sum()
}

/// Elements that a thread stores at once: runs of columns, where they are neighbours in all that is stored.
fn stored_at_once(counted: &CountedKernel<'_>, shape: &ContractionShape) -> usize {
    let body = counted.kernel.body();
    let contraction = counted.kernel.contraction().expect("the template is only chosen for contractions");
    let Some(runs) = ColumnRuns::of(body, contraction, shape, counted.kernel.tile()) else { return 1 };
    let are_neighbours = |(stage, own): (usize, &Stage)| {
        element_of_output(body, stage).is_none_or(|element| runs.are_neighbours(&own.expr, &element))
    };
    if body.stages.iter().enumerate().all(are_neighbours) { runs.width } else { 1 }
}

/// The time of all steps.
///
/// - *Unpipelined*, a step's loads are issued while the first of them are under way, and nothing is multiplied meanwhile.
/// - *Through registers*, the next step's loads are under way while a step multiplies, so a step takes no less than they do, with
///   what tensor cores' factors take from their loads to their tiles. Of the chain that leads to them, other warps' products hide a
///   part.
/// - *Copied*, the steps ahead are asked for before the first is there. In each step all warps meet, and the products of each
///   stand behind its copies: these go through the data path before the reads of shared memory do.
/// - *Copied, and loaded ahead* of the products, copies and reads of shared memory go on while tensor cores multiply. Of the chain
///   that leads to copies, other warps' products hide a part.
fn loop_cycles(counted: &CountedKernel<'_>, shape: &ContractionShape, loads: &FactorLoads) -> f64 {
    let (arch, latency) = (counted.arch, counted.arch.load_latency_cycles.value);
    let (steps, fetch) = (steps(counted, shape), step_fetch(counted, shape));
    let lines = counted.counts.load_lines / counted.tiles() / steps;
    let issued = issue_cycles(counted, shape, loads.instructions / DEPENDENT_ISSUE);
    let reads = wavefronts(counted, shape) * (shape.k_tile / shape.k_slices) as f64;
    let step = |issued: f64, passes: f64| step_cycles(counted, shape, (issued, passes));
    let found = loads.named + loads.decoded + loads.evaluated;
    let together = if shape.fetching_slices() > 1 { 0.0 } else { BARRIER_CYCLES };
    let meeting = arch.shared_latency_cycles.value + together;
    let fetched = latency + fetch.max(issued);
    let beside = step(issued, reads + loads.passes + lines);
    match shape.pipeline {
        Pipeline::Unpipelined => {
            let next = step(0.0, reads + loads.passes);
            steps * (fetched + found + meeting + BARRIER_CYCLES) + beside + (steps - 1.0) * next
        }
        Pipeline::Asynchronous { depth } if loads.copied => {
            let before = depth as f64 - 1.0;
            let ahead =
                (latency + fetch) / (before - COPIED_LATER * shape.points_ahead() as f64 / shape.slice_points() as f64);
            let own = match shape.points_ahead() {
                0 => issued + lines + step(0.0, 0.0).max(reads) + meeting,
                _ => step(issued * DEPENDENT_ISSUE, reads + lines) + BARRIER_CYCLES,
            } + loads.named;
            let chain = if shape.unit == ComputeUnit::Mma { loads.decoded } else { 0.0 };
            let own = own + EXPOSED_CHAIN * chain;
            chain + latency + fetch + before * issued + steps * own.max(fetch).max(ahead)
        }
        // The last step fetches nothing.
        Pipeline::RegisterPrefetch | Pipeline::Asynchronous { .. } => {
            let own = loads.named + EXPOSED_CHAIN * loads.decoded + loads.evaluated + beside;
            let computed = if loads.waited { own + latency } else { own };
            let behind = match shape.unit {
                ComputeUnit::Simt => 0.0,
                ComputeUnit::Mma => issue_cycles(counted, shape, loads.behind),
            };
            let meeting = if shape.points_ahead() > 0 { BARRIER_CYCLES } else { meeting };
            let next = computed.max(loads.decoded + latency + fetch + behind);
            fetched + found + behind + (steps - 1.0) * next + beside + steps * meeting
        }
    }
}

/// Loads from memory that a thread waits for one after another behind its sums: one for all that is the same for a row or a
/// column. A stage that reads other places for other rows and columns loads a run of a row's columns at once, and no load passes
/// a store before it. Where columns are no runs, what one stage stores stands between the loads of two.
fn waits_behind_sums(counted: &CountedKernel<'_>, (shape, finish): (&ContractionShape, Finish)) -> f64 {
    let (body, tile) = (counted.kernel.body(), counted.kernel.tile());
    let contraction = counted.kernel.contraction().expect("the template is only chosen for contractions");
    let of_class = |class| contraction.tile_axes(body, class);
    let (rows, columns) = (of_class(AxisClass::Row), of_class(AxisClass::Column));
    let depends_on_both = |read: &Read| [&rows, &columns].into_iter().all(|own| lies_along(read, own));
    let loads =
        |stage: &Stage| loads_behind_sums(stage).into_iter().map(|id| depends_on_both(&stage.expr.reads[id])).max();
    let found: Vec<bool> = body.stages.iter().filter_map(loads).collect();
    let loading = found.iter().filter(|each| **each).count();
    let runs = finish.rows * finish.columns.div_ceil(shape.column_width);
    let in_turn = match ColumnRuns::of(body, contraction, shape, tile) {
        Some(_) => runs * loading.min(1),
        None => runs * loading,
    };
    in_turn.max(found.len().min(1)) as f64
}

/// What a stage reads of memory once the sums are there.
fn loads_behind_sums(stage: &Stage) -> Vec<ReadId> {
    let expr = &stage.expr;
    let after = if expr.reducer.is_some() { expr.epilogue.as_ref() } else { Some(&expr.body) };
    let mut found: Vec<ReadId> = after.into_iter().flat_map(|after| expr.reads_of(after)).collect();
    found.retain(|id| matches!(stage.sources[expr.reads[*id].operand], StageSource::Operand(_)));
    found
}

/// Cycles in which the schedulers issue so many instructions of every thread.
fn issue_cycles(counted: &CountedKernel<'_>, shape: &ContractionShape, instructions: f64) -> f64 {
    instructions * shape.block_size().threads() as f64 / counted.rates().lanes
}

fn steps(counted: &CountedKernel<'_>, shape: &ContractionShape) -> f64 {
    (reduced(&counted.kernel.body().stages[0].expr) / shape.k_tile as f64).ceil().max(1.0)
}

/// Cycles in which both factors of one step arrive, the latency left out.
fn step_fetch(counted: &CountedKernel<'_>, shape: &ContractionShape) -> f64 {
    counted.transfer(counted.counts.load_sectors) / steps(counted, shape)
}

/// Cycles of the products of one step, with what is issued beside them and the passes through the data path meanwhile.
///
/// They are those of multiply-adds, or of all instructions where those take longer. Added to them is the part of the
/// data path's passes that they do not hide, which grows with the share of the time that the path is busy. Where all
/// passes take longest, they count instead. The path takes loads and stores of shared memory, and the lines of global
/// loads.
fn step_cycles(counted: &CountedKernel<'_>, shape: &ContractionShape, (beside, passes): (f64, f64)) -> f64 {
    let threads = shape.block_size().threads();
    let points = (shape.k_tile / shape.k_slices) as f64;
    let products = (shape.rows * shape.columns) as f64 * points;
    let multiply_adds = products * threads as f64 / counted.rates().multiply_adds_per_cycle;
    let issue = issue_cycles(counted, shape, point_instructions(shape) * points) + beside;
    let busy = multiply_adds.max(issue);
    match shape.unit {
        ComputeUnit::Simt => (busy + EXPOSED_PASSES * passes * passes / busy).max(passes),
        ComputeUnit::Mma => busy.max(passes),
    }
}

/// Instructions of a warp that load and multiply a point of the reduction.
fn point_instructions(shape: &ContractionShape) -> f64 {
    match shape.unit {
        ComputeUnit::Simt => {
            let reads = shape.rows / shape.row_width() + shape.columns / shape.column_width;
            (shape.rows * shape.columns + reads) as f64
        }
        ComputeUnit::Mma => {
            let (down, along) = (shape.rows / mma::LANE_ROWS, shape.columns / mma::LANE_COLUMNS);
            (down * along + down + along.div_ceil(2)) as f64 / mma::DEPTH as f64
        }
    }
}

/// Cycles in which the sums of all slices are added: half of the threads store theirs, and the others load, add and store
/// these; then each loads what it finishes. All meet twice.
fn adding_cycles(counted: &CountedKernel<'_>, shape: &ContractionShape) -> f64 {
    if shape.k_slices == 1 {
        return 0.0;
    }
    let moved = 2.0 * (shape.rows * shape.columns) as f64;
    let passes = moved * shape.block_size().warps() as f64;
    let meeting = 2.0 * (counted.arch.shared_latency_cycles.value + BARRIER_CYCLES);
    passes.max(issue_cycles(counted, shape, 1.5 * moved) / DEPENDENT_ISSUE) + meeting
}

/// Cycles in which a block's reads from shared memory of a point of the reduction go through the data path.
fn wavefronts(counted: &CountedKernel<'_>, shape: &ContractionShape) -> f64 {
    let of_warp = match shape.unit {
        ComputeUnit::Simt => (shape.rows + shape.columns) as f64,
        ComputeUnit::Mma => MATRIX_CYCLES * matrix_words(shape).iter().sum::<f64>(),
    };
    shape.block_size().warps() as f64 * of_warp * counted.counts.conflict_degree()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::arch::GpuArch;
    use warpweave_graph::ElementType;

    /// Multiply-adds a cycle that eight warps were measured to reach on an H200, by rows and columns of a thread.
    const MEASURED: [(usize, usize, f64); 3] = [(8, 8, 1218.0), (4, 8, 932.0), (4, 4, 629.0)];

    #[test]
    fn products_fed_by_matrices_take_the_measured_time() {
        let rates = GpuArch::h200().rates(ComputeUnit::Mma, ElementType::F32);
        for (rows, columns, measured) in MEASURED {
            let shape = ContractionShape { unit: ComputeUnit::Mma, ..ContractionShape::square(rows, columns) };
            let products = (rows * columns * shape.block_size().threads()) as f64;
            let passes = shape.block_size().warps() as f64 * MATRIX_CYCLES * matrix_words(&shape).iter().sum::<f64>();
            let found = products / passes.max(products / rates.multiply_adds_per_cycle);
            assert!((found / measured - 1.0).abs() < 0.04, "{rows}x{columns}: {found}, measured {measured}");
        }
    }
}
