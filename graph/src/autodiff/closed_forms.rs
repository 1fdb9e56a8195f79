//! Derivatives of composed functions that operators lower to, in closed form.
//!
//! The chain rule over their parts would overflow, cancel digits, or give NaN at the ends of their domains.

use super::chain::Chain;
use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::elementwise::{log_one_plus, sigmoid};
use crate::ops::functions::acos::angle_of_cosine;
use crate::ops::functions::acosh::area_of_cosine;
use crate::ops::functions::asin::angle_of_sine;
use crate::ops::functions::atanh::area_of_tangent;
use crate::types::ElementType;

/// Recognises one of these functions; returns its argument, and `adjoint` times the derivative with respect to it.
pub(super) fn closed_form<'s>(
    scalar: &'s Scalar,
    element: ElementType,
    adjoint: &Chain,
) -> Option<(&'s Scalar, Chain)> {
    let one = || Scalar::literal(element, 1.0);
    let is = |function: fn(ElementType, Scalar) -> Scalar, x: &Scalar| *scalar == function(element, x.clone());
    let adjoint = || adjoint.clone();
    if let Some(x) = logistic_argument(scalar).filter(|x| is(sigmoid, x)) {
        // σ (1 − σ): no exponential overflows.
        let complement = one().binary(BinaryOp::Subtract, scalar.clone());
        return Some((x, adjoint().times(scalar.clone()).times(complement)));
    }
    if let Some(x) = first_choice(scalar).filter(|x| is(log_one_plus, x)) {
        // 1 / (1 + x): no difference of rounded numbers.
        return Some((x, adjoint().over(one().binary(BinaryOp::Add, x.clone()))));
    }
    // Infinite at the ends of their domains, where the chain rule subtracts infinities.
    if let Some(x) = sine(scalar).filter(|x| is(angle_of_sine, x)) {
        return Some((x, adjoint().over(cosine_of_sine(element, x))));
    }
    if let Some(x) = cosine(scalar).filter(|x| is(angle_of_cosine, x)) {
        return Some((x, adjoint().negated().over(cosine_of_sine(element, x))));
    }
    if let Some(x) = bounded_above(scalar).filter(|x| is(area_of_cosine, x)) {
        let (below, above) = (x.clone().binary(BinaryOp::Subtract, one()), x.clone().binary(BinaryOp::Add, one()));
        return Some((x, adjoint().over(below.binary(BinaryOp::Multiply, above).unary(UnaryOp::Sqrt))));
    }
    if let Some(x) = bounded_size(scalar).filter(|x| is(area_of_tangent, x)) {
        let (less, more) = (one().binary(BinaryOp::Subtract, x.clone()), one().binary(BinaryOp::Add, x.clone()));
        return Some((x, adjoint().over(less.binary(BinaryOp::Multiply, more))));
    }
    None
}

/// √((1 − x) (1 + x)).
fn cosine_of_sine(element: ElementType, x: &Scalar) -> Scalar {
    let one = || Scalar::literal(element, 1.0);
    let (less, more) = (one().binary(BinaryOp::Subtract, x.clone()), one().binary(BinaryOp::Add, x.clone()));
    less.binary(BinaryOp::Multiply, more).unary(UnaryOp::Sqrt)
}

/// Returns x of `a / (b + exp(−x))`.
fn logistic_argument(scalar: &Scalar) -> Option<&Scalar> {
    let Scalar::Binary(BinaryOp::Divide, _, below) = scalar else { return None };
    let Scalar::Binary(BinaryOp::Add, _, exponential) = &**below else { return None };
    let Scalar::Unary(UnaryOp::Exp, negative) = &**exponential else { return None };
    let Scalar::Unary(UnaryOp::Negate, x) = &**negative else { return None };
    Some(x)
}

/// Returns x of `select(a, x, b)`.
fn first_choice(scalar: &Scalar) -> Option<&Scalar> {
    let Scalar::Select(_, x, _) = scalar else { return None };
    Some(x)
}

/// Returns x of `atan(x / a)`.
fn sine(scalar: &Scalar) -> Option<&Scalar> {
    let Scalar::Unary(UnaryOp::Atan, tangent) = scalar else { return None };
    let Scalar::Binary(BinaryOp::Divide, x, _) = &**tangent else { return None };
    Some(x)
}

/// Returns x of `atan(√((a − x) / b)) · c`.
fn cosine(scalar: &Scalar) -> Option<&Scalar> {
    let Scalar::Binary(BinaryOp::Multiply, angle, _) = scalar else { return None };
    let Scalar::Unary(UnaryOp::Atan, tangent) = &**angle else { return None };
    let Scalar::Unary(UnaryOp::Sqrt, square) = &**tangent else { return None };
    let Scalar::Binary(BinaryOp::Divide, less, _) = &**square else { return None };
    let Scalar::Binary(BinaryOp::Subtract, _, x) = &**less else { return None };
    Some(x)
}

/// Returns x of `select(a < x, b, c)`.
fn bounded_above(scalar: &Scalar) -> Option<&Scalar> {
    let Scalar::Select(condition, ..) = scalar else { return None };
    let Scalar::Binary(BinaryOp::Less, _, x) = &**condition else { return None };
    Some(x)
}

/// Returns x of `select(|x| < a, b, c)`.
fn bounded_size(scalar: &Scalar) -> Option<&Scalar> {
    let Scalar::Select(condition, ..) = scalar else { return None };
    let Scalar::Binary(BinaryOp::Less, size, _) = &**condition else { return None };
    let Scalar::Unary(UnaryOp::Absolute, x) = &**size else { return None };
    Some(x)
}
