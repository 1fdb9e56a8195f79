//! What an operator says of itself.

use std::ops::RangeInclusive;

use super::{Attribute, AttributeError, AttributeReader, Context, InferError};
use crate::counted::CountedOutput;
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// The newest opset of the default domain that operators know.
pub const NEWEST_OPSET: i64 = 28;

/// All storage types.
pub const ALL_STORAGE: &[ElementType] = &[
    ElementType::F8E4M3FN,
    ElementType::F8E4M3FNUZ,
    ElementType::F8E5M2,
    ElementType::F8E5M2FNUZ,
    ElementType::F8E8M0,
    ElementType::F4E2M1,
    ElementType::I4,
    ElementType::U4,
    ElementType::I2,
    ElementType::U2,
];

/// The storage types of 8 bits with a sign and a mantissa.
pub const FLOAT8: &[ElementType] =
    &[ElementType::F8E4M3FN, ElementType::F8E4M3FNUZ, ElementType::F8E5M2, ElementType::F8E5M2FNUZ];

/// An operator with its attributes.
pub trait Operator: Sized {
    /// The ONNX operator type.
    const NAME: &'static str;
    /// The ONNX domain; the default one is empty.
    const DOMAIN: &'static str = "";
    /// The opset versions of the domain whose meaning of the operator is implemented.
    const OPSETS: RangeInclusive<i64> = 1..=NEWEST_OPSET;

    /// How many inputs a node may name, optional ones that are left out before the last included.
    const INPUTS: RangeInclusive<usize>;

    /// The storage types that elements of inputs and outputs may have: those for which ONNX defines the operator. All other
    /// operators refuse them.
    const STORAGE: &'static [ElementType] = &[];

    /// The operator with these ONNX attributes, as defined by the reader's opset.
    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError>;

    /// The attributes from which [`Operator::from_attributes`] at the newest opset makes an equal operator.
    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        Vec::new()
    }

    /// The outputs whose extents depend on data, for inputs that [`Operator::infer`] accepts. The outputs that hold counts
    /// are 64-bit scalars behind those that ONNX defines.
    fn counted(&self, _: &Context) -> Vec<CountedOutput> {
        Vec::new()
    }

    /// The dimension of every output to which the elements of a dimension of an input go, if what stands behind a count has no
    /// influence on what stands before it. `None` if it has, or may have.
    fn follows(&self, _: &Context, _input: usize, _dimension: usize) -> Option<usize> {
        None
    }

    /// The types of the outputs, for as many inputs as [`Operator::INPUTS`] allows.
    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError>;

    /// The type of the first output, for inputs that [`Operator::infer`] accepts.
    ///
    /// # Panics
    /// If the inputs are not accepted, or the output is no tensor.
    fn output(&self, context: &Context) -> TensorType {
        let types = self.infer(context).expect("lowering follows successful inference");
        types.first().and_then(ValueType::as_tensor).expect("the first output is a tensor").clone()
    }

    /// Appends what the operator computes, for inputs that [`Operator::infer`] accepts; one tensor an output.
    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId>;
}
