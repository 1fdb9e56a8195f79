//! Composition of expressions: a producer inlined into its reader, and a consumer applied to a reduction's result.

use super::builder::ExprBuilder;
use super::{Axis, AxisId, AxisKind, Condition, Guard, Index, Range, Read, ReadId, Scalar, TensorExpr};
use crate::arena::{Arena, Id};
use crate::types::ElementType;

/// The most scalars, and the most reads, of a composed expression. A producer that is read twice is copied twice, so sizes double
/// along a chain of such producers.
const MOST_COMPOSED: usize = 4096;

/// `consumer` with every read of its operand `operand` replaced by `producer`'s value, which has no reduction.
///
/// Operands of the result: the consumer's without `operand`, then the producer's. `None` if the producer reduces, if the
/// consumer uses the operand's value as an index and the producer computes rather than moves it, or if the result would
/// have more than 4096 scalars or reads.
pub fn inline(consumer: &TensorExpr, operand: usize, producer: &TensorExpr) -> Option<TensorExpr> {
    if producer.reducer.is_some() || composed_size(consumer, operand, producer) > MOST_COMPOSED {
        return None;
    }
    let mut merge = Merge::new(&consumer.axes);
    let kept = consumer.operands.len() - 1;
    let position = |old: usize| if old > operand { old - 1 } else { old };
    let mut values: Vec<Scalar> = Vec::with_capacity(consumer.reads.len());
    for read in consumer.reads.values() {
        let identity = |axis| Index::axis(axis);
        let read = merge.substitute(read, &identity, &values, position(read.operand))?;
        let value = if consumer.reads[ReadId::from_index(values.len())].operand == operand {
            merge.value(producer, &read, kept)?
        } else {
            Scalar::Read(merge.builder.push(read))
        };
        values.push(value);
    }
    let mut operands = consumer.operands.clone();
    operands.remove(operand);
    operands.extend(producer.operands.iter().cloned());
    let body = replace_reads(&consumer.body, &values, &|axis| Index::axis(axis), &merge.ranges())?;
    let epilogue = match &consumer.epilogue {
        Some(epilogue) => Some(replace_reads(epilogue, &values, &|axis| Index::axis(axis), &merge.ranges())?),
        None => None,
    };
    let parts = merge.builder;
    Some(parts.with_operands(operands, consumer.element, body, consumer.reducer, epilogue))
}

/// The scalars, or the reads if there are more, that `consumer` has when `producer` stands for its operand.
fn composed_size(consumer: &TensorExpr, operand: usize, producer: &TensorExpr) -> usize {
    let is_replaced = |read: ReadId| consumer.reads[read].operand == operand;
    let count = |scalar: &Scalar| {
        let mut nodes = 0;
        scalar.visit(&mut |_| nodes += 1);
        nodes
    };
    let whole = count(&producer.body);
    let (mut scalars, mut reads) = (0, 0);
    for scalar in [&consumer.body].into_iter().chain(&consumer.epilogue) {
        scalar.visit(&mut |scalar| {
            scalars += if matches!(scalar, Scalar::Read(read) if is_replaced(*read)) { whole } else { 1 };
        });
    }
    for read in consumer.reads.ids() {
        reads += if is_replaced(read) { producer.reads.len() } else { 1 };
    }
    scalars.max(reads)
}

