//! Stable orders of rows, by the sort of [`crate::procedure`].

use crate::expr::{BinaryOp, ExprBuilder, Guard, Index, Literal, Scalar};
use crate::ops::{compose, movement};
use crate::procedure::sort::Direction;
use crate::procedure::{Opaque, Procedure};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ElementType;

/// Longest row that one sort takes where only a part of the order is wanted: a block of a device sorts it in shared memory.
const CHUNK: usize = 1 << 12;

/// Appends the places, as 64-bit integers, of the first `count` elements of every row of `data` in their stable order; rows
/// lie along the last dimension.
///
/// Where no more than half of a long row is wanted, its chunks are sorted side by side. The first of each are sorted
/// again, until one chunk is left.
pub fn first_places(program: &mut ProgramBuilder, data: TensorId, direction: Direction, count: usize) -> TensorId {
    let keys = keys(program, data);
    let mut candidates = None;
    let mut left = row(program, data);
    while left > CHUNK {
        let chunks = left.div_ceil(CHUNK);
        let length = left.div_ceil(chunks);
        // The last chunk is filled up, but not among its first `count`.
        if 2 * count > length || length < chunks + count {
            break;
        }
        let chunked = keys.iter().map(|&key| chunk(program, key, candidates, [chunks, length], direction)).collect();
        let order = by_keys(program, chunked, direction);
        candidates = Some(chosen(program, order, candidates, count));
        left = chunks * count;
    }
    let keys = match candidates {
        None => keys,
        Some(candidates) => keys.iter().map(|&key| at_places(program, key, candidates)).collect(),
    };
    let order = by_keys(program, keys, direction);
    let shape = program.ty(order).shape.clone();
    let mut extents = shape.to_vec();
    extents[shape.len() - 1] = count;
    let first = movement::slice(program, order, &vec![0; shape.len()], &vec![1; shape.len()], &extents);
    match candidates {
        None => first,
        Some(candidates) => at_places(program, candidates, first),
    }
}

/// Appends the stable order of rows of several keys of one shape, the first of which decides before the second.
pub fn by_keys(program: &mut ProgramBuilder, keys: Vec<TensorId>, direction: Direction) -> TensorId {
    let mut order: Option<TensorId> = None;
    for key in keys.into_iter().rev() {
        let sorted = sorted(program, key, order, direction);
        order = Some(match order {
            None => sorted,
            Some(order) => at_places(program, order, sorted),
        });
    }
    order.expect("there is a key")
}

/// Keys of at most 32 bits that order elements as their values do, the first of which decides before the second. Other
/// types that kernels do not hold are keys themselves.
pub fn keys(program: &mut ProgramBuilder, data: TensorId) -> Vec<TensorId> {
    let number = |value: i64| Scalar::Literal(Literal::integer(ElementType::I64, value));
    let half = |x: Scalar| x.binary(BinaryOp::Subtract, number(1 << 31)).cast(ElementType::I64, ElementType::I32);
    let low = |x: Scalar| x.binary(BinaryOp::BitAnd, number(u32::MAX.into()));
    match program.ty(data).element {
        ElementType::U32 => {
            vec![compose::map(program, [data], ElementType::I32, |[x]| {
                half(x.cast(ElementType::U32, ElementType::I64))
            })]
        }
        ElementType::I64 => {
            let high = compose::map(program, [data], ElementType::I32, |[x]| {
                let above = x.clone().binary(BinaryOp::Subtract, low(x));
                above.binary(BinaryOp::Divide, number(1 << 32)).cast(ElementType::I64, ElementType::I32)
            });
            vec![high, compose::map(program, [data], ElementType::I32, |[x]| half(low(x)))]
        }
        ElementType::Bool => vec![compose::cast(program, data, ElementType::I32)],
        _ => vec![data],
    }
}

/// Appends the elements of the rows of `data` at `places` of them.
pub fn at_places(program: &mut ProgramBuilder, data: TensorId, places: TensorId) -> TensorId {
    let (ty, places_ty) = (program.ty(data).clone(), program.ty(places).clone());
    let mut expr = ExprBuilder::new();
    let own: Vec<Index> = expr.parallels(&places_ty.shape).into_iter().map(Index::axis).collect();
    let operand = expr.operand(&places_ty);
    let named = expr.read(operand, own.clone());
    let place = expr.indirect(&named, row(program, data));
    let operand = expr.operand(&ty);
    let index = in_row(&own, place);
    let body = expr.read(operand, index);
    program.compute(expr.map(ty.element, body), &[places, data])
}

