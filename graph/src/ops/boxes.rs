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

/// Whether the intersection of two boxes of singles is more than a threshold of their union.
pub fn overlap(form: Form, one: [Scalar; 4], other: [Scalar; 4], threshold: Scalar) -> Scalar {
    let length = |low: Scalar, high: Scalar| high.binary(BinaryOp::Subtract, low);
    let mut areas = [number(1.0), number(1.0), number(1.0)];
    let mut meets = Scalar::literal(ElementType::Bool, 1.0);
    for direction in 0..2 {
        let (a, b) = (span(form, &one, direction), span(form, &other, direction));
        let low = a.low.clone().binary(BinaryOp::Maximum, b.low.clone());
        let high = a.high.clone().binary(BinaryOp::Minimum, b.high.clone());
        meets = meets.binary(BinaryOp::And, low.clone().binary(BinaryOp::Less, high.clone()));
        let lengths = [length(a.low, a.high), length(b.low, b.high), length(low, high)];
        for (area, length) in areas.iter_mut().zip(lengths) {
            *area = area.clone().binary(BinaryOp::Multiply, length);
        }
    }
    let [area, other_area, shared] = areas;
    let is_positive = |x: &Scalar| number(0.0).binary(BinaryOp::Less, x.clone());
    let exist = is_positive(&area).binary(BinaryOp::And, is_positive(&other_area));
    let both = area.binary(BinaryOp::Add, other_area).binary(BinaryOp::Subtract, shared.clone());
    let exceeds = threshold.binary(BinaryOp::Less, shared.binary(BinaryOp::Divide, both));
    meets.binary(BinaryOp::And, exist).binary(BinaryOp::And, exceeds)
}
