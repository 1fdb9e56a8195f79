//! The phases of a kernel at shared-memory level: staged values one after another, then what leaves the group.

use warpweave_graph::expr::{AxisId, TensorExpr, region};

use super::arch::GpuArch;
use super::attention::{self, AttentionKernel};
use super::attention_phase::attention_phases;
use super::blocked::{self, Across};
use super::body::{GroupBody, StageSource};
use super::bound::kernel::{Sampling, phase_counts};
use super::estimate::work;
use super::padded::PaddedBody;
use super::params::{BLOCK_THREADS, BLOCK_WARPS, ScheduleParams, Template};
use super::staged::{STAGED_BYTES, StagedBox, StagedSpan, box_ranges, boxes, bytes, extents};
use super::traffic::Regions;

/// Points of a tile of the staged template.
const STAGED_POINTS: std::ops::Range<usize> = 64..16_385;

/// The choices for a body that stages values: tiles of up to 16,384 points, whole or a power of two along each axis, whose
/// staged values fit.
pub fn candidates(body: &GroupBody) -> Vec<ScheduleParams> {
    fitting(body).into_iter().map(|(params, _)| params).collect()
}

/// The same with their boxes.
fn fitting(body: &GroupBody) -> Vec<(ScheduleParams, Vec<StagedBox>)> {
    let params = tiles(body).into_iter().map(|tile| ScheduleParams { template: Template::Staged, tile });
    let boxed = params.filter_map(|params| boxes(body, &params).map(|boxes| (params, boxes)));
    boxed.filter(|(_, boxes)| bytes(boxes) <= STAGED_BYTES).collect()
}

/// Tiles of up to 16,384 points, whole or a power of two along each axis.
pub(super) fn tiles(body: &GroupBody) -> Vec<Vec<usize>> {
    let mut tiles: Vec<Vec<usize>> = vec![Vec::new()];
    for extent in body.tile_extents() {
        let powers = [1, 4, 8, 16, 32, 64].into_iter().filter(|power| *power < extent);
        let choices: Vec<usize> = powers.chain([extent.max(1)]).collect();
        let longer = |tile: &Vec<usize>| {
            let tile = tile.clone();
            choices.clone().into_iter().map(move |choice| tile.iter().copied().chain([choice]).collect())
        };
        tiles = tiles.iter().flat_map(longer).collect();
    }
    let smallest = body.tile_extents().iter().product::<usize>().min(STAGED_POINTS.start);
    tiles.retain(|tile| (smallest..STAGED_POINTS.end).contains(&tile.iter().product()));
    tiles
}

/// The `count` cheapest of the choices of each template before their loads are counted, in order.
pub fn shortlist(body: &GroupBody, count: usize, arch: &GpuArch) -> Vec<ScheduleParams> {
    let padded = PaddedBody::of(body);
    let priced = |params: ScheduleParams, phases: Vec<f64>| {
        let cycles = phases.into_iter().sum::<f64>();
        let waves = params.tiles(body).div_ceil(arch.multiprocessors.value) as f64;
        (waves * cycles.max(arrival_cycles(&padded.body, &params, arch)), params)
    };
    let cheapest = |mut priced: Vec<(f64, ScheduleParams)>| {
        priced.sort_by(|a, b| a.0.total_cmp(&b.0));
        priced.into_iter().take(count).map(|(_, params)| params).collect::<Vec<ScheduleParams>>()
    };
    let staged = fitting(body).into_iter().map(|(params, boxes)| {
        let phases = phases(&padded, &params, &boxes, arch);
        priced(params, phases)
    });
    let attention = attention::fitting(body).into_iter().map(|(params, kernel)| {
        let phases = attention_phases(&padded.body, &params, &kernel, arch);
        priced(params, phases)
    });
    [cheapest(staged.collect()), cheapest(attention.collect())].concat()
}

/// How the block's threads share a phase's box.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Method {
    /// A thread an element, reductions one value after another.
    Thread,
    /// A warp an element, its reduction across lanes.
    Warp,
    /// A thread computes `rows × columns` elements of a sum of products, so that each factor is fetched once for several.
    Blocked {
        /// Rows a thread.
        rows: usize,
        /// Columns a thread.
        columns: usize,
        /// How threads lie.
        across: Across,
    },
}

/// Where a phase's values go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sink {
    /// Into a box of which all elements exist; a reduction across lanes needs that.
    Inside,
    /// Into a box that reaches over an edge.
    Windowed,
    /// Out of the group, neighbours together.
    Outputs,
}

impl Sink {
    fn across(self) -> &'static [Across] {
        match self {
            Self::Inside | Self::Windowed => &[Across::Columns, Across::Rows],
            Self::Outputs => &[Across::Columns],
        }
    }
}

/// The method of a phase that computes an expression on a box with one extent a parallel axis.
pub(super) fn method(expr: &TensorExpr, extents: &[usize], sink: Sink) -> Method {
    match blocked::step(expr, extents, sink.across()) {
        Some(step) => Method::Blocked { rows: step.rows, columns: step.columns, across: step.across },
        None if runs_across_lanes(expr, extents, sink) => Method::Warp,
        None => Method::Thread,
    }
}

/// Whether a warp an element takes fewer steps than a thread an element.
fn runs_across_lanes(expr: &TensorExpr, extents: &[usize], sink: Sink) -> bool {
    let points: usize = extents.iter().product();
    let length = reduction_length(expr);
    let one_by_one = points.div_ceil(BLOCK_THREADS) * length;
    let across = points.div_ceil(BLOCK_WARPS) * (length.div_ceil(32) + 12);
    expr.reducer.is_some() && sink == Sink::Inside && across < one_by_one
}

