//! `Unique`: every value once.

use std::ops::RangeInclusive;

use crate::counted::CountedOutput;
use crate::expr::{AxisId, BinaryOp, ExprBuilder, Guard, Index, Literal, Reducer, Scalar};
use crate::ops::compaction::{self, Marked};
use crate::ops::gather::Gather;
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, axes, compose,
    elementwise, movement, ordering,
};
use crate::procedure::sort::Direction;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// The values of a tensor, each once: in ascending order, or in that of their first elements; or the slices along an axis, in
/// lexicographic order. The other outputs are the places of these, the place of each element's value among the values, and how
/// many elements have each value. As many values count as a fifth output says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unique {
    axis: Option<i64>,
    sorted: bool,
}

/// Most elements of a slice, for each of which all slices are sorted once.
const MOST_COLUMNS: usize = 1 << 10;

/// What is told apart: `count` slices of `columns` elements.
#[derive(Clone, Copy, Debug)]
struct Slices {
    /// The dimension along which they lie; none for the elements themselves.
    dimension: Option<usize>,
    count: usize,
    columns: usize,
}

impl Unique {
    fn slices(&self, context: &Context) -> Result<Slices, InferError> {
        let data = context.tensor(0)?;
        elementwise::number(data.element)?;
        let elements = compaction::accept(data.shape.checked_elements(), data)?;
        let Some(axis) = self.axis else { return Ok(Slices { dimension: None, count: elements, columns: 1 }) };
        let dimension = axes::dimension(axis, data.shape.len())?;
        let others = data.shape.iter().enumerate().filter(|(at, _)| *at != dimension);
        let columns = others.map(|(_, &extent)| extent).product();
        if !(1..=MOST_COLUMNS).contains(&columns) {
            let reason = format!("slices of {columns} elements of {data} cannot be ordered: 1 to {MOST_COLUMNS} can");
            return Err(InferError::Unsupported(reason));
        }
        Ok(Slices { dimension: Some(dimension), count: data.shape[dimension], columns })
    }
}

/// Slices in their order: vectors of 64-bit integers, one element a slice.
struct Sorted {
    /// The slice at each place of the order.
    order: TensorId,
    /// The place of each slice in the order.
    place: TensorId,
    /// Whether a place begins a value, as 1 and 0.
    begins: TensorId,
    /// The number of the value at each place.
    value: TensorId,
}

impl Sorted {
    /// Sorts the rows of `[slices, columns]`.
    fn of(program: &mut ProgramBuilder, data: TensorId) -> Self {
        let (count, columns) = (program.ty(data).shape[0], program.ty(data).shape[1]);
        let keys = ordering::keys(program, data);
        let mut of_columns = Vec::with_capacity(columns * keys.len());
        for column in 0..columns as i64 {
            for &key in &keys {
                let place = |axes: &[AxisId]| vec![Index::axis(axes[0]), Index::constant(column)];
                of_columns.push(movement::rearrange(program, key, &[count], place));
            }
        }
        let order = ordering::by_keys(program, of_columns, Direction::Ascending);
        let narrow = compose::cast(program, order, ElementType::I32);
        let place = ordering::by_keys(program, vec![narrow], Direction::Ascending);
        let begins = begins(program, data, order);
        let numbers = compaction::sums_up_to(program, begins);
        let value = compose::map(program, [numbers], ElementType::I64, |[x]| x.binary(BinaryOp::Subtract, number(1)));
        Self { order, place, begins, value }
    }
}

/// Whether the slice at each place of an order differs from the one before it, as 1 and 0; NaN differs from NaN.
fn begins(program: &mut ProgramBuilder, data: TensorId, order: TensorId) -> TensorId {
    let ty = program.ty(data).clone();
    let mut expr = ExprBuilder::new();
    let (own, column) = (Index::axis(expr.parallel(ty.shape[0])), Index::axis(expr.reduced(ty.shape[1])));
    let before = own.plus(-1).clamped(0, (ty.shape[0] as i64 - 1).max(0), &|axis| expr.range(axis));
    let order_operand = expr.operand(program.ty(order));
    let operand = expr.operand(&ty);
    let mut element = |place: Index| {
        let named = expr.read(order_operand, vec![place]);
        let slice = expr.indirect(&named, ty.shape[0]);
        expr.read(operand, vec![slice, column.clone()])
    };
    let differs = element(own.clone()).binary(BinaryOp::Equal, element(before)).select(number(0), number(1));
    let is_first = Scalar::Index(own, ElementType::I64).binary(BinaryOp::Equal, number(0));
    let result = is_first.select(number(1), Scalar::Reduced);
    program.compute(expr.reduce(ElementType::I64, Reducer::Maximum, differs, Some(result)), &[order, data])
}

