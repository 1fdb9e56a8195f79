//! Operands whose elements are indices.

use super::{Context, InferError};
use crate::types::ElementType;

/// Whether an input may index a dimension of this extent: it holds integers, whose values lie from `-extent` to `extent - 1`
/// where they are known.
pub(super) fn accept(context: &Context, input: usize, extent: usize) -> Result<(), InferError> {
    let ty = context.tensor(input)?;
    if !ty.element.is_integer() || ty.element == ElementType::U64 {
        return Err(InferError::Mismatch(format!("indices are {}", ty.element)));
    }
    let Some(constant) = context.fact(input).and_then(|fact| fact.value.as_ref()) else { return Ok(()) };
    let extent = extent as i64;
    let outside = constant.to_i64().into_iter().enumerate().find(|(_, value)| !(-extent..extent).contains(value));
    match outside {
        None => Ok(()),
        Some((element, value)) => Err(InferError::Mismatch(format!(
            "input {input} is constant and holds {value} in element {element}, which is no index from {} to {}",
            -extent,
            extent - 1
        ))),
    }
}
