//! The template at shared-memory level: staged values one after another into shared memory, then the group's stages.
//!
//! Every phase computes one expression on a box and meets the block behind it. Elements of a box that lie beyond the
//! value's edge are computed at the edge; the padding is stored in their place, or nothing reads them.

mod attention;
mod blocked;
mod law;
mod thread;
mod warp;
mod weights;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Literal, TensorExpr};
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::BLOCK_THREADS;
use warpweave_plan::template::contraction::Contraction;
use warpweave_plan::template::staged;
use warpweave_plan::template::staged::StagedSpan;
use warpweave_plan::template::staged::blocked::WRITTEN_OUT;
use warpweave_plan::template::staged::padded::PaddedBody;
use warpweave_plan::template::staged::phase::{Method, methods};

pub(super) use attention::emit as emit_attention;

use super::LowerError;
use super::contraction::epilogue::finish_element;
use super::emitter::{Emitter, StagedArray, add, binary, both, less, multiply};
use super::pointwise::emit_point;
use super::scalar::{Point, StageName, emit_literal};
use super::tile::TileAxes;
use crate::kernel_ir::{BinaryOp, Builtin, Expression, LocalId, MemoryType, ScalarType, SharedId, Statement};

/// Emits the kernel of a body whose padding has been found.
pub(super) fn emit(emitter: &mut Emitter, body: &GroupBody, padded: &PaddedBody) -> Result<(), LowerError> {
    let tile = TileAxes::emit(emitter)?;
    let params = &emitter.operator.params;
    let grid = params.grid(body);
    let boxes = staged::boxes(body, params).expect("parameters are chosen so that every staged value has a box");
    let (methods, lead) = methods(padded, params, &boxes);
    let body = emitter.body();
    for (position, (spans, method)) in boxes.iter().zip(methods).enumerate() {
        let expr = &body.staged[position].expr;
        let extents = staged::extents(spans);
        let padding = padded.padding[position];
        let array = emitter.shared(MemoryType::F32, extents.iter().product());
        let axes = spans.iter().map(|span| staged_axis(emitter, &tile, span, span.stays_inside(&grid), padding));
        let axes = axes.collect::<Result<Vec<_>, _>>()?;
        let first = axes.iter().map(|axis| axis.first.clone()).collect();
        let stage = StageName::Staged(position);
        emit_phase(emitter, &Phase { stage, expr, axes, sink: Sink::Shared { array, padding } }, method)?;
        emitter.staged.push(StagedArray { array, first, spans: spans.clone() });
        emitter.push(Statement::BlockBarrier);
    }
    match lead {
        Method::Blocked { rows, columns, across } if Contraction::of(body).is_some() => {
            let axes = (0..body.tile_rank).map(|axis| main_axis(&tile, axis)).collect();
            let expr = &body.stages[0].expr;
            let phase = Phase { stage: StageName::Main(0), expr, axes, sink: Sink::Outputs };
            blocked::emit(emitter, &phase, rows, columns, across)
        }
        Method::Blocked { .. } | Method::Thread | Method::Warp => emit_points(emitter, &tile),
    }
}

fn emit_phase(emitter: &mut Emitter, phase: &Phase, method: Method) -> Result<(), LowerError> {
    match method {
        Method::Thread => thread::emit(emitter, phase),
        Method::Warp => warp::emit(emitter, phase),
        Method::Blocked { rows, columns, across } => blocked::emit(emitter, phase, rows, columns, across),
    }
}

/// The group's stages, a thread an element.
fn emit_points(emitter: &mut Emitter, tile: &TileAxes) -> Result<(), LowerError> {
    let axes: Vec<usize> = (0..emitter.body().tile_rank).collect();
    let trips = tile.volume(&axes).div_ceil(BLOCK_THREADS);
    let count = emitter.operand(trips as i64)?;
    emitter.repeat(count, false, |emitter, trip| {
        let number = thread_number(emitter, trip);
        emit_point(emitter, tile, &axes, number, trips)
    })
}

/// One expression on one box.
struct Phase<'a> {
    stage: StageName,
    expr: &'a TensorExpr,
    /// One entry a parallel axis, in order.
    axes: Vec<PhaseAxis>,
    sink: Sink,
}

/// Where a phase's values go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sink {
    /// Into the staged value's array, at the element's number in the box.
    Shared {
        array: SharedId,
        /// What lies beyond the value's edges.
        padding: Option<Literal>,
    },
    /// Through the group's stages to its outputs.
    Outputs,
}

