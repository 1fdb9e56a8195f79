//! Attributes of nodes, from the file's form to the graph's.

use warpweave_graph::ops::Attribute;

use crate::onnx::{AttributeProto, AttributeType};
use crate::weights::{WeightError, Weights};

/// Why an attribute cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum UnreadableAttribute {
    /// Attributes of that kind are not supported.
    #[error("attribute {name} holds {kind}, which is not supported")]
    Kind { name: String, kind: &'static str },
    /// The attribute's text is not UTF-8.
    #[error("attribute {0} is not UTF-8")]
    Text(String),
    /// The attribute's tensor is not valid.
    #[error("attribute {name}: {error}")]
    Tensor { name: String, error: WeightError },
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
        AttributeType::Float => Ok(Attribute::Float(attribute.f)),
        AttributeType::Int => Ok(Attribute::Int(attribute.i)),
        AttributeType::String => Ok(Attribute::String(text(&attribute.s)?)),
        AttributeType::Floats => Ok(Attribute::Floats(attribute.floats.clone())),
        AttributeType::Ints => Ok(Attribute::Ints(attribute.ints.clone())),
        AttributeType::Strings => {
            let texts = attribute.strings.iter().map(|bytes| text(bytes));
            Ok(Attribute::Strings(texts.collect::<Result<_, _>>()?))
        }
        AttributeType::Tensor => match &attribute.t {
            Some(tensor) => {
                let tensor = weights.read(tensor);
                tensor.map(Attribute::Tensor).map_err(|error| UnreadableAttribute::Tensor { name: name(), error })
            }
            None => unsupported("an absent tensor"),
        },
        AttributeType::Graph | AttributeType::Graphs => unsupported("a graph"),
        AttributeType::Tensors => unsupported("a list of tensors"),
        AttributeType::SparseTensor | AttributeType::SparseTensors => unsupported("a sparse tensor"),
        AttributeType::TypeProto | AttributeType::TypeProtos => unsupported("a type"),
        AttributeType::Undefined => unsupported("an unknown kind of value"),
    }
}

/// What an attribute holds; files of the first format version do not say, so the fields do.
fn kind(attribute: &AttributeProto) -> AttributeType {
    match AttributeType::try_from(attribute.r#type) {
        Err(_) => AttributeType::Undefined,
        Ok(AttributeType::Undefined) => {
            let present = [
                (attribute.t.is_some(), AttributeType::Tensor),
                (attribute.g.is_some(), AttributeType::Graph),
                (!attribute.floats.is_empty(), AttributeType::Floats),
                (!attribute.ints.is_empty(), AttributeType::Ints),
                (!attribute.strings.is_empty(), AttributeType::Strings),
                (!attribute.s.is_empty(), AttributeType::String),
                (attribute.f != 0.0, AttributeType::Float),
            ];
            present.iter().find(|(present, _)| *present).map_or(AttributeType::Int, |(_, kind)| *kind)
        }
        Ok(kind) => kind,
    }
}
