//! Operands whose elements are indices.

use crate::expr::{AxisId, ExprBuilder, Index};
use crate::ops::{Context, InferError};
use crate::types::{ElementType, Shape};

/// Whether an input may index a dimension of this extent: it holds integers, whose values lie from `-extent` to `extent - 1`
/// where they are known.
pub(in crate::ops) fn accept(context: &Context, input: usize, extent: usize) -> Result<(), InferError> {
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

/// Tuples of indices in the last dimension of an operand.
pub(in crate::ops) struct Tuples {
    /// The number of indices in each.
    pub(in crate::ops) length: usize,
}

impl Tuples {
    /// The tuples in input 1, which name places of input 0 behind its first `batch` dimensions. Constants are checked.
    pub(in crate::ops) fn accept(context: &Context, batch: usize) -> Result<Self, InferError> {
        let (data, indices) = (context.tensor(0)?, context.tensor(1)?);
        let mismatch = || InferError::Mismatch(format!("{indices} does not index {data} behind {batch} dimensions"));
        let length = *indices.shape.last().ok_or_else(mismatch)?;
        let rank = data.shape.len();
        let fits = batch < indices.shape.len() && batch.checked_add(length).is_some_and(|end| end <= rank);
        if !fits || data.shape[..batch] != indices.shape[..batch] || indices.element != ElementType::I64 {
            return Err(mismatch());
        }
        let extents = &data.shape[batch..batch + length];
        if extents.contains(&0) && indices.shape.checked_elements() != Some(0) {
            return Err(InferError::Mismatch(format!("{data} has no place that could be named")));
        }
        if let Some(constant) = context.fact(1).and_then(|fact| fact.value.as_ref()) {
            let values = constant.to_i64();
            let mut known = values.iter().enumerate();
            let outside = |element: usize, value: i64| {
                let extent = extents[element % length] as i64;
                !(-extent..extent).contains(&value)
            };
            if let Some((element, value)) = known.find(|(element, value)| outside(*element, **value)) {
                return Err(InferError::Mismatch(format!(
                    "input 1 is constant and holds {value} in element {element}, which names no place of {data}"
                )));
            }
        }
        Ok(Self { length })
    }

    /// The places that the tuple at `axes` names, in dimensions of these extents; `operand` is that of the tuples.
    pub(in crate::ops) fn places(
        &self,
        expr: &mut ExprBuilder,
        operand: usize,
        axes: &[AxisId],
        extents: &[usize],
    ) -> Vec<Index> {
        let place = |at: usize| {
            let index = axes.iter().map(|&axis| Index::axis(axis)).chain([Index::constant(at as i64)]).collect();
            let named = expr.read(operand, index);
            expr.indirect(&named, extents[at])
        };
        (0..self.length).map(place).collect()
    }
}

/// The product of the extents.
pub(in crate::ops) fn volume(extents: &[usize]) -> usize {
    Shape::from(extents).checked_elements().unwrap_or(usize::MAX)
}
