//! The template at shared-memory level: staged values one after another into shared memory, then the group's stages.
//!
//! Every phase computes one expression on a box and meets the block behind it. Elements of a box that lie beyond the
//! value's edge are computed at the edge; the padding is stored in their place, or nothing reads them.

pub(crate) mod blocked;
pub(crate) mod matrices;
pub(crate) mod phase;
pub(crate) mod sums;
pub(crate) mod thread;
pub(crate) mod warp;

use crate::lower::staged::phase::Phase;
use crate::lower::staged::phase::Sink;
use crate::lower::staged::phase::thread_number;
use crate::lower::tile::main_axis;
use crate::lower::tile::staged_axis;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::staged;
use warpweave_plan::template::staged::matrices::PhaseSpan;
use warpweave_plan::template::staged::padded::PaddedBody;
use warpweave_plan::template::staged::phase::{Method, methods};

use crate::kernel_ir::statement::Statement;
use crate::lower::emitter::{Emitter, StagedArray};
use crate::lower::error::LowerError;
use crate::lower::pointwise::point::emit_point;
use crate::lower::scalar::StageName;
use crate::lower::tile::TileAxes;

/// Emits the kernel of a body whose padding has been found.
pub(crate) fn emit(emitter: &mut Emitter, original: &Kernel, padded: &PaddedBody) -> Result<(), LowerError> {
    let tile = TileAxes::emit(emitter)?;
    let grid = original.grid();
    let boxes = original.boxes().expect("parameters are chosen so that every staged value has a box");
    let (methods, lead) = methods(emitter.kernel(), boxes);
    let body = emitter.body();
    for (position, (spans, method)) in boxes.iter().zip(methods).enumerate() {
        let expr = &body.staged[position].expr;
        let extents = staged::extents(spans);
        let padding = padded.padding[position];
        let array = emitter.shared(emitter.memory_type(expr.element)?, extents.iter().product());
        let axes = spans.iter().map(|span| staged_axis(emitter, &tile, span, span.stays_inside(&grid), padding));
        let axes = axes.collect::<Result<Vec<_>, _>>()?;
        let first = axes.iter().map(|axis| axis.first.clone()).collect();
        let stage = StageName::Staged(position);
        let (places, sink) = (PhaseSpan::of_box(spans, &grid), Sink::Shared { array, padding });
        emit_phase(emitter, &Phase { stage, expr, axes, spans: places, sink }, method)?;
        emitter.staged.push(StagedArray { array, first, spans: spans.clone() });
        emitter.push(Statement::BlockBarrier);
    }
    match lead {
        Method::Blocked { .. } | Method::Matrices(_) if emitter.kernel().contraction().is_some() => {
            let axes = (0..body.tile_rank).map(|axis| main_axis(&tile, axis)).collect();
            let spans = PhaseSpan::of_tile(original.tile(), &grid);
            let expr = &body.stages[0].expr;
            let phase = Phase { stage: StageName::Main(0), expr, axes, spans, sink: Sink::Outputs };
            emit_phase(emitter, &phase, lead)
        }
        Method::Blocked { .. } | Method::Matrices(_) | Method::Thread | Method::Warp => emit_points(emitter, &tile),
    }
}

pub(crate) fn emit_phase(emitter: &mut Emitter, phase: &Phase, method: Method) -> Result<(), LowerError> {
    match method {
        Method::Thread => thread::emit(emitter, phase),
        Method::Warp => warp::emit(emitter, phase),
        Method::Blocked { rows, columns, across } => blocked::emit(emitter, phase, rows, columns, across),
        Method::Matrices(block) => matrices::emit(emitter, phase, block),
    }
}

/// The group's stages, a thread an element.
fn emit_points(emitter: &mut Emitter, tile: &TileAxes) -> Result<(), LowerError> {
    let axes: Vec<usize> = (0..emitter.body().tile_rank).collect();
    let trips = tile.volume(&axes).div_ceil(emitter.threads());
    let count = emitter.operand(trips as i64)?;
    emitter.repeat(count, false, |emitter, trip| {
        let number = thread_number(emitter, trip);
        emit_point(emitter, tile, &axes, number, trips)
    })
}
