//! Attributes of nodes, from the file's form to the graph's.

use warpweave_graph::ops::Attribute;

use crate::onnx::{AttributeKind, AttributeProto};
use crate::weights::{WeightError, Weights};

/// Why an attribute cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum UnreadableAttribute {
    /// Attributes of that kind are not supported.
    #[error("attribute {name} holds {kind}, which is not supported")]
    Kind {
        /// The attribute.
        name: String,
        /// What it holds.
        kind: &'static str,
    },
    /// The attribute's text is not UTF-8.
    #[error("attribute {0} is not UTF-8")]
    Text(String),
    /// The attribute's tensor is not valid.
    #[error("attribute {name}: {error}")]
    Tensor {
        /// The attribute.
        name: String,
        /// What is wrong.
        error: WeightError,
    },
}

/// The value of an attribute, with the name that it goes by.
pub(crate) fn read(
    name: &str,
    attribute: &AttributeProto,
    weights: &mut Weights,
) -> Result<Attribute, UnreadableAttribute> {
    let name = || name.to_owned();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| UnreadableAttribute::Text(name()));
    let unsupported = |kind| Err(UnreadableAttribute::Kind { name: name(), kind });
    match kind(attribute) {
        AttributeKind::Float => Ok(Attribute::Float(attribute.f)),
        AttributeKind::Int => Ok(Attribute::Int(attribute.i)),
        AttributeKind::String => Ok(Attribute::String(text(&attribute.s)?)),
        AttributeKind::Floats => Ok(Attribute::Floats(attribute.floats.clone())),
        AttributeKind::Ints => Ok(Attribute::Ints(attribute.ints.clone())),
        AttributeKind::Strings => {
            let texts = attribute.strings.iter().map(|bytes| text(bytes));
            Ok(Attribute::Strings(texts.collect::<Result<_, _>>()?))
        }
        AttributeKind::Tensor => match &attribute.t {
            Some(tensor) => {
                let tensor = weights.read(tensor);
                tensor.map(Attribute::Tensor).map_err(|error| UnreadableAttribute::Tensor { name: name(), error })
            }
            None => unsupported("an absent tensor"),
        },
        AttributeKind::Graph | AttributeKind::Graphs => unsupported("a graph"),
        AttributeKind::Tensors => unsupported("a list of tensors"),
        AttributeKind::SparseTensor | AttributeKind::SparseTensors => unsupported("a sparse tensor"),
        AttributeKind::Type | AttributeKind::Types => unsupported("a type"),
        AttributeKind::Undefined => unsupported("an unknown kind of value"),
    }
}

/// What an attribute holds; files of the first format version do not say, so the fields do.
fn kind(attribute: &AttributeProto) -> AttributeKind {
    match AttributeKind::try_from(attribute.r#type) {
        Err(_) => AttributeKind::Undefined,
        Ok(AttributeKind::Undefined) => {
            let present = [
                (attribute.t.is_some(), AttributeKind::Tensor),
                (attribute.g.is_some(), AttributeKind::Graph),
                (!attribute.floats.is_empty(), AttributeKind::Floats),
                (!attribute.ints.is_empty(), AttributeKind::Ints),
                (!attribute.strings.is_empty(), AttributeKind::Strings),
                (!attribute.s.is_empty(), AttributeKind::String),
                (attribute.f != 0.0, AttributeKind::Float),
            ];
            present.iter().find(|(present, _)| *present).map_or(AttributeKind::Int, |(_, kind)| *kind)
        }
        Ok(kind) => kind,
    }
}
