//! Boxes in a plane, and how much two of them overlap.

use crate::expr::{BinaryOp, Scalar};
use crate::types::ElementType;

/// What the four numbers of a box are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `y, x` of one corner, then of the opposite one.
    Corners,
    /// `x, y` of the centre, then width and height.
    Center,
}

/// The least and the largest coordinate along one direction.
struct Span {
    low: Scalar,
    high: Scalar,
}

fn number(value: f64) -> Scalar {
    Scalar::literal(ElementType::F32, value)
}

fn span(form: Form, sides: &[Scalar; 4], direction: usize) -> Span {
    let (first, second) = (sides[direction].clone(), sides[direction + 2].clone());
    match form {
        Form::Corners => Span {
            low: first.clone().binary(BinaryOp::Minimum, second.clone()),
            high: first.binary(BinaryOp::Maximum, second),
        },
        Form::Center => {
            let half = second.binary(BinaryOp::Divide, number(2.0));
            Span {
                low: first.clone().binary(BinaryOp::Subtract, half.clone()),
                high: first.binary(BinaryOp::Add, half),
            }
        }
    }
}

/// What of a box decides how it overlaps others: the least and the largest coordinate along each direction, and its area.
pub struct Extent {
    low: [Scalar; 2],
    high: [Scalar; 2],
    area: Scalar,
}

/// The numbers of an extent.
pub const NUMBERS: usize = 5;

impl Extent {
    /// Of the box that these four numbers are.
    pub fn of(form: Form, sides: &[Scalar; 4]) -> Self {
        let [first, second] = [0, 1].map(|direction| span(form, sides, direction));
        let length = |span: &Span| span.high.clone().binary(BinaryOp::Subtract, span.low.clone());
        let area = length(&first).binary(BinaryOp::Multiply, length(&second));
        Self { low: [first.low, second.low], high: [first.high, second.high], area }
    }

    /// Its numbers, in the order in which [`Extent::from_numbers`] takes them.
    pub fn numbers(self) -> [Scalar; NUMBERS] {
        let ([y, x], [top, right]) = (self.low, self.high);
        [y, x, top, right, self.area]
    }

    /// Of these numbers.
    pub fn from_numbers([y, x, top, right, area]: [Scalar; NUMBERS]) -> Self {
        Self { low: [y, x], high: [top, right], area }
    }
}

/// Whether the intersection of two boxes of singles is more than a threshold of their union.
pub fn overlap(one: Extent, other: Extent, threshold: Scalar) -> Scalar {
    let mut shared = number(1.0);
    let mut meets = Scalar::literal(ElementType::Bool, 1.0);
    let highs = one.high.into_iter().zip(other.high);
    for ((a_low, b_low), (a_high, b_high)) in one.low.into_iter().zip(other.low).zip(highs) {
        let (low, high) = (a_low.binary(BinaryOp::Maximum, b_low), a_high.binary(BinaryOp::Minimum, b_high));
        meets = meets.binary(BinaryOp::And, low.clone().binary(BinaryOp::Less, high.clone()));
        shared = shared.binary(BinaryOp::Multiply, high.binary(BinaryOp::Subtract, low));
    }
    let is_positive = |x: &Scalar| number(0.0).binary(BinaryOp::Less, x.clone());
    let exist = is_positive(&one.area).binary(BinaryOp::And, is_positive(&other.area));
    let both = one.area.binary(BinaryOp::Add, other.area).binary(BinaryOp::Subtract, shared.clone());
    let exceeds = threshold.binary(BinaryOp::Less, shared.binary(BinaryOp::Divide, both));
    meets.binary(BinaryOp::And, exist).binary(BinaryOp::And, exceeds)
}
