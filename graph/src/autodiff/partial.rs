//! Partial derivatives of a scalar with respect to what it reads.

use super::chain::Chain;
use super::closed_forms::closed_form;
use crate::expr::{BinaryOp, Literal, ReadId, Scalar, TensorExpr, UnaryOp};
use crate::program::Ties;
use crate::types::ElementType;

/// A scalar whose partial derivatives are taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Differentiated<'e> {
    /// The expression that the scalar belongs to.
    pub expr: &'e TensorExpr,
    pub scalar: &'e Scalar,
    /// Who is handed the gradient of an extreme.
    pub ties: Ties,
}

impl Differentiated<'_> {
    /// For each occurrence of a floating-point read, `adjoint` times the derivative with respect to it.
    ///
    /// At kinks they are PyTorch's: 0 of `|x|` at 0, and what [`Ties`] says of extremes.
    pub fn partials(&self, adjoint: Chain) -> Vec<(ReadId, Chain)> {
        let mut found = Vec::new();
        self.visit(self.scalar, adjoint, &mut found);
        found
    }

    fn visit(&self, scalar: &Scalar, adjoint: Chain, found: &mut Vec<(ReadId, Chain)>) {
        let element = self.expr.element_of(scalar);
        if !element.is_float() || !self.has_read(scalar) {
            return;
        }
        if let Some((x, inner)) = closed_form(scalar, element, &adjoint) {
            return self.visit(x, inner, found);
        }
        match scalar {
            Scalar::Literal(_) | Scalar::Index(..) | Scalar::Holds(_) | Scalar::Reduced => {}
            Scalar::Read(read) => found.push((*read, adjoint)),
            Scalar::Cast(_, operand) => {
                let from = self.expr.element_of(operand);
                self.visit(operand, adjoint.cast(element, from), found);
            }
            Scalar::Select(condition, then, otherwise) => {
                self.visit(then, adjoint.clone().where_holds((**condition).clone()), found);
                self.visit(otherwise, adjoint.where_fails((**condition).clone()), found);
            }
            Scalar::Unary(op, operand) => {
                if let Some(inner) = unary(*op, operand, scalar, element, adjoint) {
                    self.visit(operand, inner, found);
                }
            }
            Scalar::Binary(op, left, right) => self.binary(scalar, (*op, left, right), element, adjoint, found),
        }
    }

    fn binary(
        &self,
        scalar: &Scalar,
        (op, left, right): (BinaryOp, &Scalar, &Scalar),
        element: ElementType,
        adjoint: Chain,
        found: &mut Vec<(ReadId, Chain)>,
    ) {
        let literal = |value: f64| Scalar::literal(element, value);
        match op {
            BinaryOp::Add => {
                self.visit(left, adjoint.clone(), found);
                self.visit(right, adjoint, found);
            }
            BinaryOp::Subtract => {
                self.visit(left, adjoint.clone(), found);
                self.visit(right, adjoint.negated(), found);
            }
            BinaryOp::Multiply => {
                self.visit(left, adjoint.clone().times(right.clone()), found);
                self.visit(right, adjoint.times(left.clone()), found);
            }
            BinaryOp::Divide => {
                self.visit(left, adjoint.clone().over(right.clone()), found);
                self.visit(right, adjoint.negated().times(scalar.clone()).over(right.clone()), found);
            }
            BinaryOp::Remainder => {
                self.visit(left, adjoint.clone(), found);
                let quotient = left.clone().binary(BinaryOp::Divide, right.clone());
                let down = quotient.clone().unary(UnaryOp::Floor);
                let negative = quotient.clone().binary(BinaryOp::Less, literal(0.0));
                let whole = negative.select(quotient.unary(UnaryOp::Ceil), down);
                self.visit(right, adjoint.negated().times(whole), found);
            }
            BinaryOp::Power => self.power(scalar, left, right, element, adjoint, found),
            BinaryOp::Minimum | BinaryOp::Maximum => self.extreme(op, left, right, element, adjoint, found),
            BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Equal
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight => {}
        }
    }

    fn power(
        &self,
        scalar: &Scalar,
        base: &Scalar,
        exponent: &Scalar,
        element: ElementType,
        adjoint: Chain,
        found: &mut Vec<(ReadId, Chain)>,
    ) {
        let literal = |value: f64| Scalar::literal(element, value);
        let slope = adjoint.clone().times(exponent.clone());
        let inner = match known(exponent) {
            Some(0.0) => None,
            Some(1.0) => Some(slope),
            Some(2.0) => Some(slope.times(base.clone())),
            Some(0.5) => Some(slope.over(scalar.clone())),
            Some(number) => Some(slope.times(base.clone().binary(BinaryOp::Power, literal(number - 1.0)))),
            None => {
                let lower = exponent.clone().binary(BinaryOp::Subtract, literal(1.0));
                let flat = exponent.clone().binary(BinaryOp::Equal, literal(0.0));
                Some(slope.times(base.clone().binary(BinaryOp::Power, lower)).where_fails(flat))
            }
        };
        if let Some(inner) = inner {
            self.visit(base, inner, found);
        }
        let growth = adjoint.times(scalar.clone()).times(base.clone().unary(UnaryOp::Log));
        let flat = base
            .clone()
            .binary(BinaryOp::Equal, literal(0.0))
            .binary(BinaryOp::And, literal(0.0).binary(BinaryOp::LessEqual, exponent.clone()));
        self.visit(exponent, growth.where_fails(flat), found);
    }

    fn extreme(
        &self,
        op: BinaryOp,
        left: &Scalar,
        right: &Scalar,
        element: ElementType,
        adjoint: Chain,
        found: &mut Vec<(ReadId, Chain)>,
    ) {
        let beats = |winner: &Scalar, loser: &Scalar, comparison: BinaryOp| match op {
            BinaryOp::Minimum => winner.clone().binary(comparison, loser.clone()),
            _ => loser.clone().binary(comparison, winner.clone()),
        };
        for (own, other, is_first) in [(left, right, true), (right, left, false)] {
            let adjoint = adjoint.clone();
            let own_share = match self.ties {
                Ties::Cancelled => continue,
                Ties::First if is_first => adjoint.where_holds(beats(own, other, BinaryOp::LessEqual)),
                Ties::Last if !is_first => adjoint.where_holds(beats(own, other, BinaryOp::LessEqual)),
                Ties::First | Ties::Last => adjoint.where_holds(beats(own, other, BinaryOp::Less)),
                Ties::Shared => {
                    let tie = own.clone().binary(BinaryOp::Equal, other.clone());
                    let share = tie.select(Scalar::literal(element, 0.5), Scalar::literal(element, 1.0));
                    adjoint.times(share).where_holds(beats(own, other, BinaryOp::LessEqual))
                }
            };
            self.visit(own, own_share, found);
        }
    }

    /// Whether a floating-point read is inside.
    fn has_read(&self, scalar: &Scalar) -> bool {
        let mut found = false;
        scalar.visit(&mut |inner| {
            found |= matches!(inner, Scalar::Read(_)) && self.expr.element_of(inner).is_float();
        });
        found
    }
}

