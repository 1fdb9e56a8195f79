//! `Unique`: every value once.

use std::ops::RangeInclusive;

use super::compaction::MOST_ELEMENTS;
use super::gather::Gather;
use super::top_k::TopK;
use super::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, axes, compose,
    elementwise, movement,
};
use crate::counted::CountedOutput;
use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Literal, Reducer, Scalar};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// The values of a tensor, each once: in ascending order, or in that of their first elements. The other outputs are the
/// places of these, the place of each element's value among the values, and how many elements have each value. As many values
/// count as a fifth output says. Slices along an axis are supported of vectors only, whose slices are their elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unique {
    axis: Option<i64>,
    sorted: bool,
}

impl Unique {
    fn elements(&self, context: &Context) -> Result<usize, InferError> {
        let data = context.tensor(0)?;
        elementwise::number(data.element)?;
        if let Some(axis) = self.axis {
            axes::dimension(axis, data.shape.len())?;
            if data.shape.len() > 1 {
                return Err(InferError::Unsupported(format!(
                    "unique slices of {data} along an axis are not supported"
                )));
            }
        }
        match data.shape.checked_elements() {
            Some(elements @ 0..=MOST_ELEMENTS) => Ok(elements),
            _ => Err(InferError::Unsupported(format!("{data} has more than {MOST_ELEMENTS} elements"))),
        }
    }
}

/// Vectors of one length of which pairs of elements are compared.
struct Pairs {
    expr: ExprBuilder,
    own: AxisId,
    other: AxisId,
    operands: Vec<TensorId>,
}

impl Pairs {
    fn new(elements: usize) -> Self {
        let mut expr = ExprBuilder::new();
        let (own, other) = (expr.parallel(elements), expr.reduced(elements));
        Self { expr, own, other, operands: Vec::new() }
    }

    /// The own element and the other one of a vector.
    fn read(&mut self, program: &ProgramBuilder, vector: TensorId) -> [Scalar; 2] {
        let operand = self.expr.operand(program.ty(vector));
        self.operands.push(vector);
        [self.own, self.other].map(|axis| self.expr.read(operand, vec![Index::axis(axis)]))
    }

    /// The places of both.
    fn places(&self) -> [Scalar; 2] {
        [self.own, self.other].map(|axis| Scalar::Index(Index::axis(axis), ElementType::I64))
    }

    fn reduce(self, program: &mut ProgramBuilder, reducer: Reducer, body: Scalar) -> TensorId {
        let expr = self.expr.reduce(ElementType::I64, reducer, body, None);
        program.compute(expr, &self.operands)
    }
}

fn number(value: i64) -> Scalar {
    Scalar::Literal(Literal::integer(ElementType::I64, value))
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

    fn counted(&self, _: &Context) -> Vec<CountedOutput> {
        [0, 1, 3].map(|output| CountedOutput { output, dimension: 0, count: 4 }).to_vec()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let elements = self.elements(context)?;
        let values = TensorType::new(context.tensor(0)?.element, [elements]);
        let places = TensorType::new(ElementType::I64, [elements]);
        let count = TensorType::new(ElementType::I64, []);
        Ok([values, places.clone(), places.clone(), places, count].map(ValueType::from).to_vec())
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let elements = self.elements(context).expect("inference accepted the data");
        let element = context.accepted(0).element;
        let data = movement::reshape(program, inputs[0].expect("inference found the input"), &[elements].into());

        // The first element of the same value.
        let mut pairs = Pairs::new(elements);
        let ([x, y], [own, other]) = (pairs.read(program, data), pairs.places());
        let body = x.binary(BinaryOp::Equal, y).select(other, own);
        let first = pairs.reduce(program, Reducer::Minimum, body);

        // How many values come before an element's value: each stands for its first element.
        let mut pairs = Pairs::new(elements);
        let ([x, y], [own_first, other_first]) = (pairs.read(program, data), pairs.read(program, first));
        let [_, other] = pairs.places();
        let is_first = other_first.binary(BinaryOp::Equal, other.clone());
        let before = match self.sorted {
            true => TopK::smallest().before(element, (y, other), (x, own_first)),
            false => other.binary(BinaryOp::Less, own_first),
        };
        let body = is_first.binary(BinaryOp::And, before).select(number(1), number(0));
        let inverse = pairs.reduce(program, Reducer::Sum, body);

        // For each value the place of its first element, and the number of elements.
        let mut pairs = Pairs::new(elements);
        let ([_, value], [_, other_first]) = (pairs.read(program, inverse), pairs.read(program, first));
        let [own, other] = pairs.places();
        let is_first = other_first.binary(BinaryOp::Equal, other.clone());
        let body = is_first.binary(BinaryOp::And, value.binary(BinaryOp::Equal, own)).select(other, number(0));
        let places = pairs.reduce(program, Reducer::Sum, body);
        let mut pairs = Pairs::new(elements);
        let ([_, value], [own, _]) = (pairs.read(program, inverse), pairs.places());
        let body = value.binary(BinaryOp::Equal, own).select(number(1), number(0));
        let counts = pairs.reduce(program, Reducer::Sum, body);

        let values = program.apply(&Gather::along(0), &[Some(data), Some(places)], 1)[0];
        let last = compose::reduce(program, inverse, &[0], Reducer::Maximum);
        let last = movement::reshape(program, last, &Shape::scalar());
        let count = compose::map(program, [last], ElementType::I64, |[last]| last.binary(BinaryOp::Add, number(1)));
        vec![values, places, inverse, counts, count]
    }
}
