//! `ArrayFeatureExtractor` of the domain `ai.onnx.ml`: elements of the last dimension by their places.

use std::ops::RangeInclusive;

use super::DOMAIN;
use crate::expr::{ExprBuilder, Index};
use crate::ops::{AttributeError, AttributeReader, Context, InferError, Operator, indices, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, TensorType, ValueType};

/// The elements of the last dimension at the places that the second input names. One dimension becomes one row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrayFeatureExtractor;

impl Operator for ArrayFeatureExtractor {
    const NAME: &'static str = "ArrayFeatureExtractor";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (data, places) = (context.tensor(0)?, context.tensor(1)?);
        let count = places.shape.checked_elements().unwrap_or(0);
        let Some((&extent, outer)) = data.shape.split_last().filter(|(extent, _)| **extent > 0 && count > 0) else {
            return Err(InferError::Mismatch(format!("{places} names no elements of {data}")));
        };
        indices::accept(context, 1, extent)?;
        let rows = if outer.is_empty() { &[1][..] } else { outer };
        let shape: Shape = rows.iter().copied().chain([count]).collect();
        Ok(vec![TensorType { element: data.element, shape }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (data, output) = (context.accepted(0), self.output(context));
        let [data_id, places] = [0, 1].map(|input| inputs[input].expect("inference found the inputs"));
        let count = output.shape.last().copied().unwrap_or(0);
        let places = movement::reshape(program, places, &[count].into());
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&output.shape);
        let (source, named) = (expr.operand(data), expr.operand(program.ty(places)));
        let last = axes.len() - 1;
        let place = expr.read(named, vec![Index::axis(axes[last])]);
        let place = expr.indirect(&place, data.shape[data.shape.len() - 1]);
        let outer = axes[..data.shape.len() - 1].iter().map(|&axis| Index::axis(axis));
        let body = expr.read(source, outer.chain([place]).collect());
        vec![program.compute(expr.map(data.element, body), &[data_id, places])]
    }
}
