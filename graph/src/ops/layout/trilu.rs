//! `Trilu`: a triangle of every matrix.

use std::ops::RangeInclusive;

use crate::expr::{ExprBuilder, Guard, Index, Literal};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// The upper or lower triangle of the matrices of the last two dimensions, from diagonal `k` on, a constant second input;
/// the other elements are zero.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trilu {
    upper: bool,
}

impl Operator for Trilu {
    const NAME: &'static str = "Trilu";
    const OPSETS: RangeInclusive<i64> = 14..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { upper: attributes.flag("upper")?.unwrap_or(true) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("upper", Attribute::Int(i64::from(self.upper)))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        if data.shape.len() < 2 || context.integers(1)?.is_some_and(|diagonal| diagonal.len() != 1) {
            return Err(InferError::Mismatch(format!("{data} has no triangle of one diagonal")));
        }
        Ok(vec![data.clone().into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = context.accepted(0);
        let rank = data.shape.len();
        let reach = (data.shape[rank - 2] + data.shape[rank - 1]) as i64;
        let given = context.integers(1).ok().flatten().and_then(|diagonal| diagonal.first().copied());
        let diagonal = given.unwrap_or(0).clamp(-reach, reach);
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let place = Index::axis(axes[rank - 1]).add(&Index::axis(axes[rank - 2]).times(-1));
        let (lower, upper) = if self.upper { (diagonal, 2 * reach + 1) } else { (-2 * reach, diagonal + 1) };
        let guard = expr.guard(Guard::always(), place, lower, upper);
        let operand = expr.operand(data);
        let zero = Literal::new(data.element, 0.0);
        let body = expr.guarded_read(operand, axes.iter().map(|&axis| Index::axis(axis)).collect(), guard, zero);
        vec![program.compute(expr.map(data.element, body), &[inputs[0].expect("inference found the input")])]
    }
}
