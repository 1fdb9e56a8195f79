//! What kernels of the contraction template cost, and what bringing their factors to shared memory takes a thread.

use crate::cost::arch::GpuArch;
use crate::cost::bound::BlockShape;
use crate::cost::bound::OperandLevel;
use crate::cost::bound::extents;
use crate::cost::counts::KernelCounts;
use crate::cost::counts::Sampling;
use crate::cost::counts::evaluation::element_of_output;
use crate::cost::cpu::Processor;
use crate::cost::instructions::{BARRIER_CYCLES, CHECK_CYCLES, NEAR_CYCLES, arithmetic, branching};
use crate::template::contraction::counts::{ContractionModel, matrix_words};
use crate::template::contraction::host_tiles;
use crate::template::pricing::CountedKernel;
use crate::template::pricing::Pricing;
use crate::template::pricing::reduced;
use std::collections::BTreeSet;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Atom, AxisKind, Index, Read, ReadId, Scalar, TensorExpr};
use warpweave_graph::numerics::WORD_BYTES;
use warpweave_plan::body::{Stage, StageSource};
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::block::fill;
use warpweave_plan::template::contraction::AxisClass;
use warpweave_plan::template::contraction::column_runs::ColumnRuns;
use warpweave_plan::template::contraction::joined::JoinedReduction;
use warpweave_plan::template::contraction::shape::{ContractionShape, Finish, Pipeline};
use warpweave_plan::template::contraction::tile_load::{SideLoad, plain_read};
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

/// Cycles from an integer instruction to one that needs its result.
pub(super) const DEPENDENT_CYCLES: f64 = 6.0;

/// Instructions that find the first of a thread's rows, or columns, of the tile from the thread's number: shifts, masks and
/// sums.
const NUMBER_INSTRUCTIONS: f64 = 8.0;

/// Instructions that find the place of a row or a column along one axis: how far it lies from the thread's first, and the sum
/// with the tile's.
const PLACE_INSTRUCTIONS: f64 = 2.0;

/// Instructions of a step beside its fetches: the counter, buffers' addresses, the barrier and the branch.
const STEP_INSTRUCTIONS: f64 = 16.0;

/// Instructions that divide by an extent and take the remainder.
const DIVISION_INSTRUCTIONS: f64 = 8.0;

/// Instructions of a load: two of its address, itself, and the zero that stands where there is nothing.
const LOAD_INSTRUCTIONS: f64 = 4.0;

/// Instructions of a copy beside those of its address: where it goes, whether it exists, itself, and three that stand before it.
const COPY_INSTRUCTIONS: f64 = 9.0;

/// Instructions of a condition: its side and the comparison.
const GUARD_INSTRUCTIONS: f64 = 2.0;

/// What a thread does to bring both sides' elements of one step: it does not depend on what follows the sum.
#[derive(Clone, Copy)]
pub(super) struct FactorLoads {
    /// Instructions of one step's fetches and of storing them to shared memory.
    pub(super) instructions: f64,
    /// Of these, those that follow a step's loads.
    pub(super) behind: f64,
    /// Passes of the block's stores to shared memory.
    pub(super) passes: f64,
    /// Cycles from a step's first instruction to its last load, where places are decoded or guarded.
    pub(super) decoded: f64,
    /// The same where data name places.
    pub(super) named: f64,
    /// Cycles by which the first step's are more, where data name places that all steps read: elements loaded before are near.
    pub(super) first: f64,
    /// Cycles from the loads of a step to its factors, where those are more than reads.
    pub(super) evaluated: f64,
    /// Whether products stand behind the loads of their step: factors are computed before.
    pub(super) waited: bool,
    /// Whether asynchronous copies bring the factors.
    pub(super) copied: bool,
    /// Instructions that find the places of the rows and columns that a thread fetches.
    pub(super) places: f64,
}