/// The extent of a row.
fn row(program: &ProgramBuilder, data: TensorId) -> usize {
    *program.ty(data).shape.last().expect("rows have a dimension")
}

/// The index of the row of an index, at a place.
fn in_row(own: &[Index], place: Index) -> Vec<Index> {
    own[..own.len() - 1].iter().cloned().chain([place]).collect()
}

/// Appends the stable order of the rows of `key`, taken in the order of `before` if there is one.
fn sorted(program: &mut ProgramBuilder, key: TensorId, before: Option<TensorId>, direction: Direction) -> TensorId {
    let ty = program.ty(key).clone();
    let mut expr = ExprBuilder::new();
    let own: Vec<Index> = expr.parallels(&ty.shape).into_iter().map(Index::axis).collect();
    let extent = row(program, key);
    let each = expr.reduced(extent);
    let mut operands = Vec::new();
    let place = match before {
        None => Index::axis(each),
        Some(before) => {
            let operand = expr.operand(program.ty(before));
            operands.push(before);
            let named = expr.read(operand, in_row(&own, Index::axis(each)));
            expr.indirect(&named, extent)
        }
    };
    let operand = expr.operand(&ty);
    operands.push(key);
    let body = expr.read(operand, in_row(&own, place));
    let procedure = Procedure::Sort(direction);
    let access = expr.access(procedure.element(), body);
    program.opaque(Opaque { procedure, access }, &operands)
}

/// Appends the rows of `key`, or what of them the candidates are, as `[chunks, length]` each, filled up with what comes last.
fn chunk(
    program: &mut ProgramBuilder,
    key: TensorId,
    candidates: Option<TensorId>,
    [chunks, length]: [usize; 2],
    direction: Direction,
) -> TensorId {
    let data = candidates.map_or(key, |candidates| at_places(program, key, candidates));
    let ty = program.ty(data).clone();
    let last = match direction {
        Direction::Descending => Literal::lowest(ty.element),
        Direction::Ascending if ty.element.is_float() => Literal::new(ty.element, f64::NAN),
        Direction::Ascending => Literal::highest(ty.element),
    };
    let rows = &ty.shape[..ty.shape.len() - 1];
    let mut expr = ExprBuilder::new();
    let axes: Vec<Index> = expr.parallels(&[rows, &[chunks, length]].concat()).into_iter().map(Index::axis).collect();
    let place = axes[rows.len()].times(length as i64).add(&axes[rows.len() + 1]);
    let guard = expr.guard(Guard::always(), place.clone(), 0, row(program, data) as i64);
    let operand = expr.operand(&ty);
    let body = expr.guarded_read(operand, in_row(&axes[..=rows.len()], place), guard, last);
    program.compute(expr.map(ty.element, body), &[data])
}

/// Appends the places in whole rows of the first `count` of every chunk, whose orders `[…, chunks, length]` are given.
fn chosen(program: &mut ProgramBuilder, order: TensorId, candidates: Option<TensorId>, count: usize) -> TensorId {
    let ty = program.ty(order).clone();
    let rows = ty.shape.len() - 2;
    let (chunks, length) = (ty.shape[rows], ty.shape[rows + 1]);
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&[&ty.shape[..rows], &[chunks * count]].concat());
    let own: Vec<Index> = axes.iter().copied().map(Index::axis).collect();
    let ranges = |axis| expr.range(axis);
    let chunk = own[rows].floor_div(count.max(1) as i64, &ranges);
    let within = own[rows].modulo(count.max(1) as i64, &ranges);
    let operand = expr.operand(&ty);
    let place = expr.read(operand, own[..rows].iter().cloned().chain([chunk.clone(), within]).collect());
    let first = Scalar::Index(chunk.times(length as i64), ElementType::I64);
    let places = program.compute(expr.map(ElementType::I64, place.binary(BinaryOp::Add, first)), &[order]);
    match candidates {
        None => places,
        Some(candidates) => at_places(program, candidates, places),
    }
}