/// A parallel axis of a phase.
#[derive(Clone)]
pub(super) struct PhaseAxis {
    pub(super) first: Expression,
    pub(super) extent: usize,
    bounds: Bounds,
}

/// Where an axis' box may leave the axis.
#[derive(Clone)]
enum Bounds {
    /// Nowhere.
    Inside,
    /// Beyond the end, in the grid's last tile.
    Ragged(Expression),
    /// At both ends, where windows overlap the edge: the largest coordinate. What lies beyond is not meant.
    Windowed(Expression),
    /// The same where padding lies beyond.
    Padded(Expression),
}

/// A coordinate along an axis, at the edge where the position lies beyond it.
pub(super) struct Coordinate {
    pub(super) value: Expression,
    /// Whether the element is to be stored; absent if it always is.
    kept: Option<Expression>,
    /// Whether it is no padding; absent if it never is.
    pub(super) exists: Option<Expression>,
}

pub(super) fn staged_axis(
    emitter: &mut Emitter,
    tile: &TileAxes,
    span: &StagedSpan,
    inside: bool,
    padding: Option<Literal>,
) -> Result<PhaseAxis, LowerError> {
    let mut first: Option<Expression> = None;
    for (coordinate, &step) in tile.coordinates().iter().zip(&span.steps) {
        let Some(coordinate) = coordinate.filter(|_| step != 0) else { continue };
        let step = emitter.operand(step)?;
        let moved = multiply(coordinate, step);
        first = Some(first.map_or(moved.clone(), |sum| add(sum, moved)));
    }
    let start = emitter.operand(span.first)?;
    let first = first.map_or(start.clone(), |moved| add(moved, start));
    let first = Expression::Local(emitter.bind(ScalarType::I32, first));
    let bounds = match (inside, padding) {
        (true, _) => Bounds::Inside,
        (false, None) => Bounds::Windowed(emitter.operand(span.whole as i64 - 1)?),
        (false, Some(_)) => Bounds::Padded(emitter.operand(span.whole as i64 - 1)?),
    };
    Ok(PhaseAxis { first, extent: span.extent, bounds })
}

fn main_axis(tile: &TileAxes, axis: usize) -> PhaseAxis {
    let (extent, limit) = tile.span(axis);
    let bounds = limit.map_or(Bounds::Inside, Bounds::Ragged);
    PhaseAxis { first: tile.origin()[axis].clone(), extent, bounds }
}

impl PhaseAxis {
    /// The coordinate of a position in the box.
    pub(super) fn coordinate(&self, emitter: &mut Emitter, position: Expression) -> Coordinate {
        let plain = Expression::Local(emitter.bind(ScalarType::I32, add(self.first.clone(), position)));
        match &self.bounds {
            Bounds::Inside => Coordinate { value: plain, kept: None, exists: None },
            Bounds::Ragged(limit) => {
                let last = binary(BinaryOp::Subtract, limit.clone(), Expression::i32(1));
                let clamped = binary(BinaryOp::Minimum, plain.clone(), last);
                let value = emitter.bind(ScalarType::I32, clamped).into();
                Coordinate { value, kept: Some(less(plain, limit.clone())), exists: None }
            }
            Bounds::Windowed(last) => Coordinate { value: between(emitter, plain, last), kept: None, exists: None },
            Bounds::Padded(last) => {
                let value = between(emitter, plain.clone(), last);
                let exists = Some(binary(BinaryOp::Equal, plain, value.clone()));
                Coordinate { value, kept: None, exists }
            }
        }
    }
}

