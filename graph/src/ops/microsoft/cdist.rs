//! `com.microsoft.CDist`: the distances of rows.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Reducer};
use crate::ops::elementwise::floating;
use crate::ops::microsoft::DOMAIN;
use crate::ops::reduction::root_of_squares;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// The distance, or its square, of every row of the first matrix from every row of the second.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CDist {
    metric: Metric,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Metric {
    /// The root of the sum of squares.
    Euclidean,
    /// The sum of squares.
    SquaredEuclidean,
}

impl Operator for CDist {
    const NAME: &'static str = "CDist";
    const DOMAIN: &'static str = DOMAIN;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = "metric";
        match attributes.string(name)?.as_deref() {
            Some("euclidean") => Ok(Self { metric: Metric::Euclidean }),
            None | Some("sqeuclidean") => Ok(Self { metric: Metric::SquaredEuclidean }),
            Some(other) => Err(AttributeError::Value { name, reason: format!("`{other}` is not supported") }),
        }
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let name = if self.metric == Metric::Euclidean { "euclidean" } else { "sqeuclidean" };
        vec![("metric", Attribute::String(name.to_owned()))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (left, right) = (context.tensor(0)?, context.tensor(1)?);
        floating(left.element)?;
        match (&left.shape[..], &right.shape[..]) {
            (&[rows, width], &[columns, other]) if width == other && left.element == right.element => {
                Ok(vec![TensorType::new(left.element, [rows, columns]).into()])
            }
            _ => Err(InferError::Mismatch(format!("{left} and {right} are not rows of one width"))),
        }
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (left, right) = (context.accepted(0), context.accepted(1));
        let mut expr = ExprBuilder::new();
        let [row, column] = [left.shape[0], right.shape[0]].map(|extent| expr.parallel(extent));
        let feature = expr.reduced(left.shape[1]);
        let (a, b) = (expr.operand(left), expr.operand(right));
        let a = expr.read(a, vec![Index::axis(row), Index::axis(feature)]);
        let b = expr.read(b, vec![Index::axis(column), Index::axis(feature)]);
        let distance = a.binary(BinaryOp::Subtract, b);
        let square = distance.clone().binary(BinaryOp::Multiply, distance);
        let root = (self.metric == Metric::Euclidean).then(|| root_of_squares(left.element));
        let operands: Vec<TensorId> = inputs.iter().flatten().copied().collect();
        vec![program.compute(expr.reduce(left.element, Reducer::Sum, square, root), &operands)]
    }
}
