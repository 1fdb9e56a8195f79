//! Types of storage only, and those of 16 bits, in kernels: every code, and the numbers around the middle of every two neighbouring
//! values.

use std::fmt::Write;

use warpweave::codegen::print::UnitSize;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::halves::NAN;
use warpweave::graph::minifloat::{decode, encode};
use warpweave::graph::ops::arithmetic::cast::element_number;
use warpweave::graph::reference::evaluate;
use warpweave::graph::text::{Tensors, parse};
use warpweave::graph::{ElementType, Tensor, TensorType, lower};
use warpweave::runtime::target::Target;
use warpweave_tests::gates;
use warpweave_tests::machine::Machine;
use warpweave_tests::pipeline::{self, Compiled, compile_under};
use warpweave_tests::suite::Suite;

use crate::text::run_text;

const UNITS: usize = 3;

/// Adds a trial a type, and one for some that the device compiler, which takes seconds, takes them.
pub fn add(suite: &mut Suite) {
    for element in ElementType::ALL.into_iter().filter(|element| element.is_storage() || element.is_half()) {
        suite.trial(format!("conversions of {element}"), move || check(element));
    }
    for element in [ElementType::F8E5M2, ElementType::F8E8M0, ElementType::I4, ElementType::F16, ElementType::BF16] {
        suite.trial(format!("device conversions of {element}"), move || {
            let (program, _) = compiled(element);
            gates::check(&program.lowered.program, UnitSize::default(), Target::Sm90a);
        });
    }
}

/// The program of a type, with its inputs.
fn compiled(element: ElementType) -> (Compiled, [Tensor; 2]) {
    let (numbers, codes) = (numbers(element), codes(element));
    let graph = parse(&graph(element, numbers.ty(), codes.ty()), &Tensors::new()).expect("a graph");
    (compile_under(&lower(&graph), FusionLevel::Full, &pipeline::options(UNITS)), [numbers, codes])
}

/// Emulator and printed text compute what the reference does, to the bit.
fn check(element: ElementType) {
    let (compiled, inputs) = compiled(element);
    let expected = evaluate(&compiled.program, &inputs).unwrap_or_else(|error| panic!("{error}"));
    let machine = Machine::new(&compiled);
    for found in [machine.run(&inputs, 1), run_text(&machine, &inputs)] {
        assert_eq!(found.len(), expected.len());
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(with_one_nan(found), with_one_nan(expected), "output {at}");
        }
    }
}

/// Numbers in every mode, quantised, and codes back, moved and among themselves.
fn graph(element: ElementType, numbers: &TensorType, codes: &TensorType) -> String {
    let (count, number) = (numbers.shape.elements(), element_number(element));
    let mut text = format!("graph \"\"\nv0 \"x\": {numbers} = input\nv1 \"c\": {codes} = input\n");
    let mut outputs = Vec::new();
    let mut node = |ty: &str, op: &str, attributes: String| {
        let value = outputs.len() + 2;
        writeln!(text, "v{value} \"y{value}\": {ty} = {op} {{{attributes}}}").expect("text grows");
        outputs.push(format!("v{value}"));
    };
    for (saturate, rounding) in [(1, "up"), (0, "down"), (0, "nearest")] {
        let attributes = format!("to = int {number}, saturate = int {saturate}, round_mode = string \"{rounding}\"");
        node(&format!("{element}[{count}]"), "Cast \"to\" (v0)", attributes);
    }
    let count = codes.shape.elements();
    node(&format!("f32[{count}]"), "Cast \"from\" (v1)", "to = int 1".to_owned());
    node(&format!("i32[{count}]"), "Cast \"integers\" (v1)", "to = int 6".to_owned());
    node(&format!("bool[{count}]"), "Cast \"truths\" (v1)", "to = int 9".to_owned());
    node(&format!("f8e5m2[{count}]"), "Cast \"other\" (v1)", "to = int 19".to_owned());
    node(&format!("{element}[{count}]"), "Cast \"same\" (v6)", format!("to = int {number}"));
    write!(text, "input v0, v1\noutput {}\n", outputs.join(", ")).expect("text grows");
    text
}

/// Singles at, beside and in the middle of values, or integers around the range, with what is no such number.
fn numbers(element: ElementType) -> Tensor {
    let special = [0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e-40, -1e-40, 1e-45];
    let mut numbers = special.to_vec();
    let values = codes(element).to_f64().into_iter().filter(|value| value.is_finite());
    let mut values: Vec<f32> = values.map(|value| value as f32).collect();
    values.sort_by(f32::total_cmp);
    let middles = values.windows(2).map(|pair| pair[0] / 2.0 + pair[1] / 2.0);
    let around = values.iter().copied().chain(middles).flat_map(|value| [value.next_down(), value, value.next_up()]);
    numbers.extend(around);
    numbers.extend((-20..20).map(|value| value as f32 * 1.25));
    Tensor::new([numbers.len()], &numbers)
}

/// Every element of the type.
fn codes(element: ElementType) -> Tensor {
    let codes = 0..1u32 << element.bits();
    let ty = TensorType::new(element, [codes.len()]);
    if !element.is_float() {
        return Tensor::from_i64(ty, &codes.map(i64::from).collect::<Vec<i64>>());
    }
    let bytes: Vec<u8> = codes.flat_map(|code| code.to_le_bytes().into_iter().take(element.bytes())).collect();
    Tensor::from_bytes(ty, bytes.into()).expect("an element of each code")
}

/// The bytes, of floating point with one NaN.
fn with_one_nan(tensor: &Tensor) -> Vec<u8> {
    let element = tensor.element();
    if element.is_half() {
        let one = |(code, value): (&[u8], f64)| if value.is_nan() { NAN.to_le_bytes().to_vec() } else { code.to_vec() };
        return tensor.bytes().chunks_exact(element.bytes()).zip(tensor.to_f64()).flat_map(one).collect();
    }
    if element.is_storage() && element.is_float() {
        let one = |&code: &u8| if decode(element, code).is_nan() { encode(element, f64::NAN) } else { code };
        return tensor.bytes().iter().map(one).collect();
    }
    if element == ElementType::F32 {
        let one = |value: f32| if value.is_nan() { f32::NAN } else { value };
        return tensor.to_f32().into_iter().flat_map(|value| one(value).to_le_bytes()).collect();
    }
    tensor.bytes().to_vec()
}
