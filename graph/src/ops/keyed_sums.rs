//! Sums of the slices of each key.
//!
//! They are computed without atomics and in one order. The keys are sorted, and the slices of equal keys are summed level by
//! level. Each place takes the sum at the first slice of its key. That is `slices · log slices` additions, where comparing
//! every place with every key takes `places · slices`.

use super::ordering;
use crate::expr::{BinaryOp, ExprBuilder, Guard, Index, Literal, Reducer, Scalar};
use crate::procedure::sort::Direction;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType};

/// The element type of keys, which are places: they are fewer than 2³¹, as all extents are.
pub const KEY: ElementType = ElementType::I32;

/// Most slices that one level sums into one.
const WIDEST_LEVEL: usize = 16;

/// Appends the tensor of type `table` that holds, at each place of a dimension, the sum of the slices whose key it is.
pub fn scatter_add(
    program: &mut ProgramBuilder,
    table: &TensorType,
    dimension: usize,
    [slices, keys]: [TensorId; 2],
) -> TensorId {
    let order = ordering::by_keys(program, vec![keys], Direction::Ascending);
    let keys = at_first(program, keys, order);
    let mut sums = at_first(program, slices, order);
    let count = program.ty(keys).shape[0];
    let mut covered = 1;
    let width = level_width(count);
    while covered < count {
        sums = level(program, [sums, keys], width, covered);
        covered *= width;
    }
    let sum_of = sum_of_each(program, keys, table.shape[dimension]);
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&table.shape);
    let [sum_at, sums_at] = [sum_of, sums].map(|tensor| expr.operand(program.ty(tensor)));
    let named = expr.read(sum_at, vec![Index::axis(axes[dimension])]);
    let place = expr.indirect(&named, count + 1);
    let guard = expr.guard(Guard::always(), place.clone(), 0, count as i64);
    let others = axes.iter().enumerate().filter(|(at, _)| *at != dimension).map(|(_, &axis)| Index::axis(axis));
    let index = std::iter::once(place).chain(others).collect();
    let body = expr.guarded_read(sums_at, index, guard, Literal::new(table.element, 0.0));
    program.compute(expr.map(table.element, body), &[sum_of, sums])
}

/// Appends, for each of `places`, where the first of the ascending keys that name it stands, or else the number of keys.
fn sum_of_each(program: &mut ProgramBuilder, keys: TensorId, places: usize) -> TensorId {
    let count = program.ty(keys).shape[0];
    let first = first_of_each(program, keys, places);
    let mut expr = ExprBuilder::new();
    let place = expr.parallel(places);
    let [first_at, keys_at] = [first, keys].map(|tensor| expr.operand(program.ty(tensor)));
    let first_key = expr.read(first_at, vec![Index::axis(place)]);
    let stands = expr.indirect(&first_key, count);
    let key = expr.read(keys_at, vec![stands]);
    let none = Scalar::Literal(Literal::integer(KEY, count as i64));
    let body = key.binary(BinaryOp::Equal, Scalar::Index(Index::axis(place), KEY)).select(first_key, none);
    program.compute(expr.map(KEY, body), &[first, keys])
}

/// The least width with which as few levels cover all slices as with the widest.
fn level_width(count: usize) -> usize {
    let covers = |width: usize, levels: u32| width.checked_pow(levels).is_none_or(|covered| covered >= count);
    let levels = (1..).find(|&levels| covers(WIDEST_LEVEL, levels)).unwrap_or(1);
    (2..=WIDEST_LEVEL).find(|&width| covers(width, levels)).unwrap_or(WIDEST_LEVEL)
}

/// Appends `tensor` with its first dimension in another order.
fn at_first(program: &mut ProgramBuilder, tensor: TensorId, order: TensorId) -> TensorId {
    let ty = program.ty(tensor).clone();
    let mut expr = ExprBuilder::new();
    let axes: Vec<Index> = expr.parallels(&ty.shape).into_iter().map(Index::axis).collect();
    let [order_at, operand] = [order, tensor].map(|tensor| expr.operand(program.ty(tensor)));
    let named = expr.read(order_at, vec![axes[0].clone()]);
    let place = expr.indirect(&named, ty.shape[0]);
    let body = expr.read(operand, std::iter::once(place).chain(axes[1..].iter().cloned()).collect());
    program.compute(expr.map(ty.element, body), &[order, tensor])
}

/// Appends, for each slice, the sum of those of its key among itself and `width − 1` others that stand `step` apart behind it.
///
/// Where each slice was the sum over `step` slices, it becomes that over `width · step`.
fn level(program: &mut ProgramBuilder, [sums, keys]: [TensorId; 2], width: usize, step: usize) -> TensorId {
    let ty = program.ty(sums).clone();
    let mut expr = ExprBuilder::new();
    let axes: Vec<Index> = expr.parallels(&ty.shape).into_iter().map(Index::axis).collect();
    let each = expr.reduced(width);
    let [keys_at, sums_at] = [keys, sums].map(|tensor| expr.operand(program.ty(tensor)));
    let place = axes[0].add(&Index::axis(each).times(step as i64));
    let guard = expr.guard(Guard::always(), place.clone(), 0, ty.shape[0] as i64);
    let own = expr.read(keys_at, vec![axes[0].clone()]);
    let no_key = Literal::integer(KEY, -1);
    let key = expr.guarded_read(keys_at, vec![place.clone()], guard.clone(), no_key);
    let index = std::iter::once(place).chain(axes[1..].iter().cloned()).collect();
    let sum = expr.guarded_read(sums_at, index, guard, Literal::new(ty.element, 0.0));
    let body = key.binary(BinaryOp::Equal, own).select(sum, Scalar::literal(ty.element, 0.0));
    program.compute(expr.reduce(ty.element, Reducer::Sum, body, None), &[keys, sums])
}

/// Appends, for each of `places`, where the first of the ascending keys that are not below it stands, or else the last key.
fn first_of_each(program: &mut ProgramBuilder, keys: TensorId, places: usize) -> TensorId {
    let ty = program.ty(keys).clone();
    let mut expr = ExprBuilder::new();
    let place = expr.parallel(places);
    let each = expr.reduced(ty.shape[0]);
    let operand = expr.operand(&ty);
    let key = expr.read(operand, vec![Index::axis(each)]);
    let is_below = key.binary(BinaryOp::Less, Scalar::Index(Index::axis(place), KEY));
    let last = Scalar::Literal(Literal::integer(KEY, ty.shape[0] as i64 - 1));
    let epilogue = Scalar::Reduced.binary(BinaryOp::Minimum, last);
    let body = is_below.cast(ElementType::Bool, KEY);
    program.compute(expr.reduce(KEY, Reducer::Sum, body, Some(epilogue)), &[keys])
}
