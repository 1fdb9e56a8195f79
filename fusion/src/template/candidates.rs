//! The parameters that the rules leave for a body.

use std::sync::Arc;

use warpweave_graph::Numerics;
use warpweave_plan::body::GroupBody;
use warpweave_plan::kernel::{Kernel, ScheduleParams};
use warpweave_plan::template::Template;
use warpweave_plan::template::contraction::shape::{ContractionShape, Pipeline};
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::fill::fill;
use warpweave_plan::template::pointwise::Pointwise;
use warpweave_plan::template::pointwise::rules::takes_runs;
use warpweave_plan::template::row::RowThreads;
use warpweave_plan::template::rules::Rules;

/// Points a thread of the large tiles that a processor's threads take.
const LARGE: [usize; 3] = [8, 16, 64];

/// Points of the small tiles, for what several threads share.
const SMALL: [usize; 2] = [64, 128];

/// Rows of the large tiles of reductions.
const LARGE_ROWS: [usize; 3] = [32, 64, 128];

/// Choices for the threads of a processor: tiles that are larger or smaller than those of a GPU's blocks.
pub fn thread_candidates(body: &Arc<GroupBody>) -> impl Iterator<Item = Kernel> {
    let extents = body.tile_extents();
    let all: Vec<usize> = (0..extents.len()).collect();
    let reduces = body.procedure().is_none() && body.reductions().count() > 0 && body.staged.is_empty();
    let rows = LARGE_ROWS.into_iter().filter(|_| reduces);
    let rows = rows.map(|rows| fill(&extents, &all, rows)).collect::<Vec<_>>().into_iter();
    let rows = rows.map(|tile| ScheduleParams { template: Template::Row(RowThreads::Warp), tile });
    let body = Arc::clone(body);
    rows.chain(thread_elementwise(&body)).map(move |params| Kernel::unchecked(Arc::clone(&body), params))
}

/// The same of what is computed element by element.
fn thread_elementwise(body: &GroupBody) -> impl Iterator<Item = ScheduleParams> + use<> {
    let extents = body.tile_extents();
    let own = (0..body.stages.len()).any(|stage| !body.extra_axes(stage).is_empty());
    let is_pointwise = body.procedure().is_none() && body.reductions().count() <= 1 && !own && body.staged.is_empty();
    let all: Vec<usize> = (0..extents.len()).collect();
    let choice = move |per_thread: usize, points: usize| {
        let tile = fill(&extents, &all, points);
        ScheduleParams { template: Template::Pointwise(Pointwise::strided(per_thread)), tile }
    };
    let threads = Pointwise::strided(1).block_size().threads();
    let large = LARGE.into_iter().map(move |per_thread| (per_thread, threads * per_thread));
    let points = SMALL.into_iter().map(|points| (1, points)).chain(large).filter(move |_| is_pointwise);
    points.map(move |(per_thread, points)| choice(per_thread, points))
}

/// The kernels of the templates without a shared-memory stage.
pub fn simple_candidates(body: &Arc<GroupBody>) -> Vec<Kernel> {
    simple_params(body).into_iter().map(|params| Kernel::unchecked(Arc::clone(body), params)).collect()
}

fn simple_params(body: &GroupBody) -> Vec<ScheduleParams> {
    let extents = body.tile_extents();
    if body.procedure().is_some() {
        return vec![ScheduleParams { template: Template::Opaque, tile: vec![1; extents.len()] }];
    }
    let all: Vec<usize> = (0..extents.len()).collect();
    let reductions = body.reductions().count();
    let extra = (0..body.stages.len()).any(|stage| !body.extra_axes(stage).is_empty());
    let mut found = Vec::new();
    if reductions <= 1 && !extra {
        let strided = if reductions == 0 { &[1, 4][..] } else { &[1] };
        for template in strided.iter().copied().map(Pointwise::strided) {
            let tile = fill(&extents, &all, template.block_size().threads() * template.per_thread);
            found.push(ScheduleParams { template: Template::Pointwise(template), tile });
        }
        if takes_runs(body) {
            found.extend(runs(&extents));
        }
    }
    if reductions > 0 {
        let tile = fill(&extents, &all, RowThreads::Warp.block_size().warps());
        found.push(ScheduleParams { template: Template::Row(RowThreads::Warp), tile });
        let tile = vec![1; extents.len()];
        found.push(ScheduleParams { template: Template::Row(RowThreads::Block), tile });
    }
    found
}

/// Neighbours that one thread computes, at most.
const RUNS: [usize; 6] = [8, 7, 6, 5, 4, 3];
/// Lengths of runs that are tried.
const RUN_LENGTHS: usize = 2;

/// Tiles whose innermost axis is divided into runs: lengths that divide it, or four neighbours where none does.
fn runs(extents: &[usize]) -> impl Iterator<Item = ScheduleParams> {
    let along = extents.iter().rposition(|extent| *extent > 1);
    let extent = along.map_or(1, |along| extents[along]);
    let mut lengths: Vec<usize> = RUNS.into_iter().filter(|length| extent.is_multiple_of(*length)).collect();
    lengths.truncate(RUN_LENGTHS);
    if lengths.is_empty() && extent > RUN_LENGTHS {
        lengths.push(4);
    }
    let all: Vec<usize> = (0..extents.len()).collect();
    lengths.into_iter().map(move |length| {
        let template = Pointwise::run(length);
        let mut numbered = extents.to_vec();
        if let Some(along) = along {
            numbered[along] = numbered[along].div_ceil(length);
        }
        let mut tile = fill(&numbered, &all, template.block_size().threads());
        if let Some(along) = along {
            tile[along] = (tile[along] * length).min(extents[along]);
        }
        ScheduleParams { template: Template::Pointwise(template), tile }
    })
}

