//! `DFT`: the discrete Fourier transform.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Guard, Index, Literal, Reducer};
use crate::ops::fourier::{MOST_POINTS, Transform};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, axes, elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// The transform along one axis of `[…, 1]` real or `[…, 2]` complex values, of as many points as a constant second
/// input says. What there is of more is left out, what lacks is zero. The work grows with the square of the points.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dft {
    inverse: bool,
    one_sided: bool,
    /// The axis, which is a third input since opset 20.
    axis: Option<i64>,
}

/// What is transformed how.
struct Choice {
    transform: Transform,
    dimension: usize,
    points: usize,
}

impl Dft {
    fn choice(&self, context: &Context) -> Result<Choice, InferError> {
        let data = context.tensor(0)?;
        elementwise::floating(data.element)?;
        let rank = data.shape.len();
        let complex = match data.shape.last() {
            Some(1) => false,
            Some(2) => true,
            _ => return Err(InferError::Mismatch(format!("{data} holds neither real nor complex values"))),
        };
        let axis = match (self.axis, context.integers(2)?.as_deref()) {
            (Some(axis), _) | (None, Some(&[axis])) => axis,
            (None, None) => -2,
            (None, Some(_)) => return Err(InferError::Mismatch("the axis is not one number".to_owned())),
        };
        let dimension = axes::dimension(axis, rank)?;
        if dimension + 1 == rank {
            return Err(InferError::Mismatch(format!("axis {axis} is that of real and imaginary parts")));
        }
        let transform = match (self.inverse, self.one_sided) {
            (false, true) if complex => {
                return Err(InferError::Mismatch("one-sided frequencies are those of real values".to_owned()));
            }
            (false, one_sided) => Transform::Forward { one_sided },
            (true, false) => Transform::Inverse,
            (true, true) => Transform::InverseToReal,
        };
        let given = data.shape[dimension];
        let points = match context.integers(1)?.as_deref() {
            None if transform == Transform::InverseToReal => 2 * given.saturating_sub(1),
            None => given,
            Some(&[points]) => usize::try_from(points).unwrap_or(0),
            Some(_) => return Err(InferError::Mismatch("the length is not one number".to_owned())),
        };
        match points {
            0 => Err(InferError::Mismatch("a transform of no points is not defined".to_owned())),
            1..=MOST_POINTS => Ok(Choice { transform, dimension, points }),
            _ => Err(InferError::Unsupported(format!("a transform of {points} points, more than {MOST_POINTS}"))),
        }
    }
}

impl Operator for Dft {
    const NAME: &'static str = "DFT";
    const OPSETS: RangeInclusive<i64> = 17..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let old = attributes.opset() < 20;
        let axis = attributes.int("axis")?;
        Ok(Self {
            inverse: attributes.flag("inverse")?.unwrap_or(false),
            one_sided: attributes.flag("onesided")?.unwrap_or(false),
            axis: if old { Some(axis.unwrap_or(1)) } else { axis },
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let flags = [("inverse", self.inverse), ("onesided", self.one_sided)];
        let flags = flags.map(|(name, flag)| (name, Attribute::Int(i64::from(flag))));
        // An axis among the attributes stands for the meaning before opset 20.
        flags.into_iter().chain(self.axis.map(|axis| ("axis", Attribute::Int(axis)))).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let Choice { transform, dimension, points } = self.choice(context)?;
        let data = context.tensor(0)?;
        let mut extents = data.shape.to_vec();
        let last = extents.len() - 1;
        (extents[dimension], extents[last]) = transform.results(points);
        Ok(vec![TensorType::new(data.element, extents).into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let Choice { transform, dimension, points } = self.choice(context).expect("inference accepted the axis");
        let data = context.accepted(0);
        let components = data.shape[data.shape.len() - 1];
        let matrix = program.constant(transform.matrix(data.element, points, components));
        let output = self.output(context);
        let last = output.shape.len() - 1;
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&output.shape);
        let (point, component) = (expr.reduced(transform.operands(points)), expr.reduced(components));
        let mut index: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
        (index[dimension], index[last]) = (Index::axis(point), Index::axis(component));
        let guard = expr.guard(Guard::always(), Index::axis(point), 0, data.shape[dimension] as i64);
        let (values, factors) = (expr.operand(data), expr.operand(program.ty(matrix)));
        let value = expr.guarded_read(values, index, guard, Literal::new(data.element, 0.0));
        let factor = [axes[dimension], axes[last], point, component].map(Index::axis);
        let factor = expr.read(factors, factor.to_vec());
        let body = value.binary(BinaryOp::Multiply, factor);
        let expr = expr.reduce(data.element, Reducer::Sum, body, None);
        vec![program.compute(expr, &[inputs[0].expect("inference found the input"), matrix])]
    }
}
