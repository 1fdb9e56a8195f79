//! Parts of expressions, as expressions.

use std::collections::BTreeSet;

use super::{Axis, AxisId, AxisKind, Guard, Index, Read, ReadId, Scalar, TensorExpr, substitute};
use crate::arena::{Arena, Id};

/// One scalar of an expression at the points of some of its axes, all of them parallel, in this order. It depends on no
/// other axis.
pub fn alone(expr: &TensorExpr, body: Scalar, order: &[AxisId]) -> TensorExpr {
    let axis = |&axis: &AxisId| Axis { extent: expr.axes[axis].extent, kind: AxisKind::Parallel };
    let axes: Arena<AxisId, Axis> = order.iter().map(axis).collect();
    let mut replacement = vec![Index::constant(0); expr.axes.len()];
    for (new, old) in axes.ids().zip(order) {
        replacement[old.index()] = Index::axis(new);
    }
    let element = expr.element_of(&body);
    let alone = TensorExpr { body, reducer: None, epilogue: None, element, ..expr.clone() };
    substitute::replace_axes(&with_used_reads(&alone), &axes, &replacement)
}

/// The axes that a scalar depends on, in their order.
pub fn axes_of(expr: &TensorExpr, scalar: &Scalar) -> BTreeSet<AxisId> {
    let mut axes: BTreeSet<AxisId> =
        expr.reads_of(scalar).into_iter().flat_map(|read| axes_behind(expr, read)).collect();
    let mut of_index = |index: &Index| index.visit(&mut |axis| _ = axes.insert(axis), &mut |_| {});
    scalar.visit(&mut |scalar| match scalar {
        Scalar::Index(index, _) => of_index(index),
        Scalar::Holds(guard) => guard.conditions().iter().for_each(|condition| of_index(&condition.index)),
        _ => {}
    });
    axes
}

/// The axes that a read depends on, through the reads inside its indices too.
pub fn axes_behind(expr: &TensorExpr, read: ReadId) -> Vec<AxisId> {
    let mut axes = Vec::new();
    for read in expr.reads_of(&Scalar::Read(read)) {
        let read = &expr.reads[read];
        let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
        read.index.iter().chain(conditions).for_each(|index| index.visit(&mut |axis| axes.push(axis), &mut |_| {}));
    }
    axes
}

/// The expression without reads that nothing needs; those that indices name come first.
pub fn with_used_reads(expr: &TensorExpr) -> TensorExpr {
    let scalars = std::iter::once(&expr.body).chain(&expr.epilogue);
    let used: BTreeSet<ReadId> = scalars.flat_map(|scalar| expr.reads_of(scalar)).collect();
    let mut order: Vec<ReadId> = Vec::with_capacity(used.len());
    for &read in &used {
        place_behind_indices(expr, read, &mut order);
    }
    if order.iter().copied().eq(expr.reads.ids()) {
        return expr.clone();
    }
    let place = |read: ReadId| ReadId::from_index(order.iter().position(|&other| other == read).unwrap_or(0));
    let range = |axis: AxisId| expr.range(axis);
    let index = |index: &Index| index.substitute(&Index::axis, &place, &range);
    let guard = |guard: &Guard| {
        guard.conditions().iter().cloned().fold(Guard::always(), |guard, mut condition| {
            condition.index = index(&condition.index);
            guard.and(condition, &range)
        })
    };
    let scalar = |scalar: &Scalar| {
        scalar.map_leaves(&mut |leaf| match leaf {
            Scalar::Read(read) => Scalar::Read(place(*read)),
            Scalar::Index(of, element) => Scalar::Index(index(of), *element),
            Scalar::Holds(of) => Scalar::Holds(guard(of)),
            other => other.clone(),
        })
    };
    let reads = order.iter().map(|&id| {
        let read = &expr.reads[id];
        Read { index: read.index.iter().map(index).collect(), guard: guard(&read.guard), ..read.clone() }
    });
    TensorExpr {
        reads: reads.collect(),
        body: scalar(&expr.body),
        epilogue: expr.epilogue.as_ref().map(scalar),
        ..expr.clone()
    }
}

/// Appends a read behind those that its indices name, each once.
fn place_behind_indices(expr: &TensorExpr, read: ReadId, order: &mut Vec<ReadId>) {
    if order.contains(&read) {
        return;
    }
    let Read { index, guard, .. } = &expr.reads[read];
    let mut inside = Vec::new();
    let conditions = guard.conditions().iter().map(|condition| &condition.index);
    index.iter().chain(conditions).for_each(|index| index.visit(&mut |_| {}, &mut |read| inside.push(read)));
    inside.into_iter().for_each(|read| place_behind_indices(expr, read, order));
    order.push(read);
}

/// The operand that an expression is equal to, if it is one.
pub fn identity(expr: &TensorExpr) -> Option<usize> {
    let read = expr.as_movement()?;
    let same = read.index.iter().enumerate().all(|(at, index)| {
        let axis = expr.parallel().nth(at);
        let extent = expr.operands[read.operand].shape[at];
        axis.is_some_and(|axis| index.as_axis() == Some(axis)) || (extent == 1 && *index == Index::constant(0))
    });
    (same && read.guard.is_always() && expr.output() == expr.operands[read.operand]).then_some(read.operand)
}
