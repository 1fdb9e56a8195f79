//! Small models written by hand.

use std::borrow::Borrow;

use prost::Message;
use prost::bytes::Bytes;
use warpweave_frontend::onnx::{
    AttributeProto, AttributeType, Dimension, DimensionValue, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use warpweave_frontend::{ImportError, ImportOptions, import_bytes};
use warpweave_graph::reference::evaluate;
use warpweave_graph::{ElementType, Graph, Tensor, lower};

/// ONNX's number of an element type that the tests use.
fn number(element: ElementType) -> i32 {
    match element {
        ElementType::F32 => 1,
        ElementType::U8 => 2,
        ElementType::I8 => 3,
        ElementType::I32 => 6,
        ElementType::I64 => 7,
        ElementType::Bool => 9,
        ElementType::I4 => 22,
        ElementType::F8E4M3FN => 17,
        ElementType::F8E5M2 => 19,
        ElementType::F4E2M1 => 23,
        other => panic!("{other} is not used in tests"),
    }
}

/// A node with inputs and outputs by name.
pub fn node(operator: &str, inputs: &[&str], outputs: &[&str], attributes: Vec<AttributeProto>) -> NodeProto {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    NodeProto {
        op_type: operator.to_owned(),
        input: names(inputs),
        output: names(outputs),
        attribute: attributes,
        ..NodeProto::default()
    }
}

/// An attribute that is an integer.
pub fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { name: name.to_owned(), r#type: AttributeType::Int as i32, i, ..AttributeProto::default() }
}

/// An attribute that is a single.
pub fn float(name: &str, f: f32) -> AttributeProto {
    AttributeProto { name: name.to_owned(), r#type: AttributeType::Float as i32, f, ..AttributeProto::default() }
}

/// An attribute that is text.
pub fn string(name: &str, text: &str) -> AttributeProto {
    let s = Bytes::copy_from_slice(text.as_bytes());
    AttributeProto { name: name.to_owned(), r#type: AttributeType::String as i32, s, ..AttributeProto::default() }
}

/// An attribute that is a list of integers.
pub fn ints(name: &str, ints: &[i64]) -> AttributeProto {
    let ints = ints.to_vec();
    AttributeProto { name: name.to_owned(), r#type: AttributeType::Ints as i32, ints, ..AttributeProto::default() }
}

/// An attribute that is a list of singles.
pub fn floats(name: &str, floats: &[f32]) -> AttributeProto {
    let floats = floats.to_vec();
    AttributeProto { name: name.to_owned(), r#type: AttributeType::Floats as i32, floats, ..AttributeProto::default() }
}

/// An attribute that is a list of texts.
pub fn strings(name: &str, texts: &[&str]) -> AttributeProto {
    let strings = texts.iter().map(|text| Bytes::copy_from_slice(text.as_bytes())).collect();
    AttributeProto {
        name: name.to_owned(),
        r#type: AttributeType::Strings as i32,
        strings,
        ..AttributeProto::default()
    }
}

/// An attribute that is a graph.
pub fn graph_attribute(name: &str, graph: GraphProto) -> AttributeProto {
    let g = Some(graph);
    AttributeProto { name: name.to_owned(), r#type: AttributeType::Graph as i32, g, ..AttributeProto::default() }
}

/// A graph inside a node.
pub fn subgraph(
    input: Vec<ValueInfoProto>,
    initializer: Vec<TensorProto>,
    node: Vec<NodeProto>,
    output: Vec<ValueInfoProto>,
) -> GraphProto {
    GraphProto { name: "inner".to_owned(), node, initializer, input, output, ..GraphProto::default() }
}

/// A constant tensor.
pub fn constant(name: &str, tensor: &Tensor) -> TensorProto {
    TensorProto {
        name: name.to_owned(),
        dims: tensor.shape().iter().map(|&extent| extent as i64).collect(),
        data_type: number(tensor.element()),
        raw_data: tensor.bytes().clone(),
        ..TensorProto::default()
    }
}

/// A named value; dimensions are extents or names.
pub fn value(name: &str, element: ElementType, dimensions: &[&str]) -> ValueInfoProto {
    let dimension = |&text: &&str| {
        let value = text.parse().map_or_else(|_| DimensionValue::DimParam(text.to_owned()), DimensionValue::DimValue);
        Dimension { value: Some(value), ..Dimension::default() }
    };
    let shape = Some(TensorShapeProto { dim: dimensions.iter().map(dimension).collect() });
    let tensor = TensorTypeProto { elem_type: number(element), shape };
    ValueInfoProto::new(name, TypeProto::of_tensor(tensor))
}

/// A model that gives the values `outputs`.
pub fn model(
    opset: i64,
    inputs: Vec<ValueInfoProto>,
    constants: Vec<TensorProto>,
    nodes: Vec<NodeProto>,
    outputs: &[&str],
) -> ModelProto {
    let output = |&name: &&str| ValueInfoProto { name: name.to_owned(), ..ValueInfoProto::default() };
    let graph = GraphProto {
        name: "test".to_owned(),
        node: nodes,
        initializer: constants,
        input: inputs,
        output: outputs.iter().map(output).collect(),
        ..GraphProto::default()
    };
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: opset }];
    ModelProto { ir_version: 8, graph: Some(graph), opset_import, ..Default::default() }
}

/// The graph of a model without folder.
pub fn load(model: &ModelProto, options: &ImportOptions) -> Result<Graph, ImportError> {
    import_bytes(model.encode_to_vec().into(), None, options)
}

/// The outputs of one operator applied to tensors: the first is an input of the model, the others are constants.
pub fn apply(
    operator: &str,
    opset: i64,
    tensors: &[impl Borrow<Tensor>],
    outputs: usize,
    attributes: Vec<AttributeProto>,
) -> Vec<Tensor> {
    let tensors: Vec<Tensor> = tensors.iter().map(|tensor| tensor.borrow().clone()).collect();
    let names: Vec<String> = (0..tensors.len()).map(|at| format!("x{at}")).collect();
    let results: Vec<String> = (0..outputs).map(|at| format!("y{at}")).collect();
    let inputs: Vec<&str> = names.iter().map(String::as_str).collect();
    let outputs: Vec<&str> = results.iter().map(String::as_str).collect();
    let extents: Vec<String> = tensors[0].shape().iter().map(ToString::to_string).collect();
    let extents: Vec<&str> = extents.iter().map(String::as_str).collect();
    let constants = tensors.iter().zip(&names).skip(1).map(|(tensor, name)| constant(name, tensor)).collect();
    let input = value("x0", tensors[0].element(), &extents);
    let node = node(operator, &inputs, &outputs, attributes);
    let model = model(opset, vec![input], constants, vec![node], &outputs);
    let graph = load(&model, &ImportOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    evaluate(&lower(&graph), &tensors[..1]).expect("the reference evaluates the model")
}
