//! What the phases of a kernel at shared-memory level cost.

use crate::cost::bound::BlockShape;
use crate::cost::counts::KernelCounts;
use crate::cost::cpu::Processor;
use crate::cost::host::evaluated_in_boxes;
use crate::template::pricing::CountedKernel;
use crate::template::pricing::Pricing;
use std::ops::Add;
use std::sync::Arc;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, Read, ReadId, Scalar, region};
use warpweave_graph::types::TensorType;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::Staged;

use crate::cost::arch::GpuArch;
use crate::cost::counts::Sampling;
use crate::cost::instructions::{
    BARRIER_CYCLES, BRANCHING_CYCLES, CHECK_CYCLES, COMBINE_LATENCY, DEPENDENT_CYCLES, NEAR_CYCLES, arithmetic,
    branching,
};
use crate::cost::traffic::Regions;
use crate::template::attention::cost::attention_phases;
use crate::template::staged::counts::phase_counts;
use warpweave_plan::body::{GroupBody, Stage, StageSource};
use warpweave_plan::template::attention;
use warpweave_plan::template::block::{BlockSize, WARP};
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::staged::blocked;
use warpweave_plan::template::staged::blocked::BlockedStep;
use warpweave_plan::template::staged::matrices::{MatrixStep, PhaseSpan, WRITTEN_OUT};
use warpweave_plan::template::staged::padded::PaddedBody;
use warpweave_plan::template::staged::phase::{
    PhasePlace, ProductStep, Sink, candidates, reduction_length, runs_across_lanes, sink,
};
use warpweave_plan::template::staged::thread::{ELEMENTS, Taps};
use warpweave_plan::template::staged::{StagedBox, box_ranges};

/// The `count` cheapest kernels of each template before their loads are counted, in order.
pub fn shortlist(body: &Arc<GroupBody>, count: usize, arch: &GpuArch) -> Vec<Kernel> {
    let padded = PaddedBody::of(body);
    let priced = |kernel: Kernel, phases: Vec<f64>| {
        let cycles = phases.into_iter().sum::<f64>();
        let waves = kernel.tiles().div_ceil(arch.multiprocessors.value) as f64;
        (waves * cycles.max(arrival_cycles(&kernel.with_body(Arc::clone(&padded.body)), arch)), kernel)
    };
    let cheapest = |mut priced: Vec<(f64, Kernel)>| {
        priced.sort_by(|a, b| a.0.total_cmp(&b.0));
        priced.into_iter().take(count).map(|(_, kernel)| kernel).collect::<Vec<Kernel>>()
    };
    let staged = candidates(body).into_iter().map(|kernel| {
        let boxes = kernel.boxes().expect("a candidate has boxes");
        let phases = phases(&kernel.with_body(Arc::clone(&padded.body)), boxes, arch);
        priced(kernel, phases)
    });
    let attention = attention::fitting(body).into_iter().map(|(kernel, geometry)| {
        let phases = attention_phases(&kernel.with_body(Arc::clone(&padded.body)), &geometry, arch);
        priced(kernel, phases)
    });
    [cheapest(staged.collect()), cheapest(attention.collect())].concat()
}

impl Pricing for Staged {
    fn counts(&self, kernel: &Kernel, sampling: Sampling) -> KernelCounts {
        phase_counts(kernel, sampling).into_iter().fold(KernelCounts::default(), Add::add)
    }

    fn priced_counts(&self, _: &Kernel) -> KernelCounts {
        KernelCounts::default()
    }

    fn tile_cycles(&self, counted: &CountedKernel<'_>) -> f64 {
        let padded = counted.kernel.with_body(PaddedBody::of(counted.kernel.shared_body()).body);
        let Some(boxes) = counted.kernel.boxes() else { return f64::INFINITY };
        let phases = phases(&padded, boxes, counted.arch);
        phased_cycles(counted, &padded, phases, phase_counts(counted.kernel, Sampling::SINGLE))
    }

    fn block_shape(&self, _: &Kernel, _stage: usize) -> Option<BlockShape> {
        None
    }

