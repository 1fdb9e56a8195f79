//! Attention over blocks of keys: emulator, printed text, host and device code of every kind of mask and shape.

use std::sync::Arc;
use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::print::UnitSize;
use warpweave::codegen::verify;
use warpweave::fusion::cost::KernelCost;
use warpweave::fusion::cost::arch::GpuArch;
use warpweave::fusion::cost::estimate::EstimatedCost;
use warpweave::fusion::partition::search::{FusionLevel, partition_with_report};
use warpweave::graph::expr::{BinaryOp, ExprBuilder, Guard, Index, Scalar};
use warpweave::graph::pipeline::prepare;
use warpweave::graph::program::TensorId;
use warpweave::graph::{ElementType, Tensor, TensorType};
use warpweave::plan::body::GroupBody;
use warpweave::plan::template::attention;
use warpweave::plan::template::staged::phase;
use warpweave::runtime::host::{HostSession, pack_weights};
use warpweave::runtime::target::Target;
use warpweave_tests::evaluate::evaluate;
use warpweave_tests::gates;
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::{Compiled, compile_staged};
use warpweave_tests::printed;
use warpweave_tests::random::{self, Random};
use warpweave_tests::sketch::Sketch;
use warpweave_tests::suite::Suite;

use crate::cases::Case;
use crate::text::run_text;

/// Parameters of a case that are run, from all over the space.
const CHOICES: usize = 8;

/// Adds a trial a case, and one for keys whose rows do not fit on chip.
pub fn add(suite: &mut Suite) {
    for (position, case) in cases().into_iter().enumerate() {
        suite.trial(format!("attention {}", case.name), move || check(case, position % CHOICES));
    }
    suite.trial("attention over more keys than fit", longer_than_shared_memory);
    for shape in [Shape::new(12, 197, 64, 197), Shape::new(8, 1024, 64, 40_000)] {
        suite.trial(format!("attention to {} keys is priced", shape.keys), move || is_priced(shape));
    }
}

/// Cases that the template takes whole.
pub fn cases() -> Vec<Case> {
    let case = |name, build| Case { name, exact: false, build };
    vec![
        case("of even sides", |sketch| attend(sketch, Shape::new(2, 24, 16, 80), Mask::None)),
        case("of odd sides", |sketch| attend(sketch, Shape::new(3, 19, 7, 53), Mask::None)),
        case("of one query", |sketch| attend(sketch, Shape::new(4, 1, 8, 70), Mask::None)),
        case("with an added mask", |sketch| attend(sketch, Shape::new(2, 17, 8, 40), Mask::Added)),
        case("with a mask of truth values", |sketch| attend(sketch, Shape::new(2, 12, 8, 39), Mask::Chosen)),
        case("of earlier positions", |sketch| attend(sketch, Shape::new(1, 45, 8, 45), Mask::Causal)),
        case("with rows that see nothing", |sketch| attend(sketch, Shape::new(2, 20, 8, 36), Mask::Blind)),
        case("of grouped queries", grouped),
        case("of scores in memory", scored),
        case("of projected keys and values", projected),
        case("with what follows", followed),
    ]
}

#[derive(Clone, Copy)]
pub struct Shape {
    pub heads: usize,
    pub rows: usize,
    pub depth: usize,
    pub keys: usize,
}

impl Shape {
    pub fn new(heads: usize, rows: usize, depth: usize, keys: usize) -> Self {
        Self { heads, rows, depth, keys }
    }
}

#[derive(Clone, Copy)]
pub enum Mask {
    None,
    /// Added to the scores.
    Added,
    /// Truth values, the same for all rows of a head; −∞ where they do not hold.
    Chosen,
    /// −∞ behind the row's own position, told from positions.
    Causal,
    /// Every third row sees nothing.
    Blind,
}

pub fn attend(sketch: &mut Sketch, shape: Shape, mask: Mask) -> Vec<TensorId> {
    let Shape { heads, rows, depth, keys } = shape;
    let query = sketch.input(&[heads, rows, depth]);
    let (key, value) = (sketch.input(&[heads, depth, keys]), sketch.input(&[heads, keys, depth]));
    let scores = scaled(sketch, query, key);
    let scores = masked(sketch, scores, shape, mask);
    let weights = sketch.softmax(scores);
    vec![sketch.matmul(weights, value)]
}

