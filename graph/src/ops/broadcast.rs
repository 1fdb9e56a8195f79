//! NumPy's broadcasting, shared by the element-wise operators.

use super::{Context, InferError};
use crate::expr::{ExprBuilder, Scalar};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType};

/// The shape to which both broadcast.
pub fn shapes(left: &Shape, right: &Shape) -> Result<Shape, InferError> {
    let rank = left.len().max(right.len());
    let at = |shape: &Shape, dimension: usize| {
        let missing = rank - shape.len();
        if dimension < missing { 1 } else { shape[dimension - missing] }
    };
    let merged = (0..rank).map(|dimension| match (at(left, dimension), at(right, dimension)) {
        (a, b) if a == b => Ok(a),
        (1, b) => Ok(b),
        (a, 1) => Ok(a),
        _ => Err(InferError::Mismatch(format!("shapes [{left}] and [{right}] do not broadcast"))),
    });
    merged.collect()
}

/// The output of an element-wise operator: all inputs broadcast, all of one element type.
pub fn infer(context: &Context) -> Result<TensorType, InferError> {
    let first = context.tensor(0)?;
    let mut shape = first.shape.clone();
    for input in 1..context.inputs() {
        let ty = context.tensor(input)?;
        if ty.element != first.element {
            return Err(InferError::Mismatch(format!("element types {} and {} differ", first.element, ty.element)));
        }
        shape = shapes(&shape, &ty.shape)?;
    }
    Ok(TensorType { element: first.element, shape })
}

/// Appends an element-wise operator: `body` of the inputs' elements, broadcast; the output has type `element`.
pub fn map(
    inputs: &[Option<TensorId>],
    program: &mut ProgramBuilder,
    element: ElementType,
    body: impl FnOnce(Vec<Scalar>) -> Scalar,
) -> TensorId {
    let operands: Vec<TensorId> = inputs.iter().map(|input| input.expect("an element-wise input is present")).collect();
    let merge = |shape: Shape, operand: &TensorId| {
        shapes(&shape, &program.ty(*operand).shape).expect("inference found that the shapes broadcast")
    };
    let shape = operands.iter().fold(Shape::scalar(), merge);
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&shape);
    let read = |operand: &TensorId| {
        let operand = expr.operand(program.ty(*operand));
        expr.broadcast_read(operand, &axes)
    };
    let reads = operands.iter().map(read).collect();
    program.compute(expr.map(element, body(reads)), &operands)
}

/// The dimension of the output where a dimension of an input is.
pub fn dimension(context: &Context, input: usize, dimension: usize) -> Option<usize> {
    let rank = |input: usize| context.accepted(input).shape.len();
    let widest = (0..context.inputs()).map(rank).max()?;
    Some(dimension + widest - rank(input))
}
