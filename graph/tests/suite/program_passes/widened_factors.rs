//! Factors of integer products are widened where they are multiplied, and give the same.

use warpweave_graph::program::TensorProgram;
use warpweave_graph::program::passes::{inline_lines, widen_in_products};
use warpweave_graph::reference::evaluate;
use warpweave_graph::text::{Tensors, parse};
use warpweave_graph::{Tensor, lower};

/// The product of an input of bytes and of constant ones with zero points of these types and values.
fn product(weights: &str, zero: &str) -> TensorProgram {
    let text = format!(
        r#"graph "g"
v0 "x": u8[2x3] = input
v1 "w": {weights}
v2 "x_zero": u8[] = input
v3 "w_zero": {zero}
v4 "y": i32[2x3] = MatMulInteger "" (v0, v1, v2, v3)
output v4
"#
    );
    lower(&parse(&text, &Tensors::new()).expect("the graph is well formed"))
}

/// The statements behind the pass, which leaves all sources and outputs as they are.
#[track_caller]
fn statements(weights: &str, zero: &str) -> usize {
    check(&inline_lines(&product(weights, zero)))
}

/// The same of any program.
#[track_caller]
fn check(program: &TensorProgram) -> usize {
    let widened = widen_in_products(program);
    widened.verify().expect("a pass leaves a valid program");
    let sources = |program: &TensorProgram| program.tensors.len() - program.statements.len();
    assert_eq!(sources(&widened), sources(program));
    let given = program.inputs.iter().map(|&input| program.tensors[input].ty.clone());
    let inputs: Vec<Tensor> = given
        .map(|ty| {
            Tensor::from_f64(ty.clone(), &(0..ty.shape.elements()).map(|at| (at * 77 % 128) as f64).collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(evaluate(&widened, &inputs), evaluate(program, &inputs));
    widened.statements.len()
}

const BYTES: &str = "u8[3x3] = constant [0, 255, 3, 4, 5, 6, 77, 8, 9]";

#[test]
fn bytes_are_widened_in_the_product() {
    assert_eq!(statements(BYTES, "u8[] = constant 0"), 1);
    assert_eq!(statements(BYTES, "u8[] = constant 128"), 1);
    assert_eq!(
        statements("i8[3x3] = constant [-128, 127, 3, -4, 5, 6, 77, -8, 9]", "i8[3] = constant [-128, 0, 5]"),
        1
    );
    assert_eq!(statements(BYTES, "u8[] = input"), 1);
    assert_eq!(statements("u8[3x3] = input", "u8[] = constant 3"), 1);
}

/// A convolution of padded bytes, whose zero points are inputs.
const PADDED: &str = r#"graph "g"
v0 "x": u8[1x2x5x5] = input
v1 "w": i8[3x2x3x3] = input
v2 "x_zero": u8[] = input
v3 "w_zero": i8[] = input
v4 "y": i32[1x3x5x5] = ConvInteger "" (v0, v1, v2, v3) {kernel_shape = ints [3, 3], pads = ints [1, 1, 1, 1]}
output v4
"#;

#[test]
fn what_lies_beyond_an_edge_stays_0() {
    let program = inline_lines(&lower(&parse(PADDED, &Tensors::new()).expect("the graph is well formed")));
    assert_eq!(check(&program), 1);
}
