//! What hyperbolic functions and their inverses have in common.

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::types::ElementType;

/// What the bound of a series is for doubles, as a share of that for singles.
const DOUBLE_SHARE: f64 = 0.05;

/// x · (c₀ + c₁x² + c₂x⁴ + …) where |x| is below `bound`, and `far` elsewhere, where a closed formula cancels little.
///
/// The bound is such that the first coefficient left out does not matter to singles. It is closer to 0 for doubles.
pub(in crate::ops) fn odd_series(
    element: ElementType,
    x: &Scalar,
    coefficients: &[f64],
    bound: f64,
    far: Scalar,
) -> Scalar {
    let bound = if element == ElementType::F64 { bound * DOUBLE_SHARE } else { bound };
    let square = x.clone().binary(BinaryOp::Multiply, x.clone());
    let (last, others) = coefficients.split_last().expect("a series has coefficients");
    let sum = others.iter().rev().fold(Scalar::literal(element, *last), |sum, coefficient| {
        let scaled = sum.binary(BinaryOp::Multiply, square.clone());
        scaled.binary(BinaryOp::Add, Scalar::literal(element, *coefficient))
    });
    let is_near = x.clone().unary(UnaryOp::Absolute).binary(BinaryOp::Less, Scalar::literal(element, bound));
    is_near.select(x.clone().binary(BinaryOp::Multiply, sum), far)
}

/// eˣ / 2, which overflows only where the result does.
pub(in crate::ops) fn half_exponential(element: ElementType, x: Scalar) -> Scalar {
    let half = Scalar::literal(element, 0.5);
    let root = x.binary(BinaryOp::Multiply, half.clone()).unary(UnaryOp::Exp);
    root.clone().binary(BinaryOp::Multiply, half).binary(BinaryOp::Multiply, root)
}

/// ln(x + √`radicand`) of x ≥ 0, or ln x + ln 2 where that is the same and a square may overflow.
pub(in crate::ops) fn logarithm_of_sum(element: ElementType, x: Scalar, radicand: Scalar) -> Scalar {
    let sum = x.clone().binary(BinaryOp::Add, radicand.unary(UnaryOp::Sqrt)).unary(UnaryOp::Log);
    let doubled = x.clone().unary(UnaryOp::Log).binary(BinaryOp::Add, Scalar::literal(element, std::f64::consts::LN_2));
    let largest = if element.is_half() { LARGEST_HALF } else { LARGEST };
    Scalar::literal(element, largest).binary(BinaryOp::Less, x).select(doubled, sum)
}

/// Beyond these, 1 is lost beside the square of a double, and of a half.
const LARGEST: f64 = 1e9;
const LARGEST_HALF: f64 = 100.0;
