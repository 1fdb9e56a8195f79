//! `TopK`: the largest or smallest elements along an axis.

use std::ops::RangeInclusive;

use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Reducer, Scalar};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes, elementwise, movement, ordering,
};
use crate::procedure::sort::{Direction, LONGEST_ROW};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// The `k` largest or smallest elements along an axis, in order, and their places; `k` is an attribute before opset 10 and a
/// constant second input from then on. Of equal elements the first comes first; NaN counts as the largest.
///
/// Short rows are ranked by counting for each element those before it in that order, long ones are sorted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopK {
    axis: i64,
    largest: bool,
    count: Option<i64>,
}

/// Longest rows whose elements are ranked by counting: that is a statement that others are fused with, and as fast on a device
/// as a short sort. Longer rows are sorted.
const MOST_COUNTED: usize = 1 << 8;

impl TopK {
    /// The largest along a dimension.
    pub fn largest(dimension: usize) -> Self {
        Self { axis: dimension as i64, largest: true, count: None }
    }

    /// The dimension, and how many elements are picked.
    fn choice(&self, context: &Context) -> Result<(usize, usize), InferError> {
        let data = context.tensor(0)?;
        elementwise::number(data.element)?;
        let dimension = axes::dimension(self.axis, data.shape.len())?;
        let extent = data.shape[dimension];
        let count = match self.count {
            Some(count) => vec![count],
            None => context.integers(1)?.ok_or(InferError::Missing(1))?,
        };
        let count = match count.as_slice() {
            &[count] if (0..=extent as i64).contains(&count) => count as usize,
            _ => return Err(InferError::Mismatch(format!("{count:?} of {extent} elements cannot be picked"))),
        };
        if extent > LONGEST_ROW {
            return Err(InferError::Unsupported(format!("{data} is too long along axis {} to be ordered", self.axis)));
        }
        Ok((dimension, count))
    }

    /// Whether element `x` at `x_place` comes before `y` at `y_place`.
    fn before(&self, element: ElementType, (x, x_place): (Scalar, Scalar), (y, y_place): (Scalar, Scalar)) -> Scalar {
        let (first, second) = if self.largest { (y.clone(), x.clone()) } else { (x.clone(), y.clone()) };
        let less = |a: Scalar, b: Scalar| a.binary(BinaryOp::Less, b);
        let (mut ahead, mut equal) = (less(first, second), x.clone().binary(BinaryOp::Equal, y.clone()));
        if element.is_float() {
            let not_a_number =
                |x: &Scalar| x.clone().binary(BinaryOp::Equal, x.clone()).unary(crate::expr::UnaryOp::Not);
            let (x_is, y_is) = (not_a_number(&x), not_a_number(&y));
            let one_of = if self.largest { (&x_is, &y_is) } else { (&y_is, &x_is) };
            let largest_first =
                one_of.0.clone().binary(BinaryOp::And, one_of.1.clone().unary(crate::expr::UnaryOp::Not));
            ahead = ahead.binary(BinaryOp::Or, largest_first);
            equal = equal.binary(BinaryOp::Or, x_is.binary(BinaryOp::And, y_is));
        }
        ahead.binary(BinaryOp::Or, equal.binary(BinaryOp::And, less(x_place, y_place)))
    }

    /// Appends the places of the first `count` elements: an element's rank is the number of elements before it.
    fn counted_places(
        &self,
        program: &mut ProgramBuilder,
        input: TensorId,
        dimension: usize,
        count: usize,
    ) -> TensorId {
        let data = program.ty(input).clone();
        let extent = data.shape[dimension];
        let place = |axis: AxisId| Scalar::Index(Index::axis(axis), ElementType::I32);
        let at = |axes: &[AxisId], along: AxisId| -> Vec<Index> {
            let mut index: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
            index[dimension] = Index::axis(along);
            index
        };
        let number = |value: f64| Scalar::literal(ElementType::I32, value);

        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let other = expr.reduced(extent);
        let operand = expr.operand(&data);
        let (own, compared) = (expr.read(operand, at(&axes, axes[dimension])), expr.read(operand, at(&axes, other)));
        let before = self.before(data.element, (compared, place(other)), (own, place(axes[dimension])));
        let body = before.select(number(1.0), number(0.0));
        let rank = program.compute(expr.reduce(ElementType::I32, Reducer::Sum, body, None), &[input]);

        let mut extents = data.shape.to_vec();
        extents[dimension] = count;
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&extents);
        let other = expr.reduced(extent);
        let operand = expr.operand(program.ty(rank));
        let found = expr.read(operand, at(&axes, other)).binary(BinaryOp::Equal, place(axes[dimension]));
        let body = found.select(place(other), number(0.0));
        let wide = Some(Scalar::Reduced.cast(ElementType::I32, ElementType::I64));
        program.compute(expr.reduce(ElementType::I64, Reducer::Sum, body, wide), &[rank])
    }

    /// Appends the same by sorting.
    fn sorted_places(&self, program: &mut ProgramBuilder, input: TensorId, dimension: usize, count: usize) -> TensorId {
        let rank = program.ty(input).shape.len();
        let last: Vec<usize> = (0..rank).filter(|&other| other != dimension).chain([dimension]).collect();
        let back: Vec<usize> = (0..dimension).chain([rank - 1]).chain(dimension..rank - 1).collect();
        let rows = movement::transpose(program, input, &last);
        let direction = if self.largest { Direction::Descending } else { Direction::Ascending };
        let places = ordering::first_places(program, rows, direction, count);
        movement::transpose(program, places, &back)
    }
}

impl Operator for TopK {
    const NAME: &'static str = "TopK";
    const INPUTS: RangeInclusive<usize> = 1..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        // Sorted results are one of the orders that an unsorted result may have.
        attributes.flag("sorted")?;
        Ok(Self {
            axis: attributes.int("axis")?.unwrap_or(-1),
            largest: attributes.flag("largest")?.unwrap_or(true),
            // From opset 10 on the count is an input; texts of programs keep the attribute under a name of its own.
            count: attributes.int(if attributes.opset() < 10 { "k" } else { "count" })?,
        })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let own = [("axis", Attribute::Int(self.axis)), ("largest", Attribute::Int(i64::from(self.largest)))];
        own.into_iter().chain(self.count.map(|count| ("count", Attribute::Int(count)))).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let (dimension, count) = self.choice(context)?;
        let data = context.tensor(0)?;
        let mut extents = data.shape.to_vec();
        extents[dimension] = count;
        let places = TensorType::new(ElementType::I64, extents.clone());
        Ok(vec![TensorType::new(data.element, extents).into(), places.into()])
    }

    fn follows(&self, context: &Context, input: usize, dimension: usize) -> Option<usize> {
        let (along, _) = self.choice(context).ok()?;
        (input == 0 && along != dimension).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (dimension, count) = self.choice(context).expect("inference accepted the count");
        let data = context.accepted(0);
        let input = inputs[0].expect("inference found the input");
        let places = match data.shape[dimension] {
            0..=MOST_COUNTED => self.counted_places(program, input, dimension, count),
            _ => self.sorted_places(program, input, dimension, count),
        };
        let extent = data.shape[dimension];
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&program.ty(places).shape);
        let own: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
        let operand = expr.operand(program.ty(places));
        let named = expr.read(operand, own.clone());
        let mut index = own;
        index[dimension] = expr.indirect(&named, extent);
        let source = expr.operand(data);
        let body = expr.read(source, index);
        let values = program.compute(expr.map(data.element, body), &[places, input]);
        vec![values, places]
    }
}
