//! `Compress`: the slices that a condition names.

use std::ops::RangeInclusive;

use crate::counted::CountedOutput;
use crate::expr::{ExprBuilder, Index, Literal};
use crate::ops::compaction::{self, Marked};
use crate::ops::gather::Gather;
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, axes, movement,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// The slices along an axis, or the elements of all dimensions, for which the second input holds; places behind its end do
/// not. Where that is no constant, as many slices count as a second output says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compress {
    axis: Option<i64>,
}

/// What is picked from: a dimension of a shape.
struct Choice {
    shape: Shape,
    dimension: usize,
    /// The places, if the condition is constant.
    known: Option<Vec<i64>>,
}

impl Compress {
    fn choice(&self, context: &Context) -> Result<Choice, InferError> {
        let (data, condition) = (context.tensor(0)?, context.tensor(1)?);
        let (shape, dimension) = match self.axis {
            Some(axis) => (data.shape.clone(), axes::dimension(axis, data.shape.len())?),
            None => ([data.shape.checked_elements().unwrap_or(usize::MAX)].into(), 0),
        };
        let extent = shape[dimension];
        if condition.element != ElementType::Bool || condition.shape.len() != 1 || condition.shape[0] > extent {
            return Err(InferError::Mismatch(format!("{condition} is no condition for {extent} slices of {data}")));
        }
        let constant = context.fact(1).and_then(|fact| fact.value.as_ref());
        let known = constant.map(|value| {
            let marks = value.to_i64().into_iter().enumerate();
            marks.filter(|(_, mark)| *mark != 0).map(|(place, _)| place as i64).collect()
        });
        if known.is_none() {
            compaction::accept(Some(extent), "the condition")?;
        }
        Ok(Choice { shape, dimension, known })
    }
}

impl Operator for Compress {
    const NAME: &'static str = "Compress";
    const OPSETS: RangeInclusive<i64> = 9..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=2;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { axis: attributes.int("axis")? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.axis.map(|axis| ("axis", Attribute::Int(axis))).into_iter().collect()
    }

    fn counted(&self, context: &Context) -> Vec<CountedOutput> {
        match self.choice(context) {
            Ok(Choice { dimension, known: None, .. }) => vec![CountedOutput { output: 0, dimension, count: 1 }],
            Ok(_) | Err(_) => Vec::new(),
        }
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let Choice { shape, dimension, known } = self.choice(context)?;
        let mut extents = shape.to_vec();
        extents[dimension] = known.as_ref().map_or(extents[dimension], Vec::len);
        let picked = TensorType::new(context.tensor(0)?.element, extents);
        let count = known.is_none().then(|| TensorType::new(ElementType::I64, []));
        Ok([picked].into_iter().chain(count).map(ValueType::from).collect())
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let Choice { shape, dimension, known } = self.choice(context).expect("inference accepted the condition");
        let [data, condition] = [0, 1].map(|input| inputs[input].expect("inference found the inputs"));
        let data = movement::reshape(program, data, &shape);
        let gather = Gather::along(dimension);
        if let Some(places) = known {
            let places = program.constant(Tensor::vector_i64(&places));
            return program.apply(&gather, &[Some(data), Some(places)], 1);
        }
        let mut expr = ExprBuilder::new();
        let place = expr.parallel(shape[dimension]);
        let operand = expr.operand(program.ty(condition));
        let body = expr.padded_read(operand, vec![Index::axis(place)], Literal::Bool(false));
        let marks = program.compute(expr.map(ElementType::Bool, body), &[condition]);
        let Marked { places, count } = compaction::marked(program, marks);
        let picked = program.apply(&gather, &[Some(data), Some(places)], 1)[0];
        vec![picked, count]
    }
}
