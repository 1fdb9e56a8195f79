//! Products of local derivatives along a path from a result to what it depends on.

use crate::expr::{BinaryOp, Literal, Scalar, UnaryOp};
use crate::types::ElementType;

/// `± adjoint · scale · Π factors / Π divisors` where all conditions are as they should be, 0 elsewhere.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Chain {
    element: ElementType,
    adjoint: Scalar,
    scale: f64,
    factors: Vec<Scalar>,
    divisors: Vec<Scalar>,
    conditions: Vec<(Scalar, bool)>,
}

/// A scalar that stands for a larger one: the forward value of a statement in the place of what computes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'s> {
    /// What is computed.
    pub scalar: &'s Scalar,
    /// Where its value is read.
    pub value: &'s Scalar,
}

impl Chain {
    /// An adjoint of this type, with nothing behind it.
    pub fn new(element: ElementType, adjoint: Scalar) -> Self {
        Self { element, adjoint, scale: 1.0, factors: Vec::new(), divisors: Vec::new(), conditions: Vec::new() }
    }

    /// The chain times a factor.
    pub fn times(mut self, factor: Scalar) -> Self {
        match factor {
            Scalar::Literal(literal @ Literal::Float(..)) => self.scale *= literal.to_f64(),
            factor => self.factors.push(factor),
        }
        self
    }

    /// The chain divided by a scalar.
    pub fn over(mut self, divisor: Scalar) -> Self {
        match divisor {
            Scalar::Literal(literal @ Literal::Float(..)) if literal.to_f64() != 0.0 => self.scale /= literal.to_f64(),
            divisor => self.divisors.push(divisor),
        }
        self
    }

    /// The negative.
    pub fn negated(mut self) -> Self {
        self.scale = -self.scale;
        self
    }

    /// The chain where a condition holds, else 0.
    pub fn where_holds(mut self, condition: Scalar) -> Self {
        self.conditions.push((condition, true));
        self
    }

    /// The chain where a condition does not hold, else 0.
    pub fn where_fails(mut self, condition: Scalar) -> Self {
        self.conditions.push((condition, false));
        self
    }

    /// The chain through a conversion from a type to that of the adjoint, which is `element`.
    pub fn cast(self, element: ElementType, from: ElementType) -> Self {
        if element == from {
            return self;
        }
        let scalar = self.finish(None).scaled(self.element);
        Self::new(from, scalar.cast(element, from))
    }

    /// Whether it is 0 everywhere.
    pub fn is_zero(&self) -> bool {
        self.scale == 0.0
    }

    /// The factor by which the adjoint is multiplied, if it is a number.
    pub fn number(&self) -> Option<f64> {
        let plain = self.factors.is_empty() && self.divisors.is_empty() && self.conditions.is_empty();
        plain.then_some(self.scale)
    }

    /// The scalar that it is but for its number, with forward values read where they are known.
    fn finish(&self, known: Option<Known<'_>>) -> Finished {
        let weight = self.weight(known);
        let is_polynomial = weight.as_ref().is_none_or(is_polynomial);
        let product = match weight {
            None => self.adjoint.clone(),
            Some(weight) => self.adjoint.clone().binary(BinaryOp::Multiply, weight),
        };
        let zero = || Scalar::literal(self.element, 0.0);
        let scalar = self.conditions.iter().rev().fold(product, |inner, (condition, wanted)| {
            let condition = known.map_or_else(|| condition.clone(), |known| known.read_in(condition));
            if *wanted { condition.select(inner, zero()) } else { condition.select(zero(), inner) }
        });
        Finished { scalar, is_polynomial, scale: self.scale }
    }

