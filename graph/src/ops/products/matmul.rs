//! `MatMul`: NumPy's matrix product.

use std::ops::RangeInclusive;

use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Reducer};
use crate::ops::{AttributeError, AttributeReader, Context, InferError, Operator, broadcast};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, TensorType, ValueType};

/// The matrix product over the last two dimensions; leading dimensions broadcast. A rank-1 operand is a row on the left
/// and a column on the right, and its added dimension does not appear in the output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatMul;

/// The dimensions of a product.
struct Extents {
    batch: Shape,
    rows: Option<usize>,
    columns: Option<usize>,
    inner: usize,
}

fn extents(left: &Shape, right: &Shape) -> Result<Extents, InferError> {
    if left.is_empty() || right.is_empty() {
        return Err(InferError::Mismatch("a scalar has no matrix product".to_owned()));
    }
    let inner = left[left.len() - 1];
    let (right_inner, columns) = match right.len() {
        1 => (right[0], None),
        rank => (right[rank - 2], Some(right[rank - 1])),
    };
    if inner != right_inner {
        return Err(InferError::Mismatch(format!("[{left}] and [{right}] disagree in the inner dimension")));
    }
    let batch = |shape: &Shape| Shape::from(&shape[..shape.len().saturating_sub(2)]);
    let rows = (left.len() > 1).then(|| left[left.len() - 2]);
    Ok(Extents { batch: broadcast::shapes(&batch(left), &batch(right))?, rows, columns, inner })
}

/// The leading dimensions of an operand at the batch axes, then `matrix`.
fn index(shape: &Shape, batch: &[AxisId], matrix: &[AxisId]) -> Vec<Index> {
    let leading = shape.len() - matrix.len();
    let aligned = &batch[batch.len() - leading..];
    let broadcast = |(&extent, &axis): (&usize, &AxisId)| match extent {
        1 => Index::constant(0),
        _ => Index::axis(axis),
    };
    let leading = shape[..leading].iter().zip(aligned).map(broadcast);
    leading.chain(matrix.iter().map(|&axis| Index::axis(axis))).collect()
}

impl Operator for MatMul {
    const NAME: &'static str = "MatMul";
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (left, right) = (context.tensor(0)?, context.tensor(1)?);
        if left.element != right.element {
            return Err(InferError::Mismatch(format!("element types {} and {} differ", left.element, right.element)));
        }
        let Extents { batch, rows, columns, .. } = extents(&left.shape, &right.shape)?;
        let shape: Shape = batch.iter().copied().chain(rows).chain(columns).collect();
        Ok(vec![TensorType { element: left.element, shape }.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let [own, other] = [input, 1 - input].map(|input| context.accepted(input).shape.len());
        let (is_matrix, batch) = (own > 1, own.max(other).saturating_sub(2));
        match (input, own - 1 - dimension) {
            // The inner dimension.
            (0, 0) | (1, 1) => None,
            (1, 0) => is_matrix.then(|| batch + usize::from(other > 1)),
            (_, 1) => Some(batch),
            (_, from_last) => Some(batch + 1 - from_last),
        }
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (left, right) = (context.accepted(0), context.accepted(1));
        let extents = extents(&left.shape, &right.shape).expect("inference accepted the shapes");
        let mut expr = ExprBuilder::new();
        let batch = expr.parallels(&extents.batch);
        let row = extents.rows.map(|extent| expr.parallel(extent));
        let column = extents.columns.map(|extent| expr.parallel(extent));
        let inner = expr.reduced(extents.inner);
        let left_matrix: Vec<AxisId> = row.into_iter().chain([inner]).collect();
        let right_matrix: Vec<AxisId> = [inner].into_iter().chain(column).collect();
        let (a, b) = (expr.operand(left), expr.operand(right));
        let a = expr.read(a, index(&left.shape, &batch, &left_matrix));
        let b = expr.read(b, index(&right.shape, &batch, &right_matrix));
        let expr = expr.reduce(left.element, Reducer::Sum, a.binary(BinaryOp::Multiply, b), None);
        let operands: Vec<TensorId> = inputs.iter().flatten().copied().collect();
        vec![program.compute(expr, &operands)]
    }
}