pub fn scaled(sketch: &mut Sketch, query: TensorId, key: TensorId) -> TensorId {
    let scores = sketch.matmul(query, key);
    sketch.map(scores, |x| x.binary(BinaryOp::Multiply, Scalar::literal(ElementType::F32, 0.375)))
}

pub fn masked(sketch: &mut Sketch, scores: TensorId, shape: Shape, mask: Mask) -> TensorId {
    let Shape { heads, rows, keys, .. } = shape;
    match mask {
        Mask::None => scores,
        Mask::Added => {
            let added = sketch.input(&[rows, keys]);
            sketch.binary(BinaryOp::Add, scores, added)
        }
        Mask::Chosen => {
            let seen = sketch.typed_input(ElementType::Bool, &[heads, 1, keys]);
            chosen(sketch, scores, seen)
        }
        Mask::Causal => {
            let mut expr = ExprBuilder::new();
            let axes = expr.parallels(&[heads, rows, keys]);
            let operand = expr.operand(sketch.builder.ty(scores));
            let read = expr.read(operand, axes.iter().copied().map(Index::axis).collect());
            let behind = Index::axis(axes[1]).add(&Index::axis(axes[2]).times(-1));
            let seen = Scalar::Holds(expr.guard(Guard::always(), behind, 0, rows as i64));
            let body = seen.select(read, Scalar::literal(ElementType::F32, f64::NEG_INFINITY));
            sketch.builder.compute(expr.map(ElementType::F32, body), &[scores])
        }
        Mask::Blind => {
            let seen: Vec<i64> = (0..rows * keys).map(|at| i64::from(at / keys % 3 != 1 && at % 5 != 0)).collect();
            let ty = TensorType::new(ElementType::Bool, [rows, keys]);
            let seen = sketch.builder.constant(Tensor::from_i64(ty, &seen));
            chosen(sketch, scores, seen)
        }
    }
}

/// The scores where a mask, broadcast to them, holds; −∞ elsewhere.
fn chosen(sketch: &mut Sketch, scores: TensorId, seen: TensorId) -> TensorId {
    let (of, mask) = (sketch.builder.ty(scores).clone(), sketch.builder.ty(seen).clone());
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&of.shape);
    let (score, mask) = (expr.operand(&of), expr.operand(&mask));
    let (score, mask) = (expr.broadcast_read(score, &axes), expr.broadcast_read(mask, &axes));
    let body = mask.select(score, Scalar::literal(ElementType::F32, f64::NEG_INFINITY));
    sketch.builder.compute(expr.map(ElementType::F32, body), &[scores, seen])
}

/// Six heads of queries for two of keys and values.
fn grouped(sketch: &mut Sketch) -> Vec<TensorId> {
    let (heads, groups) = (6, 3);
    let query = sketch.input(&[heads, 11, 8]);
    let (key, value) = (sketch.input(&[heads / groups, 8, 50]), sketch.input(&[heads / groups, 50, 8]));
    let [key, value] = [key, value].map(|tensor| repeated(sketch, tensor, groups));
    let scores = scaled(sketch, query, key);
    let weights = sketch.softmax(scores);
    vec![sketch.matmul(weights, value)]
}

/// Every matrix of a stack `times` times.
fn repeated(sketch: &mut Sketch, stack: TensorId, times: usize) -> TensorId {
    let ty = sketch.builder.ty(stack).clone();
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&[ty.shape[0] * times, ty.shape[1], ty.shape[2]]);
    let range = |axis| expr.range(axis);
    let head = Index::axis(axes[0]).floor_div(times as i64, &range);
    let operand = expr.operand(&ty);
    let read = expr.read(operand, vec![head, Index::axis(axes[1]), Index::axis(axes[2])]);
    sketch.builder.compute(expr.map(ty.element, read), &[stack])
}

/// Scores that come from outside, with a prologue.
fn scored(sketch: &mut Sketch) -> Vec<TensorId> {
    let (scores, added) = (sketch.input(&[2, 18, 44]), sketch.input(&[18, 44]));
    let value = sketch.input(&[2, 44, 12]);
    let scores = sketch.binary(BinaryOp::Add, scores, added);
    let weights = sketch.softmax(scores);
    vec![sketch.matmul(weights, value)]
}

