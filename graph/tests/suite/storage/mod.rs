//! Types of storage only: what numbers become in them, and which operators take them.

mod halves;
mod precision;

use std::collections::BTreeSet;

use warpweave_graph::minifloat::{decode, encode, largest, least};
use warpweave_graph::ops::{Context, Fact, Op};
use warpweave_graph::text::{Tensors, parse, print};
use warpweave_graph::types::TensorType;
use warpweave_graph::{ElementType, Tensor, lower, reference};

/// What ONNX's reference makes of many numbers: written by `scripts/storage_conversions.py`.
const EXPECTED: &str = include_str!("../../data/storage_conversions.txt");

fn floats() -> impl Iterator<Item = ElementType> {
    ElementType::ALL.into_iter().filter(|element| element.is_storage() && element.is_float())
}

fn codes(element: ElementType) -> std::ops::Range<u16> {
    0..1 << element.bits()
}

fn hash(bytes: impl IntoIterator<Item = u8>) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// The numbers of the script, of `f16` or `f32`.
fn numbers(source: &str) -> Tensor {
    let bytes: Vec<u8> = match source {
        "f16" => (0..=u16::MAX).flat_map(u16::to_le_bytes).collect(),
        _ => (0..65_536u32).map(|at| at.wrapping_mul(65_521)).chain(middles()).flat_map(u32::to_le_bytes).collect(),
    };
    let element: ElementType = source.parse().expect("a type");
    let count = bytes.len() / element.bytes();
    Tensor::from_bytes(TensorType::new(element, [count]), bytes.into()).expect("as many bytes as elements")
}

