//! `CumSum`: sums of all elements up to each one.

use std::ops::RangeInclusive;

use super::prefix::Prefix;
use super::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::expr::{BinaryOp, ExprBuilder, Index, Literal, Reducer, Scalar, UnaryOp};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, ValueType};

/// The sum of the elements along an axis, a constant second input, up to each element or from each on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CumSum {
    prefix: Prefix,
}

impl CumSum {
    /// The sums up to each element, itself included.
    pub fn plain() -> Self {
        Self { prefix: Prefix::PLAIN }
    }
}

impl Operator for CumSum {
    const NAME: &'static str = "CumSum";
    const OPSETS: RangeInclusive<i64> = 11..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { prefix: Prefix::from_attributes(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.prefix.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        Prefix::dimension(context)?;
        Ok(vec![context.tensor(0)?.clone().into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        self.prefix.follows(context, input, dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let sums = self.prefix.lower(context, inputs, program, Reducer::Sum);
        let data = inputs[0].expect("inference found the input");
        if !context.accepted(0).element.is_float() || self.prefix.is_exclusive() {
            return vec![sums];
        }
        let dimension = Prefix::dimension(context).expect("inference accepted the axis");
        vec![self.with_negative_zeros(program, data, sums, dimension)]
    }
}

impl CumSum {
    /// Sums begin with 0, which is positive. Those of negative zeros alone are negative: the first element is taken as it is.
    fn with_negative_zeros(
        &self,
        program: &mut ProgramBuilder,
        data: TensorId,
        sums: TensorId,
        dimension: usize,
    ) -> TensorId {
        let ty = program.ty(data).clone();
        let number = |value: f64| Scalar::literal(ty.element, value);
        let others = self.first_other(program, data, dimension);
        let mut expr = ExprBuilder::new();
        let index: Vec<Index> = expr.parallels(&ty.shape).into_iter().map(Index::axis).collect();
        let place = Scalar::Index(index[dimension].clone(), ElementType::I64);
        let mut of_row = index.clone();
        of_row[dimension] = Index::constant(0);
        let (sums_operand, others_operand) = (expr.operand(&ty), expr.operand(program.ty(others)));
        let (sum, other) = (expr.read(sums_operand, index), expr.read(others_operand, of_row));
        let (near, far) = if self.prefix.is_reverse() { (other, place) } else { (place, other) };
        // Of a zero, 0 − 0 is positive and −0 − 0 negative; no other sum changes.
        let zero = near.binary(BinaryOp::Less, far).select(number(0.0), number(-0.0));
        let body = zero.binary(BinaryOp::Subtract, sum).unary(UnaryOp::Negate);
        program.compute(expr.map(ty.element, body), &[sums, others])
    }

    /// The place of the first element of every row that is no negative zero, or of the last in reverse.
    fn first_other(&self, program: &mut ProgramBuilder, data: TensorId, dimension: usize) -> TensorId {
        let ty = program.ty(data).clone();
        let number = |value: f64| Scalar::literal(ty.element, value);
        let mut shape = ty.shape.to_vec();
        let extent = std::mem::replace(&mut shape[dimension], 1);
        let mut expr = ExprBuilder::new();
        let mut index: Vec<Index> = expr.parallels(&shape).into_iter().map(Index::axis).collect();
        index[dimension] = Index::axis(expr.reduced(extent));
        let place = Scalar::Index(index[dimension].clone(), ElementType::I64);
        let operand = expr.operand(&ty);
        let element = expr.read(operand, index);
        let below = number(1.0).binary(BinaryOp::Divide, element.clone()).binary(BinaryOp::Less, number(0.0));
        let is_negative_zero = element.binary(BinaryOp::Equal, number(0.0)).binary(BinaryOp::And, below);
        let (reducer, none) = match self.prefix.is_reverse() {
            true => (Reducer::Maximum, -1),
            false => (Reducer::Minimum, extent as i64),
        };
        let body = is_negative_zero.select(Scalar::Literal(Literal::integer(ElementType::I64, none)), place);
        program.compute(expr.reduce(ElementType::I64, reducer, body, None), &[data])
    }
}