/// Keys and values that are products themselves.
fn projected(sketch: &mut Sketch) -> Vec<TensorId> {
    let (query, memory) = (sketch.input(&[14, 8]), sketch.input(&[48, 6]));
    let [key, value] = [(); 2].map(|()| sketch.linear(memory, 8));
    let key = sketch.transpose(key, &[1, 0]);
    let scores = sketch.matmul(query, key);
    let weights = sketch.softmax(scores);
    vec![sketch.matmul(weights, value)]
}

/// A function of the result, and one of that.
fn followed(sketch: &mut Sketch) -> Vec<TensorId> {
    let mixed = attend(sketch, Shape::new(2, 9, 8, 37), Mask::None)[0];
    let other = sketch.input(&[2, 9, 8]);
    let sum = sketch.binary(BinaryOp::Add, mixed, other);
    let positive = sketch.relu(sum);
    vec![sum, positive]
}

/// Runs a case under all choices, and what is printed of one of them.
fn check(case: Case, printed: usize) {
    let mut sketch = Sketch::new(41);
    let outputs = (case.build)(&mut sketch);
    let program = sketch.finish(&outputs);
    let inputs = random::inputs(&mut Random::new(42), &program);
    let expected = evaluate(&program, &inputs);
    for number in 0..CHOICES {
        let choose = |body: &Arc<GroupBody>| {
            let mut choices = attention::candidates(body);
            assert!(!choices.is_empty(), "{} is no attention", case.name);
            Some(choices.swap_remove(number * choices.len() / CHOICES).params().clone())
        };
        let compiled = compile_staged(&program, 3, choose).expect("the case is staged");
        let machine = emulated(&compiled, &inputs, &expected, number as u64);
        assert_close(&on_host(&compiled, &inputs), &expected, 1e-4);
        if number == printed {
            assert_close(&run_text(&machine, &inputs), &expected, 1e-4);
            gates::check(&machine.program, UnitSize::default(), Target::Sm90a);
        }
    }
}

fn emulated(compiled: &Compiled, inputs: &[Tensor], expected: &[Tensor], seed: u64) -> Machine {
    printed::check(compiled);
    assert_eq!(verify::verify(&compiled.lowered.program), []);
    let machine = Machine::new(compiled);
    let (report, found) = machine.launch(inputs, &LaunchOptions::seeded(seed));
    let params = compiled.params();
    assert!(report.is_clean(), "{params:?}: {report}");
    assert_close(&found, expected, 1e-4);
    machine
}

fn on_host(compiled: &Compiled, inputs: &[Tensor]) -> Vec<Tensor> {
    let weights = pack_weights(&compiled.plan, |id| compiled.program.constant(id)).expect("constants are there");
    let mut session = HostSession::new(&compiled.plan, weights, 2).expect("the plan folds");
    session.run(inputs).expect("the plan runs")
}

/// One row of scores and weights is larger than what a block keeps on chip.
fn longer_than_shared_memory() {
    let mut sketch = Sketch::new(43);
    let outputs = attend(&mut sketch, Shape::new(1, 5, 4, 16_421), Mask::None);
    let program = sketch.finish(&outputs);
    let inputs = random::inputs(&mut Random::new(44), &program);
    let compiled = compile_staged(&program, 2, |body| {
        assert_eq!(phase::candidates(body), []);
        Some(attention::candidates(body).pop()?.params().clone())
    });
    let expected = evaluate(&program, &inputs);
    emulated(&compiled.expect("the keys fit block by block"), &inputs, &expected, 1);
}

/// Kernels of this template are priced, and what the search finds costs no more than what there is at register level.
fn is_priced(shape: Shape) {
    let mut sketch = Sketch::new(45);
    let outputs = attend(&mut sketch, shape, Mask::None);
    let program = sketch.finish(&outputs);
    let cost = EstimatedCost { arch: GpuArch::h200() };
    let choose = |body: &Arc<GroupBody>| {
        let kernel = attention::candidates(body).pop()?;
        let microseconds = cost.task_microseconds(&kernel);
        assert!(microseconds.is_finite() && microseconds > 0.0, "{microseconds}");
        Some(kernel.params().clone())
    };
    assert!(compile_staged(&program, 132, choose).is_some());
    let prepared = prepare(&program);
    let at = |level| partition_with_report(&prepared, &cost, level).1.microseconds;
    assert!(at(FusionLevel::Full) <= at(FusionLevel::Register));
}
