//! Depthwise convolutions of bytes are summed in singles, and give the same.

use warpweave_graph::expr::Reducer;
use warpweave_graph::program::TensorProgram;
use warpweave_graph::program::passes::{inline_lines, sum_windows_in_singles};
use warpweave_graph::reference::evaluate;
use warpweave_graph::text::{Tensors, parse};
use warpweave_graph::{ElementType, Tensor, lower};

/// A convolution of bytes of these shapes and types of zero points.
fn convolution(x: &str, w: &str, y: &str, attributes: &str) -> TensorProgram {
    let text = format!(
        r#"graph "g"
v0 "x": u8[{x}] = input
v1 "w": i8[{w}] = input
v2 "x_zero": u8[] = input
v3 "w_zero": i8[] = input
v4 "y": i32[{y}] = ConvInteger "" (v0, v1, v2, v3) {{{attributes}}}
output v4
"#
    );
    inline_lines(&lower(&parse(&text, &Tensors::new()).expect("the graph is well formed")))
}

/// The type of sums behind the pass, which changes no value.
#[track_caller]
fn summed(program: &TensorProgram) -> Vec<ElementType> {
    let rewritten = sum_windows_in_singles(program);
    rewritten.verify().expect("a pass leaves a valid program");
    // The largest magnitudes there are, and others.
    let value = |at: usize| if at.is_multiple_of(3) { 255.0 } else { (at * 77 % 256) as f64 };
    for zero in [0.0, 127.0, 255.0] {
        let inputs: Vec<Tensor> = program
            .inputs
            .iter()
            .map(|&input| {
                let ty = program.tensors[input].ty.clone();
                let values: Vec<f64> = (0..ty.shape.elements()).map(value).collect();
                let shift = if ty.element == ElementType::I8 { -128.0 } else { 0.0 };
                let values = if ty.shape.is_empty() { vec![zero] } else { values };
                Tensor::from_f64(ty, &values.iter().map(|value| value + shift).collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(evaluate(&rewritten, &inputs), evaluate(program, &inputs));
    }
    let exprs = rewritten.statements.values().filter_map(|statement| statement.definition.expr());
    exprs.filter(|expr| expr.reducer == Some(Reducer::Sum)).map(|expr| expr.body_element()).collect()
}

#[test]
fn depthwise_convolutions_are_summed_in_singles() {
    let padded = "group = int 4, kernel_shape = ints [3, 3], pads = ints [1, 1, 1, 1]";
    assert_eq!(summed(&convolution("1x4x6x6", "4x1x3x3", "1x4x6x6", padded)), [ElementType::F32]);
    let plain = "group = int 4, kernel_shape = ints [3, 3], strides = ints [2, 2]";
    assert_eq!(summed(&convolution("1x4x7x7", "4x1x3x3", "1x4x3x3", plain)), [ElementType::F32]);
}

#[test]
fn other_sums_stay_integers() {
    let dense = "kernel_shape = ints [3, 3], pads = ints [1, 1, 1, 1]";
    assert_eq!(summed(&convolution("1x4x6x6", "4x4x3x3", "1x4x6x6", dense)), [ElementType::I32]);
    // 289 products of 255 each leave what singles hold.
    let long = "group = int 4, kernel_shape = ints [17, 17]";
    assert_eq!(summed(&convolution("1x4x20x20", "4x1x17x17", "1x4x4x4", long)), [ElementType::I32]);
}
