//! The pointwise template: a thread computes whole elements, reductions one value after another.
//!
//! Element-wise operators, data movement, gathers, pooling, depthwise convolutions, and whatever no other template takes.

mod fetcher;
pub(crate) mod point;
mod side_by_side;

use warpweave_graph::arena::Id;
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::pointwise::Pointwise;
use warpweave_plan::template::pointwise::rules::names_places;
use warpweave_plan::template::pointwise::runs::Runs;

use crate::kernel_ir::expression::{BinaryOp, Builtin, Expression, ScalarType};
use crate::lower::emitter::{Emitter, add, binary, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::pointwise::point::{PolledSum, emit_point};
use crate::lower::pointwise::side_by_side::{Place, Places};
use crate::lower::tile::TileAxes;

pub(crate) fn emit(emitter: &mut Emitter, own: Pointwise) -> Result<(), LowerError> {
    let tile = TileAxes::emit(emitter)?;
    match Runs::of(own, emitter.kernel()) {
        Some(runs) => emit_run(emitter, tile, runs),
        None if is_one_by_one(emitter, own) => emit_one_by_one(emitter, &tile, own.per_thread),
        None => emit_strided(emitter, &tile, own.per_thread),
    }
}

/// Whether the points of a thread are computed one after another.
///
/// They are if they name places by data, poll what they sum, or are several of a reduction that have nothing in common.
fn is_one_by_one(emitter: &Emitter, own: Pointwise) -> bool {
    let body: &GroupBody = emitter.body();
    let polls = (0..body.stages.len()).any(|stage| PolledSum::of(emitter, stage).is_some());
    !names_places(body) || polls || own.per_thread > 1 && body.reductions().count() > 0
}

fn emit_one_by_one(emitter: &mut Emitter, tile: &TileAxes, per_thread: usize) -> Result<(), LowerError> {
    let axes: Vec<usize> = (0..emitter.body().tile_rank).collect();
    let thread = Expression::Builtin(Builtin::Thread);
    if per_thread == 1 {
        let number = emitter.bind(ScalarType::I32, thread);
        return emit_point(emitter, tile, &axes, number, per_thread);
    }
    emitter.repeat(Expression::i32(per_thread as i32), true, |emitter, step| {
        let offset = multiply(step, Expression::i32(emitter.threads() as i32));
        let number = emitter.bind(ScalarType::I32, add(offset, thread));
        emit_point(emitter, tile, &axes, number, per_thread)
    })
}

/// The points of a thread as far apart as the block has threads: everything is fetched before the first is computed.
fn emit_strided(emitter: &mut Emitter, tile: &TileAxes, per_thread: usize) -> Result<(), LowerError> {
    let axes: Vec<usize> = (0..emitter.body().tile_rank).collect();
    let numbers = per_thread * emitter.threads();
    let mut places = Vec::with_capacity(per_thread);
    emitter.alike(per_thread, |emitter, step| {
        let apart = Expression::i32((step * emitter.threads()) as i32);
        let thread = Expression::Builtin(Builtin::Thread);
        let number = emitter.bind(ScalarType::I32, if step == 0 { thread } else { add(thread, apart) });
        let (coordinates, inside) = tile.decode(emitter, &axes, number, numbers)?;
        let exists = inside.map(|inside| Expression::Local(emitter.bind(ScalarType::Bool, inside)));
        places.push(Place { coordinates: coordinates.into_iter().map(Expression::Local).collect(), exists });
        Ok::<(), LowerError>(())
    })?;
    if let [place] = &mut places[..] {
        let inside = place.exists.take();
        let places = Places { list: places, runs: None };
        return emitter.when(inside, |emitter| places.emit(emitter));
    }
    Places { list: places, runs: None }.emit(emitter)
}

/// A run of neighbours a thread.
fn emit_run(emitter: &mut Emitter, tile: TileAxes, runs: Runs) -> Result<(), LowerError> {
    let axes: Vec<usize> = (0..emitter.body().tile_rank).collect();
    let along = runs.axis.index();
    let (length, limit) = tile.span(along);
    let first = tile.origin()[along].clone();
    let tile = tile.in_runs(runs);
    let number = emitter.bind(ScalarType::I32, Expression::Builtin(Builtin::Thread));
    let (coordinates, inside) = tile.decode(emitter, &axes, number, emitter.threads())?;
    let start: Vec<Expression> = coordinates.into_iter().map(Expression::Local).collect();
    emitter.when(inside, |emitter| {
        let end = match runs.is_even {
            true => None,
            false => {
                let end = add(first, emitter.operand(length as i64)?);
                let end = limit.map_or(end.clone(), |limit| binary(BinaryOp::Minimum, end, limit));
                Some(emitter.bind(ScalarType::I32, end))
            }
        };
        let list = (0..runs.length).map(|at| {
            let mut coordinates = start.clone();
            if at > 0 {
                coordinates[along] = add(coordinates[along].clone(), Expression::i32(at as i32));
            }
            let exists = end.filter(|_| at > 0).map(|end| less(coordinates[along].clone(), end));
            let exists = exists.map(|exists| Expression::Local(emitter.bind(ScalarType::Bool, exists)));
            Place { coordinates, exists }
        });
        Places { list: list.collect(), runs: Some(runs) }.emit(emitter)
    })
}