    fn host_microseconds(&self, kernel: &Kernel, processor: Processor<'_>) -> f64 {
        evaluated_in_boxes(kernel, processor.arch)
    }
}

/// Cycles of one tile of a staged body while the other multiprocessors that have tiles run theirs. Its phases run one
/// after another, each no faster than the wavefronts of its loads from shared memory. All together are no faster than
/// the operands arrive.
pub(crate) fn phased_cycles(
    counted: &CountedKernel<'_>,
    padded: &Kernel,
    estimated: Vec<f64>,
    counts: Vec<KernelCounts>,
) -> f64 {
    let tiles = counted.tiles();
    let phases = estimated.into_iter().zip(counts);
    let cycles: f64 = phases.map(|(estimated, counts)| estimated.max(counts.shared_wavefronts / tiles)).sum();
    cycles.max(arrival_cycles(padded, counted.arch))
}

/// Estimated cycles of every phase: staged values, then what leaves the group as one.
fn phases(padded: &Kernel, boxes: &[StagedBox], arch: &GpuArch) -> Vec<f64> {
    let body = padded.body();
    let (grid, device) = (padded.grid(), (padded.rules().block_size(), arch));
    let staged = body.staged.iter().zip(boxes).map(|(stage, spans)| {
        let sink = sink(spans, &grid);
        phase_cycles(PhasePlace { stage, spans: &PhaseSpan::of_box(spans, &grid), boxes, sink }, device)
    });
    let spans = PhaseSpan::of_tile(padded.tile(), &grid);
    let main = body.stages.iter().map(|stage| {
        let (spans, sink) = (&spans[..], Sink::Outputs);
        phase_cycles(PhasePlace { stage, spans, boxes, sink }, device)
    });
    staged.chain([main.sum()]).collect()
}

/// Cycles in which a tile's operands arrive from the second-level cache.
fn arrival_cycles(kernel: &Kernel, arch: &GpuArch) -> f64 {
    let tiles = kernel.tiles().clamp(1, arch.multiprocessors.value) as f64;
    let all = arch.cache_bytes_per_microsecond.value / arch.cycles_per_microsecond.value;
    let rate = (all / tiles).min(arch.cache_bytes_per_cycle_alone.value);
    let sector = arch.transaction_bytes.value;
    kernel.boxes().map_or(f64::INFINITY, |boxes| operand_bytes(kernel, boxes, sector) as f64 / rate)
}

/// Bytes of the operands that the grid's first tile reads, each region once; at least `fewest` of a run of neighbours.
pub(crate) fn operand_bytes(kernel: &Kernel, boxes: &[StagedBox], fewest: usize) -> u64 {
    let body = kernel.body();
    let main = body.stages.iter().map(|stage| {
        let mut ranges = region::whole(&stage.expr);
        for (range, tile) in ranges.iter_mut().zip(kernel.tile()) {
            range.maximum = range.maximum.min(*tile as i64 - 1);
        }
        ranges
    });
    let ranges = box_ranges(body, boxes, &vec![0; body.tile_rank]).into_iter().chain(main);
    let mut read = vec![Regions::default(); body.operands.len()];
    let mut types = vec![None; body.operands.len()];
    for (stage, ranges) in body.staged.iter().chain(&body.stages).zip(ranges) {
        for (id, access) in stage.expr.reads.iter() {
            let StageSource::Operand(operand) = stage.sources[access.operand] else { continue };
            types[operand] = Some(&stage.expr.operands[access.operand]);
            region::input_region(&stage.expr, id, &ranges).into_iter().for_each(|region| read[operand].add(region));
        }
    }
    let bytes = |(regions, ty): (&Regions, Option<&TensorType>)| {
        let Some(TensorType { element, shape }) = ty else { return 0 };
        let run = (fewest / element.bytes().max(1)).max(1) as u64;
        regions.elements_in_runs_of(run, shape) * element.bytes() as u64
    };
    read.iter().zip(types).map(bytes).sum()
}

