//! Scalars and factors that many points or products share are computed and laid out once, and everything computes the same.

use warpweave_graph::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar, UnaryOp};
use warpweave_graph::program::passes::{Pass, hoist_invariants, transpose_factors};
use warpweave_graph::program::{ProgramBuilder, TensorId, TensorProgram};
use warpweave_graph::reference::evaluate;
use warpweave_graph::types::TensorType;
use warpweave_graph::{ElementType, Tensor};

fn singles(extents: &[usize]) -> TensorType {
    TensorType::new(ElementType::F32, extents.to_vec())
}

fn numbers(ty: &TensorType, seed: usize) -> Tensor {
    let number = |at: usize| ((at * 7 + seed) % 11) as f64 + 1.0;
    Tensor::from_f64(ty.clone(), &(0..ty.shape.elements()).map(number).collect::<Vec<_>>())
}

/// The pass adds so many statements, and all outputs are the same but for rounding: the reference computes a statement in
/// doubles and rounds what it stores.
#[track_caller]
fn check(pass: Pass, program: &TensorProgram, added: usize) {
    let passed = pass(program);
    passed.verify().expect("a pass leaves a valid program");
    assert_eq!(passed.statements.len(), program.statements.len() + added);
    let inputs = program.inputs.iter().enumerate();
    let inputs: Vec<Tensor> = inputs.map(|(seed, input)| numbers(&program.tensors[*input].ty, seed)).collect();
    let run = |program: &TensorProgram| evaluate(program, &inputs).expect("the program is right");
    for (passed, whole) in run(&passed).iter().zip(run(program)) {
        for (passed, whole) in passed.to_f64().into_iter().zip(whole.to_f64()) {
            assert!((passed - whole).abs() <= 2e-7 * whole.abs(), "{passed} instead of {whole}");
        }
    }
}

/// `readers` images over the deviations of their channels.
fn normalised(points: usize, readers: usize) -> TensorProgram {
    const CHANNELS: usize = 3;
    let mut program = ProgramBuilder::new();
    let variance = program.input(singles(&[CHANNELS]));
    let outputs: Vec<TensorId> = (0..readers)
        .map(|_| {
            let image = program.input(singles(&[CHANNELS, points]));
            let mut expr = ExprBuilder::new();
            let axes = expr.parallels(&[CHANNELS, points]);
            let (data, spread) = (expr.operand(program.ty(image)), expr.operand(program.ty(variance)));
            let value = expr.read(data, axes.iter().copied().map(Index::axis).collect());
            let spread = expr.read(spread, vec![Index::axis(axes[0])]);
            let deviation = spread.binary(BinaryOp::Add, Scalar::literal(ElementType::F32, 0.5)).unary(UnaryOp::Sqrt);
            let inverse = Scalar::literal(ElementType::F32, 1.0).binary(BinaryOp::Divide, deviation);
            let expr = expr.map(ElementType::F32, value.binary(BinaryOp::Multiply, inverse));
            program.compute(expr, &[image, variance])
        })
        .collect();
    program.finish(outputs)
}

#[test]
fn what_differs_along_channels_is_computed_once_for_all_images() {
    check(hoist_invariants, &normalised(16, 1), 1);
    check(hoist_invariants, &normalised(16, 3), 1);
}

#[test]
fn what_few_points_share_stays() {
    check(hoist_invariants, &normalised(15, 1), 0);
}

/// Products of `rows` rows each by one weight that lies along the reduction.
fn products(rows: usize, count: usize) -> TensorProgram {
    const COLUMNS: usize = 5;
    const LENGTH: usize = 4;
    let mut program = ProgramBuilder::new();
    let weight = program.input(singles(&[COLUMNS, LENGTH]));
    let outputs: Vec<TensorId> = (0..count)
        .map(|_| {
            let input = program.input(singles(&[rows, LENGTH]));
            let mut expr = ExprBuilder::new();
            let axes = expr.parallels(&[rows, COLUMNS]);
            let reduced = Index::axis(expr.reduced(LENGTH));
            let (data, matrix) = (expr.operand(program.ty(input)), expr.operand(program.ty(weight)));
            let left = expr.read(data, vec![Index::axis(axes[0]), reduced.clone()]);
            let right = expr.read(matrix, vec![Index::axis(axes[1]), reduced]);
            let product = left.binary(BinaryOp::Multiply, right);
            program.compute(expr.reduce(ElementType::F32, Reducer::Sum, product, None), &[input, weight])
        })
        .collect();
    program.finish(outputs)
}

#[test]
fn a_factor_that_many_products_read_across_is_transposed_once() {
    check(transpose_factors, &products(16, 16), 1);
}

#[test]
fn a_factor_of_few_products_or_of_few_rows_stays() {
    check(transpose_factors, &products(16, 15), 0);
    check(transpose_factors, &products(15, 16), 0);
}
