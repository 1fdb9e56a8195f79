//! The contraction template: a blocked matrix product through shared memory.
//!
//! Matrix products, batched ones, and convolutions as implicit matrix products. The two factors are evaluated, with
//! whatever was fused in front of them, while their tiles are brought into shared memory; what was fused behind is
//! evaluated on the accumulators.

use warpweave_fusion::partition::contraction::{AxisClass, Contraction};
use warpweave_fusion::partition::params::{BLOCK_THREADS, CONTRACTION_THREADS, REDUCTION_STEP};
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, Scalar, TensorExpr};

use super::LowerError;
use super::emitter::{Emitter, add, binary, both, less, multiply};
use super::scalar::{Point, scalar_type};
use super::store::store;
use super::tile::{TileAxes, decode_box};
use crate::kernel_ir::{
    ArrayId, BinaryOp, Builtin, Expression, LocalId, MemoryType, Place, ScalarType, SharedId, Statement, Width,
};

const THREADS: i32 = CONTRACTION_THREADS as i32;
const STEP: i32 = REDUCTION_STEP as i32;

/// One of the two factors: rows or columns of the block tile.
struct Side<'a> {
    factor: &'a Scalar,
    /// Its tile axes.
    axes: Vec<usize>,
    /// Elements of the block tile along it, per thread.
    per_thread: usize,
    /// Its tile in shared memory: `[step][element]`.
    shared: SharedId,
    /// Which neighbours in memory neighbouring threads fetch.
    fetch: Fetch,
    /// The coordinates of the elements that the thread fetches, an array an axis.
    coordinates: Vec<ArrayId>,
    /// Whether each of those elements exists; absent if all do.
    inside: Option<ArrayId>,
}

/// Along which direction neighbouring threads fetch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fetch {
    /// Along the reduction.
    Reduction,
    /// Along rows or columns.
    Elements,
}

impl Side<'_> {
    fn length(&self) -> i32 {
        self.per_thread as i32 * THREADS
    }
}

/// Emits the kernel with `rows × columns` elements a thread.
pub(super) fn emit(emitter: &mut Emitter, rows: usize, columns: usize) -> Result<(), LowerError> {
    let contraction = Contraction::of(emitter.body()).expect("the template is only chosen for contractions");
    let tile = TileAxes::emit(emitter)?;
    let thread = emitter.bind(ScalarType::I32, Expression::Builtin(Builtin::Thread));
    let row = side(emitter, &contraction, &tile, AxisClass::Row, rows, thread)?;
    let column = side(emitter, &contraction, &tile, AxisClass::Column, columns, thread)?;
    let accumulators = emitter.array(ScalarType::F32, rows * columns);
    emitter.repeat(Expression::i32((rows * columns) as i32), true, |emitter, at| {
        emitter.push(set(accumulators, at.into(), Expression::f32(0.0)));
        Ok(())
    })?;
    let thread_row = emitter.bind(ScalarType::I32, binary(BinaryOp::ShiftRight, thread, Expression::i32(4)));
    let thread_column = emitter.bind(ScalarType::I32, binary(BinaryOp::BitAnd, thread, Expression::i32(THREADS - 1)));
    main_loop(emitter, &contraction, &tile, [&row, &column], thread, |emitter| {
        multiply_tiles(emitter, [&row, &column], [thread_row, thread_column], accumulators)
    })?;
    epilogue(emitter, &tile, [&row, &column], [thread_row, thread_column], accumulators)
}

fn side<'a>(
    emitter: &mut Emitter,
    contraction: &'a Contraction,
    tile: &TileAxes,
    class: AxisClass,
    per_thread: usize,
    thread: LocalId,
) -> Result<Side<'a>, LowerError> {
    let factor = match class {
        AxisClass::Row => &contraction.row_factor,
        AxisClass::Column | AxisClass::Batch | AxisClass::Reduction => &contraction.column_factor,
    };
    let rank = emitter.body().tile_rank;
    let axes: Vec<usize> = contraction.axes(class).into_iter().map(Id::index).filter(|&axis| axis < rank).collect();
    let fetch = fetch_direction(emitter, factor, &axes);
    let length = per_thread * CONTRACTION_THREADS;
    let shared = emitter.shared(MemoryType::F32, length * REDUCTION_STEP);
    let mut side = Side { factor, axes, per_thread, shared, fetch, coordinates: Vec::new(), inside: None };
    let fetched = match fetch {
        Fetch::Reduction => per_thread,
        Fetch::Elements => 1,
    };
    side.coordinates = side.axes.iter().map(|_| emitter.array(ScalarType::I32, fetched)).collect();
    let mut inside = None;
    emitter.repeat(Expression::i32(fetched as i32), true, |emitter, at| {
        let number = element_number(emitter, &side, thread, at);
        let (coordinates, holds) = tile.decode(emitter, &side.axes, number, length)?;
        for (array, coordinate) in side.coordinates.iter().zip(coordinates) {
            emitter.push(set(*array, at.into(), coordinate.into()));
        }
        if let Some(holds) = holds {
            let array = emitter.array(ScalarType::Bool, fetched);
            emitter.push(set(array, at.into(), holds));
            inside = Some(array);
        }
        Ok(())
    })?;
    side.inside = inside;
    Ok(side)
}