    /// What the adjoint is multiplied by beside the number; `None` if nothing.
    fn weight(&self, known: Option<Known<'_>>) -> Option<Scalar> {
        let (mut factors, mut divisors) = (self.factors.clone(), self.divisors.clone());
        if let Some(Known { scalar: Scalar::Binary(BinaryOp::Divide, above, below), value }) = known {
            let place = |list: &[Scalar], wanted: &Scalar| list.iter().position(|other| other == wanted);
            if let (Some(factor), Some(divisor)) = (place(&factors, above), place(&divisors, below)) {
                factors[factor] = value.clone();
                divisors.remove(divisor);
            }
        }
        if let Some(known) = known {
            factors.iter_mut().chain(&mut divisors).for_each(|scalar| *scalar = known.read_in(scalar));
        }
        let product = |list: Vec<Scalar>| list.into_iter().reduce(|all, next| all.binary(BinaryOp::Multiply, next));
        match (product(factors), product(divisors)) {
            (factors, None) => factors,
            (None, Some(divisors)) => Some(Scalar::literal(self.element, 1.0).binary(BinaryOp::Divide, divisors)),
            (Some(factors), Some(divisors)) => Some(factors.binary(BinaryOp::Divide, divisors)),
        }
    }
}

/// The scalar that chains are.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Finished {
    /// The scalar but for a number.
    pub scalar: Scalar,
    /// The number by which it is multiplied.
    pub scale: f64,
    /// Whether it is finite, and 0 where the adjoint is, for all finite values of what it reads.
    pub is_polynomial: bool,
}

/// The sum of chains; `None` of none.
pub(super) fn sum(chains: &[Chain], known: Option<Known<'_>>) -> Option<Finished> {
    let mut distinct: Vec<Chain> = Vec::new();
    for chain in chains.iter().filter(|chain| !chain.is_zero()) {
        let same =
            |other: &&mut Chain| Chain { scale: 1.0, ..(**other).clone() } == Chain { scale: 1.0, ..chain.clone() };
        match distinct.iter_mut().find(same) {
            Some(other) => other.scale += chain.scale,
            None => distinct.push(chain.clone()),
        }
    }
    let finished = distinct.iter().filter(|chain| !chain.is_zero()).map(|chain| chain.finish(known));
    let element = chains.first()?.element;
    finished.reduce(|all, next| Finished {
        scalar: all.scaled(element).binary(BinaryOp::Add, next.scaled(element)),
        scale: 1.0,
        is_polynomial: all.is_polynomial && next.is_polynomial,
    })
}

impl Finished {
    /// The scalar, of this type, multiplied by the number.
    pub fn scaled(&self, element: ElementType) -> Scalar {
        times(self.scalar.clone(), self.scale, element)
    }
}

/// A scalar of a type times a number.
pub(super) fn times(scalar: Scalar, number: f64, element: ElementType) -> Scalar {
    match number {
        1.0 => scalar,
        -1.0 => scalar.unary(UnaryOp::Negate),
        number => scalar.binary(BinaryOp::Multiply, Scalar::literal(element, number)),
    }
}

/// Whether a scalar is finite wherever what it reads is.
fn is_polynomial(scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Literal(literal) => literal.to_f64().is_finite(),
        Scalar::Read(_) | Scalar::Index(..) | Scalar::Holds(_) | Scalar::Reduced => true,
        Scalar::Unary(UnaryOp::Negate | UnaryOp::Absolute | UnaryOp::Tanh | UnaryOp::Not, operand) => {
            is_polynomial(operand)
        }
        Scalar::Binary(op, left, right) => {
            let closed = matches!(
                op,
                BinaryOp::Add
                    | BinaryOp::Subtract
                    | BinaryOp::Multiply
                    | BinaryOp::Minimum
                    | BinaryOp::Maximum
                    | BinaryOp::Less
                    | BinaryOp::LessEqual
                    | BinaryOp::Equal
                    | BinaryOp::And
                    | BinaryOp::Or
            );
            closed && is_polynomial(left) && is_polynomial(right)
        }
        Scalar::Select(condition, then, otherwise) => {
            [condition, then, otherwise].into_iter().all(|s| is_polynomial(s))
        }
        Scalar::Unary(..) | Scalar::Cast(..) => false,
    }
}

impl Known<'_> {
    /// A scalar with the known one read wherever it is inside.
    fn read_in(self, scalar: &Scalar) -> Scalar {
        if scalar == self.scalar {
            return self.value.clone();
        }
        scalar.map_parts(&mut |part| self.read_in(part))
    }
}
