//! Online softmax: the largest score, the sum of the scores' exponentials and what they weigh, as one reduction.
//!
//! A softmax along an axis reads every score three times: for the largest, for the sum of the exponentials of the
//! distances to it, and for the weights. The three are one reduction whose state is rescaled when a larger score is
//! found. So a kernel may walk through the scores once, block by block (Milakov and Gimelshein, "Online normalizer
//! calculation for softmax", 2018). [`OnlineSoftmax`] finds the three in tensor expressions, [`Law`] is how states
//! combine.

use crate::expr::{
    Axis, AxisId, AxisKind, BinaryOp, Index, Read, ReadId, Reducer, Scalar, TensorExpr, UnaryOp, substitute,
};

/// An expression and the names of what it reads, one an operand.
#[derive(Clone, Copy, Debug)]
pub struct Named<'e, N> {
    pub expr: &'e TensorExpr,
    pub operands: &'e [N],
}

/// Weights that are a softmax: along one axis, the exponentials of the scores' distances to the largest, divided by their sum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OnlineSoftmax {
    /// The axis of the weights along which scores compete.
    pub axis: AxisId,
    /// The score, a scalar of the weights' expression.
    pub score: Scalar,
    /// The weights' read of the largest score.
    pub maximum: ReadId,
    /// The weights' read of the sum of the exponentials.
    pub total: ReadId,
}

impl OnlineSoftmax {
    /// The softmax that these weights are, where `definition` gives the expressions behind names.
    pub fn of<'e, N: Copy + PartialEq + 'e>(
        weights: Named<'e, N>,
        definition: impl Fn(N) -> Option<Named<'e, N>>,
    ) -> Option<Self> {
        let (powers, total) = share(weights.expr)?;
        let Scalar::Unary(UnaryOp::Exp, distance) = powers else { return None };
        let (score, maximum) = distance_of(weights.expr, distance)?;
        let reduction = |read: ReadId, reducer: Reducer, value: &Scalar| {
            let read = &weights.expr.reads[read];
            let of = definition(weights.operands[read.operand])?;
            keys(weights.expr, read).find(|&axis| is_reduction(of, reducer, weights, read, axis, value))
        };
        let axis = reduction(maximum, Reducer::Maximum, score)?;
        let whole = reduction(total, Reducer::Sum, powers)? == axis;
        whole.then(|| Self { axis, score: score.clone(), maximum, total })
    }
}

/// Exponentials, and the read of the sum by which they are divided.
fn share(weights: &TensorExpr) -> Option<(&Scalar, ReadId)> {
    if weights.reducer.is_some() {
        return None;
    }
    let (powers, total) = match unrounded(weights, &weights.body) {
        body @ Scalar::Binary(BinaryOp::Divide, ..) => quotient(weights, body),
        Scalar::Binary(BinaryOp::Multiply, left, right) => match (inverse(weights, left), inverse(weights, right)) {
            (None, Some(total)) => Some((&**left, total)),
            (Some(total), None) => Some((&**right, total)),
            (None, None) | (Some(_), Some(_)) => None,
        },
        _ => None,
    }?;
    Some((unrounded(weights, powers), total))
}

/// The scalar without conversions among types that are computed as singles: a softmax rounds nothing between its parts.
fn unrounded<'e>(expr: &TensorExpr, scalar: &'e Scalar) -> &'e Scalar {
    match scalar {
        Scalar::Cast(to, inner) if to.is_single() && expr.element_of(inner).is_single() => unrounded(expr, inner),
        _ => scalar,
    }
}

/// The read that a scalar is, but for conversions.
fn read_of(expr: &TensorExpr, scalar: &Scalar) -> Option<ReadId> {
    match unrounded(expr, scalar) {
        Scalar::Read(read) => Some(*read),
        _ => None,
    }
}

/// The dividend, and the read that is the divisor.
fn quotient<'e>(expr: &TensorExpr, scalar: &'e Scalar) -> Option<(&'e Scalar, ReadId)> {
    match unrounded(expr, scalar) {
        Scalar::Binary(BinaryOp::Divide, left, right) => read_of(expr, right).map(|read| (&**left, read)),
        _ => None,
    }
}

/// The read whose inverse a scalar is.
fn inverse(expr: &TensorExpr, scalar: &Scalar) -> Option<ReadId> {
    let (over, read) = quotient(expr, scalar)?;
    matches!(over, Scalar::Literal(literal) if literal.to_f64() == 1.0).then_some(read)
}