impl FactorLoads {
    pub(super) fn new(arch: &GpuArch, kernel: &Kernel, shape: &ContractionShape) -> Self {
        let (body, params, latency) = (kernel.body(), kernel.params(), arch.load_latency_cycles.value);
        let contraction = kernel.contraction().expect("the template is only chosen for contractions");
        let expr = &body.stages[0].expr;
        let mut found = Self {
            instructions: 0.0,
            behind: 0.0,
            passes: 0.0,
            decoded: 0.0,
            named: 0.0,
            first: 0.0,
            evaluated: 0.0,
            waited: false,
            copied: contraction.is_copied(body, shape, &params.tile),
            places: 0.0,
        };
        let reduction: Vec<usize> = expr.reduced().map(|axis| expr.axes[axis].extent).collect();
        let of_axes = |axes: usize| axes.saturating_sub(1) as f64 * DIVISION_INSTRUCTIONS;
        // Where a step goes beyond the innermost axis, each fetch finds its own point.
        let in_one_row = reduction.last().is_none_or(|innermost| innermost.is_multiple_of(shape.k_tile));
        let is_whole = reduction.iter().product::<usize>().is_multiple_of(shape.k_tile);
        found.instructions += STEP_INSTRUCTIONS + of_axes(reduction.len());
        for class in [AxisClass::Row, AxisClass::Column] {
            let factor = contraction.factor(class);
            let side = SideLoad::new(body, contraction, class, shape, &params.tile);
            let reads = expr.reads_of(factor);
            let decode = of_axes(JoinedReduction::of_rows(body, contraction, class).extents.len());
            let conditions: usize = reads.iter().map(|read| expr.reads[*read].guard.conditions().len()).sum();
            let divided = reads.iter().map(|read| divisions(expr, *read)).sum::<usize>() as f64 * DIVISION_INSTRUCTIONS;
            let (trips, width) = (side.trips() as f64, side.width as f64);
            let stores = side.stores() as f64;
            // What follows from a point of the reduction alone is found once for all rows, or columns, that a thread fetches
            // there. Where a step may end before its last point, each fetch stands behind a branch of its own.
            let points = if is_whole { side.trips().div_ceil(side.elements().max(1)) } else { side.trips() } as f64;
            let axes = contraction.tile_axes(body, class);
            let common = reads.iter().filter(|read| !lies_along(&expr.reads[**read], &axes)).count() as f64;
            let shared = common * LOAD_INSTRUCTIONS + divided + if in_one_row { 0.0 } else { decode };
            let own = (reads.len() as f64 - common) * LOAD_INSTRUCTIONS + GUARD_INSTRUCTIONS * conditions as f64;
            let is_copied = match shape.unit {
                ComputeUnit::Simt => found.copied,
                ComputeUnit::Mma => side.is_copied(body, contraction, (class, shape)),
            };
            // What is a read for tensor cores is moved as it is.
            let is_moved = shape.unit == ComputeUnit::Mma && plain_read(expr, factor).is_some();
            let computed = if is_moved { 0.0 } else { arithmetic(factor) };
            let warps = shape.block_size().warps() as f64;
            let words = (side.width * side.storage.bytes()).div_ceil(WORD_BYTES).max(side.stores()) as f64;
            found.instructions += points * shared + trips * own;
            if is_copied {
                found.instructions += trips * (computed * width + copy_instructions(shape.unit));
            } else {
                found.behind += trips * (computed * width + stores);
                found.instructions += trips * (computed * width + stores);
                found.passes += trips * warps * words * side.store_conflicts();
            }
            let checks = GUARD_INSTRUCTIONS * conditions as f64;
            if decode + checks + divided > 0.0 {
                let chain = decode + checks + divided + LOAD_INSTRUCTIONS;
                found.decoded = found.decoded.max(DEPENDENT_CYCLES * chain);
            }
            let (fixed, repeated) = named(expr, factor);
            found.named += trips * (fixed * (NEAR_CYCLES + CHECK_CYCLES) + repeated * (latency + CHECK_CYCLES));
            found.first += trips * fixed * (latency - NEAR_CYCLES);
            let in_turn = if branching(factor) > 0.0 { trips * width } else { 1.0 };
            found.evaluated += DEPENDENT_CYCLES * computed * in_turn;
            // For tensor cores, factors are computed when they are stored, unless data name where they are read.
            found.waited |= computed > 0.0 && (shape.unit == ComputeUnit::Simt || fixed + repeated > 0.0);
            found.places += place_instructions(kernel, class, side.elements());
        }
        found
    }
}

/// Instructions of a copy beside those of its address.
fn copy_instructions(unit: ComputeUnit) -> f64 {
    match unit {
        ComputeUnit::Simt => 1.0,
        ComputeUnit::Mma => COPY_INSTRUCTIONS,
    }
}

/// Instructions that find the places of so many rows, or columns, of the tile. Where the tile lies along several of their
/// axes, all but one take a division for each.
pub(super) fn place_instructions(kernel: &Kernel, class: AxisClass, count: usize) -> f64 {
    let contraction = kernel.contraction().expect("the template is only chosen for contractions");
    let axes = contraction.tile_axes(kernel.body(), class);
    let long = axes.into_iter().filter(|axis| kernel.tile()[*axis] > 1).count();
    NUMBER_INSTRUCTIONS + count as f64 * (PLACE_INSTRUCTIONS + long.saturating_sub(1) as f64 * DIVISION_INSTRUCTIONS)
}

/// Whether a read has other places for other points of some axes.
pub(super) fn lies_along(read: &Read, axes: &[usize]) -> bool {
    let mut lies = false;
    read.index.iter().for_each(|index| index.visit(&mut |axis| lies |= axes.contains(&axis.index()), &mut |_| {}));
    lies
}

/// Divisions that every fetch of a read does again: those of places along the reduction.
fn divisions(expr: &TensorExpr, read: ReadId) -> usize {
    let mut found = BTreeSet::new();
    for (atom, _) in expr.reads[read].index.iter().flat_map(Index::terms) {
        let (Atom::FloorDiv(inner, by) | Atom::Mod(inner, by)) = atom else { continue };
        let mut moves = false;
        inner.visit(&mut |axis| moves |= expr.axes[axis].kind == AxisKind::Reduced, &mut |_| {});
        if moves {
            found.insert((inner, by));
        }
    }
    found.len()
}

/// Elements that name the places that a scalar reads: those that are the same in all steps, and others.
fn named(expr: &TensorExpr, scalar: &Scalar) -> (f64, f64) {
    let mut found = BTreeSet::new();
    for read in expr.reads_of(scalar) {
        expr.reads[read].index.iter().for_each(|index| index.visit(&mut |_| {}, &mut |name| _ = found.insert(name)));
    }
    let (fixed, repeated): (Vec<ReadId>, Vec<ReadId>) =
        found.into_iter().partition(|read| expr.is_fixed_in_reduction(*read));
    (fixed.len() as f64, repeated.len() as f64)
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
