//! Steps in which operators are decomposed into statements over whole tensors.

use super::{broadcast, reduction};
use crate::expr::{Reducer, Scalar};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape};

/// `body` of the elements of operands of one shape, or broadcast against each other; the result has type `element`.
pub fn map<const N: usize>(
    program: &mut ProgramBuilder,
    operands: [TensorId; N],
    element: ElementType,
    body: impl FnOnce([Scalar; N]) -> Scalar,
) -> TensorId {
    broadcast::map(&operands.map(Some), program, element, |scalars| body(super::elementwise::operands(scalars)))
}

/// The values along some dimensions combined; those keep an extent of 1.
pub fn reduce(program: &mut ProgramBuilder, input: TensorId, dimensions: &[usize], reducer: Reducer) -> TensorId {
    let shape = kept(&program.ty(input).shape, dimensions);
    reduction::along(program, input, dimensions, &shape, reducer, |_| None)
}

/// Converted to another element type; itself if it has that type.
pub fn cast(program: &mut ProgramBuilder, input: TensorId, to: ElementType) -> TensorId {
    let from = program.ty(input).element;
    if from == to { input } else { map(program, [input], to, |[x]| x.cast(from, to)) }
}

/// The shape with an extent of 1 in some dimensions.
pub fn kept(shape: &Shape, dimensions: &[usize]) -> Shape {
    let extents = shape.iter().enumerate();
    extents.map(|(at, &extent)| if dimensions.contains(&at) { 1 } else { extent }).collect()
}
