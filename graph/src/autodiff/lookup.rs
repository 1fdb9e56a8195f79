//! Gradients of tables that are read through an index, as an embedding is.
//!
//! The gradient of such a table adds each slice's gradient where the slice's key says: a scatter-add. It is computed
//! without atomics and in one order. The keys are sorted, and the slices of equal keys are summed level by level. Each
//! place of the table takes the sum at the first slice of its key. That is `slices · log slices` additions, where
//! comparing every place with every key takes `places · slices`.

use crate::arena::Id;
use crate::expr::{
    Atom, Axis, AxisId, AxisKind, BinaryOp, ExprBuilder, Guard, Index, IndirectIndex, Literal, Read, ReadId, Reducer,
    Scalar, TensorExpr, substitute,
};
use crate::ops::ordering;
use crate::procedure::sort::Direction;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType};

use super::points::{Points, axes_behind, with_used_reads};

/// Most places of a table that are each compared with every key, however many slices there are.
const MOST_COMPARED_PLACES: usize = 32;

/// Most slices whose keys are each compared with every place, however many places there are.
const MOST_COMPARED_SLICES: usize = 4;

/// Most slices that one level sums into one.
const WIDEST_LEVEL: usize = 16;

/// A read of slices of a table at places that another read gives.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Lookup {
    /// The dimension of the table that the places are of.
    pub dimension: usize,
    place: IndirectIndex,
    /// The axes that the places depend on: a slice for each of their points.
    axes: Vec<AxisId>,
    slices: usize,
}

impl Points {
    /// The lookup that a read is, if its table and its slices are so many that sorting them pays.
    pub fn lookup(&self, read: ReadId) -> Option<Lookup> {
        let Read { operand, index, guard, .. } = &self.expr.reads[read];
        let indirect: Vec<usize> = (0..index.len()).filter(|&at| !index[at].is_free_of_reads()).collect();
        let &[dimension] = indirect.as_slice() else { return None };
        let [(Atom::Indirect(place), 1)] = index[dimension].terms() else { return None };
        let mut axes = axes_behind(&self.expr, place.read);
        axes.sort();
        axes.dedup();
        let slices = axes.iter().map(|&axis| self.expr.axes[axis].extent).product();
        let mut is_apart = index[dimension].offset() == 0 && guard.is_always();
        for other in index.iter().filter(|index| index.is_free_of_reads()) {
            other.visit(&mut |axis| is_apart &= !axes.contains(&axis), &mut |_| {});
        }
        let places = self.expr.operands[*operand].shape[dimension];
        let pays = places > MOST_COMPARED_PLACES && slices > MOST_COMPARED_SLICES;
        (is_apart && pays).then_some(Lookup { dimension, place: *place, axes, slices })
    }

    /// The same points with one more operand, the slices `[slices, …the table's other dimensions]`, and the read that gives
    /// from it what `read` gives.
    pub fn with_slices(&self, read: ReadId, lookup: &Lookup) -> (Self, ReadId) {
        let Read { operand, mut index, .. } = self.expr.reads[read].clone();
        let TensorType { element, shape } = self.expr.operands[operand].clone();
        let mut extents = shape.to_vec();
        extents.remove(lookup.dimension);
        extents.insert(0, lookup.slices);
        index.remove(lookup.dimension);
        let number = lookup.axes.iter().fold(Index::constant(0), |number, &axis| {
            number.times(self.expr.axes[axis].extent as i64).add(&Index::axis(axis))
        });
        index.insert(0, number);
        self.with_source(read, TensorType { element, shape: extents.into() }, index)
    }

    /// The place of each slice, `[slices]`, over the points' operands.
    pub fn keys(&self, lookup: &Lookup) -> TensorExpr {
        let axes = [Axis { extent: lookup.slices, kind: AxisKind::Parallel }].into_iter().collect();
        let range = |_: AxisId| crate::expr::Range { minimum: 0, maximum: lookup.slices as i64 - 1 };
        let mut replacement = vec![Index::constant(0); self.expr.axes.len()];
        let mut left = Index::axis(AxisId::from_index(0));
        for &axis in lookup.axes.iter().rev() {
            let extent = self.expr.axes[axis].extent as i64;
            replacement[axis.index()] = left.modulo(extent, &range);
            left = left.floor_div(extent, &range);
        }
        let key = Scalar::Index(Index::indirect(lookup.place.read, lookup.place.extent), KEY);
        let alone = TensorExpr { body: key, reducer: None, epilogue: None, element: KEY, ..self.expr.clone() };
        substitute::replace_axes(&with_used_reads(&alone), &axes, &replacement)
    }
}

/// The element type of places: they are fewer than 2³¹, as all extents are.
const KEY: ElementType = ElementType::I32;

/// Appends the tensor of type `table` that holds, at each place of a dimension, the sum of the slices whose key it is.
pub(super) fn scatter_add(
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