/// Cycles of one phase of a block of this size.
///
/// A phase is a sequence of rounds: a thread asks for the operands of a few elements, taps or steps, waits until they are
/// there, and uses them. Warps of a scheduler overlap: while one waits, the others use theirs.
pub(crate) fn phase_cycles(place: PhasePlace<'_>, (block_size, arch): (BlockSize, &GpuArch)) -> f64 {
    let PhasePlace { stage, sink, .. } = place;
    let (expr, extents) = (&stage.expr, &place.extents()[..]);
    let points: usize = extents.iter().product();
    let warps =
        |points: usize| (points.min(block_size.threads()).div_ceil(WARP) as f64 / arch.schedulers.value as f64).ceil();
    let own = PhaseWork::new(stage, arch);
    let steps = match place.product(block_size) {
        Some(ProductStep::Blocked(step)) => {
            let blocks = points.div_ceil(step.rows * step.columns);
            let finished = own.finished([step.rows, step.columns], warps(blocks), arch);
            own.blocked(step, warps(blocks)) + step.trips as f64 * finished
        }
        Some(ProductStep::Matrices(step)) => {
            let (block, warps) = (step.product.block, (step.warps as f64 / arch.schedulers.value as f64).ceil());
            let finished = own.finished([block.lane_rows(), block.lane_columns()], warps, arch);
            own.matrices(&step) + step.trips as f64 * finished
        }
        None if runs_across_lanes(expr, extents, sink, block_size) => {
            let trips = points.div_ceil(block_size.warps()) as f64;
            let rounds = (reduction_length(expr) as f64 / WARP as f64).ceil();
            trips * (rounds * own.round(1.0, warps(block_size.threads())) + COMBINE_LATENCY)
        }
        None => {
            let trips = points.div_ceil(block_size.threads());
            match expr.reducer {
                Some(_) => {
                    let taps = Taps::of(expr);
                    let rounds = taps.rounds(expr) as f64 * own.round(taps.count() as f64, warps(points));
                    let after = |epilogue| own.issued(epilogue, warps(points));
                    trips as f64 * (rounds + expr.epilogue.as_ref().map_or(0.0, after))
                }
                None => {
                    let each = trips.min(ELEMENTS);
                    let rounds = trips.div_ceil(each) as f64 * own.round(each as f64, warps(points));
                    rounds.max(line_passes(stage, extents) * points.div_ceil(WARP) as f64)
                }
            }
        }
    };
    arch.load_latency_cycles.value + BARRIER_CYCLES + steps
}

/// Bytes that one pass of a warp's access to global memory reaches.
const LINE_BYTES: usize = 128;

/// Passes in which a warp reads the operands of its elements and stores them: where neighbouring lanes are rows apart, each
/// lane is a pass of its own.
fn line_passes(stage: &Stage, extents: &[usize]) -> f64 {
    let expr = &stage.expr;
    let Some(lanes) = extents.iter().rposition(|extent| *extent > 1) else { return 0.0 };
    let lanes = AxisId::from_index(lanes);
    let passes = |apart: i64, bytes: usize| {
        (apart.unsigned_abs() as f64 * (bytes * WARP) as f64 / LINE_BYTES as f64).clamp(1.0, WARP as f64)
    };
    let of_read = |read: &Read| {
        let StageSource::Operand(_) = stage.sources[read.operand] else { return 0.0 };
        let ty = &expr.operands[read.operand];
        passes(Index::linear(&read.index, &ty.shape.strides(), 0).coefficient(lanes), ty.element.bytes())
    };
    let output = expr.output();
    let apart = output.shape.strides().get(lanes.index()).map_or(0, |stride| *stride as i64);
    let stored = if stage.output.is_some() { passes(apart, output.element.bytes()) } else { 0.0 };
    expr.reads.values().map(of_read).sum::<f64>() + stored
}

