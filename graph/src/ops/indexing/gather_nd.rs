//! `GatherND`: slices picked by tuples of indices.

use std::ops::RangeInclusive;

use crate::expr::{ExprBuilder, Index};
use crate::ops::indices::Tuples;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, TensorType, ValueType};

/// The slices of the first input that the tuples of the second's last dimension name. The first `batch_dims` dimensions of
/// both go together. A negative index counts from the back; one that lies outside is an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GatherNd {
    batch: usize,
}

impl Operator for GatherNd {
    const NAME: &'static str = "GatherND";
    const OPSETS: RangeInclusive<i64> = 11..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let batch = attributes.int("batch_dims")?.unwrap_or(0);
        let reason = || format!("{batch} dimensions are not possible");
        let batch =
            usize::try_from(batch).map_err(|_| AttributeError::Value { name: "batch_dims", reason: reason() })?;
        Ok(Self { batch })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("batch_dims", Attribute::Int(self.batch as i64))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (data, indices) = (context.tensor(0)?, context.tensor(1)?);
        let tuples = Tuples::accept(context, self.batch)?;
        let picked = &indices.shape[..indices.shape.len() - 1];
        let rest = &data.shape[self.batch + tuples.length..];
        let shape: Shape = picked.iter().chain(rest).copied().collect();
        Ok(vec![TensorType { element: data.element, shape }.into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        // The last dimension of the indices is that of the tuples, which always has a constant extent.
        (input == 1).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (data, indices) = (context.accepted(0), context.accepted(1));
        let tuples = Tuples::accept(context, self.batch).expect("inference accepted the indices");
        let mut expr = ExprBuilder::new();
        let picked = expr.parallels(&indices.shape[..indices.shape.len() - 1]);
        let rest = expr.parallels(&data.shape[self.batch + tuples.length..]);
        let operand = expr.operand(indices);
        let places = tuples.places(&mut expr, operand, &picked, &data.shape[self.batch..]);
        let plain = |&axis| Index::axis(axis);
        let batch = picked[..self.batch].iter().map(plain);
        let index = batch.chain(places).chain(rest.iter().map(plain)).collect();
        let source = expr.operand(data);
        let body = expr.read(source, index);
        let [data_id, indices_id] = [0, 1].map(|input| inputs[input].expect("inference found the inputs"));
        vec![program.compute(expr.map(data.element, body), &[indices_id, data_id])]
    }
}
