//! What element-wise operators have in common: an operator says only what it does to one element.

use std::ops::RangeInclusive;

use super::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, broadcast};
use crate::expr::{BinaryOp, Literal, Scalar, UnaryOp};
use crate::program::Ties;
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType, ValueType};

/// An operator that maps the elements of its inputs, all of one type and broadcast against each other, to one output.
pub trait ElementWise: Sized {
    const NAME: &'static str;
    const DOMAIN: &'static str = "";
    const OPSETS: RangeInclusive<i64> = 1..=super::NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const STORAGE: &'static [ElementType] = &[];

    /// What combines the operands of an operator that takes any number: what it gives of some stands for them.
    const FOLDS: Option<BinaryOp> = None;

    /// Who is handed the gradient of an extreme in [`ElementWise::body`].
    const TIES: Ties = Ties::Shared;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError>;

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        Vec::new()
    }

    /// The type of the output's elements, given the type of the inputs'.
    fn element(&self, input: ElementType) -> Result<ElementType, InferError>;

    /// The output's element as a function of the inputs', whose type is `element`.
    fn body(&self, element: ElementType, operands: Vec<Scalar>) -> Scalar;
}

impl<E: ElementWise> Operator for E {
    const NAME: &'static str = E::NAME;
    const DOMAIN: &'static str = E::DOMAIN;
    const OPSETS: RangeInclusive<i64> = E::OPSETS;
    const INPUTS: RangeInclusive<usize> = E::INPUTS;
    const STORAGE: &'static [ElementType] = E::STORAGE;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        E::from_attributes(attributes)
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        ElementWise::attributes(self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let TensorType { element, shape } = broadcast::infer(context)?;
        Ok(vec![TensorType { element: self.element(element)?, shape }.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        broadcast::dimension(context, input, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let input = context.accepted(0).element;
        let output = self.element(input).expect("inference accepted the element type");
        let map = |program: &mut ProgramBuilder| {
            let inputs = E::FOLDS.map_or_else(|| inputs.to_vec(), |op| folded(op, inputs, program));
            broadcast::map(&inputs, program, output, |operands| self.body(input, operands))
        };
        vec![program.with_ties(E::TIES, map)]
    }
}

/// Most operands that one statement combines: the depth of its expression.
const MOST_OPERANDS: usize = 64;

/// The operands of an operator with a fixed number of them.
pub fn operands<const N: usize>(operands: Vec<Scalar>) -> [Scalar; N] {
    operands.try_into().expect("inference checked the number of inputs")
}

/// All operands combined from left to right.
pub fn fold(op: BinaryOp, operands: Vec<Scalar>) -> Scalar {
    operands.into_iter().reduce(|left, right| left.binary(op, right)).expect("inference found an input")
}

/// At most as many tensors as one statement combines: the first so many are combined first, where there are more.
pub fn folded(op: BinaryOp, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<Option<TensorId>> {
    let mut left = inputs.to_vec();
    while left.len() > MOST_OPERANDS {
        let rest = left.split_off(MOST_OPERANDS);
        let element = program.ty(left[0].expect("an element-wise input is present")).element;
        let combined = broadcast::map(&left, program, element, |operands| fold(op, operands));
        left = std::iter::once(Some(combined)).chain(rest).collect();
    }
    left
}

/// The same type, if it is floating point.
pub fn floating(element: ElementType) -> Result<ElementType, InferError> {
    accept(element, element.is_float() && !element.is_storage())
}

/// The same type, if it is a number.
pub fn number(element: ElementType) -> Result<ElementType, InferError> {
    accept(element, element != ElementType::Bool && !element.is_storage())
}

/// The same type, if it is an integer.
pub fn integer(element: ElementType) -> Result<ElementType, InferError> {
    accept(element, element.is_integer() && !element.is_storage())
}

/// The same type, if it is the truth values'.
pub fn truth(element: ElementType) -> Result<ElementType, InferError> {
    accept(element, element == ElementType::Bool)
}

/// The type that elements of storage are computed in: singles or 32-bit integers; other types are their own.
pub fn widened(element: ElementType) -> ElementType {
    match (element.is_storage(), element.is_float()) {
        (true, true) => ElementType::F32,
        (true, false) => ElementType::I32,
        (false, _) => element,
    }
}

fn accept(element: ElementType, accepted: bool) -> Result<ElementType, InferError> {
    if accepted { Ok(element) } else { Err(InferError::Mismatch(format!("element type {element} is not accepted"))) }
}

/// Whether `x` is the extreme element `found` of those that it is one of; a NaN is, because it makes the extreme one.
pub fn is_extreme(element: ElementType, x: Scalar, found: Scalar) -> Scalar {
    let is_equal = x.clone().binary(BinaryOp::Equal, found);
    if !element.is_float() {
        return is_equal;
    }
    is_equal.binary(BinaryOp::Or, x.clone().binary(BinaryOp::Equal, x).unary(UnaryOp::Not))
}

/// 1 / (1 + e⁻ˣ).
pub fn sigmoid(element: ElementType, operand: Scalar) -> Scalar {
    let one = Scalar::literal(element, 1.0);
    let exp = operand.unary(UnaryOp::Negate).unary(UnaryOp::Exp);
    one.clone().binary(BinaryOp::Divide, one.binary(BinaryOp::Add, exp))
}

/// ln(1 + x) for x ≥ 0, as exact where x vanishes beside 1: the error of rounding 1 + x is in both factors and cancels.
pub fn log_one_plus(element: ElementType, x: Scalar) -> Scalar {
    let one = || Scalar::literal(element, 1.0);
    let sum = one().binary(BinaryOp::Add, x.clone());
    let rounded = sum.clone().binary(BinaryOp::Subtract, one());
    let scale = x.clone().binary(BinaryOp::Divide, rounded);
    let log = sum.clone().unary(UnaryOp::Log).binary(BinaryOp::Multiply, scale);
    sum.binary(BinaryOp::Equal, one()).select(x, log)
}

/// The literal that a tensor of one element holds.
pub fn constant(value: &Tensor) -> Scalar {
    Scalar::Literal(literal(value))
}

/// The same, not as a scalar.
pub fn literal(value: &Tensor) -> Literal {
    let element = value.element();
    if element.is_float() {
        Literal::new(element, value.to_f64()[0])
    } else {
        Literal::integer(element, value.to_i64()[0])
    }
}
