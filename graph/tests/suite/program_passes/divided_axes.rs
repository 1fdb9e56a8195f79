//! Reduced axes are split where factors divide them, and values stay.

use warpweave_graph::program::TensorProgram;
use warpweave_graph::program::passes::split_divided_axes;
use warpweave_graph::program::text as programs;
use warpweave_graph::reference::evaluate;
use warpweave_graph::text::Tensors;
use warpweave_graph::types::TensorType;
use warpweave_graph::{ElementType, Tensor};

/// A product along an axis of 24 points, with the places at which the left factor is read.
fn product(place: &str) -> TensorProgram {
    let text = format!(
        "program\nn0 = \"MatMul\" \"product\" gives \"y\"\nt0 \"x\": f32[24x5x24] = input 0\nt1 \"w\": f32[24x7] = input 1\n\
         e0 (t0, t1) -> t2: f32[5x7] = [a0<5, a1<7] sum[a2<24] mul(x0[{place}], x1[a2, a1]) from n0\noutput t2 \"y\"\n"
    );
    programs::parse(&text, &Tensors::new()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The reduced axes of the product that is left, and the divisions in what it reads.
#[track_caller]
fn check(place: &str, extents: &[usize], divisions: usize) {
    let program = product(place);
    let split = split_divided_axes(&program);
    split.verify().expect("a pass leaves a valid program");
    let expr = split.statements.values().find_map(|statement| statement.definition.expr()).expect("a product");
    let reduced: Vec<usize> = expr.reduced().map(|axis| expr.axes[axis].extent).collect();
    let left: usize = expr.reads.values().flat_map(|read| &read.index).map(|index| index.divisions()).sum();
    assert_eq!((&reduced[..], left), (extents, divisions), "{split}");
    let inputs: Vec<Tensor> = [&[24, 5, 24][..], &[24, 7]]
        .into_iter()
        .map(|shape| {
            let ty = TensorType::new(ElementType::F32, shape);
            let elements: Vec<f64> = (0..ty.shape.elements()).map(|at| (at * 7 % 11) as f64 - 5.0).collect();
            Tensor::from_f64(ty, &elements)
        })
        .collect();
    assert!(evaluate(&split, &inputs) == evaluate(&program, &inputs), "{split}");
}

#[test]
fn divided_axes_are_two() {
    check("div(a2, 8), a0, mod(a2, 8)", &[3, 8], 0);
}

#[test]
fn axes_are_split_as_often_as_they_are_divided() {
    check("div(a2, 12), a0, mod(div(a2, 3), 4)", &[2, 4, 3], 0);
}

#[test]
fn divisors_with_a_rest_stay() {
    check("div(a2, 7), a0, mod(a2, 7)", &[24], 2);
}

#[test]
fn other_axes_stay() {
    check("a2, a0, a2", &[24], 0);
}