/// `adjoint` times the derivative of a function at its operand, whose value is `scalar`; `None` where it is 0.
fn unary(op: UnaryOp, operand: &Scalar, scalar: &Scalar, element: ElementType, adjoint: Chain) -> Option<Chain> {
    let literal = |value: f64| Scalar::literal(element, value);
    let square = |of: &Scalar| of.clone().binary(BinaryOp::Multiply, of.clone());
    match op {
        UnaryOp::Negate => Some(adjoint.negated()),
        UnaryOp::Absolute => {
            let below = operand.clone().binary(BinaryOp::Less, literal(0.0)).select(literal(-1.0), literal(0.0));
            let sign = literal(0.0).binary(BinaryOp::Less, operand.clone()).select(literal(1.0), below);
            Some(adjoint.times(sign))
        }
        UnaryOp::Exp => Some(adjoint.times(scalar.clone())),
        UnaryOp::Log => Some(adjoint.over(operand.clone())),
        UnaryOp::Sqrt => Some(adjoint.times(literal(0.5)).over(scalar.clone())),
        UnaryOp::Tanh => Some(adjoint.times(literal(1.0).binary(BinaryOp::Subtract, square(scalar)))),
        UnaryOp::Erf => {
            let bell = square(operand).unary(UnaryOp::Negate).unary(UnaryOp::Exp);
            Some(adjoint.times(literal(std::f64::consts::FRAC_2_SQRT_PI)).times(bell))
        }
        UnaryOp::Sin => Some(adjoint.times(operand.clone().unary(UnaryOp::Cos))),
        UnaryOp::Cos => Some(adjoint.negated().times(operand.clone().unary(UnaryOp::Sin))),
        UnaryOp::Atan => Some(adjoint.over(literal(1.0).binary(BinaryOp::Add, square(operand)))),
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven | UnaryOp::Not => None,
    }
}

fn known(scalar: &Scalar) -> Option<f64> {
    match scalar {
        Scalar::Literal(literal @ Literal::Float(..)) => Some(literal.to_f64()),
        _ => None,
    }
}
