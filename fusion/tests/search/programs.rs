//! The search on tensor programs.

use std::time::Instant;
use warpweave_graph::pipeline::PreparedProgram;

use warpweave_fusion::cost::arch::GpuArch;
use warpweave_fusion::cost::bound::BoundMode;
use warpweave_fusion::cost::bound::group::group_bound;
use warpweave_fusion::cost::estimate::EstimatedCost;
use warpweave_fusion::partition::search::{FusionLevel, SearchReport, partition_with_report};
use warpweave_graph::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar, UnaryOp};
use warpweave_graph::program::{ProgramBuilder, TensorId, TensorProgram};
use warpweave_graph::types::{ElementType, TensorType};
use warpweave_graph::views::{inline_views, place_concats};

const F32: ElementType = ElementType::F32;

fn tensor(shape: &[usize]) -> TensorType {
    TensorType { element: F32, shape: shape.iter().copied().collect() }
}

fn matmul(program: &mut ProgramBuilder, left: TensorId, columns: usize) -> TensorId {
    let shape = program.ty(left).shape.to_vec();
    let right = program.input(tensor(&[shape[1], columns]));
    let mut expr = ExprBuilder::new();
    let (row, column, inner) = (expr.parallel(shape[0]), expr.parallel(columns), expr.reduced(shape[1]));
    let (x, w) = (expr.operand(&tensor(&shape)), expr.operand(&tensor(&[shape[1], columns])));
    let x = expr.read(x, vec![Index::axis(row), Index::axis(inner)]);
    let w = expr.read(w, vec![Index::axis(inner), Index::axis(column)]);
    program.compute(expr.reduce(F32, Reducer::Sum, x.binary(BinaryOp::Multiply, w), None), &[left, right])
}

fn map(program: &mut ProgramBuilder, inputs: &[TensorId], body: impl Fn(&[Scalar]) -> Scalar) -> TensorId {
    let shape = program.ty(inputs[0]).shape.to_vec();
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&shape);
    let reads: Vec<Scalar> = inputs
        .iter()
        .map(|&input| {
            let operand = expr.operand(program.ty(input));
            expr.broadcast_read(operand, &axes)
        })
        .collect();
    program.compute(expr.map(F32, body(&reads)), inputs)
}

fn binary(program: &mut ProgramBuilder, op: BinaryOp, left: TensorId, right: TensorId) -> TensorId {
    map(program, &[left, right], |reads| reads[0].clone().binary(op, reads[1].clone()))
}

fn tanh(program: &mut ProgramBuilder, input: TensorId) -> TensorId {
    map(program, &[input], |reads| reads[0].clone().unary(UnaryOp::Tanh))
}

/// Blocks of three matrix products with biases and activations, and a residual: ten statements a block.
fn residual_network(blocks: usize) -> TensorProgram {
    let mut program = ProgramBuilder::new();
    let mut x = program.input(tensor(&[196, 256]));
    for _ in 0..blocks {
        let mut y = x;
        for columns in [64, 64, 256] {
            y = matmul(&mut program, y, columns);
            let bias = program.input(tensor(&[columns]));
            y = binary(&mut program, BinaryOp::Add, y, bias);
            if columns == 64 {
                y = tanh(&mut program, y);
            }
        }
        y = binary(&mut program, BinaryOp::Add, y, x);
        x = tanh(&mut program, y);
    }
    program.finish(vec![x])
}

/// Steps of a recurrence with six element-wise statements and two products each.
fn recurrence(steps: usize) -> TensorProgram {
    let mut program = ProgramBuilder::new();
    let (mut hidden, mut cell) = (program.input(tensor(&[1, 256])), program.input(tensor(&[1, 256])));
    for _ in 0..steps {
        let gate = matmul(&mut program, hidden, 256);
        let other = matmul(&mut program, cell, 256);
        let sum = binary(&mut program, BinaryOp::Add, gate, other);
        let open = tanh(&mut program, sum);
        let kept = binary(&mut program, BinaryOp::Multiply, cell, open);
        let new = tanh(&mut program, gate);
        cell = binary(&mut program, BinaryOp::Add, kept, new);
        hidden = tanh(&mut program, cell);
    }
    program.finish(vec![hidden])
}

fn search(program: &TensorProgram) -> SearchReport {
    let (program, layouts) = place_concats(&inline_views(program));
    let prepared = PreparedProgram { program, layouts };
    let cost = EstimatedCost { arch: GpuArch::h200() };
    let start = Instant::now();
    let (partition, report) = partition_with_report(&prepared, &cost, FusionLevel::Register);
    eprintln!(
        "{} statements: {:?}, {} groups, {} sets, {} structures, {:.1} % hits, {:.1} µs for {:.1} merging neighbours",
        prepared.program.statements.len(),
        start.elapsed(),
        partition.groups.len(),
        report.sets,
        report.structures,
        100.0 * report.hit_rate(),
        report.microseconds,
        report.greedy_microseconds
    );
    let placed: usize = partition.groups.iter().map(|group| group.statements.len()).sum();
    assert_eq!(placed, prepared.program.statements.len());
    let total: f64 = partition.groups.iter().map(|group| group.microseconds).sum();
    assert!((total - report.microseconds).abs() < 1e-6 * total, "equal structures have equal costs");
    assert!(report.microseconds <= report.greedy_microseconds);
    for group in &partition.groups {
        let bound = group_bound(&group.kernel, &cost.arch, BoundMode::Corrected);
        assert!(bound.fits && bound.fraction > 0.0 && bound.fraction <= 1.0, "{bound:?} of {}", group.kernel.params());
    }
    report
}

#[test]
fn a_residual_network_is_searched_once_a_block() {
    let report = search(&residual_network(12));
    assert!(report.hit_rate() > 0.5);
    assert!(report.microseconds < report.unfused_microseconds);
}

#[test]
fn a_recurrence_of_three_thousand_statements() {
    let report = search(&recurrence(375));
    assert!(report.hit_rate() > 0.9);
}

/// Each statement reads the one before it twice: composed, thirty of them would have 2³⁰ reads.
#[test]
fn statements_that_double_are_not_composed_without_end() {
    let mut program = ProgramBuilder::new();
    let mut x = program.input(tensor(&[4]));
    for _ in 0..30 {
        x = map(&mut program, &[x], |reads| {
            reads[0].clone().unary(UnaryOp::Tanh).binary(BinaryOp::Multiply, reads[0].clone())
        });
    }
    let report = search(&program.finish(vec![x]));
    assert!(report.microseconds < report.unfused_microseconds);
}
