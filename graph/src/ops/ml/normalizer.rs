//! `Normalizer` of the domain `ai.onnx.ml`: rows divided by their norms.

use std::ops::RangeInclusive;

use super::{DOMAIN, rows};
use crate::expr::{BinaryOp, Reducer, Scalar, UnaryOp};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, compose};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// Rows of features as singles, each divided by a norm; a row whose norm is 0 stays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Normalizer {
    norm: Norm,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Norm {
    /// The largest element.
    Max,
    /// The sum of absolute values.
    One,
    /// The root of the sum of squares.
    Two,
}

impl Norm {
    const NAMES: [(Self, &'static str); 3] = [(Self::Max, "MAX"), (Self::One, "L1"), (Self::Two, "L2")];
}

impl Operator for Normalizer {
    const NAME: &'static str = "Normalizer";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = attributes.string("norm")?.unwrap_or_else(|| "MAX".to_owned());
        let norm = Norm::NAMES.iter().find(|(_, known)| *known == name).map(|(norm, _)| *norm);
        let reason = || format!("`{name}` is unknown");
        Ok(Self { norm: norm.ok_or_else(|| AttributeError::Value { name: "norm", reason: reason() })? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let name = Norm::NAMES.iter().find(|(norm, _)| *norm == self.norm).map_or("", |(_, name)| name);
        vec![("norm", Attribute::String(name.to_owned()))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        rows::extents(context)?;
        Ok(vec![TensorType { element: ElementType::F32, shape: context.tensor(0)?.shape.clone() }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = compose::cast(program, inputs[0].expect("inference found the input"), ElementType::F32);
        let last = context.accepted(0).shape.len() - 1;
        let (parts, reducer) = match self.norm {
            Norm::Max => (data, Reducer::Maximum),
            Norm::One => {
                let sizes = compose::map(program, [data], ElementType::F32, |[x]| x.unary(UnaryOp::Absolute));
                (sizes, Reducer::Sum)
            }
            Norm::Two => {
                let squares =
                    compose::map(program, [data], ElementType::F32, |[x]| x.clone().binary(BinaryOp::Multiply, x));
                (squares, Reducer::Sum)
            }
        };
        let total = compose::reduce(program, parts, &[last], reducer);
        vec![compose::map(program, [data, total], ElementType::F32, |[x, total]| {
            let norm = if self.norm == Norm::Two { total.unary(UnaryOp::Sqrt) } else { total };
            let is_zero = norm.clone().binary(BinaryOp::Equal, Scalar::literal(ElementType::F32, 0.0));
            is_zero.select(x.clone(), x.binary(BinaryOp::Divide, norm))
        })]
    }
}
