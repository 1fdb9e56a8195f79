//! Products of dequantised bytes are summed in integers exactly where that cannot overflow, and give the same.

use warpweave_graph::program::passes::quantized_products;
use warpweave_graph::program::{Definition, TensorProgram};
use warpweave_graph::reference::evaluate;
use warpweave_graph::text::{Tensors, parse};
use warpweave_graph::{ElementType, Tensor, lower};

fn program(text: &str) -> TensorProgram {
    lower(&parse(&format!("graph \"g\"\n{text}"), &Tensors::new()).expect("the graph is well formed"))
}

/// The types in which products are summed.
fn sums(program: &TensorProgram) -> Vec<ElementType> {
    let of = |definition: &Definition| match definition {
        Definition::Compute(expr) if expr.reducer.is_some() => Some(expr.body_element()),
        _ => None,
    };
    program.statements.values().filter_map(|statement| of(&statement.definition)).collect()
}

/// Checks the types of sums, and that all outputs stay the same: the scales are powers of two.
#[track_caller]
fn check(text: &str, expected: &[ElementType]) -> TensorProgram {
    let whole = program(text);
    let rewritten = quantized_products(&whole);
    assert_eq!(sums(&rewritten), expected);
    let input = |&input: &_| {
        let ty = whole.tensors[input].ty.clone();
        let lowest = if ty.element == ElementType::U8 { 0.0 } else { -128.0 };
        let numbers: Vec<f64> = (0..ty.shape.elements()).map(|at| (at * 37 % 256) as f64 + lowest).collect();
        Tensor::from_f64(ty, &numbers)
    };
    let inputs: Vec<Tensor> = whole.inputs.iter().map(input).collect();
    assert_eq!(evaluate(&rewritten, &inputs), evaluate(&whole, &inputs));
    rewritten
}

/// The product of an input of a type and shape and constant bytes, with scales along an axis of the latter.
fn product(element: &str, shape: &str, scales: &str, axis: i64) -> String {
    format!(
        r#"v0 "x": {element}[{shape}] = input
v1 "scale": f32[] = constant 0.25
v2 "zero": {element}[] = constant 3
v3 "a": f32[{shape}] = DequantizeLinear "" (v0, v1, v2)
v4 "w": i8[3x3] = constant [-128, 127, 3, -4, 5, 6, 77, -8, 9]
v5 "scales": f32[3] = constant [{scales}]
v6 "zeros": i8[3] = constant [0, 0, 0]
v7 "b": f32[3x3] = DequantizeLinear "" (v4, v5, v6) {{axis = int {axis}}}
v8 "y": f32[{shape}] = MatMul "" (v3, v7)
output v8
"#
    )
}

#[test]
fn bytes_are_multiplied_in_integers() {
    for element in ["i8", "u8"] {
        check(&product(element, "2x3", "0.5, 2.0, 0.125", 1), &[ElementType::I32]);
    }
}

#[test]
fn scales_along_the_sum_stay() {
    check(&product("u8", "2x3", "0.5, 2.0, 0.125", 0), &[ElementType::F32]);
}

#[test]
fn wider_integers_stay() {
    check(&product("i16", "2x3", "0.5, 2.0, 0.125", 1), &[ElementType::F32]);
}

#[test]
fn sums_that_could_overflow_stay() {
    let longest = ((1usize << 31) - 1) / (255 * 255);
    for (length, expected) in [(longest, ElementType::I32), (longest + 1, ElementType::F32)] {
        let text = format!(
            r#"v0 "x": u8[1x{length}] = input
v1 "z": u8[{length}x1] = input
v2 "scale": f32[] = constant 0.25
v3 "a": f32[1x{length}] = DequantizeLinear "" (v0, v2)
v4 "b": f32[{length}x1] = DequantizeLinear "" (v1, v2)
v5 "y": f32[1x1] = MatMul "" (v3, v4)
output v5
"#
        );
        assert_eq!(sums(&quantized_products(&program(&text))), [expected], "{length}");
    }
}

#[test]
fn padding_is_zero_and_a_bias_follows() {
    let text = r#"
v0 "x": u8[1x1x3x3] = input
v1 "scale": f32[] = constant 0.25
v2 "zero": u8[] = constant 7
v3 "a": f32[1x1x3x3] = DequantizeLinear "" (v0, v1, v2)
v4 "w": i8[2x1x2x2] = constant [1, -2, 3, -4, 127, -128, 7, 8]
v5 "scales": f32[2] = constant [0.5, 4.0]
v6 "zeros": i8[2] = constant [0, 1]
v7 "b": f32[2x1x2x2] = DequantizeLinear "" (v4, v5, v6) {axis = int 0}
v8 "bias": f32[2] = constant [1.0, -0.5]
v9 "y": f32[1x2x4x4] = Conv "" (v3, v7, v8) {pads = ints [1, 1, 1, 1]}
output v9
"#;
    check(text, &[ElementType::I32]);
}

#[test]
fn a_factor_that_is_read_behind_the_sum_too_stays() {
    let text = r#"v0 "x": u8[1x2x3] = input
v1 "scale": f32[] = constant 0.25
v2 "zero": u8[] = constant 3
v3 "a": f32[1x2x3] = DequantizeLinear "" (v0, v1, v2)
v4 "y": f32[1x2x3] = LRN "" (v3) {size = int 1}
output v4
"#;
    check(text, &[ElementType::F32]);
}

#[test]
fn a_constant_for_another_reader_is_computed() {
    let text = r#"
v0 "x": f32[2x3] = input
v1 "w": i8[3x2] = constant [1, -2, 3, -4, 127, -128]
v2 "scale": f32[] = constant 0.5
v3 "b": f32[3x2] = DequantizeLinear "" (v1, v2)
v4 "y": f32[2x2] = MatMul "" (v0, v3)
output v4
"#;
    assert_eq!(check(text, &[ElementType::F32]).statements.len(), 1);
}
