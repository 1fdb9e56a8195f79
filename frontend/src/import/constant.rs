//! `Constant`: the node that only exists in files.

use warpweave_graph::Tensor;
use warpweave_graph::ops::{AttributeError, AttributeReader};

/// The operator's name.
pub(super) const NAME: &str = "Constant";

/// The tensor that the node's attributes describe.
pub(super) fn value(attributes: &mut AttributeReader) -> Result<Tensor, AttributeError> {
    let tensor = attributes.tensor("value")?;
    let float = attributes.float("value_float")?.map(Tensor::scalar);
    let int = attributes.int("value_int")?.map(Tensor::scalar);
    let floats = attributes.floats("value_floats")?.map(|values| Tensor::new([values.len()], &values));
    let ints = attributes.ints("value_ints")?.map(|values| Tensor::vector_i64(&values));
    attributes.finish()?;
    tensor.or(float).or(int).or(floats).or(ints).ok_or(AttributeError::Missing("value"))
}
