//! What `CumSum` and `CumProd` have in common.

use super::{Attribute, AttributeError, AttributeReader, Context, InferError, axes, elementwise};
use crate::expr::{ExprBuilder, Guard, Index, Reducer};
use crate::program::{ProgramBuilder, TensorId};

/// The elements along an axis, a constant second input, combined up to each element or from each on; without the element
/// itself if `exclusive`. Every result is computed by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prefix {
    exclusive: bool,
    reverse: bool,
}

impl Prefix {
    /// Up to each element, itself included.
    pub const PLAIN: Self = Self { exclusive: false, reverse: false };

    /// Takes the attributes.
    pub fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let mut flag = |name| Ok(attributes.flag(name)?.unwrap_or(false));
        Ok(Self { exclusive: flag("exclusive")?, reverse: flag("reverse")? })
    }

    /// The attributes.
    pub fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        [("exclusive", self.exclusive), ("reverse", self.reverse)]
            .map(|(name, flag)| (name, Attribute::Int(i64::from(flag))))
            .to_vec()
    }

    /// The dimension along which elements are combined.
    pub fn dimension(context: &Context) -> Result<usize, InferError> {
        let data = context.tensor(0)?;
        elementwise::number(data.element)?;
        match context.integers(1)?.as_deref() {
            Some([axis]) => axes::dimension(*axis, data.shape.len()),
            Some(_) => Err(InferError::Mismatch("the axis is not one number".to_owned())),
            None => Err(InferError::Missing(1)),
        }
    }

    /// Appends the combined elements.
    pub fn lower(
        &self,
        context: &Context,
        inputs: &[Option<TensorId>],
        program: &mut ProgramBuilder,
        reducer: Reducer,
    ) -> TensorId {
        let dimension = Self::dimension(context).expect("inference accepted the axis");
        let data = context.accepted(0);
        let extent = data.shape[dimension];
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let along = expr.reduced(extent);
        let mut index: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
        index[dimension] = Index::axis(along);
        // How far the element stands before the place of the result, or behind it.
        let sign = if self.reverse { -1 } else { 1 };
        let before = Index::axis(axes[dimension]).add(&Index::axis(along).times(-1)).times(sign);
        let guard = expr.guard(Guard::always(), before, i64::from(self.exclusive), extent as i64);
        let operand = expr.operand(data);
        let body = expr.guarded_read(operand, index, guard, reducer.identity(data.element));
        let expr = expr.reduce(data.element, reducer, body, None);
        program.compute(expr, &[inputs[0].expect("inference found the input")])
    }
}
