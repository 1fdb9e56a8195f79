//! Sums of the slices of each key.
//!
//! They are computed without atomics and in one order. The keys are sorted, and the slices of equal keys are summed level by
//! level. Each place takes the sum at the first slice of its key. That is `slices · log slices` additions, where comparing
//! every place with every key takes `places · slices`.

use crate::expr::{BinaryOp, ExprBuilder, Guard, Index, Literal, Reducer, Scalar};
use crate::ops::ordering;
use crate::procedure::sort::Direction;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType};

/// The element type of keys, which are places: they are fewer than 2³¹, as all extents are.
pub const KEY: ElementType = ElementType::I32;

/// Most slices that one level sums into one.
const WIDEST_LEVEL: usize = 16;

/// Appends the tensor of type `table` that holds, at each place of a dimension, the sum of the slices whose key it is.
///
/// `keys` are rows along their last dimension. The first dimensions of `slices` are theirs, and those of the table are the rows'.
pub fn scatter_add(program: &mut ProgramBuilder, table: &TensorType, dimension: usize, ids: [TensorId; 2]) -> TensorId {
    scatter(program, table, dimension, Reducer::Sum, ids)
}

/// The same with slices combined by a reducer.
pub fn scatter(
    program: &mut ProgramBuilder,
    table: &TensorType,
    dimension: usize,
    reducer: Reducer,
    [slices, keys]: [TensorId; 2],
) -> TensorId {
    let order = ordering::by_keys(program, vec![keys], Direction::Ascending);
    let keys = at_first(program, keys, order);
    let mut sums = at_first(program, slices, order);
    let rows = program.ty(keys).shape.len() - 1;
    let count = program.ty(keys).shape[rows];
    let mut covered = 1;
    let width = level_width(count);
    while covered < count {
        sums = level(program, [sums, keys], reducer, width, covered);
        covered *= width;
    }
    let sum_of = sum_of_each(program, keys, table.shape[dimension]);
    let mut expr = ExprBuilder::new();
    let axes: Vec<Index> = expr.parallels(&table.shape).into_iter().map(Index::axis).collect();
    let [sum_at, sums_at] = [sum_of, sums].map(|tensor| expr.operand(program.ty(tensor)));
    let named = expr.read(sum_at, [&axes[..rows], &axes[dimension..=dimension]].concat());
    let place = expr.indirect(&named, count + 1);
    let guard = expr.guard(Guard::always(), place.clone(), 0, count as i64);
    let others = (rows..axes.len()).filter(|&at| at != dimension).map(|at| axes[at].clone());
    let index = axes[..rows].iter().cloned().chain([place]).chain(others).collect();
    let body = expr.guarded_read(sums_at, index, guard, reducer.identity(table.element));
    program.compute(expr.map(table.element, body), &[sum_of, sums])
}

/// Appends, for each of `places`, where the first of the ascending keys that name it stands, or else the number of keys.
fn sum_of_each(program: &mut ProgramBuilder, keys: TensorId, places: usize) -> TensorId {
    let (own, count) = rows_of(program, keys);
    let first = first_of_each(program, keys, places);
    let mut expr = ExprBuilder::new();
    let axes: Vec<Index> = expr.parallels(&[&own[..], &[places]].concat()).into_iter().map(Index::axis).collect();
    let [first_at, keys_at] = [first, keys].map(|tensor| expr.operand(program.ty(tensor)));
    let first_key = expr.read(first_at, axes.clone());
    let stands = expr.indirect(&first_key, count);
    let key = expr.read(keys_at, at_place(&axes, own.len(), stands));
    let none = Scalar::Literal(Literal::integer(KEY, count as i64));
    let place = Scalar::Index(axes[own.len()].clone(), KEY);
    let body = key.binary(BinaryOp::Equal, place).select(first_key, none);
    program.compute(expr.map(KEY, body), &[first, keys])
}

/// The extents of the rows of keys, and how many keys a row has.
fn rows_of(program: &ProgramBuilder, keys: TensorId) -> (Vec<usize>, usize) {
    let (&count, rows) = program.ty(keys).shape.split_last().expect("keys are rows");
    (rows.to_vec(), count)
}

