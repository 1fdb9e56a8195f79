//! Reductions are sliced exactly where their slices are consumed one after another, and compute the same.

use warpweave_graph::expr::{BinaryOp, ExprBuilder, Index, Reducer};
use warpweave_graph::program::passes::slice_reductions;
use warpweave_graph::program::{Definition, ProgramBuilder, TensorId, TensorProgram};
use warpweave_graph::reference::evaluate;
use warpweave_graph::types::TensorType;
use warpweave_graph::{ElementType, Tensor};

const STEPS: usize = 3;
const FEATURES: usize = 4;
const ROWS: usize = 6;
const WEIGHT_BYTES: usize = ROWS * FEATURES * 4;

/// Whether each step reads what the one before it has computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Steps {
    Chained,
    SideBySide,
}

/// `x · weightᵀ` of all steps at once, and a statement a step that reads its row of it.
fn program(steps: Steps) -> TensorProgram {
    let mut program = ProgramBuilder::new();
    let x = program.input(TensorType::new(ElementType::F32, [STEPS, FEATURES]));
    let numbers: Vec<f64> = (0..ROWS * FEATURES).map(|number| (number % 5) as f64 - 2.0).collect();
    let weight = program.constant(Tensor::from_f64(TensorType::new(ElementType::F32, [ROWS, FEATURES]), &numbers));
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&[STEPS, ROWS]);
    let feature = Index::axis(expr.reduced(FEATURES));
    let (data, matrix) = (expr.operand(program.ty(x)), expr.operand(program.ty(weight)));
    let left = expr.read(data, vec![Index::axis(axes[0]), feature.clone()]);
    let right = expr.read(matrix, vec![Index::axis(axes[1]), feature]);
    let body = left.binary(BinaryOp::Multiply, right);
    let projected = program.compute(expr.reduce(ElementType::F32, Reducer::Sum, body, None), &[x, weight]);
    let mut outputs: Vec<TensorId> = Vec::new();
    for step in 0..STEPS {
        let before = outputs.last().copied().filter(|_| steps == Steps::Chained);
        outputs.push(one_step(&mut program, projected, step, before));
    }
    program.finish(outputs)
}

fn one_step(program: &mut ProgramBuilder, projected: TensorId, step: usize, before: Option<TensorId>) -> TensorId {
    let mut expr = ExprBuilder::new();
    let row = Index::axis(expr.parallels(&[ROWS])[0]);
    let source = expr.operand(program.ty(projected));
    let mut operands = vec![projected];
    let mut body = expr.read(source, vec![Index::constant(step as i64), row.clone()]);
    if let Some(before) = before {
        operands.push(before);
        let state = expr.operand(program.ty(before));
        let state = expr.read(state, vec![row]);
        body = body.binary(BinaryOp::Add, state);
    }
    program.compute(expr.map(ElementType::F32, body), &operands)
}

fn reductions(program: &TensorProgram) -> usize {
    let reduces = |definition: &Definition| match definition {
        Definition::Compute(expr) => expr.reducer.is_some(),
        Definition::Opaque(_) | Definition::Concat { .. } => false,
    };
    program.statements.values().filter(|statement| reduces(&statement.definition)).count()
}

#[track_caller]
fn check(steps: Steps, most_constant_bytes: usize, expected: usize) {
    let whole = program(steps);
    let sliced = slice_reductions(&whole, most_constant_bytes);
    assert_eq!(reductions(&sliced), expected);
    let numbers: Vec<f64> = (0..STEPS * FEATURES).map(|number| number as f64).collect();
    let x = Tensor::from_f64(TensorType::new(ElementType::F32, [STEPS, FEATURES]), &numbers);
    let run = |program: &TensorProgram| evaluate(program, std::slice::from_ref(&x)).expect("the program is right");
    assert_eq!(run(&sliced), run(&whole));
}

#[test]
fn slices_that_are_consumed_one_after_another() {
    check(Steps::Chained, WEIGHT_BYTES, STEPS);
}

#[test]
fn slices_side_by_side_stay_together() {
    check(Steps::SideBySide, WEIGHT_BYTES, 1);
}

#[test]
fn constants_that_would_be_read_too_often() {
    check(Steps::Chained, WEIGHT_BYTES - 1, 1);
}
