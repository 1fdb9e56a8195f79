//! Axes as ONNX names them: from the front, or negative from the back.

use super::{Context, InferError};

/// The dimension that `axis` names in a tensor of this rank.
pub fn dimension(axis: i64, rank: usize) -> Result<usize, InferError> {
    let signed = i64::try_from(rank).unwrap_or(i64::MAX);
    if !(-signed..signed).contains(&axis) {
        return Err(InferError::Mismatch(format!("axis {axis} lies outside rank {rank}")));
    }
    Ok(axis.rem_euclid(signed) as usize)
}

/// The dimensions that `axes` name, in the given order; each may be named once.
pub fn dimensions(axes: &[i64], rank: usize) -> Result<Vec<usize>, InferError> {
    let mut dimensions = Vec::with_capacity(axes.len().min(rank));
    for &axis in axes {
        let dimension = dimension(axis, rank)?;
        if dimensions.contains(&dimension) {
            return Err(InferError::Mismatch(format!("axis {axis} is named twice")));
        }
        dimensions.push(dimension);
    }
    Ok(dimensions)
}

/// Axes from an attribute, as older opsets have them, or else from a constant input.
pub fn given(attribute: Option<&[i64]>, context: &Context, input: usize) -> Result<Option<Vec<i64>>, InferError> {
    match attribute {
        Some(axes) => Ok(Some(axes.to_vec())),
        None => context.integers(input),
    }
}