/// `consumer` applied to the result of `producer`: the producer's reduction over the consumer's parallel axes, with the
/// consumer as its epilogue. `consumer` has no reduction and reads `operand` at one unguarded index. `producer`
/// reduces.
///
/// Operands of the result: the producer's, then the consumer's without `operand`. `None` if the consumer's shape does not
/// fit: it reads the operand at several indices, under a guard, as an index, or not every element about once.
pub fn append(producer: &TensorExpr, consumer: &TensorExpr, operand: usize) -> Option<TensorExpr> {
    if consumer.reducer.is_some() || producer.reducer.is_none() {
        return None;
    }
    let mut reads = consumer.reads.iter().filter(|(_, read)| read.operand == operand);
    let (target, read) = reads.next()?;
    let plain = read.guard.is_always() && read.index.iter().all(Index::is_free_of_reads);
    if reads.next().is_some() || !plain || consumer.output().shape.elements() != producer.output().shape.elements() {
        return None;
    }
    let mut axes = consumer.axes.clone();
    let reduced: Vec<AxisId> = producer.reduced().map(|axis| axes.push(producer.axes[axis])).collect();
    let mut parallel = read.index.iter().cloned();
    let mut reduced = reduced.into_iter().map(Index::axis);
    let replacement: Vec<Index> = producer
        .axes
        .values()
        .map(|axis| match axis.kind {
            AxisKind::Parallel => parallel.next(),
            AxisKind::Reduced => reduced.next(),
        })
        .map(|index| index.expect("a read has one index a dimension"))
        .collect();
    let moved = |axis: AxisId| replacement[axis.index()].clone();

    let mut merge = Merge::new(&axes);
    let mut values = Vec::with_capacity(producer.reads.len());
    for read in producer.reads.values() {
        let read = merge.substitute(read, &moved, &values, read.operand)?;
        values.push(Scalar::Read(merge.builder.push(read)));
    }
    let ranges = merge.ranges();
    let body = replace_reads(&producer.body, &values, &moved, &ranges)?;
    let result = match &producer.epilogue {
        Some(epilogue) => replace_reads(epilogue, &values, &moved, &ranges)?,
        None => Scalar::Reduced,
    };
    let result = rounded(producer.element, result);
    let mut own = Vec::with_capacity(consumer.reads.len());
    let first = producer.operands.len();
    for (id, read) in consumer.reads.iter() {
        if id == target {
            own.push(result.clone());
            continue;
        }
        let position = first + read.operand - usize::from(read.operand > operand);
        let read = merge.substitute(read, &|axis| Index::axis(axis), &own, position)?;
        own.push(Scalar::Read(merge.builder.push(read)));
    }
    let epilogue = replace_reads(&consumer.body, &own, &|axis| Index::axis(axis), &ranges)?.reduced_first();
    let mut operands = producer.operands.clone();
    operands.extend(consumer.operands.iter().enumerate().filter(|(at, _)| *at != operand).map(|(_, ty)| ty.clone()));
    let parts = merge.builder;
    Some(parts.with_operands(operands, consumer.element, body, producer.reducer, Some(epilogue)))
}

/// `expr` over other axes: every axis is replaced by its index in `replacement`, over the axes in `axes`.
pub fn replace_axes(expr: &TensorExpr, axes: &Arena<AxisId, Axis>, replacement: &[Index]) -> TensorExpr {
    let moved = |axis: AxisId| replacement[axis.index()].clone();
    let mut merge = Merge::new(axes);
    let mut values = Vec::with_capacity(expr.reads.len());
    for read in expr.reads.values() {
        let read = merge.substitute(read, &moved, &values, read.operand).expect("reads stay reads");
        values.push(Scalar::Read(merge.builder.push(read)));
    }
    let ranges = merge.ranges();
    let replace = |scalar: &Scalar| replace_reads(scalar, &values, &moved, &ranges).expect("reads stay reads");
    let (body, epilogue) = (replace(&expr.body), expr.epilogue.as_ref().map(replace));
    merge.builder.with_operands(expr.operands.clone(), expr.element, body, expr.reducer, epilogue)
}

/// The expression with an axis behind all others of its kind.
pub fn with_axis_last(expr: &TensorExpr, axis: AxisId) -> TensorExpr {
    let kind = expr.axes[axis].kind;
    let is_other = |other: &AxisId| *other != axis;
    let parallel = expr.parallel().filter(is_other);
    let reduced = expr.reduced().filter(is_other);
    let order: Vec<AxisId> = match kind {
        AxisKind::Parallel => parallel.chain([axis]).chain(reduced).collect(),
        AxisKind::Reduced => parallel.chain(reduced).chain([axis]).collect(),
    };
    let axes: Arena<AxisId, Axis> = order.iter().map(|&axis| expr.axes[axis]).collect();
    let place = |axis: AxisId| order.iter().position(|other| *other == axis).expect("every axis has a place");
    let replacement: Vec<Index> = expr.axes.ids().map(|axis| Index::axis(AxisId::from_index(place(axis)))).collect();
    replace_axes(expr, &axes, &replacement)
}

/// Reads collected over new axes.
struct Merge {
    builder: ExprBuilder,
}

impl Merge {
    fn new(axes: &Arena<AxisId, Axis>) -> Self {
        Self { builder: ExprBuilder::axes_of(axes) }
    }

