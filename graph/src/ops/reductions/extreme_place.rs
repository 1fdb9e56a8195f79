//! What `ArgMax` and `ArgMin` have in common.

use crate::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, axes, elementwise, reduction};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType};

/// The axis along which the place of an extreme element is looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExtremePlace {
    axis: i64,
    keep: bool,
    /// The last of several, instead of the first.
    last: bool,
}

impl ExtremePlace {
    pub fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self {
            axis: attributes.int("axis")?.unwrap_or(0),
            keep: attributes.flag("keepdims")?.unwrap_or(true),
            last: attributes.flag("select_last_index")?.unwrap_or(false),
        })
    }

    /// The first place along a dimension, which keeps an extent of 1.
    pub fn first_along(dimension: usize) -> Self {
        Self { axis: dimension as i64, keep: true, last: false }
    }

    pub fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![
            ("axis", Attribute::Int(self.axis)),
            ("keepdims", Attribute::Int(i64::from(self.keep))),
            ("select_last_index", Attribute::Int(i64::from(self.last))),
        ]
    }

    /// The type of the output.
    pub fn infer(&self, context: &Context) -> Result<TensorType, InferError> {
        let data = context.tensor(0)?;
        elementwise::number(data.element)?;
        let dimension = axes::dimension(self.axis, data.shape.len())?;
        if data.shape[dimension] == 0 {
            return Err(InferError::Mismatch(format!("{data} has no element along axis {}", self.axis)));
        }
        let extent = |(at, &extent): (usize, &usize)| match (at == dimension, self.keep) {
            (true, true) => Some(1),
            (true, false) => None,
            (false, _) => Some(extent),
        };
        let shape: Shape = data.shape.iter().enumerate().filter_map(extent).collect();
        Ok(TensorType { element: ElementType::I64, shape })
    }

    /// See [`Operator::follows`](crate::ops::Operator::follows).
    pub fn follows(&self, context: &Context, dimension: usize) -> Option<usize> {
        let own = axes::dimension(self.axis, context.accepted(0).shape.len()).ok()?;
        (own != dimension).then(|| dimension - usize::from(!self.keep && own < dimension))
    }

    /// Appends the extreme element along the axis by `reducer`, and the place where it stands; a NaN is extreme.
    pub fn lower(
        &self,
        context: &Context,
        input: TensorId,
        program: &mut ProgramBuilder,
        reducer: Reducer,
    ) -> TensorId {
        let data = context.accepted(0).clone();
        let dimension = axes::dimension(self.axis, data.shape.len()).expect("inference accepted the axis");
        let shape = self.infer(context).expect("inference accepted the axis").shape;
        let extreme = reduction::along(program, input, &[dimension], &shape, reducer, |_| None);

        let mut expr = ExprBuilder::new();
        let (x, extent) = reduction::read_along(&mut expr, &data, &[dimension], &shape);
        let place = expr.reduced_axes()[0];
        let operand = expr.operand(program.ty(extreme));
        let found = expr.broadcast_read(operand, &expr.parallel_axes());
        let literal = |value: i64| Scalar::literal(ElementType::I64, value as f64);
        let place = Scalar::Index(Index::axis(place), ElementType::I64);
        let (combined, absent) = if self.last { (Reducer::Maximum, -1) } else { (Reducer::Minimum, extent as i64) };
        let body = elementwise::is_extreme(data.element, x, found).select(place, literal(absent));
        let inside =
            Scalar::Reduced.binary(BinaryOp::Maximum, literal(0)).binary(BinaryOp::Minimum, literal(extent as i64 - 1));
        program.compute(expr.reduce(ElementType::I64, combined, body, Some(inside)), &[input, extreme])
    }
}
