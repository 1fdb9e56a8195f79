//! `BitCast`: the same bits as elements of another type.

use std::ops::RangeInclusive;

use crate::ops::cast::{element_number, element_type};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, compose};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType, ValueType};

/// The bits of every element read as another type of the same width. Those of constants may be read as any; of computed tensors
/// integers and truth values as others, since that is how integers wrap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BitCast {
    to: ElementType,
}

impl BitCast {
    /// The bits of a constant input under the output's type.
    fn folded(&self, context: &Context) -> Option<Tensor> {
        let constant = context.fact(0)?.value.as_ref()?;
        Tensor::from_bytes(TensorType { element: self.to, shape: constant.shape().clone() }, constant.bytes().clone())
    }
}

impl Operator for BitCast {
    const NAME: &'static str = "BitCast";
    const OPSETS: RangeInclusive<i64> = 26..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let number = attributes.int("to")?.ok_or(AttributeError::Missing("to"))?;
        let reason = || format!("element type {number} is not supported");
        let to = element_type(number).ok_or_else(|| AttributeError::Value { name: "to", reason: reason() })?;
        Ok(Self { to })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("to", Attribute::Int(element_number(self.to)))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        if data.element.bytes() != self.to.bytes() {
            let reason = format!("{} and {} elements have different widths", data.element, self.to);
            return Err(InferError::Mismatch(reason));
        }
        let wraps = !data.element.is_float() && !self.to.is_float() || data.element == self.to;
        if !wraps && self.folded(context).is_none() {
            let reason = format!("the bits of computed {} as {} are not supported", data.element, self.to);
            return Err(InferError::Unsupported(reason));
        }
        Ok(vec![TensorType { element: self.to, shape: data.shape.clone() }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        vec![match self.folded(context) {
            Some(constant) => program.constant(constant),
            None => compose::cast(program, inputs[0].expect("inference found the input"), self.to),
        }]
    }
}