/// How many places lie from each of these, the first of which count, to the next one, or to the end.
fn runs(program: &mut ProgramBuilder, starts: TensorId, count: TensorId) -> TensorId {
    let ty = program.ty(starts).clone();
    let total = ty.shape[0] as i64;
    let mut expr = ExprBuilder::new();
    let own = Index::axis(expr.parallel(ty.shape[0]));
    let operand = expr.operand(&ty);
    let start = expr.read(operand, vec![own.clone()]);
    let guard = expr.guard(Guard::always(), own.plus(1), 0, total);
    let next = expr.guarded_read(operand, vec![own.plus(1)], guard, Literal::integer(ElementType::I64, total));
    let operand = expr.operand(program.ty(count));
    let values = expr.read(operand, vec![]);
    let behind = Scalar::Index(own.plus(1), ElementType::I64);
    let end = behind.binary(BinaryOp::Less, values).select(next, number(total));
    let body = end.binary(BinaryOp::Subtract, start);
    program.compute(expr.map(ElementType::I64, body), &[starts, count])
}

fn number(value: i64) -> Scalar {
    Scalar::Literal(Literal::integer(ElementType::I64, value))
}

fn is_one(program: &mut ProgramBuilder, vector: TensorId) -> TensorId {
    compose::map(program, [vector], ElementType::Bool, |[x]| x.binary(BinaryOp::Equal, number(1)))
}

impl Operator for Unique {
    const NAME: &'static str = "Unique";
    const OPSETS: RangeInclusive<i64> = 11..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { axis: attributes.int("axis")?, sorted: attributes.flag("sorted")?.unwrap_or(true) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let axis = self.axis.map(|axis| ("axis", Attribute::Int(axis)));
        [("sorted", Attribute::Int(i64::from(self.sorted)))].into_iter().chain(axis).collect()
    }

    fn counted(&self, context: &Context) -> Vec<CountedOutput> {
        let dimension = self.slices(context).ok().and_then(|slices| slices.dimension).unwrap_or(0);
        [(0, dimension), (1, 0), (3, 0)]
            .map(|(output, dimension)| CountedOutput { output, dimension, count: 4 })
            .to_vec()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let Slices { dimension, count, .. } = self.slices(context)?;
        let data = context.tensor(0)?;
        let shape = if dimension.is_some() { data.shape.clone() } else { [count].into() };
        let values = TensorType { element: data.element, shape };
        let places = TensorType::new(ElementType::I64, [count]);
        let scalar = TensorType::new(ElementType::I64, []);
        Ok([values, places.clone(), places.clone(), places, scalar].map(ValueType::from).to_vec())
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let Slices { dimension, count, columns } = self.slices(context).expect("inference accepted the data");
        let input = inputs[0].expect("inference found the input");
        let rank = program.ty(input).shape.len();
        let front: Vec<usize> =
            dimension.into_iter().chain((0..rank).filter(|&other| Some(other) != dimension)).collect();
        let rows = movement::transpose(program, input, &front);
        let rows = movement::reshape(program, rows, &[count, columns].into());
        let Sorted { order, place, begins, value } = Sorted::of(program, rows);

        let marks = is_one(program, begins);
        let Marked { places: starts, count: values } = compaction::marked(program, marks);
        let counts = runs(program, starts, values);
        let mut at = |vector, places| ordering::at_places(program, vector, places);
        // The first slice of each value, and of each slice its value, values in ascending order.
        let (first, inverse) = (at(order, starts), at(value, place));
        let (first, inverse, counts) = if self.sorted {
            (first, inverse, counts)
        } else {
            // The slices that are the first of their values, in their own order, and which of them each value's is.
            let is_first = at(begins, place);
            let number_of = compaction::sums_up_to(program, is_first);
            let marks = is_one(program, is_first);
            let appearing = compaction::marked(program, marks).places;
            let of_value = ordering::at_places(program, number_of, first);
            let of_value =
                compose::map(program, [of_value], ElementType::I64, |[x]| x.binary(BinaryOp::Subtract, number(1)));
            let values = ordering::at_places(program, inverse, appearing);
            let counts = ordering::at_places(program, counts, values);
            (appearing, ordering::at_places(program, of_value, inverse), counts)
        };
        let (data, axis) = match dimension {
            Some(dimension) => (input, dimension),
            None => (movement::reshape(program, input, &[count].into()), 0),
        };
        let picked = program.apply(&Gather::along(axis), &[Some(data), Some(first)], 1)[0];
        vec![picked, first, inverse, counts, values]
    }
}