/// Instructions that read an element. A read of memory has its address in 64 bits and the moves of the memory's
/// descriptor. The next constants are a read of shared memory, and one condition of a guard. The condition has its part
/// of the branch around the read and of what meets behind it.
const MEMORY_INSTRUCTIONS: f64 = 5.0;
const SHARED_INSTRUCTIONS: f64 = 3.0;
const CONDITION_INSTRUCTIONS: f64 = 5.0;
/// Instructions that find the coordinate of an axis, and those that store an element.
const AXIS_INSTRUCTIONS: f64 = 4.0;
const STORE_INSTRUCTIONS: f64 = 3.0;
/// The part of the loads of four neighbours that the first-level cache cannot answer: two share a sector.
const FRESH: f64 = 0.5;
/// The part of a warp's instructions of four steps that stands behind the loads of the next four.
const BEHIND_LOADS: f64 = 0.6;

/// What the threads of a phase do.
pub(crate) struct PhaseWork<'s> {
    stage: &'s Stage,
    /// Cycles until the slowest of a reduction's reads arrives.
    latency: f64,
    /// Cycles in which an evaluation finds the places that data name: it loads and checks each before it reads there.
    named: f64,
}

impl<'s> PhaseWork<'s> {
    pub(crate) fn new(stage: &'s Stage, arch: &GpuArch) -> Self {
        let named = stage.expr.indirect_indices().len() as f64 * (arch.load_latency_cycles.value + CHECK_CYCLES);
        Self { stage, latency: read_latency(stage, arch), named }
    }

    /// Instructions of evaluating a scalar once.
    fn instructions(&self, scalar: &Scalar) -> f64 {
        let expr = &self.stage.expr;
        let read = |id: ReadId| {
            let read = &expr.reads[id];
            let own = match self.stage.sources[read.operand] {
                StageSource::Operand(_) => MEMORY_INSTRUCTIONS,
                StageSource::Staged(_) => SHARED_INSTRUCTIONS,
                StageSource::Stage(_) => 0.0,
            };
            own + CONDITION_INSTRUCTIONS * read.guard.conditions().len() as f64
        };
        1.0 + arithmetic(scalar) + expr.reads_of(scalar).into_iter().map(read).sum::<f64>()
    }

    /// Cycles in which a scheduler's warps evaluate a scalar once.
    fn issued(&self, scalar: &Scalar, warps: f64) -> f64 {
        let branching = branching(scalar);
        (self.instructions(scalar) - branching) * warps.max(DEPENDENT_CYCLES) + branching * warps.max(BRANCHING_CYCLES)
    }

    /// One round of so many evaluations of the body by a thread: they arrive together, then they are used.
    fn round(&self, evaluations: f64, warps: f64) -> f64 {
        let expr = &self.stage.expr;
        let decoded = match expr.reducer {
            Some(_) => AXIS_INSTRUCTIONS * expr.reduced().count() as f64,
            None => evaluations * (AXIS_INSTRUCTIONS * expr.axes.len() as f64 + STORE_INSTRUCTIONS),
        };
        let waits = if self.named > 0.0 { evaluations * (self.named + self.latency) } else { self.latency };
        waits + evaluations * self.issued(&expr.body, warps) + decoded * warps.max(DEPENDENT_CYCLES)
    }

