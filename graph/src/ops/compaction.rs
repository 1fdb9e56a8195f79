//! What of many elements counts, brought to the front: the places of marked elements, in order.

use super::compose;
use crate::expr::{BinaryOp, ExprBuilder, Guard, Index, Literal, Reducer, Scalar};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape};

/// Most elements among which marked ones are looked for: the work grows with the square.
pub const MOST_ELEMENTS: usize = 1 << 17;

/// Marked elements.
#[derive(Clone, Copy, Debug)]
pub struct Marked {
    /// The places of the marked elements, in order, and 0 behind them: as many as there are elements.
    pub places: TensorId,
    /// How many elements are marked, a 64-bit scalar.
    pub count: TensorId,
}

/// Appends the places of the elements of `marks`, a vector of truth values, that are true.
pub fn marked(program: &mut ProgramBuilder, marks: TensorId) -> Marked {
    let total = program.ty(marks).shape[0];
    let number = |value: i64| Scalar::Literal(Literal::integer(ElementType::I64, value));
    let ones = compose::map(program, [marks], ElementType::I64, |[mark]| mark.select(number(1), number(0)));

    // How many are marked up to each element.
    let mut expr = ExprBuilder::new();
    let (own, other) = (expr.parallel(total), expr.reduced(total));
    let before = Index::axis(own).add(&Index::axis(other).times(-1));
    let guard = expr.guard(Guard::always(), before, 0, total as i64);
    let operand = expr.operand(program.ty(ones));
    let body = expr.guarded_read(operand, vec![Index::axis(other)], guard, Literal::integer(ElementType::I64, 0));
    let ranks = program.compute(expr.reduce(ElementType::I64, Reducer::Sum, body, None), &[ones]);

    let mut expr = ExprBuilder::new();
    let (own, other) = (expr.parallel(total), expr.reduced(total));
    let (marks_operand, ranks_operand) = (expr.operand(program.ty(marks)), expr.operand(program.ty(ranks)));
    let mark = expr.read(marks_operand, vec![Index::axis(other)]);
    let rank = expr.read(ranks_operand, vec![Index::axis(other)]);
    let wanted = Scalar::Index(Index::axis(own).plus(1), ElementType::I64);
    let place = Scalar::Index(Index::axis(other), ElementType::I64);
    let body = mark.binary(BinaryOp::And, rank.binary(BinaryOp::Equal, wanted)).select(place, number(0));
    let places = program.compute(expr.reduce(ElementType::I64, Reducer::Sum, body, None), &[marks, ranks]);

    let count = compose::reduce(program, ones, &[0], Reducer::Sum);
    let count = super::movement::reshape(program, count, &Shape::scalar());
    Marked { places, count }
}

/// A coordinate of places in row-major order: `⌊place / stride⌋ mod extent`.
pub fn coordinate(place: Scalar, stride: usize, extent: usize) -> Scalar {
    let number = |value: usize| Scalar::Literal(Literal::integer(ElementType::I64, value as i64));
    place.binary(BinaryOp::Divide, number(stride)).binary(BinaryOp::Remainder, number(extent.max(1)))
}
