//! Models written with streamed tensors.

use prost::Message;
use warpweave_frontend::encode::{StreamedTensor, write_model};
use warpweave_frontend::onnx::{GraphProto, ModelProto, TensorProto};

#[test]
fn streamed_and_held_tensors_are_the_same() {
    let header = |name: &str| TensorProto { dims: vec![300], data_type: 2, name: name.into(), ..Default::default() };
    let graph = GraphProto { name: "g".into(), initializer: vec![header("held")], ..Default::default() };
    let model = ModelProto { ir_version: 8, graph: Some(graph), ..Default::default() };
    let streamed =
        [StreamedTensor { header: header("a"), bytes: 300 }, StreamedTensor { header: header("b"), bytes: 0 }];
    let mut file = Vec::new();
    write_model(&model, &streamed, &mut file, |_, out| out.write_all(&[7; 300])).expect("memory takes all");
    let mut expected = model;
    let initializers = &mut expected.graph.as_mut().expect("the model has a graph").initializer;
    initializers.push(TensorProto { raw_data: vec![7; 300].into(), ..header("a") });
    initializers.push(header("b"));
    assert_eq!(ModelProto::decode(&file[..]).expect("the file is a model"), expected);
}

#[test]
fn a_wrong_number_of_bytes_is_an_error() {
    let streamed = StreamedTensor { header: TensorProto::default(), bytes: 2 };
    let result = write_model(&ModelProto::default(), &[streamed], &mut Vec::new(), |_, out| out.write_all(&[0]));
    assert!(result.is_err());
}
