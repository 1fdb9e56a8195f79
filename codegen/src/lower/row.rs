//! The row template: a warp or the whole block shares a row.
//!
//! Reductions run across lanes and end with every lane holding the result; later stages read it and run along the row.
//! Softmax, the normalisations, means over long axes, and products of a matrix and a vector.

use warpweave_fusion::partition::params::{BLOCK_THREADS, BLOCK_WARPS, RowThreads};
use warpweave_graph::expr::{AxisId, Reducer};

use super::LowerError;
use super::emitter::{Emitter, add, binary, both, less, multiply};
use super::pointwise::reduced_element;
use super::reduce::{accumulate, combine, neutral};
use super::scalar::{Point, scalar_type};
use super::store::store;
use super::tile::{TileAxes, decode_box};
use crate::kernel_ir::{
    BinaryOp, Builtin, Expression, LocalId, MemoryType, Place, ScalarType, ShuffleMode, Statement, WARP_SIZE, Width,
};

/// The row that a thread works on.
struct Row {
    /// Coordinates of the tile axes; those of the tile's first row where there is no row of its own.
    coordinates: Vec<Expression>,
    /// Under which condition the row is real; absent if it always is.
    real: Option<Expression>,
    /// The thread's number among those that share the row.
    lane: LocalId,
    threads: RowThreads,
}

impl Row {
    fn width(&self) -> usize {
        match self.threads {
            RowThreads::Warp => WARP_SIZE as usize,
            RowThreads::Block => BLOCK_THREADS,
        }
    }
}

/// Emits the kernel.
pub(super) fn emit(emitter: &mut Emitter, threads: RowThreads) -> Result<(), LowerError> {
    let tile = TileAxes::emit(emitter)?;
    let row = emit_row(emitter, &tile, threads)?;
    let mut stages: Vec<Option<LocalId>> = Vec::new();
    for stage in 0..emitter.body().stages.len() {
        let value = if emitter.body().stages[stage].expr.reducer.is_some() {
            Some(emit_reduction(emitter, &row, stage, &stages)?)
        } else {
            emit_along(emitter, &row, stage, &stages)?;
            None
        };
        stages.push(value);
    }
    Ok(())
}

fn emit_row(emitter: &mut Emitter, tile: &TileAxes, threads: RowThreads) -> Result<Row, LowerError> {
    let thread = emitter.bind(ScalarType::I32, Expression::Builtin(Builtin::Thread));
    if threads == RowThreads::Block {
        return Ok(Row { coordinates: tile.origin(), real: None, lane: thread, threads });
    }
    let warp = emitter.bind(ScalarType::I32, binary(BinaryOp::ShiftRight, thread, Expression::i32(5)));
    let lane = emitter.bind(ScalarType::I32, binary(BinaryOp::BitAnd, thread, Expression::i32(31)));
    let axes: Vec<usize> = (0..emitter.body().tile_rank).collect();
    let (coordinates, real) = tile.decode(emitter, &axes, warp, BLOCK_WARPS)?;
    let Some(real) = real else {
        let coordinates = coordinates.into_iter().map(Expression::Local).collect();
        return Ok(Row { coordinates, real: None, lane, threads });
    };
    let real = Expression::Local(emitter.bind(ScalarType::Bool, real));
    let origin = tile.origin();
    let clamped = coordinates.into_iter().zip(origin).map(|(coordinate, origin)| {
        let chosen = Expression::Select(Box::new(real.clone()), Box::new(coordinate.into()), Box::new(origin));
        Expression::Local(emitter.bind(ScalarType::I32, chosen))
    });
    Ok(Row { coordinates: clamped.collect(), real: Some(real), lane, threads })
}

/// A reduction across the row's threads; every thread gets the result.
fn emit_reduction(
    emitter: &mut Emitter,
    row: &Row,
    stage: usize,
    stages: &[Option<LocalId>],
) -> Result<LocalId, LowerError> {
    let expr = &emitter.body().stages[stage].expr;
    let reducer = expr.reducer.expect("the stage reduces");
    let element = reduced_element(expr);
    let scalar = scalar_type(emitter, element)?;
    let start = neutral(emitter, reducer, element)?;
    let accumulator = emitter.bind(scalar, start.clone());
    let axes: Vec<AxisId> = expr.reduced().collect();
    emit_points(emitter, row, stage, &axes, |emitter, coordinates| {
        let mut point = Point::new(stage, coordinates, stages);
        accumulate(emitter, &mut point, reducer, &expr.body, accumulator, scalar)
    })?;
    across_lanes(emitter, reducer, accumulator, scalar);
    if row.threads == RowThreads::Block {
        across_warps(emitter, row, reducer, accumulator, start, emitter.memory_type(element)?)?;
    }
    let mut point = Point::new(stage, row.coordinates.clone(), stages);
    point.reduced = Some(accumulator.into());
    let result = match &expr.epilogue {
        Some(epilogue) => point.emit(emitter, epilogue)?,
        None => accumulator.into(),
    };
    let value = emitter.bind(scalar_type(emitter, expr.element)?, result);
    if emitter.body().stages[stage].output.is_some() {
        let first = binary(BinaryOp::Equal, row.lane, Expression::i32(0));
        emitter.when(both(row.real.clone(), Some(first)), |emitter| store(emitter, &mut point, stage, value))?;
    }
    Ok(value)
}

