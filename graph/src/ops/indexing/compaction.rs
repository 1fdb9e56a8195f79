//! What of many elements counts, brought to the front: the places of marked elements, in order.

use crate::expr::{BinaryOp, ExprBuilder, Index, Literal, Reducer, Scalar};
use crate::ops::prefix::Prefix;
use crate::ops::{InferError, compose, movement, ordering};
use crate::procedure::sort::{Direction, LONGEST_ROW};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape};

/// Most elements among which marked ones are looked for by counting those before each. Among more they are sorted to the front.
const MOST_COUNTED: usize = 1 << 10;

/// Marked elements.
#[derive(Clone, Copy, Debug)]
pub struct Marked {
    /// The places of the marked elements, in order, and some places behind them: as many as there are elements.
    pub places: TensorId,
    /// How many elements are marked, a 64-bit scalar.
    pub count: TensorId,
}

fn number(value: i64) -> Scalar {
    Scalar::Literal(Literal::integer(ElementType::I64, value))
}

/// The number of elements, if so many can be sorted.
pub fn accept(elements: Option<usize>, what: impl std::fmt::Display) -> Result<usize, InferError> {
    let places = elements.filter(|&elements| elements <= LONGEST_ROW);
    places.ok_or_else(|| InferError::Unsupported(format!("{what} has more than {LONGEST_ROW} elements")))
}

/// Appends the places of the elements of `marks`, a vector of truth values, that are true.
pub fn marked(program: &mut ProgramBuilder, marks: TensorId) -> Marked {
    let total = program.ty(marks).shape[0];
    let ones = compose::map(program, [marks], ElementType::I64, |[mark]| mark.select(number(1), number(0)));
    let places = match total {
        0..=MOST_COUNTED => counted(program, marks, ones),
        _ => ordering::first_places(program, marks, Direction::Descending, total),
    };
    let count = compose::reduce(program, ones, &[0], Reducer::Sum);
    let count = movement::reshape(program, count, &Shape::scalar());
    Marked { places, count }
}

/// Appends the places of marked elements, and 0 behind them.
fn counted(program: &mut ProgramBuilder, marks: TensorId, ones: TensorId) -> TensorId {
    let total = program.ty(marks).shape[0];
    let ranks = sums_up_to(program, ones);
    let mut expr = ExprBuilder::new();
    let (own, other) = (expr.parallel(total), expr.reduced(total));
    let (marks_operand, ranks_operand) = (expr.operand(program.ty(marks)), expr.operand(program.ty(ranks)));
    let mark = expr.read(marks_operand, vec![Index::axis(other)]);
    let rank = expr.read(ranks_operand, vec![Index::axis(other)]);
    let wanted = Scalar::Index(Index::axis(own).plus(1), ElementType::I64);
    let place = Scalar::Index(Index::axis(other), ElementType::I64);
    let body = mark.binary(BinaryOp::And, rank.binary(BinaryOp::Equal, wanted)).select(place, number(0));
    program.compute(expr.reduce(ElementType::I64, Reducer::Sum, body, None), &[marks, ranks])
}

/// Appends the sums of the elements of a vector of 64-bit integers up to each element.
pub fn sums_up_to(program: &mut ProgramBuilder, values: TensorId) -> TensorId {
    Prefix::PLAIN.along(program, values, 0, Reducer::Sum)
}

/// A coordinate of places in row-major order: `⌊place / stride⌋ mod extent`.
pub fn coordinate(place: Scalar, stride: usize, extent: usize) -> Scalar {
    let number = |value: usize| Scalar::Literal(Literal::integer(ElementType::I64, value as i64));
    place.binary(BinaryOp::Divide, number(stride)).binary(BinaryOp::Remainder, number(extent.max(1)))
}
