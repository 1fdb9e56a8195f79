//! Elements of 8 bits and fewer as models hold them.

use std::fs;

use prost::Message;
use warpweave_frontend::import::tensor;
use warpweave_frontend::onnx::{StringStringEntryProto, TensorProto};
use warpweave_frontend::{Constant, ImportOptions, Number, import};
use warpweave_graph::ops::arithmetic::cast::element_number;
use warpweave_graph::{ElementType, Tensor, TensorType};

use crate::import::Folder;
use crate::model::{load, model, node, value};

/// Five elements of each type that shares bytes, and the bytes.
fn packed() -> [(ElementType, &'static [f64], &'static [u8]); 5] {
    [
        (ElementType::I4, &[-8.0, 7.0, -1.0, 0.0, 3.0], &[0x78, 0x0f, 0x03]),
        (ElementType::U4, &[8.0, 7.0, 15.0, 0.0, 3.0], &[0x78, 0x0f, 0x03]),
        (ElementType::F4E2M1, &[-0.0, 6.0, -6.0, 0.0, 1.5], &[0x78, 0x0f, 0x03]),
        (ElementType::I2, &[-2.0, 1.0, -1.0, 0.0, 1.0], &[0b00_11_01_10, 0b01]),
        (ElementType::U2, &[2.0, 1.0, 3.0, 0.0, 1.0], &[0b00_11_01_10, 0b01]),
    ]
}

fn proto(element: ElementType, count: usize) -> TensorProto {
    let data_type = element_number(element) as i32;
    TensorProto { name: "w".to_owned(), dims: vec![count as i64], data_type, ..TensorProto::default() }
}

fn read(proto: &TensorProto) -> Result<Tensor, String> {
    tensor(proto.encode_to_vec().into()).map_err(|error| error.to_string())
}

#[test]
fn elements_share_bytes_low_bits_first() {
    for (element, values, bytes) in packed() {
        let expected = Tensor::from_f64(TensorType::new(element, [values.len()]), values);
        let raw = TensorProto { raw_data: bytes.to_vec().into(), ..proto(element, values.len()) };
        assert_eq!(read(&raw), Ok(expected.clone()), "{element}");
        let words = bytes.iter().map(|&byte| i32::from(byte)).collect();
        let words = TensorProto { int32_data: words, ..proto(element, values.len()) };
        assert_eq!(read(&words), Ok(expected), "{element}");
        assert_eq!(read(&proto(element, 0)).map(|tensor| tensor.bytes().len()), Ok(0), "{element}");
    }
}

#[test]
fn codes_of_eight_bits_are_bytes() {
    for element in [ElementType::F8E4M3FN, ElementType::F8E4M3FNUZ, ElementType::F8E5M2, ElementType::F8E5M2FNUZ] {
        let raw = TensorProto { raw_data: vec![0x38, 0xb8].into(), ..proto(element, 2) };
        let words = TensorProto { int32_data: vec![0x38, 0xb8], ..proto(element, 2) };
        let found = read(&raw).expect("a tensor");
        assert_eq!(found.bytes()[..], [0x38, 0xb8]);
        assert_eq!(read(&words), Ok(found));
    }
}

#[test]
fn too_few_and_too_many_bytes_are_refused() {
    for (element, values, bytes) in packed() {
        for length in [0, 1, bytes.len() - 1, bytes.len() + 1, values.len()] {
            let raw = TensorProto { raw_data: vec![0; length].into(), ..proto(element, values.len()) };
            let reason = read(&raw).expect_err("the wrong length");
            let expected = format!("{length} bytes or elements of data, {} expected", bytes.len());
            assert!(reason.contains(&expected), "{element}: {reason}");
        }
    }
}

#[test]
fn external_data_are_packed_too() {
    let folder = Folder::new("packed");
    for (element, values, bytes) in packed() {
        fs::write(folder.0.join("w.bin"), bytes).expect("the file can be written");
        let entry = |key: &str, value: String| StringStringEntryProto { key: key.into(), value: value.into() };
        let external_data = vec![entry("location", "w.bin".into()), entry("length", bytes.len().to_string())];
        let weight = TensorProto { data_location: 1, external_data, ..proto(element, values.len()) };
        let path = folder.0.join("model.onnx");
        fs::write(&path, model(25, vec![], vec![weight], vec![], &["w"]).encode_to_vec()).expect("it can be written");
        let graph = import(&path, &ImportOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            graph.constant_value(graph.outputs[0].value).map(Tensor::to_f64).as_deref(),
            Some(values),
            "{element}"
        );
    }
}

#[test]
fn a_node_that_onnx_does_not_define_is_refused_with_its_name() {
    let inputs = vec![value("x", ElementType::F8E5M2, &["2"]), value("y", ElementType::F8E5M2, &["2"])];
    let sum = node("Add", &["x", "y"], &["z"], vec![]);
    let error = load(&model(25, inputs, vec![], vec![sum], &["z"]), &ImportOptions::default());
    let text = error.expect_err("no arithmetic").to_string();
    assert!(text.contains("ONNX does not define Add on f8e5m2 elements; cast them first"), "{text}");
}

#[test]
fn inputs_are_fixed_to_numbers_in_range_or_to_codes() {
    let fixed = |element: ElementType, constant: Constant| {
        let inputs = vec![value("x", element, &["1"])];
        let copy = node("Identity", &["x"], &["y"], vec![]);
        let constants = [("x".to_owned(), constant)].into();
        let options = ImportOptions { constants, ..ImportOptions::default() };
        let graph =
            load(&model(25, inputs, vec![], vec![copy], &["y"]), &options).map_err(|error| error.to_string())?;
        let input = graph.values.ids().find_map(|id| graph.constant_value(id)).map(Tensor::to_f64);
        input.ok_or_else(|| "the input is no constant".to_owned())
    };
    let number = |value: i128| Constant::List(vec![Number::Integer(value)]);
    assert_eq!(fixed(ElementType::I4, number(-8)), Ok(vec![-8.0]));
    let reason = fixed(ElementType::I4, number(8)).expect_err("too large");
    assert!(reason.contains("8 is out of the range of i4, -8 to 7"), "{reason}");
    assert_eq!(fixed(ElementType::F4E2M1, number(6)), Ok(vec![6.0]));
    let reason = fixed(ElementType::F4E2M1, number(7)).expect_err("too large");
    assert!(reason.contains("7 is out of the range of f4e2m1"), "{reason}");
    let codes = Tensor::new([1], &[0x38u8]);
    assert_eq!(fixed(ElementType::F8E4M3FN, codes.into()), Ok(vec![1.0]));
    let halves = Tensor::new([1], &[1.0f32]);
    let reason = fixed(ElementType::F8E4M3FN, halves.into()).expect_err("no codes");
    assert!(reason.contains("the array is f32[1] and not one of codes as unsigned bytes"), "{reason}");
}
