//! `AffineGrid`: the places that an affine map reads.

use std::ops::RangeInclusive;

use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// For every pixel of a constant size `[N, C, H, W]` or `[N, C, D, H, W]`, the affine map of its position, innermost
/// coordinate first. Positions span −1 to 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AffineGrid {
    align_corners: bool,
}

impl AffineGrid {
    fn spatial(context: &Context) -> Result<Vec<usize>, InferError> {
        let maps = context.tensor(0)?;
        elementwise::floating(maps.element)?;
        let size = context.integers(1)?.ok_or(InferError::Missing(1))?;
        let rank = size.len().saturating_sub(2);
        let possible = (2..=3).contains(&rank) && size.iter().all(|extent| (0..1 << 30).contains(extent));
        if !possible || *maps.shape != [size[0] as usize, rank, rank + 1] {
            return Err(InferError::Mismatch(format!("{maps} does not map the positions of size {size:?}")));
        }
        Ok(size[2..].iter().map(|&extent| extent as usize).collect())
    }

    /// The position of a pixel along a dimension.
    fn position(&self, axis: AxisId, extent: usize, element: ElementType) -> Scalar {
        let (factor, shift, span) = match self.align_corners {
            true => (2, 1 - extent as i64, (extent as i64 - 1).max(1)),
            false => (2, 1 - extent as i64, extent as i64),
        };
        let numerator = Index::axis(axis).times(factor).plus(shift);
        let numerator = Scalar::Index(numerator, ElementType::I64).cast(ElementType::I64, element);
        numerator.binary(BinaryOp::Divide, Scalar::literal(element, span as f64))
    }
}

impl Operator for AffineGrid {
    const NAME: &'static str = "AffineGrid";
    const OPSETS: RangeInclusive<i64> = 20..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { align_corners: attributes.flag("align_corners")?.unwrap_or(false) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("align_corners", Attribute::Int(i64::from(self.align_corners)))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let spatial = Self::spatial(context)?;
        let maps = context.tensor(0)?;
        let shape: Shape = [maps.shape[0]].into_iter().chain(spatial.iter().copied()).chain([spatial.len()]).collect();
        Ok(vec![TensorType { element: maps.element, shape }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let spatial = Self::spatial(context).expect("inference accepted the size");
        let maps = context.accepted(0);
        let mut expr = ExprBuilder::new();
        let batch = expr.parallel(maps.shape[0]);
        let pixels = expr.parallels(&spatial);
        let coordinate = expr.parallel(spatial.len());
        let operand = expr.operand(maps);
        let mut entry = |column: usize| {
            let index = vec![Index::axis(batch), Index::axis(coordinate), Index::constant(column as i64)];
            expr.read(operand, index)
        };
        let shift = entry(spatial.len());
        let terms = pixels.iter().zip(&spatial).rev().enumerate().map(|(column, (&axis, &extent))| {
            entry(column).binary(BinaryOp::Multiply, self.position(axis, extent, maps.element))
        });
        let body = terms.fold(None, |sum: Option<Scalar>, term| match sum {
            None => Some(term),
            Some(sum) => Some(sum.binary(BinaryOp::Add, term)),
        });
        let body = body.expect("there are two dimensions or three").binary(BinaryOp::Add, shift);
        vec![program.compute(expr.map(maps.element, body), &[inputs[0].expect("inference found the input")])]
    }
}