/// An index with another place in one dimension.
fn at_place(own: &[Index], dimension: usize, place: Index) -> Vec<Index> {
    let mut index = own.to_vec();
    index[dimension] = place;
    index
}

/// The least width with which as few levels cover all slices as with the widest.
fn level_width(count: usize) -> usize {
    let covers = |width: usize, levels: u32| width.checked_pow(levels).is_none_or(|covered| covered >= count);
    let levels = (1..).find(|&levels| covers(WIDEST_LEVEL, levels)).unwrap_or(1);
    (2..=WIDEST_LEVEL).find(|&width| covers(width, levels)).unwrap_or(WIDEST_LEVEL)
}

/// Appends `tensor` with the dimension of its keys in another order.
fn at_first(program: &mut ProgramBuilder, tensor: TensorId, order: TensorId) -> TensorId {
    let ty = program.ty(tensor).clone();
    let (rows, count) = rows_of(program, order);
    let mut expr = ExprBuilder::new();
    let axes: Vec<Index> = expr.parallels(&ty.shape).into_iter().map(Index::axis).collect();
    let [order_at, operand] = [order, tensor].map(|tensor| expr.operand(program.ty(tensor)));
    let named = expr.read(order_at, axes[..=rows.len()].to_vec());
    let place = expr.indirect(&named, count);
    let body = expr.read(operand, at_place(&axes, rows.len(), place));
    program.compute(expr.map(ty.element, body), &[order, tensor])
}

/// Appends, for each slice, those of its key combined: itself and of `width − 1` others that stand `step` apart behind it.
///
/// Where each slice was what `step` slices combine to, it becomes that of `width · step`.
fn level(
    program: &mut ProgramBuilder,
    [sums, keys]: [TensorId; 2],
    reducer: Reducer,
    width: usize,
    step: usize,
) -> TensorId {
    let ty = program.ty(sums).clone();
    let (rows, count) = rows_of(program, keys);
    let mut expr = ExprBuilder::new();
    let axes: Vec<Index> = expr.parallels(&ty.shape).into_iter().map(Index::axis).collect();
    let each = expr.reduced(width);
    let [keys_at, sums_at] = [keys, sums].map(|tensor| expr.operand(program.ty(tensor)));
    let place = axes[rows.len()].add(&Index::axis(each).times(step as i64));
    let guard = expr.guard(Guard::always(), place.clone(), 0, count as i64);
    let own = &axes[..=rows.len()];
    let no_key = Literal::integer(KEY, -1);
    let own_key = expr.read(keys_at, own.to_vec());
    let key = expr.guarded_read(keys_at, at_place(own, rows.len(), place.clone()), guard.clone(), no_key);
    let none = reducer.identity(ty.element);
    let sum = expr.guarded_read(sums_at, at_place(&axes, rows.len(), place), guard, none);
    let body = key.binary(BinaryOp::Equal, own_key).select(sum, Scalar::Literal(none));
    program.compute(expr.reduce(ty.element, reducer, body, None), &[keys, sums])
}

/// Appends, for each of `places`, where the first of the ascending keys that are not below it stands, or else the last key.
fn first_of_each(program: &mut ProgramBuilder, keys: TensorId, places: usize) -> TensorId {
    let ty = program.ty(keys).clone();
    let (rows, count) = rows_of(program, keys);
    let mut expr = ExprBuilder::new();
    let axes: Vec<Index> = expr.parallels(&[&rows[..], &[places]].concat()).into_iter().map(Index::axis).collect();
    let each = expr.reduced(count);
    let operand = expr.operand(&ty);
    let key = expr.read(operand, at_place(&axes, rows.len(), Index::axis(each)));
    let is_below = key.binary(BinaryOp::Less, Scalar::Index(axes[rows.len()].clone(), KEY));
    let last = Scalar::Literal(Literal::integer(KEY, count as i64 - 1));
    let epilogue = Scalar::Reduced.binary(BinaryOp::Minimum, last);
    let body = is_below.cast(ElementType::Bool, KEY);
    program.compute(expr.reduce(KEY, Reducer::Sum, body, Some(epilogue)), &[keys])
}
