//! The messages of an ONNX file. `scripts/onnx_types.sh` makes them from the published `onnx.proto`.

mod generated;

pub use generated::attribute_proto::AttributeType;
pub use generated::tensor_shape_proto::Dimension;
pub use generated::tensor_shape_proto::dimension::Value as DimensionValue;
pub use generated::type_proto::{Tensor as TensorTypeProto, Value as TypeValue};
pub use generated::*;

impl TypeProto {
    /// A tensor's type.
    pub fn of_tensor(tensor: TensorTypeProto) -> Self {
        Self { value: Some(TypeValue::TensorType(tensor)), ..Self::default() }
    }
}

impl ValueInfoProto {
    /// A value of this name and type.
    pub fn new(name: &str, ty: TypeProto) -> Self {
        Self { name: name.to_owned(), r#type: Some(ty), ..Self::default() }
    }

    /// The type of the value, if it is a tensor.
    pub fn tensor_type(&self) -> Option<&TensorTypeProto> {
        match self.r#type.as_ref()?.value.as_ref()? {
            TypeValue::TensorType(tensor) => Some(tensor),
            _ => None,
        }
    }
}