/// The read whose negative a scalar is.
fn negative(expr: &TensorExpr, scalar: &Scalar) -> Option<ReadId> {
    match unrounded(expr, scalar) {
        Scalar::Unary(UnaryOp::Negate, of) => read_of(expr, of),
        _ => None,
    }
}

/// The score and the read of the maximum of `score − maximum`.
fn distance_of<'e>(expr: &TensorExpr, scalar: &'e Scalar) -> Option<(&'e Scalar, ReadId)> {
    match unrounded(expr, scalar) {
        Scalar::Binary(BinaryOp::Subtract, score, maximum) => read_of(expr, maximum).map(|read| (&**score, read)),
        Scalar::Binary(BinaryOp::Add, left, right) => match (negative(expr, left), negative(expr, right)) {
            (None, Some(read)) => Some((&**left, read)),
            (Some(read), None) => Some((&**right, read)),
            (None, None) | (Some(_), Some(_)) => None,
        },
        _ => None,
    }
}

/// The axes along which scores may compete: a read of one value for all of them does not follow such an axis.
fn keys<'e>(weights: &'e TensorExpr, read: &'e Read) -> impl Iterator<Item = AxisId> + 'e {
    let follows = |axis: AxisId| {
        let mut follows = false;
        read.index.iter().for_each(|index| index.visit(&mut |other| follows |= other == axis, &mut |_| {}));
        follows
    };
    weights.parallel().filter(move |axis| weights.axes[*axis].extent > 1 && !follows(*axis))
}

/// Whether what `read` reads is the reduction of `value`, a scalar of the weights, along `axis`.
fn is_reduction<N: Copy + PartialEq>(
    of: Named<'_, N>,
    reducer: Reducer,
    weights: Named<'_, N>,
    read: &Read,
    axis: AxisId,
    value: &Scalar,
) -> bool {
    let reduced: Vec<AxisId> = of.expr.reduced().collect();
    let [along] = reduced.as_slice() else { return false };
    let plain = read.guard.is_always() && read.index.iter().all(Index::is_free_of_reads);
    let whole = of.expr.axes[*along].extent == weights.expr.axes[axis].extent;
    let is_plain = |epilogue: &Scalar| *unrounded(of.expr, epilogue) == Scalar::Reduced;
    if of.expr.reducer != Some(reducer) || !of.expr.epilogue.as_ref().is_none_or(is_plain) || !plain || !whole {
        return false;
    }
    let mut index = read.index.iter();
    let place = |of: &Axis| match of.kind {
        AxisKind::Parallel => index.next().cloned().expect("a read has one index a dimension"),
        AxisKind::Reduced => Index::axis(axis),
    };
    let replacement: Vec<Index> = of.expr.axes.values().map(place).collect();
    let body = TensorExpr { reducer: None, epilogue: None, element: of.expr.body_element(), ..of.expr.clone() };
    let moved = canonical(&substitute::replace_axes(&body, &weights.expr.axes, &replacement));
    let element = weights.expr.element_of(value);
    let own = canonical(&TensorExpr { body: value.clone(), element, ..weights.expr.clone() });
    let [moved, own] =
        [(&moved, of.operands), (&own, weights.operands)].map(|(expr, operands)| Named { expr, operands });
    let [(own, value), (moved, body)] = [own, moved].map(|of| (of, unrounded(of.expr, &of.expr.body)));
    is_same(own, value, moved, body)
}

/// The expression without axes of one value in its indices.
fn canonical(expr: &TensorExpr) -> TensorExpr {
    let single = |id: AxisId| if expr.axes[id].extent == 1 { Index::constant(0) } else { Index::axis(id) };
    substitute::replace_axes(expr, &expr.axes, &expr.axes.ids().map(single).collect::<Vec<Index>>())
}

