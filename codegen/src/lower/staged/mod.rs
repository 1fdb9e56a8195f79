//! The template at shared-memory level: staged values one after another into shared memory, then the group's stages.
//!
//! Every phase computes one expression on a box and meets the block behind it. Elements of a box that lie beyond the
//! value's edge are computed at the edge; nothing reads them.

mod blocked;
mod thread;
mod warp;

use warpweave_fusion::partition::blocked::WRITTEN_OUT;
use warpweave_fusion::partition::contraction::Contraction;
use warpweave_fusion::partition::params::BLOCK_THREADS;
use warpweave_fusion::partition::phase::{Method, method};
use warpweave_fusion::partition::staged::{self, StagedSpan};
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, TensorExpr};

use super::LowerError;
use super::contraction::epilogue::finish_element;
use super::emitter::{Emitter, StagedArray, add, binary, both, less, multiply};
use super::pointwise::emit_point;
use super::scalar::{Point, StageName};
use super::tile::TileAxes;
use crate::kernel_ir::{BinaryOp, Builtin, Expression, LocalId, MemoryType, ScalarType, SharedId, Statement};

/// Emits the kernel.
pub(super) fn emit(emitter: &mut Emitter) -> Result<(), LowerError> {
    let tile = TileAxes::emit(emitter)?;
    let (body, params) = (emitter.body(), &emitter.operator.params);
    let grid = params.grid(body);
    let boxes = staged::boxes(body, params).expect("parameters are chosen so that every staged value has a box");
    for (position, spans) in boxes.iter().enumerate() {
        let expr = &body.staged[position].expr;
        let extents = staged::extents(spans);
        let inside = spans.iter().all(|span| span.stays_inside(&grid));
        let array = emitter.shared(MemoryType::F32, extents.iter().product());
        let axes = spans.iter().map(|span| staged_axis(emitter, &tile, span, span.stays_inside(&grid)));
        let axes = axes.collect::<Result<Vec<_>, _>>()?;
        let first = axes.iter().map(|axis| axis.first.clone()).collect();
        let stage = StageName::Staged(position);
        emit_phase(emitter, &Phase { stage, expr, axes, sink: Sink::Shared(array) }, method(expr, &extents, inside))?;
        emitter.staged.push(StagedArray { array, first, spans: spans.clone() });
        emitter.push(Statement::BlockBarrier);
    }
    let lead = &body.stages[0].expr;
    match method(lead, &params.tile, false) {
        Method::Blocked { rows, columns } if Contraction::of(body).is_some() => {
            let axes = (0..body.tile_rank).map(|axis| main_axis(&tile, axis)).collect();
            let phase = Phase { stage: StageName::Main(0), expr: lead, axes, sink: Sink::Outputs };
            blocked::emit(emitter, &phase, rows, columns)
        }
        Method::Blocked { .. } | Method::Thread | Method::Warp => emit_points(emitter, &tile),
    }
}

fn emit_phase(emitter: &mut Emitter, phase: &Phase, method: Method) -> Result<(), LowerError> {
    match method {
        Method::Thread => thread::emit(emitter, phase),
        Method::Warp => warp::emit(emitter, phase),
        Method::Blocked { rows, columns } => blocked::emit(emitter, phase, rows, columns),
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
    Shared(SharedId),
    /// Through the group's stages to its outputs.
    Outputs,
}

/// A parallel axis of a phase.
struct PhaseAxis {
    first: Expression,
    extent: usize,
    bounds: Bounds,
}

/// Where an axis' box may leave the axis.
enum Bounds {
    /// Nowhere.
    Inside,
    /// Beyond the end, in the grid's last tile.
    Ragged(Expression),
    /// At both ends, where windows overlap the edge: the largest coordinate.
    Windowed(Expression),
}

fn staged_axis(
    emitter: &mut Emitter,
    tile: &TileAxes,
    span: &StagedSpan,
    inside: bool,
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
    let bounds = if inside { Bounds::Inside } else { Bounds::Windowed(emitter.operand(span.whole as i64 - 1)?) };
    Ok(PhaseAxis { first, extent: span.extent, bounds })
}

fn main_axis(tile: &TileAxes, axis: usize) -> PhaseAxis {
    let (extent, limit) = tile.span(axis);
    let bounds = limit.map_or(Bounds::Inside, Bounds::Ragged);
    PhaseAxis { first: tile.origin()[axis].clone(), extent, bounds }
}

impl PhaseAxis {
    /// The coordinate of a position in the box, at the edge where it lies beyond, and whether it is to be stored.
    fn coordinate(&self, emitter: &mut Emitter, position: Expression) -> (Expression, Option<Expression>) {
        let plain = Expression::Local(emitter.bind(ScalarType::I32, add(self.first.clone(), position)));
        match &self.bounds {
            Bounds::Inside => (plain, None),
            Bounds::Ragged(limit) => {
                let last = binary(BinaryOp::Subtract, limit.clone(), Expression::i32(1));
                let clamped = binary(BinaryOp::Minimum, plain.clone(), last);
                (emitter.bind(ScalarType::I32, clamped).into(), Some(less(plain, limit.clone())))
            }
            Bounds::Windowed(last) => {
                let above = binary(BinaryOp::Maximum, plain, Expression::i32(0));
                (emitter.bind(ScalarType::I32, binary(BinaryOp::Minimum, above, last.clone())).into(), None)
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

    /// Coordinates of all axes, reduced ones at 0, from positions in the box.
    fn coordinates(&self, emitter: &mut Emitter, positions: Vec<Expression>) -> Vec<Expression> {
        let mut coordinates = vec![Expression::i32(0); self.expr.axes.len()];
        for ((axis, number), position) in self.axes.iter().zip(self.parallel()).zip(positions) {
            coordinates[number] = axis.coordinate(emitter, position).0;
        }
        coordinates
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

    /// Stores an element: `slot` is its number in the box.
    fn store(
        &self,
        emitter: &mut Emitter,
        coordinates: Vec<Expression>,
        slot: Expression,
        reduced: Expression,
    ) -> Result<(), LowerError> {
        match self.sink {
            Sink::Outputs => finish_element(emitter, coordinates, reduced),
            Sink::Shared(array) => {
                let value = self.finish(emitter, coordinates, Some(reduced))?;
                emitter.push(Statement::StoreShared { array, index: slot, values: vec![value] });
                Ok(())
            }
        }
    }
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