/// What stands below, in and above the middle of neighbouring values: all below, then all in the middle, then all above.
fn middles() -> Vec<u32> {
    let mut middles = Vec::new();
    for element in floats() {
        let values = codes(element).map(|code| decode(element, code as u8)).filter(|value| value.is_finite());
        let mut values: Vec<f64> = values.map(|value| value + 0.0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        middles.extend(values.windows(2).map(|pair| (((pair[0] + pair[1]) / 2.0) as f32).to_bits()));
    }
    let beside = |by: i32| middles.iter().map(move |&bits| bits.wrapping_add_signed(by)).collect::<Vec<_>>();
    [beside(-1), beside(0), beside(1)].concat()
}

/// The numbers that a line of expectations is about.
fn chosen(numbers: &Tensor, element: ElementType) -> Tensor {
    let keeps = |value: &f64| match element {
        ElementType::F8E8M0 => (2f64.powi(-126)..=2f64.powi(127)).contains(value),
        _ if element.is_float() => true,
        _ => value.abs() < 2f64.powi(31),
    };
    let (bytes, width) = (numbers.bytes(), numbers.element().bytes());
    let kept =
        numbers.to_f64().iter().enumerate().filter(|(_, value)| keeps(value)).map(|(at, _)| at).collect::<Vec<_>>();
    let data: Vec<u8> = kept.iter().flat_map(|at| bytes[at * width..(at + 1) * width].to_vec()).collect();
    let ty = TensorType::new(numbers.element(), [kept.len()]);
    Tensor::from_bytes(ty, data.into()).expect("as many bytes as elements")
}

/// What a node of the operator `Cast` makes of numbers.
fn cast(numbers: &Tensor, element: ElementType, mode: &str) -> Tensor {
    let number = warpweave_graph::ops::arithmetic::cast::element_number(element);
    let (overflow, rounding) = mode.split_once('-').unwrap_or((mode, "up"));
    let saturate = i64::from(overflow == "saturate");
    let (from, to) = (numbers.ty(), TensorType::new(element, numbers.shape().clone()));
    let attributes = format!("to = int {number}, saturate = int {saturate}, round_mode = string \"{rounding}\"");
    let text = format!(
        "graph \"\"\nv0 \"x\": {from} = input\nv1 \"y\": {to} = Cast \"n\" (v0) {{{attributes}}}\ninput v0\noutput v1\n"
    );
    let graph = parse(&text, &Tensors::new()).expect("a graph");
    let outputs = reference::evaluate(&lower(&graph), std::slice::from_ref(numbers));
    outputs.expect("the reference computes it").remove(0)
}

#[test]
fn conversions_are_those_of_onnx() {
    let [halves, singles] = ["f16", "f32"].map(numbers);
    let mut seen = BTreeSet::new();
    for line in EXPECTED.lines() {
        let [element, source, mode, expected] = line.split(' ').collect::<Vec<_>>().try_into().expect("four words");
        let element: ElementType = element.parse().expect("a type");
        seen.insert(element);
        if mode == "decode" {
            let values = codes(element).map(|code| decode(element, code as u8) as f32);
            let values = values.map(|value| if value.is_nan() { f32::from_bits(0x7fc0_0000) } else { value });
            assert_eq!(hash(values.flat_map(f32::to_le_bytes)), expected, "{line}");
            continue;
        }
        let numbers = chosen(if source == "f16" { &halves } else { &singles }, element);
        let found = cast(&numbers, element, mode);
        let one_nan = |code: u8| match element.is_float() && decode(element, code).is_nan() {
            true => encode(element, f64::NAN),
            false => code,
        };
        assert_eq!(hash(found.bytes().iter().map(|&code| one_nan(code))), expected, "{line}");
    }
    let storage: BTreeSet<ElementType> = ElementType::ALL.into_iter().filter(|element| element.is_storage()).collect();
    assert_eq!(seen, storage);
}

#[test]
fn codes_are_the_nearest_to_values_and_halves_go_to_even_ones() {
    for element in floats().filter(|element| *element != ElementType::F8E8M0) {
        let mut finite: Vec<(f64, u8)> = codes(element).map(|code| (decode(element, code as u8), code as u8)).collect();
        finite.retain(|(value, _)| value.is_finite());
        finite.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (value, code) in &finite {
            assert_eq!(encode(element, *value), *code, "{element} {value}");
        }
        for pair in finite.windows(2).filter(|pair| pair[0].0 < pair[1].0) {
            let [(low, below), (high, above)] = [pair[0], pair[1]];
            let middle = (low + high) / 2.0;
            let even = if below % 2 == 0 { below } else { above };
            assert_eq!(decode(element, encode(element, middle.next_down())), low, "{element} below {middle}");
            assert_eq!(decode(element, encode(element, middle.next_up())), high, "{element} above {middle}");
            assert_eq!(decode(element, encode(element, middle)), decode(element, even), "{element} {middle}");
        }
        assert_eq!(finite.last().map(|(value, _)| *value), Some(largest(element)));
        assert_eq!(finite.iter().map(|(value, _)| *value).find(|value| *value > 0.0), Some(least(element)));
    }
}

#[test]
fn powers_of_two_saturate_as_the_specification_says() {
    let x = Tensor::new([6], &[0f32, f32::from_bits(1), f32::NAN, f32::INFINITY, f32::MAX, -1.0]);
    let saturated = cast(&x, ElementType::F8E8M0, "saturate-up");
    assert_eq!(saturated.bytes()[..5], [0, 0, 0xff, 0xfe, 0xfe]);
    let plain = cast(&x, ElementType::F8E8M0, "plain-nearest");
    assert_eq!(plain.bytes()[..], [0xff; 6]);
}

#[test]
fn integers_wrap_and_truth_values_are_one() {
    let wide = Tensor::new([5], &[-9i64, -1, 0, 7, 300]);
    assert_eq!(cast(&wide, ElementType::I4, "saturate").to_i64(), [7, -1, 0, 7, -4]);
    assert_eq!(cast(&wide, ElementType::U4, "saturate").to_i64(), [7, 15, 0, 7, 12]);
    assert_eq!(cast(&wide, ElementType::I2, "saturate").to_i64(), [-1, -1, 0, -1, 0]);
    assert_eq!(cast(&wide, ElementType::U2, "saturate").to_i64(), [3, 3, 0, 3, 0]);
    for element in ElementType::ALL.into_iter().filter(|element| element.is_storage()) {
        let ones = cast(&Tensor::from_bools([1], &[true]), element, "saturate");
        assert_eq!(ones.to_f64(), [1.0], "{element}");
    }
}

/// Operators that ONNX defines on all storage types, and those that it defines on some.
const TAKEN: [&str; 17] = [
    "Cast",
    "CastLike",
    "ConstantOfShape",
    "DequantizeLinear",
    "Dropout",
    "Flatten",
    "Identity",
    "IsInf",
    "IsNaN",
    "Pad",
    "QuantizeLinear",
    "Reshape",
    "Shape",
    "Size",
    "Squeeze",
    "TensorScatter",
    "Transpose",
];

#[test]
fn what_onnx_does_not_define_is_refused_by_name() {
    let ty = TensorType::new(ElementType::F8E4M3FN, [2, 2]);
    let fact = Some(Fact { ty: ty.into(), value: None });
    let mut refused = 0;
    for registered in Op::registered() {
        let mut reader = warpweave_graph::ops::AttributeReader::new([], warpweave_graph::ops::NEWEST_OPSET);
        let Ok(op) = Op::import(registered.domain, registered.name, &mut reader) else { continue };
        let facts = vec![fact.clone(); (*registered.inputs.start()).max(1)];
        let result = op.infer(&Context::new(&facts, 1));
        if registered.domain.is_empty() && (TAKEN.contains(&registered.name) || registered.name == "Unsqueeze") {
            continue;
        }
        refused += 1;
        let reason = result.expect_err(registered.name).to_string();
        let expected = format!("ONNX does not define {} on f8e4m3fn elements; cast them first", registered.name);
        assert_eq!(reason, expected);
    }
    assert!(refused > 100, "{refused} operators were asked");
}

#[test]
fn graphs_with_constants_print_and_parse_back() {
    for element in ElementType::ALL.into_iter().filter(|element| element.is_storage()) {
        let count = codes(element).len();
        let ty = TensorType::new(element, [count]);
        let all = match element.is_float() {
            true => Tensor::from_bytes(ty, codes(element).map(|code| code as u8).collect()).expect("a byte an element"),
            false => Tensor::from_i64(ty, &codes(element).map(i64::from).collect::<Vec<i64>>()),
        };
        let values = Tensor::from_f64(TensorType::new(element, [2]), &[1.0, 2.0]);
        for tensor in [all, values] {
            let mut graph = warpweave_graph::Graph::new("constants");
            let constant = graph.constant("c", tensor);
            graph.output(constant);
            let tensors = warpweave_graph::text::tensors(&graph);
            assert_eq!(parse(&print(&graph), &tensors), Ok(graph));
        }
    }
}
