//! Values of iterations laid side by side.

use warpweave_graph::ops::arithmetic::cast::element_type;
use warpweave_graph::{Shape, Tensor, TensorType};

use super::super::flatten::SymbolId;
use super::super::walk::Walk;
use super::block::operator;
use crate::onnx::{DimensionValue, ValueInfoProto};

/// Where the iterations lie in what is stacked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::import) struct Order {
    /// The new dimension, as ONNX names it.
    pub(in crate::import) axis: i64,
    /// Whether the last iteration stands first.
    pub(in crate::import) reversed: bool,
}

/// Defines `output` as the parts, which agree in type, along a new dimension.
pub(in crate::import) fn stack(
    walk: &mut Walk,
    name: &str,
    parts: &[SymbolId],
    order: Order,
    output: SymbolId,
) -> Result<(), String> {
    let axis = walk.constant(name, Tensor::vector_i64(&[order.axis]));
    let mut rows = Vec::with_capacity(parts.len());
    for &part in parts {
        let row = walk.flattening.symbol("", name);
        walk.apply(name, operator("Unsqueeze", &[])?, &[Some(part), Some(axis)], &[Some(row)])?;
        rows.push(Some(row));
    }
    if order.reversed {
        rows.reverse();
    }
    Ok(walk.apply(name, operator("Concat", &[("axis", order.axis)])?, &rows, &[Some(output)])?)
}

/// What is stacked of no iterations, if the graph says of which type one part is.
pub(super) fn none(declared: &ValueInfoProto, axis: i64) -> Result<Tensor, String> {
    let ty = declared.tensor_type();
    let part = ty.and_then(|ty| {
        let extent = |value: &Option<DimensionValue>| match value {
            Some(DimensionValue::DimValue(extent)) => usize::try_from(*extent).ok(),
            Some(DimensionValue::DimParam(_)) | None => None,
        };
        let mut extents: Vec<usize> =
            ty.shape.as_ref()?.dim.iter().map(|dimension| extent(&dimension.value)).collect::<Option<_>>()?;
        let rank = extents.len() as i64 + 1;
        let axis =
            usize::try_from(if axis < 0 { axis + rank } else { axis }).ok().filter(|&axis| axis <= extents.len())?;
        extents.insert(axis, 0);
        Some(TensorType { element: element_type(i64::from(ty.elem_type))?, shape: Shape::new(extents) })
    });
    let empty = part.and_then(|ty| Tensor::from_bytes(ty, Vec::new().into()));
    empty.ok_or_else(|| format!("there are no iterations, and the type of output `{}` is not declared", declared.name))
}
