//! Attributes of operators, as ONNX has them.

use std::collections::BTreeMap;

use crate::tensor::Tensor;

/// The value of an attribute.
#[derive(Clone, PartialEq, Debug)]
pub enum Attribute {
    /// An integer.
    Int(i64),
    /// A single.
    Float(f32),
    /// Text.
    String(String),
    Tensor(Tensor),
    /// Integers.
    Ints(Vec<i64>),
    /// Singles.
    Floats(Vec<f32>),
    /// Texts.
    Strings(Vec<String>),
}

/// Why attributes make no operator.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum AttributeError {
    /// A required attribute is absent.
    #[error("attribute {0} is missing")]
    Missing(&'static str),
    /// An attribute has a value of another kind.
    #[error("attribute {0} is of the wrong kind")]
    Kind(&'static str),
    /// An attribute has a value that the operator does not define or that is not supported.
    #[error("attribute {name}: {reason}")]
    Value {
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Attributes that the operator does not have.
    #[error("unknown attribute {0}")]
    Unknown(String),
}

/// A node's attributes, taken one by one; what is left at the end is unknown.
#[derive(Clone, Debug, Default)]
pub struct AttributeReader {
    attributes: BTreeMap<String, Attribute>,
    opset: i64,
}

macro_rules! take {
    ($(#[$doc:meta])* $method:ident, $variant:ident, $rust:ty) => {
        $(#[$doc])*
        pub fn $method(&mut self, name: &'static str) -> Result<Option<$rust>, AttributeError> {
            match self.attributes.remove(name) {
                None => Ok(None),
                Some(Attribute::$variant(value)) => Ok(Some(value)),
                Some(_) => Err(AttributeError::Kind(name)),
            }
        }
    };
}

impl AttributeReader {
    /// A reader of a node's attributes under the model's opset of the operator's domain.
    pub fn new(attributes: impl IntoIterator<Item = (String, Attribute)>, opset: i64) -> Self {
        Self { attributes: attributes.into_iter().collect(), opset }
    }

    /// The opset of the operator's domain.
    pub fn opset(&self) -> i64 {
        self.opset
    }

    take!(
        /// Takes an integer.
        int, Int, i64
    );
    take!(
        /// Takes a single.
        float, Float, f32
    );
    take!(
        /// Takes text.
        string, String, String
    );
    take!(
        /// Takes a tensor.
        tensor, Tensor, Tensor
    );
    take!(
        /// Takes integers.
        ints, Ints, Vec<i64>
    );
    take!(
        /// Takes singles.
        floats, Floats, Vec<f32>
    );
    take!(
        /// Takes texts.
        strings, Strings, Vec<String>
    );

    /// Takes an integer that must be 0 or 1.
    pub fn flag(&mut self, name: &'static str) -> Result<Option<bool>, AttributeError> {
        match self.int(name)? {
            None => Ok(None),
            Some(0) => Ok(Some(false)),
            Some(1) => Ok(Some(true)),
            Some(other) => Err(AttributeError::Value { name, reason: format!("{other} is neither 0 nor 1") }),
        }
    }

    /// Fails if an attribute has not been taken.
    pub fn finish(&self) -> Result<(), AttributeError> {
        match self.attributes.keys().next() {
            None => Ok(()),
            Some(name) => Err(AttributeError::Unknown(name.clone())),
        }
    }
}
