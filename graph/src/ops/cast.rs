//! `Cast`: conversion to another element type.

use std::ops::RangeInclusive;

use super::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, broadcast};
use crate::expr::Scalar;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// Every element converted; floating point to integer truncates and saturates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cast {
    to: ElementType,
}

/// ONNX's numbers of the element types.
const NUMBERS: [(i64, ElementType); 13] = [
    (1, ElementType::F32),
    (2, ElementType::U8),
    (3, ElementType::I8),
    (4, ElementType::U16),
    (5, ElementType::I16),
    (6, ElementType::I32),
    (7, ElementType::I64),
    (9, ElementType::Bool),
    (10, ElementType::F16),
    (11, ElementType::F64),
    (12, ElementType::U32),
    (13, ElementType::U64),
    (16, ElementType::BF16),
];

/// The element type with this number in ONNX, if it is supported.
pub fn element_type(number: i64) -> Option<ElementType> {
    NUMBERS.iter().find(|(known, _)| *known == number).map(|(_, element)| *element)
}

/// ONNX's number of an element type.
pub fn number(element: ElementType) -> Option<i64> {
    NUMBERS.iter().find(|(_, known)| *known == element).map(|(number, _)| *number)
}

/// The number of an element type that has this name in ONNX, as the attribute was before opset 6.
fn numbered(name: &str) -> Result<i64, AttributeError> {
    let element = match name {
        "FLOAT" => ElementType::F32,
        "UINT8" => ElementType::U8,
        "INT8" => ElementType::I8,
        "UINT16" => ElementType::U16,
        "INT16" => ElementType::I16,
        "INT32" => ElementType::I32,
        "INT64" => ElementType::I64,
        "BOOL" => ElementType::Bool,
        "FLOAT16" => ElementType::F16,
        "DOUBLE" => ElementType::F64,
        "UINT32" => ElementType::U32,
        "UINT64" => ElementType::U64,
        _ => return Err(AttributeError::Value { name: "to", reason: format!("element type {name} is not supported") }),
    };
    number(element).ok_or(AttributeError::Missing("to"))
}

impl Operator for Cast {
    const NAME: &'static str = "Cast";
    const INPUTS: RangeInclusive<usize> = 1..=1;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let number = match attributes.opset() < 6 {
            true => attributes.string("to")?.map(|name| numbered(&name)).transpose()?,
            false => attributes.int("to")?,
        };
        let number = number.ok_or(AttributeError::Missing("to"))?;
        attributes.int("saturate")?;
        attributes.string("round_mode")?;
        let reason = || format!("element type {number} is not supported");
        let to = element_type(number).ok_or_else(|| AttributeError::Value { name: "to", reason: reason() })?;
        Ok(Self { to })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        number(self.to).map(|number| ("to", Attribute::Int(number))).into_iter().collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        Ok(vec![TensorType { element: self.to, shape: context.tensor(0)?.shape.clone() }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let from = context.accepted(0).element;
        if from == self.to {
            return inputs.iter().flatten().copied().collect();
        }
        let body = |reads| {
            let [x]: [Scalar; 1] = super::elementwise::operands(reads);
            x.cast(from, self.to)
        };
        vec![broadcast::map(inputs, program, self.to, body)]
    }
}
