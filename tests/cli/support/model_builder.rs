//! Models put together from their parts.

use std::fs::File;

use warpweave::frontend::encode::write_model;
use warpweave::frontend::onnx::{
    Dimension, DimensionValue, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto,
    TensorTypeProto, TypeProto, ValueInfoProto,
};

use crate::support::tool::Folder;

/// ONNX's numbers of element types.
pub const F32: i32 = 1;
pub const I64: i32 = 7;
pub const STRING: i32 = 8;
pub const BOOL: i32 = 9;
pub const F64: i32 = 11;
pub const COMPLEX64: i32 = 14;

/// An input or output: numbers are extents, other text names dimensions.
pub fn value(name: &str, element: i32, dimensions: &[&str]) -> ValueInfoProto {
    let dimension = |text: &&str| {
        let extent = text.parse().map(DimensionValue::DimValue);
        Dimension {
            value: Some(extent.unwrap_or_else(|_| DimensionValue::DimParam((*text).to_owned()))),
            ..Dimension::default()
        }
    };
    let shape = TensorShapeProto { dim: dimensions.iter().map(dimension).collect() };
    let tensor = TensorTypeProto { elem_type: element, shape: Some(shape) };
    ValueInfoProto::new(name, TypeProto::of_tensor(tensor))
}

pub fn node(operator: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        name: format!("{operator}_{output}"),
        op_type: operator.to_owned(),
        input: inputs.iter().map(|&name| name.to_owned()).collect(),
        output: vec![output.to_owned()],
        ..NodeProto::default()
    }
}

/// Writes a model of opset 17 and returns its path.
pub fn write(
    folder: &Folder,
    file: &str,
    inputs: Vec<ValueInfoProto>,
    node: Vec<NodeProto>,
    outputs: Vec<ValueInfoProto>,
) -> String {
    write_with(folder, file, inputs, node, outputs, &[])
}

/// An initializer.
#[derive(Clone, Debug)]
pub struct Weight(TensorProto);

impl Weight {
    pub fn singles(name: &str, dims: &[i64], values: &[f32]) -> Self {
        let float_data = values.to_vec();
        Self(TensorProto { float_data, ..Self::of(name, F32, dims) })
    }

    pub fn integers(name: &str, dims: &[i64], values: &[i64]) -> Self {
        let int64_data = values.to_vec();
        Self(TensorProto { int64_data, ..Self::of(name, I64, dims) })
    }

    fn of(name: &str, data_type: i32, dims: &[i64]) -> TensorProto {
        TensorProto { name: name.to_owned(), data_type, dims: dims.to_vec(), ..TensorProto::default() }
    }
}

/// The same with initializers.
pub fn write_with(
    folder: &Folder,
    file: &str,
    inputs: Vec<ValueInfoProto>,
    node: Vec<NodeProto>,
    outputs: Vec<ValueInfoProto>,
    weights: &[Weight],
) -> String {
    let initializer = weights.iter().map(|Weight(tensor)| tensor.clone()).collect();
    let name = "built".to_owned();
    let graph = GraphProto { node, name, initializer, input: inputs, output: outputs, ..GraphProto::default() };
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 17 }];
    let model = ModelProto { ir_version: 8, graph: Some(graph), opset_import, ..Default::default() };
    let path = folder.join(file);
    let mut out = File::create(&path).expect("the file can be written");
    write_model(&model, &[], &mut out, |_, _| Ok(())).expect("the model can be written");
    path.display().to_string()
}
