//! Broadcasting before opset 7: the second operand's dimensions lie beside those of the first from an axis on.

use warpweave_graph::Tensor;
use warpweave_graph::ops::Attribute;

use super::control::operator;
use super::flatten::{FlatNode, SymbolId};
use super::walk::Walk;

/// The first opset in which operands broadcast by NumPy's rules.
const FIRST_OPSET: i64 = 7;
/// The operators that had the attributes `axis` and `broadcast`.
const OPERATORS: [&str; 11] = ["Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor"];
/// One slope a channel, which is the second dimension.
const SLOPES: &str = "PRelu";

/// The inputs of a node, of which the second is given the dimensions with which it broadcasts by NumPy's rules. What the
/// attributes say of it is taken from them.
pub(super) fn align(
    walk: &mut Walk,
    node: &FlatNode,
    attributes: &mut Vec<(String, Attribute)>,
) -> Result<Vec<Option<SymbolId>>, String> {
    let inputs = node.inputs.clone();
    if !node.domain.is_empty() || node.opset.is_none_or(|opset| opset >= FIRST_OPSET) {
        return Ok(inputs);
    }
    let named = match node.operator.as_str() {
        SLOPES => Some(1),
        name if OPERATORS.contains(&name) => {
            let axis = attributes.iter().find_map(|(name, value)| match value {
                Attribute::Int(axis) if name == "axis" => Some(*axis),
                _ => None,
            });
            attributes.retain(|(name, _)| name != "axis" && name != "broadcast");
            axis
        }
        _ => None,
    };
    let (Some(axis), [Some(left), Some(right)]) = (named, &inputs[..]) else { return Ok(inputs) };
    let (Some(left), Some(found)) = (walk.fact(*left), walk.fact(*right)) else { return Ok(inputs) };
    let (Some(left), Some(ty)) = (left.ty.as_tensor(), found.ty.as_tensor()) else { return Ok(inputs) };
    if ty.shape.checked_elements() == Some(1) || (node.operator == SLOPES && ty.shape.len() != 1) {
        return Ok(inputs);
    }
    let rank = left.shape.len();
    let axis = if axis < 0 { axis + rank as i64 } else { axis };
    let after = usize::try_from(axis).ok().and_then(|axis| rank.checked_sub(axis)?.checked_sub(ty.shape.len()));
    let after = after.ok_or_else(|| format!("{ty} does not lie beside the dimensions of {left} from {axis} on"))?;
    let extents: Vec<i64> = ty.shape.iter().map(|&extent| extent as i64).chain(vec![1; after]).collect();
    let shape = walk.constant(&node.name, Tensor::vector_i64(&extents));
    let aligned = walk.flattening.symbol(&node.name, "aligned");
    walk.apply(&node.name, operator("Reshape", &[])?, &[Some(*right), Some(shape)], &[Some(aligned)])?;
    Ok(vec![inputs[0], Some(aligned)])
}
