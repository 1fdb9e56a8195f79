//! The operators: one file each, and one line of registration below.

mod attribute;
mod context;
mod registry;

pub mod broadcast;
pub mod matmul;
pub mod relu;

pub use attribute::{Attribute, AttributeError, AttributeReader};
pub use context::{Context, Fact, InferError};
pub use registry::ImportError;

use std::ops::RangeInclusive;

use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// An operator with its attributes.
pub trait Operator: Sized {
    /// The ONNX operator type.
    const NAME: &'static str;
    /// The ONNX domain; the default one is empty.
    const DOMAIN: &'static str = "";
    /// The opset versions of the domain whose meaning of the operator is implemented.
    const OPSETS: RangeInclusive<i64> = 7..=23;

    /// The operator with these ONNX attributes, as defined by the reader's opset.
    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError>;

    /// The attributes from which [`Operator::from_attributes`] at the newest opset makes an equal operator.
    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        Vec::new()
    }

    /// The types of the outputs.
    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError>;

    /// Appends what the operator computes, for inputs that [`Operator::infer`] accepts; one tensor an output.
    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId>;
}

registry::operators! {
    matmul::MatMul,
    relu::Relu,
}