    fn ranges(&self) -> impl Fn(AxisId) -> Range + use<> {
        let builder = self.builder.clone();
        move |axis| builder.range(axis)
    }

    /// `read` with its axes replaced and its indirect indices renamed to what `values` holds for them.
    fn substitute(
        &self,
        read: &Read,
        axis: &impl Fn(AxisId) -> Index,
        values: &[Scalar],
        operand: usize,
    ) -> Option<Read> {
        let ranges = |axis| self.builder.range(axis);
        let index = read.index.iter().map(|index| rename(index, axis, values, &ranges)).collect::<Option<_>>()?;
        let guard = rename_guard(&read.guard, axis, values, &ranges)?;
        Some(Read { operand, index, guard, fill: read.fill })
    }

    /// The producer's value at the place that `read` reads, its operands from position `first` on.
    fn value(&mut self, producer: &TensorExpr, read: &Read, first: usize) -> Option<Scalar> {
        let at = |axis: AxisId| read.index[axis.index()].clone();
        let moved_read = match producer.body {
            Scalar::Read(id) if producer.as_movement().is_some() => Some(id),
            _ => None,
        };
        let mut values = Vec::with_capacity(producer.reads.len());
        let mut filled = false;
        for (id, inner) in producer.reads.iter() {
            let mut moved = self.substitute(inner, &at, &values, first + inner.operand)?;
            let same = moved.guard.is_always() || moved.fill == read.fill;
            if moved_read == Some(id) && same {
                moved.fill = read.fill;
                filled = true;
            }
            for condition in read.guard.conditions() {
                moved.guard = moved.guard.and(condition.clone(), &|axis| self.builder.range(axis));
            }
            values.push(Scalar::Read(self.builder.push(moved)));
        }
        let body = rounded(producer.element, replace_reads(&producer.body, &values, &at, &self.ranges())?);
        if read.guard.is_always() || filled {
            return Some(body);
        }
        Some(Scalar::Holds(read.guard.clone()).select(body, Scalar::Literal(read.fill)))
    }
}

/// A value of its own type where another expression goes on with it: 16-bit floating point is rounded, as a store would.
fn rounded(element: ElementType, value: Scalar) -> Scalar {
    match value {
        Scalar::Literal(_) | Scalar::Read(_) | Scalar::Cast(..) => value,
        computed if element.is_half() => Scalar::Cast(element, Box::new(computed)),
        computed => computed,
    }
}

fn rename(
    index: &Index,
    axis: &impl Fn(AxisId) -> Index,
    values: &[Scalar],
    ranges: &impl Fn(AxisId) -> Range,
) -> Option<Index> {
    let mut known = true;
    index.visit(&mut |_| {}, &mut |read| known &= matches!(values.get(read.index()), Some(Scalar::Read(_))));
    known.then(|| {
        let renamed = |read: ReadId| match &values[read.index()] {
            Scalar::Read(read) => *read,
            _ => unreachable!("checked above"),
        };
        index.substitute(axis, &renamed, ranges)
    })
}

fn rename_guard(
    guard: &Guard,
    axis: &impl Fn(AxisId) -> Index,
    values: &[Scalar],
    ranges: &impl Fn(AxisId) -> Range,
) -> Option<Guard> {
    guard.conditions().iter().try_fold(Guard::always(), |guard, condition| {
        let index = rename(&condition.index, axis, values, ranges)?;
        Some(guard.and(Condition { index, lower: condition.lower, upper: condition.upper }, ranges))
    })
}

fn replace_reads(
    scalar: &Scalar,
    values: &[Scalar],
    axis: &impl Fn(AxisId) -> Index,
    ranges: &impl Fn(AxisId) -> Range,
) -> Option<Scalar> {
    let mut complete = true;
    let replaced = scalar.map_leaves(&mut |leaf| {
        let value = match leaf {
            Scalar::Read(read) => Some(values[read.index()].clone()),
            Scalar::Index(index, element) => {
                rename(index, axis, values, ranges).map(|index| Scalar::Index(index, *element))
            }
            Scalar::Holds(guard) => rename_guard(guard, axis, values, ranges).map(Scalar::Holds),
            other => Some(other.clone()),
        };
        value.unwrap_or_else(|| {
            complete = false;
            leaf.clone()
        })
    });
    complete.then_some(replaced)
}
