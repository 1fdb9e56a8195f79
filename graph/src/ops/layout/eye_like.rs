//! `EyeLike`: ones on a diagonal.

use std::ops::RangeInclusive;

use crate::expr::{ExprBuilder, Guard, Index, Scalar};
use crate::ops::cast::{element_number, element_type};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// A matrix of the input's shape: 1 on the diagonal `k` above the main one, 0 elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EyeLike {
    element: Option<ElementType>,
    diagonal: i64,
}

impl Operator for EyeLike {
    const NAME: &'static str = "EyeLike";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let element = attributes.int("dtype")?.map(|number| {
            let reason = || format!("element type {number} is not supported");
            element_type(number).ok_or_else(|| AttributeError::Value { name: "dtype", reason: reason() })
        });
        Ok(Self { element: element.transpose()?, diagonal: attributes.int("k")?.unwrap_or(0) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let element = self.element.map(|element| ("dtype", Attribute::Int(element_number(element))));
        element.into_iter().chain([("k", Attribute::Int(self.diagonal))]).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        if data.shape.len() != 2 {
            return Err(InferError::Mismatch(format!("{data} is no matrix")));
        }
        let element = self.element.unwrap_or(data.element);
        Ok(vec![TensorType { element, shape: data.shape.clone() }.into()])
    }

    fn lower(&self, context: &Context, _: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let output = self.output(context);
        let reach = (output.shape[0] + output.shape[1]) as i64;
        let diagonal = self.diagonal.clamp(-reach, reach);
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&output.shape);
        let distance = Index::axis(axes[1]).add(&Index::axis(axes[0]).times(-1));
        let guard = expr.guard(Guard::always(), distance, diagonal, diagonal + 1);
        let [one, zero] = [1.0, 0.0].map(|value| Scalar::literal(output.element, value));
        let body = if guard.is_always() { one } else { Scalar::Holds(guard).select(one, zero) };
        vec![program.compute(expr.map(output.element, body), &[])]
    }
}