/// The shapes that the rules leave for a contraction: powers of two, and three times a power of two columns a thread. No side is
/// twice as long as it needs to be. Every thread fetches at least one element of each side a step.
pub fn contraction_shapes(body: &GroupBody, contraction: &Contraction) -> impl Iterator<Item = ContractionShape> {
    let extents = body.tile_extents();
    let side = |class: AxisClass| -> usize {
        let of_class = extents.iter().zip(&contraction.classes).filter(|(_, other)| **other == class);
        of_class.map(|(extent, _)| *extent).product()
    };
    let needed = [AxisClass::Row, AxisClass::Column].map(|class| side(class).next_power_of_two().max(16));
    let reduced = &body.stages[0].expr;
    let reduction: usize = reduced.reduced().map(|axis| reduced.axes[axis].extent).product();
    let asynchronous = contraction.is_plain(body);
    let pipelines = move |shape: ContractionShape| {
        let copies = asynchronous.then_some(Pipeline::Asynchronous { depth: 3 });
        let pipelines = [Pipeline::Unpipelined, Pipeline::RegisterPrefetch].into_iter().chain(copies);
        pipelines.map(move |pipeline| ContractionShape { pipeline, ..shape })
    };
    thread_tiles().flat_map(slices).flat_map(pipelines).filter(move |shape| {
        let lengths = [AxisClass::Row, AxisClass::Column].map(|class| shape.length(class));
        let fits = lengths.iter().zip(needed).all(|(length, needed)| *length <= needed);
        let threads = shape.block_size().threads();
        let fetches = lengths.iter().all(|length| (threads..=4096).contains(&(length * shape.k_tile)));
        let useful = shape.k_tile == 8 || shape.k_tile < 2 * reduction;
        fits && fetches && useful
    })
}

/// The tiles of a thread, its block's threads along rows, and steps, of blocks that are one slice and not pipelined.
fn thread_tiles() -> impl Iterator<Item = ContractionShape> {
    let widths = |columns: usize| {
        let widest = if columns.is_multiple_of(4) { 4 } else { columns.min(2) };
        if widest == 1 { vec![1] } else { vec![1, widest] }
    };
    let sides = [1, 2, 4, 8].into_iter().flat_map(|rows| [1, 2, 4, 6, 8, 12].map(|columns| (rows, columns)));
    let placed = sides.flat_map(|(rows, columns)| [8, 16, 32].map(|row_threads| (rows, columns, row_threads)));
    let stepped =
        placed.flat_map(|(rows, columns, row_threads)| [8, 16, 32].map(|k_tile| (rows, columns, row_threads, k_tile)));
    stepped.flat_map(move |(rows, columns, row_threads, k_tile)| {
        let of_width = |column_width: usize| ContractionShape {
            row_threads,
            column_width,
            k_tile,
            ..ContractionShape::square(rows, columns)
        };
        widths(columns).into_iter().map(of_width).collect::<Vec<_>>()
    })
}

/// The shape, and the same of several slices, where each multiplies several points a step and a thread has many elements. With as
/// many elements a thread, tiles are smaller by the number of slices.
fn slices(shape: ContractionShape) -> impl Iterator<Item = ContractionShape> {
    let is_large = shape.rows * shape.columns >= FEWEST_SLICED && shape.column_width == shape.columns.min(4);
    let of_count = move |k_slices: usize| {
        let (row_threads, k_tile) = match k_slices {
            1 => (shape.row_threads, shape.k_tile),
            _ => (shape.row_threads / 2, shape.k_tile * 2),
        };
        ContractionShape { k_slices, row_threads, k_tile, ..shape }
    };
    let takes = move |sliced: &ContractionShape| {
        sliced.k_slices == 1
            || is_large
                && sliced.k_tile >= FEWEST_SLICED_POINTS * sliced.k_slices
                && sliced.is_possible()
                && sliced.tile_bytes(Numerics::SINGLE) <= MOST_SLICED_BYTES
    };
    [1, 2, 4, 8].into_iter().map(of_count).filter(takes)
}

/// Elements of a thread below which slices share too little of what they load.
const FEWEST_SLICED: usize = 16;
/// Points that a slice multiplies a step.
const FEWEST_SLICED_POINTS: usize = 4;
/// Bytes of shared memory that tiles and sums of slices take at most.
const MOST_SLICED_BYTES: usize = 64 << 10;

/// A few fixed kernels of every template for a body; empty only if it stages values that fit nowhere. The search's choices
/// are [`crate::template::contraction::shortlist`]'s.
pub fn candidates(body: &Arc<GroupBody>) -> Vec<Kernel> {
    if !body.staged.is_empty() {
        return warpweave_plan::template::staged::phase::candidates(body)
            .into_iter()
            .chain(warpweave_plan::template::attention::candidates(body))
            .collect();
    }
    let mut found = simple_candidates(body);
    if let Some(contraction) = Contraction::of(body) {
        found.extend([(4, 4), (2, 2), (4, 1), (1, 4)].map(|(rows, columns)| {
            let shape = ContractionShape::square(rows, columns);
            let params =
                ScheduleParams { template: Template::Contraction(shape), tile: shape.tile(body, &contraction) };
            Kernel::unchecked(Arc::clone(body), params)
        }));
    }
    found
}