/// Whether scalars of two expressions over the same axes are the same function of what has a name.
fn is_same<N: Copy + PartialEq>(left: Named<'_, N>, x: &Scalar, right: Named<'_, N>, y: &Scalar) -> bool {
    let same = |x: &Scalar, y: &Scalar| is_same(left, x, right, y);
    match (unrounded(left.expr, x), unrounded(right.expr, y)) {
        (Scalar::Read(x), Scalar::Read(y)) => is_same_read(left, *x, right, *y),
        (Scalar::Index(x, of), Scalar::Index(y, other)) => x == y && of == other && x.is_free_of_reads(),
        (Scalar::Holds(x), Scalar::Holds(y)) => {
            x == y && x.conditions().iter().all(|condition| condition.index.is_free_of_reads())
        }
        (Scalar::Literal(x), Scalar::Literal(y)) => x == y,
        (Scalar::Reduced, Scalar::Reduced) => true,
        (Scalar::Unary(op, x), Scalar::Unary(other, y)) => op == other && same(x, y),
        (Scalar::Binary(op, x, z), Scalar::Binary(other, y, w)) => op == other && same(x, y) && same(z, w),
        (Scalar::Select(x, z, u), Scalar::Select(y, w, v)) => same(x, y) && same(z, w) && same(u, v),
        (Scalar::Cast(of, x), Scalar::Cast(other, y)) => of == other && same(x, y),
        (
            Scalar::Read(_)
            | Scalar::Index(..)
            | Scalar::Holds(_)
            | Scalar::Literal(_)
            | Scalar::Reduced
            | Scalar::Unary(..)
            | Scalar::Binary(..)
            | Scalar::Select(..)
            | Scalar::Cast(..),
            _,
        ) => false,
    }
}

fn is_same_read<N: Copy + PartialEq>(left: Named<'_, N>, x: ReadId, right: Named<'_, N>, y: ReadId) -> bool {
    let (x, y) = (&left.expr.reads[x], &right.expr.reads[y]);
    let conditions = x.guard.conditions().iter().map(|condition| &condition.index);
    let plain = x.index.iter().chain(conditions).all(Index::is_free_of_reads);
    let place = x.index == y.index && x.guard == y.guard && x.fill == y.fill;
    plain && place && left.operands[x.operand] == right.operands[y.operand]
}

/// Arithmetic in which the law is written: on numbers, or as the text of a kernel.
pub trait Arithmetic {
    /// A single.
    type Value: Clone;

    fn number(&mut self, value: f32) -> Self::Value;
    /// The larger; NaN if either is.
    fn maximum(&mut self, left: &Self::Value, right: &Self::Value) -> Self::Value;
    /// `left + right`.
    fn sum(&mut self, left: &Self::Value, right: &Self::Value) -> Self::Value;
    /// `left − right`.
    fn difference(&mut self, left: &Self::Value, right: &Self::Value) -> Self::Value;
    /// `left · right`.
    fn product(&mut self, left: &Self::Value, right: &Self::Value) -> Self::Value;
    /// eˣ.
    fn exponential(&mut self, of: &Self::Value) -> Self::Value;
    /// `then` where the two of a pair are equal, else `of`.
    fn replace(&mut self, of: &Self::Value, pair: [&Self::Value; 2], then: &Self::Value) -> Self::Value;
}

/// How partial results of a softmax combine.
///
/// A state is the largest score so far, the sum of the exponentials of the scores' distances to it, and the same sum with
/// every exponential times what it weighs. States combine after both sums are rescaled to the larger maximum, which is
/// associative, commutative, and has (−∞, 0, 0) as its neutral element. A finished state is what the passes one after another
/// give: NaN where all scores are −∞, one is ∞ or one is NaN. Infinite values under a weight that vanishes are not covered.
pub struct Law;

impl Law {
    /// What scores are measured from, given their maximum: the maximum, or 0 where all scores are −∞.
    pub fn reference<A: Arithmetic>(of: &mut A, maximum: &A::Value) -> A::Value {
        let (lowest, zero) = (of.number(f32::NEG_INFINITY), of.number(0.0));
        of.replace(maximum, [maximum, &lowest], &zero)
    }

    /// The exponential of a score, and the factor of sums that were measured from the maximum `score`.
    pub fn power<A: Arithmetic>(of: &mut A, score: &A::Value, reference: &A::Value) -> A::Value {
        let distance = of.difference(score, reference);
        of.exponential(&distance)
    }

    /// A sum after its factor, with another that has the same reference.
    pub fn rescaled<A: Arithmetic>(of: &mut A, sum: &A::Value, factor: &A::Value, other: &A::Value) -> A::Value {
        let rescaled = of.product(sum, factor);
        of.sum(&rescaled, other)
    }

    /// A finished sum: NaN where the maximum is not finite.
    pub fn finished<A: Arithmetic>(of: &mut A, sum: &A::Value, maximum: &A::Value) -> A::Value {
        let nothing = of.difference(maximum, maximum);
        of.sum(sum, &nothing)
    }
}