/// The methods of a staged kernel's phases, as it evaluates them: those of the staged values in order, and that of the lead of
/// what leaves the group.
pub fn methods(body: &PaddedBody<'_>, params: &ScheduleParams, boxes: &[StagedBox]) -> (Vec<Method>, Method) {
    let grid = params.grid(&body.body);
    let staged = body
        .body
        .staged
        .iter()
        .zip(boxes)
        .map(|(stage, spans)| method(&stage.expr, &extents(spans), sink(spans, &grid)));
    (staged.collect(), method(&body.body.stages[0].expr, &params.tile, Sink::Outputs))
}

pub(super) fn sink(spans: &[StagedSpan], grid: &[usize]) -> Sink {
    if spans.iter().all(|span| span.stays_inside(grid)) { Sink::Inside } else { Sink::Windowed }
}

fn reduction_length(expr: &TensorExpr) -> usize {
    expr.reduced().map(|axis: AxisId| expr.axes[axis].extent).product()
}

/// Cycles of one tile of a staged body while the other multiprocessors that have tiles run theirs: its phases one after
/// another, each no faster than the wavefronts of its loads from shared memory, all no faster than the operands arrive.
/// Infinite where the staged values have no box.
pub fn staged_tile_cycles(body: &GroupBody, params: &ScheduleParams, arch: &GpuArch) -> f64 {
    let padded = PaddedBody::of(body);
    let estimated = match params.template {
        Template::Attention { .. } => {
            AttentionKernel::of(body, params).map(|kernel| attention_phases(&padded.body, params, &kernel, arch))
        }
        _ => boxes(body, params).map(|boxes| phases(&padded, params, &boxes, arch)),
    };
    let Some(estimated) = estimated else { return f64::INFINITY };
    let tiles = params.tiles(body).max(1) as f64;
    let counted =
        phase_counts(body, params, Sampling::SINGLE).into_iter().map(|counts| counts.shared_wavefronts / tiles);
    let phases = estimated.into_iter().zip(counted);
    let cycles: f64 = phases.map(|(estimated, wavefronts)| estimated.max(wavefronts)).sum();
    cycles.max(arrival_cycles(&padded.body, params, arch))
}

/// Estimated cycles of every phase: staged values, then what leaves the group as one.
fn phases(padded: &PaddedBody<'_>, params: &ScheduleParams, boxes: &[StagedBox], arch: &GpuArch) -> Vec<f64> {
    let body = &*padded.body;
    let grid = params.grid(body);
    let staged = body.staged.iter().zip(boxes);
    let staged = staged.map(|(stage, spans)| phase_cycles(&stage.expr, &extents(spans), sink(spans, &grid), arch));
    let main = body.stages.iter().map(|stage| phase_cycles(&stage.expr, &params.tile, Sink::Outputs, arch)).sum();
    staged.chain([main]).collect()
}

/// Cycles in which a tile's operands arrive from the second-level cache.
fn arrival_cycles(body: &GroupBody, params: &ScheduleParams, arch: &GpuArch) -> f64 {
    let tiles = params.tiles(body).clamp(1, arch.multiprocessors.value) as f64;
    let all = arch.cache_bytes_per_microsecond.value / arch.cycles_per_microsecond.value;
    let rate = (all / tiles).min(arch.cache_bytes_per_cycle_alone.value);
    boxes(body, params).map_or(f64::INFINITY, |boxes| operand_bytes(body, params, &boxes) as f64 / rate)
}

/// Bytes of the operands that the grid's first tile reads, each region once; operands count as `F32`.
fn operand_bytes(body: &GroupBody, params: &ScheduleParams, boxes: &[StagedBox]) -> u64 {
    let main = body.stages.iter().map(|stage| {
        let mut ranges = region::whole(&stage.expr);
        for (range, tile) in ranges.iter_mut().zip(&params.tile) {
            range.maximum = range.maximum.min(*tile as i64 - 1);
        }
        ranges
    });
    let ranges = box_ranges(body, boxes, &vec![0; body.tile_rank]).into_iter().chain(main);
    let mut read = vec![Regions::default(); body.operands.len()];
    for (stage, ranges) in body.staged.iter().chain(&body.stages).zip(ranges) {
        for (id, access) in stage.expr.reads.iter() {
            let StageSource::Operand(operand) = stage.sources[access.operand] else { continue };
            region::input_region(&stage.expr, id, &ranges).into_iter().for_each(|region| read[operand].add(region));
        }
    }
    4 * read.iter().map(Regions::elements).sum::<u64>()
}

/// Cycles of one phase: the instructions of the busiest scheduler, no faster than one load after another allows.
pub(super) fn phase_cycles(expr: &TensorExpr, extents: &[usize], sink: Sink, arch: &GpuArch) -> f64 {
    let latency = arch.load_latency_cycles.value;
    let points: usize = extents.iter().product();
    let length = reduction_length(expr) as f64;
    let schedulers = 4.0;
    let warps = |busy_threads: usize| (busy_threads.min(BLOCK_THREADS).div_ceil(32) as f64 / schedulers).ceil();
    let steps = match blocked::step(expr, extents, sink.across()) {
        Some(step) => {
            let exposed =
                arch.shared_latency_cycles.value / blocked::WRITTEN_OUT as f64 + (step.rows * step.columns) as f64;
            step.trips as f64 * length * step.cycles.max(exposed)
        }
        None if runs_across_lanes(expr, extents, sink) => {
            let trips = points.div_ceil(BLOCK_WARPS) as f64;
            trips * ((length / 32.0).ceil() * (2.0 * work(expr)).max(latency / 8.0) + 150.0)
        }
        None => {
            let trips = points.div_ceil(BLOCK_THREADS) as f64;
            trips * length * (warps(points) * work(expr)).max(latency / 8.0)
        }
    };
    latency + steps
}