/// Threads fetch along the reduction unless the factor's first read is contiguous along its innermost tile axis.
fn fetch_direction(emitter: &Emitter, factor: &Scalar, axes: &[usize]) -> Fetch {
    let stage = &emitter.body().stages[0];
    let mut first = None;
    factor.visit(&mut |scalar| {
        if let Scalar::Read(read) = scalar {
            first = first.or(Some(*read));
        }
    });
    let stride = first.zip(axes.last()).map(|(read, &axis)| {
        let read = &stage.expr.reads[read];
        let strides = stage.expr.operands[read.operand].shape.strides();
        Index::linear(&read.index, &strides, 0).coefficient(AxisId::from_index(axis))
    });
    if stride == Some(1) { Fetch::Elements } else { Fetch::Reduction }
}

/// The element of the side's tile that the thread fetches at its `at`-th fetch.
fn element_number(emitter: &mut Emitter, side: &Side, thread: LocalId, at: LocalId) -> LocalId {
    let number = match side.fetch {
        Fetch::Reduction => {
            let first = binary(BinaryOp::ShiftRight, thread, Expression::i32(STEP.ilog2() as i32));
            add(first, multiply(at, Expression::i32(BLOCK_THREADS as i32 / STEP)))
        }
        Fetch::Elements => binary(BinaryOp::BitAnd, thread, Expression::i32(side.length() - 1)),
    };
    emitter.bind(ScalarType::I32, number)
}

/// The loop along the reduction: fetch both tiles, meet, multiply, meet.
fn main_loop(
    emitter: &mut Emitter,
    contraction: &Contraction,
    tile: &TileAxes,
    sides: [&Side; 2],
    thread: LocalId,
    multiply_tiles: impl FnOnce(&mut Emitter) -> Result<(), LowerError>,
) -> Result<(), LowerError> {
    let expr = &emitter.body().stages[0].expr;
    let reduction = contraction.axes(AxisClass::Reduction);
    let extents: Vec<usize> = reduction.iter().map(|&axis| expr.axes[axis].extent).collect();
    let length: usize = extents.iter().product();
    let steps = emitter.operand(length.div_ceil(REDUCTION_STEP) as i64)?;
    let ragged = !length.is_multiple_of(REDUCTION_STEP);
    let length = if ragged { Some(emitter.operand(length as i64)?) } else { None };
    emitter.repeat(steps, false, |emitter, step| {
        let first = emitter.bind(ScalarType::I32, multiply(step, Expression::i32(STEP)));
        for side in sides {
            fetch(emitter, tile, side, &reduction, &extents, first, length.clone(), thread)?;
        }
        emitter.push(Statement::BlockBarrier);
        multiply_tiles(emitter)?;
        emitter.push(Statement::BlockBarrier);
        Ok(())
    })
}

/// Brings one side's tile into shared memory, zero where there is nothing.
#[expect(clippy::too_many_arguments, reason = "the loop's state, each of its own type")]
fn fetch(
    emitter: &mut Emitter,
    tile: &TileAxes,
    side: &Side,
    reduction: &[AxisId],
    extents: &[usize],
    first: LocalId,
    length: Option<Expression>,
    thread: LocalId,
) -> Result<(), LowerError> {
    let expr = &emitter.body().stages[0].expr;
    emitter.repeat(Expression::i32(side.per_thread as i32), true, |emitter, at| {
        let (in_step, element, slot) = match side.fetch {
            Fetch::Reduction => {
                let in_step = binary(BinaryOp::BitAnd, thread, Expression::i32(STEP - 1));
                let shift = binary(BinaryOp::ShiftRight, thread, Expression::i32(STEP.ilog2() as i32));
                let element = add(shift, multiply(at, Expression::i32(BLOCK_THREADS as i32 / STEP)));
                (in_step, element, Expression::Local(at))
            }
            Fetch::Elements => {
                let element = binary(BinaryOp::BitAnd, thread, Expression::i32(side.length() - 1));
                let in_step = binary(BinaryOp::ShiftRight, thread, Expression::i32(side.length().ilog2() as i32));
                let stride = BLOCK_THREADS as i32 / side.length();
                (add(in_step, multiply(at, Expression::i32(stride))), element, Expression::i32(0))
            }
        };
        let in_step = emitter.bind(ScalarType::I32, in_step);
        let number = emitter.bind(ScalarType::I32, add(first, in_step));
        let exists = side.inside.map(|array| Expression::Element(array, Box::new(slot.clone())));
        let exists = both(length.map(|length| less(number, length)), exists);
        let value = emitter.bind(ScalarType::F32, Expression::f32(0.0));
        emitter.when(exists, |emitter| {
            let mut axes = tile.origin();
            axes.resize(expr.axes.len(), Expression::i32(0));
            for (axis, array) in side.axes.iter().zip(&side.coordinates) {
                axes[*axis] = Expression::Element(*array, Box::new(slot.clone()));
            }
            let inner = decode_box(emitter, extents, number.into())?;
            for (axis, coordinate) in reduction.iter().zip(inner) {
                axes[axis.index()] = coordinate;
            }
            let computed = Point::new(0, axes, &[]).emit(emitter, side.factor)?;
            emitter.assign(value, computed);
            Ok(())
        })?;
        let index = add(multiply(in_step, Expression::i32(side.length())), element);
        emitter.push(Statement::StoreShared { array: side.shared, index, values: vec![value.into()] });
        Ok(())
    })
}