impl Phase<'_> {
    /// The numbers of the parallel axes in the expression.
    fn parallel(&self) -> Vec<usize> {
        self.expr.parallel().map(Id::index).collect()
    }

    /// The number of elements of the box.
    fn volume(&self) -> usize {
        self.axes.iter().map(|axis| axis.extent).product()
    }

    /// Coordinates of all axes, reduced ones at 0, from positions in the box, and whether the element is no padding.
    fn coordinates(&self, emitter: &mut Emitter, positions: Vec<Expression>) -> (Vec<Expression>, Option<Expression>) {
        let mut coordinates = vec![Expression::i32(0); self.expr.axes.len()];
        let mut exists = None;
        for ((axis, number), position) in self.axes.iter().zip(self.parallel()).zip(positions) {
            let found = axis.coordinate(emitter, position);
            coordinates[number] = found.value;
            exists = both(exists, found.exists);
        }
        (coordinates, exists)
    }

    /// An element's value, or the padding in its place.
    fn padded(
        &self,
        emitter: &Emitter,
        value: Expression,
        exists: Option<Expression>,
    ) -> Result<Expression, LowerError> {
        match (self.sink, exists) {
            (Sink::Shared { padding: Some(fill), .. }, Some(exists)) => {
                let fill = emit_literal(emitter, fill)?;
                Ok(Expression::Select(Box::new(exists), Box::new(value), Box::new(fill)))
            }
            (Sink::Shared { .. } | Sink::Outputs, _) => Ok(value),
        }
    }

    /// The value of an element: the epilogue of what was reduced, or the body.
    fn finish(
        &self,
        emitter: &mut Emitter,
        coordinates: Vec<Expression>,
        reduced: Option<Expression>,
    ) -> Result<Expression, LowerError> {
        let mut point = Point::of(self.stage, coordinates, &[]);
        point.reduced.clone_from(&reduced);
        match (&self.expr.epilogue, reduced) {
            (Some(epilogue), _) => point.emit(emitter, epilogue),
            (None, Some(reduced)) => Ok(reduced),
            (None, None) => point.emit(emitter, &self.expr.body),
        }
    }

    /// Stores an element: `slot` is its number in the box, `exists` whether it is no padding.
    fn store(
        &self,
        emitter: &mut Emitter,
        coordinates: Vec<Expression>,
        slot: Expression,
        reduced: Expression,
        exists: Option<Expression>,
    ) -> Result<(), LowerError> {
        match self.sink {
            Sink::Outputs => finish_element(emitter, coordinates, reduced),
            Sink::Shared { array, .. } => {
                let value = self.finish(emitter, coordinates, Some(reduced))?;
                let value = self.padded(emitter, value, exists)?;
                emitter.push(Statement::StoreShared { array, index: slot, values: vec![value] });
                Ok(())
            }
        }
    }
}

/// The coordinate between 0 and `last` that is nearest.
fn between(emitter: &mut Emitter, plain: Expression, last: &Expression) -> Expression {
    let above = binary(BinaryOp::Maximum, plain, Expression::i32(0));
    emitter.bind(ScalarType::I32, binary(BinaryOp::Minimum, above, last.clone())).into()
}

/// `trip · threads + thread`.
fn thread_number(emitter: &mut Emitter, trip: LocalId) -> LocalId {
    let first = multiply(trip, Expression::i32(BLOCK_THREADS as i32));
    emitter.bind(ScalarType::I32, add(first, Expression::Builtin(Builtin::Thread)))
}

/// What is emitted at one point, given the coordinates of all axes.
type AtPoint<'p> = dyn FnMut(&mut Emitter, &[Expression]) -> Result<(), LowerError> + 'p;

/// Nested loops over reduced axes; the innermost in runs where they fit.
fn reduce_axes(
    emitter: &mut Emitter,
    expr: &TensorExpr,
    axes: &[AxisId],
    coordinates: &[Expression],
    body: &mut AtPoint,
) -> Result<(), LowerError> {
    let Some((&axis, rest)) = axes.split_first() else { return body(emitter, coordinates) };
    let extent = expr.axes[axis].extent;
    let at = |variable: Expression| {
        let mut coordinates = coordinates.to_vec();
        coordinates[axis.index()] = variable;
        coordinates
    };
    if rest.is_empty() && extent.is_multiple_of(WRITTEN_OUT) {
        let trips = emitter.operand((extent / WRITTEN_OUT) as i64)?;
        return emitter.repeat(trips, false, |emitter, trip| {
            emitter.repeat(Expression::i32(WRITTEN_OUT as i32), true, |emitter, step| {
                let first = multiply(trip, Expression::i32(WRITTEN_OUT as i32));
                let number = emitter.bind(ScalarType::I32, add(first, step));
                body(emitter, &at(number.into()))
            })
        });
    }
    let extent = emitter.operand(extent as i64)?;
    emitter.repeat(extent, false, |emitter, variable| reduce_axes(emitter, expr, rest, &at(variable.into()), body))
}

/// Both conditions on all of these.
fn all(conditions: impl IntoIterator<Item = Option<Expression>>) -> Option<Expression> {
    conditions.into_iter().fold(None, both)
}