    /// The products of all blocks. What comes from the second-level cache is waited for while the other warps multiply.
    /// Where the next steps are fetched ahead, it is also waited for while the warp itself does what stands behind its
    /// loads.
    pub(crate) fn blocked(&self, step: BlockedStep, warps: f64) -> f64 {
        let expr = &self.stage.expr;
        let length = reduction_length(expr) as f64;
        let inner = expr.reduced().last().map_or(1, |axis| expr.axes[axis].extent);
        let in_steps = inner.is_multiple_of(blocked::WRITTEN_OUT);
        let ahead = self.fetched_ahead(step);
        let steps = match (in_steps, ahead) {
            (true, Some(fetched)) => blocked::steps_a_trip(inner, fetched) as f64,
            (true, None) => blocked::WRITTEN_OUT as f64,
            (false, _) => 1.0,
        };
        // What was fetched ahead is moved to where the products read it, and the fetch takes its place.
        let moved = ahead.filter(|_| in_steps).map_or(0, |fetched| fetched.iter().sum::<usize>());
        let issued = steps * (step.cycles + moved as f64 * warps) * (warps.max(DEPENDENT_CYCLES) / warps);
        let beside = issued * (warps - 1.0) / warps;
        let (hidden, fresh) = match () {
            () if in_steps && ahead.is_some() => (issued * (warps - 1.0 + BEHIND_LOADS) / warps, 1.0),
            // No step reads neighbours of what the step before it has read.
            () if inner == 1 => (beside, 1.0),
            () => (beside, FRESH),
        };
        let waits = fresh * (self.latency - hidden).max(0.0) + (1.0 - fresh) * (NEAR_CYCLES - hidden).max(0.0);
        step.trips as f64 * length / steps * (issued + waits)
    }

    /// The products of all blocks of warps: the loads of some steps are waited for together, then their products are summed.
    pub(crate) fn matrices(&self, step: &MatrixStep) -> f64 {
        let expr = &self.stage.expr;
        let inner = expr.reduced().last().map_or(1, |axis| expr.axes[axis].extent).max(1);
        let length = reduction_length(expr) as f64;
        let waits = length / inner as f64 * inner.div_ceil(WRITTEN_OUT) as f64;
        step.trips as f64 * (waits * self.latency + length * step.cycles)
    }

    /// Elements of both factors that a step fetches of memory; `None` where some are not fetched ahead.
    fn fetched_ahead(&self, step: BlockedStep) -> Option<[usize; 2]> {
        let contraction = Contraction::of_expression(&self.stage.expr)?;
        let fetched = [(AxisClass::Row, step.rows), (AxisClass::Column, step.columns)].map(|(side, elements)| {
            let in_memory = |read: &&ReadId| is_in_memory(self.stage, **read);
            blocked::reads(contraction.factor(side)).iter().filter(in_memory).count() * elements
        });
        fetched.into_iter().all(blocked::is_fetched_ahead).then_some(fetched)
    }

    /// What follows the products of a block, a row after another. What differs from column to column is loaded behind the store
    /// of the column before.
    fn finished(&self, [rows, columns]: [usize; 2], warps: f64, arch: &GpuArch) -> f64 {
        let epilogue = self.stage.expr.epilogue.as_ref();
        let each = warps.max(DEPENDENT_CYCLES);
        let issued = STORE_INSTRUCTIONS * each + epilogue.map_or(each, |epilogue| self.issued(epilogue, warps));
        let turns = epilogue.map_or(0, |epilogue| if self.reads_columns(epilogue) { columns } else { 1 });
        rows as f64 * (turns as f64 * arch.load_latency_cycles.value + columns as f64 * issued)
    }

    /// Whether a scalar reads other places of memory along the innermost axis of what is computed.
    fn reads_columns(&self, scalar: &Scalar) -> bool {
        let expr = &self.stage.expr;
        let innermost = expr.parallel().filter(|axis| expr.axes[*axis].extent > 1).last();
        expr.reads_of(scalar).into_iter().filter(|read| is_in_memory(self.stage, *read)).any(|read| {
            let mut depends = false;
            let indices = expr.reads[read].index.iter();
            indices.for_each(|index| index.visit(&mut |axis| depends |= Some(axis) == innermost, &mut |_| {}));
            depends
        })
    }
}

fn is_in_memory(stage: &Stage, read: ReadId) -> bool {
    matches!(stage.sources[stage.expr.reads[read].operand], StageSource::Operand(_))
}

/// Cycles until the slowest of a reduction's reads arrives.
pub(crate) fn read_latency(stage: &Stage, arch: &GpuArch) -> f64 {
    match stage.expr.reads_of(&stage.expr.body).into_iter().any(|read| is_in_memory(stage, read)) {
        true => arch.load_latency_cycles.value,
        false => arch.shared_latency_cycles.value,
    }
}