/// A stage that does not reduce: along its extra axes, or once a row.
fn emit_along(emitter: &mut Emitter, row: &Row, stage: usize, stages: &[Option<LocalId>]) -> Result<(), LowerError> {
    let body = emitter.body();
    let expr = &body.stages[stage].expr;
    let element = |emitter: &mut Emitter, coordinates: Vec<Expression>| {
        let mut point = Point::new(stage, coordinates, stages);
        let value = point.emit(emitter, &expr.body)?;
        let value = emitter.bind(scalar_type(emitter, expr.element)?, value);
        store(emitter, &mut point, stage, value)
    };
    let axes = body.extra_axes(stage);
    if axes.is_empty() {
        let first = binary(BinaryOp::Equal, row.lane, Expression::i32(0));
        return emitter.when(both(row.real.clone(), Some(first)), |emitter| element(emitter, row.coordinates.clone()));
    }
    emitter.when(row.real.clone(), |emitter| emit_points(emitter, row, stage, &axes, element))
}

/// The points of a box of axes, spread over the threads of the row; `body` gets the coordinates of tile axes and box.
fn emit_points(
    emitter: &mut Emitter,
    row: &Row,
    stage: usize,
    axes: &[AxisId],
    body: impl FnOnce(&mut Emitter, Vec<Expression>) -> Result<(), LowerError>,
) -> Result<(), LowerError> {
    let expr = &emitter.body().stages[stage].expr;
    let extents: Vec<usize> = axes.iter().map(|&axis| expr.axes[axis].extent).collect();
    let points: usize = extents.iter().product();
    let width = row.width();
    let trips = emitter.operand(points.div_ceil(width) as i64)?;
    let points = emitter.operand(points as i64)?;
    emitter.repeat(trips, false, |emitter, trip| {
        let number = add(multiply(trip, Expression::i32(width as i32)), row.lane);
        let number = emitter.bind(ScalarType::I32, number);
        emitter.when(Some(less(number, points)), |emitter| {
            let inner = decode_box(emitter, &extents, number.into())?;
            let coordinates = row.coordinates.iter().cloned().chain(inner).collect();
            body(emitter, coordinates)
        })
    })
}

/// Combines the accumulators of a warp's lanes, in a butterfly.
pub(super) fn across_lanes(emitter: &mut Emitter, reducer: Reducer, accumulator: LocalId, scalar: ScalarType) {
    let other = emitter.declare(scalar);
    for mask in [16, 8, 4, 2, 1] {
        let place = Place::Local(other);
        emitter.push(Statement::Shuffle { place, value: accumulator.into(), mode: ShuffleMode::Xor(mask) });
        emitter.assign(accumulator, combine(reducer, accumulator.into(), other.into()));
    }
}

/// Combines the accumulators of the block's warps through shared memory, in the order of the warps.
fn across_warps(
    emitter: &mut Emitter,
    row: &Row,
    reducer: Reducer,
    accumulator: LocalId,
    start: Expression,
    memory: MemoryType,
) -> Result<(), LowerError> {
    let partial = emitter.shared(memory, BLOCK_WARPS);
    let in_warp = binary(BinaryOp::BitAnd, row.lane, Expression::i32(31));
    let warp = binary(BinaryOp::ShiftRight, row.lane, Expression::i32(5));
    let first = binary(BinaryOp::Equal, in_warp, Expression::i32(0));
    emitter.when(Some(first), |emitter| {
        emitter.push(Statement::StoreShared { array: partial, index: warp, values: vec![accumulator.into()] });
        Ok::<(), LowerError>(())
    })?;
    emitter.push(Statement::BlockBarrier);
    emitter.assign(accumulator, start);
    let other = emitter.declare(memory.scalar_type());
    emitter.repeat(Expression::i32(BLOCK_WARPS as i32), true, |emitter, warp| {
        let place = Place::Local(other);
        emitter.push(Statement::LoadShared { place, array: partial, width: Width::One, index: warp.into() });
        emitter.assign(accumulator, combine(reducer, accumulator.into(), other.into()));
        Ok(())
    })
}
