//! Attributes of nodes.

use warpweave_frontend::onnx::{AttributeProto, AttributeType};

/// A named attribute.
pub(super) enum Attribute {
    /// An integer.
    Int(&'static str, usize),
    /// An integer below 0.
    Axis(&'static str, i64),
    /// Integers.
    Ints(&'static str, Vec<usize>),
    /// A single.
    Float(&'static str, f32),
    Text(&'static str, &'static str),
}

impl Attribute {
    /// The message of the file.
    pub(super) fn encode(self) -> AttributeProto {
        let of = |name: &str, kind: AttributeType| AttributeProto {
            name: name.to_owned(),
            r#type: kind as i32,
            ..Default::default()
        };
        match self {
            Self::Int(name, i) => AttributeProto { i: i as i64, ..of(name, AttributeType::Int) },
            Self::Axis(name, i) => AttributeProto { i, ..of(name, AttributeType::Int) },
            Self::Ints(name, ints) => {
                let ints = ints.into_iter().map(|int| int as i64).collect();
                AttributeProto { ints, ..of(name, AttributeType::Ints) }
            }
            Self::Float(name, f) => AttributeProto { f, ..of(name, AttributeType::Float) },
            Self::Text(name, text) => AttributeProto { s: text.as_bytes().into(), ..of(name, AttributeType::String) },
        }
    }
}
