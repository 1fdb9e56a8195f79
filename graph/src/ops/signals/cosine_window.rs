//! What the window operators have in common.

use std::f64::consts::TAU;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar, UnaryOp};
use crate::ops::cast::{element_number, element_type};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType};

/// A window of a constant number of elements, the only input: a sum of cosines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CosineWindow {
    element: ElementType,
    /// Whether the first element follows on the last, instead of being equal to it.
    periodic: bool,
}

/// Longest window that is accepted.
const LIMIT: i64 = 1 << 30;

impl CosineWindow {
    pub fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let number = attributes.int("output_datatype")?.unwrap_or(1);
        let element = element_type(number)
            .filter(|element| *element != ElementType::Bool && !element.is_storage())
            .ok_or_else(|| AttributeError::Value {
                name: "output_datatype",
                reason: format!("element type {number} is not supported"),
            })?;
        Ok(Self { element, periodic: attributes.flag("periodic")?.unwrap_or(true) })
    }

    pub fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![
            ("output_datatype", Attribute::Int(element_number(self.element))),
            ("periodic", Attribute::Int(i64::from(self.periodic))),
        ]
    }

    /// The type of the window.
    pub fn infer(&self, context: &Context) -> Result<TensorType, InferError> {
        match context.integers(0)?.as_deref() {
            Some(&[size @ 0..=LIMIT]) => Ok(TensorType::new(self.element, [size as usize])),
            _ => Err(InferError::Mismatch("the size is not one number, or no possible one".to_owned())),
        }
    }

    /// Appends `Σ coefficients[k] · cos(2πkn / N)`, where N is the size, less 1 unless the window is periodic.
    pub fn lower(&self, context: &Context, program: &mut ProgramBuilder, coefficients: &[f64]) -> TensorId {
        let output = self.infer(context).expect("inference accepted the size");
        let size = output.shape[0];
        let period = if self.periodic { size } else { size.saturating_sub(1) }.max(1);
        let inner = if self.element == ElementType::F64 { ElementType::F64 } else { ElementType::F32 };
        let mut expr = ExprBuilder::new();
        let place = Index::axis(expr.parallel(size));
        let place = Scalar::Index(place, ElementType::I64).cast(ElementType::I64, inner);
        let term = |(order, &coefficient): (usize, &f64)| {
            let factor = Scalar::literal(inner, TAU * order as f64 / period as f64);
            let cosine = place.clone().binary(BinaryOp::Multiply, factor).unary(UnaryOp::Cos);
            cosine.binary(BinaryOp::Multiply, Scalar::literal(inner, coefficient))
        };
        let terms = coefficients.iter().enumerate().map(term);
        let total = terms.reduce(|sum, term| sum.binary(BinaryOp::Add, term)).expect("a window has coefficients");
        program.compute(expr.map(self.element, total.cast(inner, self.element)), &[])
    }
}
