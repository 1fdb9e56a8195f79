//! `Cast`: conversion to another element type.

use std::ops::RangeInclusive;

use crate::expr::Scalar;
use crate::ops::conversion::Conversion;
use crate::ops::{ALL_STORAGE, Attribute, AttributeError, AttributeReader, Context, InferError, Operator, broadcast};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// Every element converted; floating point to integer truncates and saturates, at 32 bits and then wraps for integers of fewer
/// than 8 bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cast {
    to: ElementType,
    conversion: Conversion,
}

/// ONNX's numbers of the element types.
const NUMBERS: [(i64, ElementType); 23] = [
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
    (17, ElementType::F8E4M3FN),
    (18, ElementType::F8E4M3FNUZ),
    (19, ElementType::F8E5M2),
    (20, ElementType::F8E5M2FNUZ),
    (21, ElementType::U4),
    (22, ElementType::I4),
    (23, ElementType::F4E2M1),
    (24, ElementType::F8E8M0),
    (25, ElementType::U2),
    (26, ElementType::I2),
];

/// The element type with this number in ONNX, if it is supported.
pub fn element_type(number: i64) -> Option<ElementType> {
    NUMBERS.iter().find(|(known, _)| *known == number).map(|(_, element)| *element)
}

/// The number of an element type in ONNX.
pub fn element_number(element: ElementType) -> i64 {
    let number = NUMBERS.iter().find(|(_, known)| *known == element).map(|(number, _)| *number);
    number.expect("every element type has a number")
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
    Ok(element_number(element))
}

impl Operator for Cast {
    const NAME: &'static str = "Cast";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const STORAGE: &'static [ElementType] = ALL_STORAGE;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let number = match attributes.opset() < 6 {
            true => attributes.string("to")?.map(|name| numbered(&name)).transpose()?,
            false => attributes.int("to")?,
        };
        let number = number.ok_or(AttributeError::Missing("to"))?;
        let conversion = Conversion::from_attributes(attributes)?;
        let reason = || format!("element type {number} is not supported");
        let to = element_type(number).ok_or_else(|| AttributeError::Value { name: "to", reason: reason() })?;
        Ok(Self { to, conversion })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let to = ("to", Attribute::Int(element_number(self.to)));
        [to].into_iter().chain(self.conversion.attributes()).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        Ok(vec![TensorType { element: self.to, shape: context.tensor(0)?.shape.clone() }.into()])
    }

    fn follows(&self, _: &Context, _: usize, dimension: usize) -> Option<usize> {
        Some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let from = context.accepted(0).element;
        if from == self.to {
            return inputs.iter().flatten().copied().collect();
        }
        let body = |reads| {
            let [x]: [Scalar; 1] = crate::ops::elementwise::operands(reads);
            self.conversion.apply(from, self.to, x)
        };
        vec![broadcast::map(inputs, program, self.to, body)]
    }
}
