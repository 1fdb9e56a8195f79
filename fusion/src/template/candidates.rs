//! The parameters that the rules leave for a body.

use warpweave_plan::body::GroupBody;
use warpweave_plan::template::Template;
use warpweave_plan::template::contraction::shape::{ContractionShape, Pipeline};
use warpweave_plan::template::contraction::unit::ComputeUnit;
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::fill::fill;
use warpweave_plan::template::pointwise::Pointwise;
use warpweave_plan::template::pointwise::rules::takes_runs;
use warpweave_plan::template::row::RowThreads;
use warpweave_plan::template::rules::Rules;
use warpweave_plan::template::tile::ScheduleParams;

/// The choices of the templates without a shared-memory stage.
pub fn simple_candidates(body: &GroupBody) -> Vec<ScheduleParams> {
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

/// The shapes that the rules leave for a contraction: powers of two, and three times a power of two columns a thread; no side
/// twice as long as it needs to be; every thread fetches at least one element of each side a step.
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
    let widths = |columns: usize| {
        let widest = if columns.is_multiple_of(4) { 4 } else { columns.min(2) };
        if widest == 1 { vec![1] } else { vec![1, widest] }
    };
    let pipelines = move || {
        let copies = asynchronous.then_some(Pipeline::Asynchronous { depth: 3 });
        [Pipeline::Unpipelined, Pipeline::RegisterPrefetch].into_iter().chain(copies)
    };
    let sides = [1, 2, 4, 8].into_iter().flat_map(|rows| [1, 2, 4, 6, 8, 12].map(|columns| (rows, columns)));
    let placed = sides.flat_map(|(rows, columns)| [8, 16, 32].map(|row_threads| (rows, columns, row_threads)));
    let stepped =
        placed.flat_map(|(rows, columns, row_threads)| [8, 16, 32].map(|step| (rows, columns, row_threads, step)));
    let shapes = stepped.flat_map(move |(rows, columns, row_threads, step)| {
        let of_width = move |column_width: usize| {
            pipelines().map(move |pipeline| ContractionShape {
                rows,
                columns,
                row_threads,
                column_width,
                k_tile: step,
                pipeline,
                split_k: 1,
                unit: ComputeUnit::Simt,
            })
        };
        widths(columns).into_iter().flat_map(of_width).collect::<Vec<_>>()
    });
    shapes.filter(move |shape| {
        let lengths = [AxisClass::Row, AxisClass::Column].map(|class| shape.length(class));
        let fits = lengths.iter().zip(needed).all(|(length, needed)| *length <= needed);
        let threads = shape.block_size().threads();
        let fetches = lengths.iter().all(|length| (threads..=4096).contains(&(length * shape.k_tile)));
        let useful = shape.k_tile == 8 || shape.k_tile < 2 * reduction;
        fits && fetches && useful
    })
}

/// A few fixed choices of every template for a body; empty only if it stages values that fit nowhere. The search's choices
/// are [`crate::template::contraction::shortlist`]'s.
pub fn candidates(body: &GroupBody) -> Vec<ScheduleParams> {
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
            ScheduleParams { template: Template::Contraction(shape), tile: shape.tile(body, &contraction) }
        }));
    }
    found
}
