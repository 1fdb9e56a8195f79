//! `DynamicQuantizeLinear`: numbers as unsigned bytes of a scale that they choose themselves.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, Reducer, Scalar};
use crate::ops::quantization::rounded;
use crate::ops::{
    AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, broadcast, elementwise, reduction,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// Bytes, scale and zero point of singles, such that 0 and all elements are represented. Where all elements are 0 the scale
/// is 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DynamicQuantizeLinear;

const STEPS: f64 = 255.0;

impl Operator for DynamicQuantizeLinear {
    const NAME: &'static str = "DynamicQuantizeLinear";
    const OPSETS: RangeInclusive<i64> = 11..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(_: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self)
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        if data.element != ElementType::F32 || data.shape.contains(&0) {
            return Err(InferError::Mismatch(format!("{data} is no tensor of singles")));
        }
        let scalar = |element| TensorType { element, shape: Shape::scalar() }.into();
        let bytes = TensorType { element: ElementType::U8, shape: data.shape.clone() }.into();
        Ok(vec![bytes, scalar(ElementType::F32), scalar(ElementType::U8)])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = inputs[0].expect("inference found the input");
        let dimensions: Vec<usize> = (0..context.accepted(0).shape.len()).collect();
        let literal = |value| Scalar::literal(ElementType::F32, value);
        // 0 is always represented.
        let mut extreme = |reducer: Reducer| {
            let with_zero = Scalar::Reduced.binary(reducer.op(), literal(0.0));
            match dimensions.is_empty() {
                true => broadcast::map(&[Some(data)], program, ElementType::F32, |mut x| {
                    x.remove(0).binary(reducer.op(), literal(0.0))
                }),
                false => reduction::along(program, data, &dimensions, &Shape::scalar(), reducer, |_| Some(with_zero)),
            }
        };
        let (least, most) = (extreme(Reducer::Minimum), extreme(Reducer::Maximum));
        let scale = broadcast::map(&[Some(least), Some(most)], program, ElementType::F32, |operands| {
            let [least, most]: [Scalar; 2] = elementwise::operands(operands);
            let range = most.binary(BinaryOp::Subtract, least);
            let step = range.clone().binary(BinaryOp::Divide, literal(STEPS));
            range.binary(BinaryOp::Equal, literal(0.0)).select(literal(1.0), step)
        });
        let zero = broadcast::map(&[Some(least), Some(scale)], program, ElementType::U8, |operands| {
            let [least, scale]: [Scalar; 2] = elementwise::operands(operands);
            let below = literal(0.0).binary(BinaryOp::Subtract, least);
            rounded(ElementType::F32, ElementType::U8, below, scale, None)
        });
        let bytes = broadcast::map(&[Some(data), Some(scale), Some(zero)], program, ElementType::U8, |operands| {
            let [value, scale, zero]: [Scalar; 3] = elementwise::operands(operands);
            rounded(ElementType::F32, ElementType::U8, value, scale, Some(zero))
        });
        vec![bytes, scale, zero]
    }
}