/// One step's products, added to the accumulators.
fn multiply_tiles(
    emitter: &mut Emitter,
    [rows, columns]: [&Side; 2],
    [thread_row, thread_column]: [LocalId; 2],
    accumulators: ArrayId,
) -> Result<(), LowerError> {
    let left = emitter.array(ScalarType::F32, rows.per_thread);
    let right = emitter.array(ScalarType::F32, columns.per_thread);
    emitter.repeat(Expression::i32(STEP), true, |emitter, step| {
        for (side, array, thread) in [(rows, left, thread_row), (columns, right, thread_column)] {
            emitter.repeat(Expression::i32(side.per_thread as i32), true, |emitter, at| {
                let start = multiply(step, Expression::i32(side.length()));
                let index = add(add(start, multiply(at, Expression::i32(THREADS))), thread);
                let place = Place::Element(array, at.into());
                emitter.push(Statement::LoadShared { place, array: side.shared, width: Width::One, index });
                Ok::<(), LowerError>(())
            })?;
        }
        emitter.repeat(Expression::i32(rows.per_thread as i32), true, |emitter, row| {
            emitter.repeat(Expression::i32(columns.per_thread as i32), true, |emitter, column| {
                let at = add(multiply(row, Expression::i32(columns.per_thread as i32)), column);
                let old = Expression::Element(accumulators, Box::new(at.clone()));
                let left = Expression::Element(left, Box::new(row.into()));
                let right = Expression::Element(right, Box::new(column.into()));
                let sum = Expression::FusedMultiplyAdd(Box::new(left), Box::new(right), Box::new(old));
                emitter.push(set(accumulators, at, sum));
                Ok(())
            })
        })
    })
}

/// What follows the reduction, on every element that exists.
fn epilogue(
    emitter: &mut Emitter,
    tile: &TileAxes,
    [rows, columns]: [&Side; 2],
    [thread_row, thread_column]: [LocalId; 2],
    accumulators: ArrayId,
) -> Result<(), LowerError> {
    emitter.repeat(Expression::i32(rows.per_thread as i32), true, |emitter, row| {
        let number = emitter.bind(ScalarType::I32, add(multiply(row, Expression::i32(THREADS)), thread_row));
        let (row_axes, row_inside) = tile.decode(emitter, &rows.axes, number, rows.length() as usize)?;
        emitter.when(row_inside, |emitter| {
            emitter.repeat(Expression::i32(columns.per_thread as i32), true, |emitter, column| {
                let number = add(multiply(column, Expression::i32(THREADS)), thread_column);
                let number = emitter.bind(ScalarType::I32, number);
                let (column_axes, inside) = tile.decode(emitter, &columns.axes, number, columns.length() as usize)?;
                emitter.when(inside, |emitter| {
                    let mut axes = tile.origin();
                    for (axis, coordinate) in
                        rows.axes.iter().zip(&row_axes).chain(columns.axes.iter().zip(&column_axes))
                    {
                        axes[*axis] = Expression::Local(*coordinate);
                    }
                    let at = add(multiply(row, Expression::i32(columns.per_thread as i32)), column);
                    let reduced = Expression::Element(accumulators, Box::new(at));
                    finish_element(emitter, axes, reduced)
                })
            })
        })
    })
}

/// The stages of the group on one element.
pub(super) fn finish_element(
    emitter: &mut Emitter,
    axes: Vec<Expression>,
    reduced: Expression,
) -> Result<(), LowerError> {
    let reduced = emitter.bind(ScalarType::F32, reduced);
    let mut stages: Vec<Option<LocalId>> = Vec::new();
    for stage in 0..emitter.body().stages.len() {
        let expr: &TensorExpr = &emitter.body().stages[stage].expr;
        let known = stages.clone();
        let mut point = Point::new(stage, axes.clone(), &known);
        let result = match (&expr.reducer, &expr.epilogue) {
            (Some(_), epilogue) => {
                point.reduced = Some(reduced.into());
                match epilogue {
                    Some(epilogue) => point.emit(emitter, epilogue)?,
                    None => reduced.into(),
                }
            }
            (None, _) => point.emit(emitter, &expr.body)?,
        };
        let value = emitter.bind(scalar_type(emitter, expr.element)?, result);
        store(emitter, &mut point, stage, value)?;
        stages.push(Some(value));
    }
    Ok(())
}

fn set(array: ArrayId, index: Expression, value: Expression) -> Statement {
    Statement::Assign { place: Place::Element(array, index), value }
}
