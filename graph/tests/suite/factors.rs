//! Scalars and factors that many points or products share are computed and laid out once, and everything computes the same.

use warpweave_graph::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar, UnaryOp};
use warpweave_graph::program::passes::{
    Pass, fold_constant_scalars, hoist_invariants, join_products, transpose_factors,
};
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

/// How two products are added.
#[derive(Clone, Copy)]
enum Addition {
    /// Behind the second.
    Epilogue,
    /// By a statement that reads both.
    Statement,
}

/// The product of an input, whose first dimensions but one are named, and a weight; `behind` is added.
fn product(program: &mut ProgramBuilder, input: TensorId, weight: TensorId, behind: &[TensorId]) -> TensorId {
    let (data, matrix) = (program.ty(input).clone(), program.ty(weight).clone());
    let [leading @ .., rows, length] = &data.shape[..] else { unreachable!("inputs are matrices, or more of them") };
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&[*rows, matrix.shape[1]]);
    let reduced = Index::axis(expr.reduced(*length));
    let (left, right) = (expr.operand(&data), expr.operand(&matrix));
    let mut place = vec![Index::constant(1); leading.len()];
    place.extend([Index::axis(axes[0]), reduced.clone()]);
    let left = expr.read(left, place);
    let right = expr.read(right, vec![reduced, Index::axis(axes[1])]);
    let mut sum = Scalar::Reduced;
    for added in behind {
        let operand = expr.operand(program.ty(*added));
        let read = expr.broadcast_read(operand, &axes);
        sum = read.binary(BinaryOp::Add, sum);
    }
    let epilogue = (!behind.is_empty()).then_some(sum);
    let body = left.binary(BinaryOp::Multiply, right);
    let operands: Vec<TensorId> = [input, weight].iter().chain(behind).copied().collect();
    program.compute(expr.reduce(ElementType::F32, Reducer::Sum, body, epilogue), &operands)
}

/// Sums of two products each, with a bias, of weights that all of them read. The first factor is one of several matrices laid end to
/// end, as what a recurrent layer gives is.
fn sums(rows: usize, count: usize, addition: Addition) -> TensorProgram {
    let mut program = ProgramBuilder::new();
    let weights = [3, 4].map(|length| program.constant(numbers(&singles(&[length, 5]), length)));
    let bias = program.input(singles(&[5]));
    let outputs: Vec<TensorId> = (0..count)
        .map(|_| {
            let parts = [0, 1].map(|_| program.input(singles(&[1, rows, 3])));
            let below = program.concat(0, &parts);
            let state = program.input(singles(&[rows, 4]));
            let first = product(&mut program, below, weights[0], &[bias]);
            match addition {
                Addition::Epilogue => product(&mut program, state, weights[1], &[first]),
                Addition::Statement => {
                    let second = product(&mut program, state, weights[1], &[]);
                    let mut expr = ExprBuilder::new();
                    let axes = expr.parallels(&[rows, 5]);
                    let [left, right] = [first, second].map(|term| {
                        let operand = expr.operand(program.ty(term));
                        expr.broadcast_read(operand, &axes)
                    });
                    let sum = left.binary(BinaryOp::Add, right);
                    program.compute(expr.map(ElementType::F32, sum), &[first, second])
                }
            }
        })
        .collect();
    program.finish(outputs)
}

#[test]
fn products_that_are_added_become_one() {
    // Copies of both factors and what joins them, in place of a product, or of one and the sum, and of what joined the matrices.
    check(join_products, &sums(16, 16, Addition::Epilogue), 16 + 1);
    check(join_products, &sums(16, 16, Addition::Statement), 1);
}

#[test]
fn sums_of_few_readers_or_of_few_rows_stay() {
    check(join_products, &sums(16, 15, Addition::Epilogue), 0);
    check(join_products, &sums(15, 16, Addition::Epilogue), 0);
}

/// A row of `length` with two parts of a bias added behind a function of it; the bias is a constant, or an input.
fn biased(length: usize, is_constant: bool) -> TensorProgram {
    let mut program = ProgramBuilder::new();
    let row = program.input(singles(&[length]));
    let bias = singles(&[2 * length]);
    let bias = if is_constant { program.constant(numbers(&bias, 3)) } else { program.input(bias) };
    let mut expr = ExprBuilder::new();
    let place = Index::axis(expr.parallels(&[length])[0]);
    let (row_operand, bias_operand) = (expr.operand(program.ty(row)), expr.operand(program.ty(bias)));
    let value = expr.read(row_operand, vec![place.clone()]).unary(UnaryOp::Sqrt);
    let first = expr.read(bias_operand, vec![place.clone()]);
    let second = expr.read(bias_operand, vec![place.plus(length as i64)]);
    let sum = first.binary(BinaryOp::Add, value).binary(BinaryOp::Add, second);
    let output = program.compute(expr.map(ElementType::F32, sum), &[row, bias]);
    program.finish(vec![output])
}

/// Operations a point of the only statement, and the constants of the program, behind the pass.
fn folded(program: &TensorProgram) -> (usize, usize) {
    let folded = fold_constant_scalars(program);
    let expr = folded.statements.values().next().and_then(|statement| statement.definition.expr());
    (
        expr.expect("an expression").body.operations(),
        folded.tensors.ids().filter(|&tensor| folded.constant(tensor).is_some()).count(),
    )
}

#[test]
fn constants_among_addends_are_added_first() {
    let program = biased(5, true);
    check(fold_constant_scalars, &program, 0);
    // A function and a sum; both parts of the bias were two sums before.
    assert_eq!(folded(&program), (2, 1));
}

#[test]
fn what_is_given_to_a_run_is_no_constant() {
    let program = biased(5, false);
    check(fold_constant_scalars, &program, 0);
    assert_eq!(folded(&program), (3, 0));
}

#[test]
fn constants_do_not_grow() {
    let mut program = ProgramBuilder::new();
    let [row, column] = [3, 4].map(|length| program.constant(numbers(&singles(&[length]), length)));
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&[3, 4]);
    let operands = [row, column].map(|tensor| expr.operand(program.ty(tensor)));
    let [left, right] = [0, 1].map(|at| expr.read(operands[at], vec![Index::axis(axes[at])]));
    let output = program.compute(expr.map(ElementType::F32, left.binary(BinaryOp::Multiply, right)), &[row, column]);
    let program = program.finish(vec![output]);
    check(fold_constant_scalars, &program, 0);
    assert_eq!(folded(&program), (1, 2));
}
