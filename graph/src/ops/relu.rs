//! `Relu`: max(x, 0).

use super::{AttributeError, AttributeReader, Context, InferError, Operator, broadcast};
use crate::expr::{BinaryOp, Scalar};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// max(x, 0), element-wise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relu;

impl Operator for Relu {
    const NAME: &'static str = "Relu";

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        broadcast::infer_as(context, |element| element)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let element = context.accepted(0).element;
        let body = |reads: Vec<Scalar>| {
            let zero = Scalar::literal(element, 0.0);
            reads.into_iter().fold(zero, |zero, read| read.binary(BinaryOp::Maximum, zero))
        };
        vec![broadcast::map(inputs, program, element, body)]
    }
}
