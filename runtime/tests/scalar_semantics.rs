//! Scalar operations of printed text on the host, where C++ and the kernel IR could differ.

use std::time::Duration;

use warpweave_codegen::kernel_ir::expression::{BinaryOp, Builtin, Constant, Expression, ScalarType, UnaryOp};
use warpweave_codegen::kernel_ir::{Entry, Function, Program};
use warpweave_codegen::kernel_ir::{GlobalSpace, MemoryType, Place, Statement, Width};
use warpweave_codegen::print::cuda;
use warpweave_graph::arena::Arena;
use warpweave_plan::tables::{Launch, StreamLaunch, Tables};
use warpweave_plan::tensor_core::sum::TensorCore;
use warpweave_runtime::session_memory::SessionMemory;
use warpweave_runtime::text::{TextLaunch, TextProgram};

const THREADS: usize = 32;

/// The scalar of this type whose bits start at byte `slot * 8` of a thread's part of the arena.
fn memory(scalar: ScalarType) -> (MemoryType, i32) {
    match scalar {
        ScalarType::Bool => (MemoryType::Bool, 8),
        ScalarType::I32 => (MemoryType::I32, 2),
        ScalarType::F32 => (MemoryType::F32, 2),
        ScalarType::I64 => (MemoryType::I64, 1),
    }
}

fn bits(constant: Constant) -> [u8; 8] {
    match constant {
        Constant::Bool(value) => u64::from(value),
        Constant::I32(value) => u64::from(value as u32),
        Constant::I64(value) => value as u64,
        Constant::F32(bits) => u64::from(bits),
    }
    .to_ne_bytes()
}

/// One operation on one or two values, and its value.
struct Case {
    inputs: Vec<Constant>,
    output: Constant,
    apply: Box<dyn Fn(Vec<Expression>) -> Expression>,
}

/// The values that `cases` have on the host, run as one thread's program with all inputs from memory.
fn run(cases: &[Case]) -> Vec<[u8; 8]> {
    let mut entry = Function::default();
    let mut arena = Vec::new();
    let mut body = Vec::new();
    let mut outputs = Vec::new();
    let slot_of = |slot: usize, per_slot: i32| Expression::i32(slot as i32 * per_slot);
    for case in cases {
        let mut locals = Vec::new();
        for input in &case.inputs {
            let local = entry.locals.push(input.scalar_type());
            let (memory, per_slot) = memory(input.scalar_type());
            body.push(Statement::LoadGlobal {
                place: Place::Local(local),
                space: GlobalSpace::Arena,
                memory,
                width: Width::One,
                index: slot_of(arena.len() / 8, per_slot),
            });
            arena.extend(bits(*input));
            locals.push(Expression::Local(local));
        }
        let (memory, per_slot) = memory(case.output.scalar_type());
        outputs.push(arena.len());
        body.push(Statement::StoreGlobal {
            memory,
            index: slot_of(arena.len() / 8, per_slot),
            values: vec![(case.apply)(locals)],
        });
        arena.extend([0; 8]);
    }
    let first = Expression::binary(BinaryOp::Equal, Expression::Builtin(Builtin::Thread), Expression::i32(0));
    entry.body = vec![Statement::If { condition: first, then: body, otherwise: Vec::new() }];
    let program = Program { threads: THREADS as u32, kernels: Arena::new(), entry: Entry::Persistent(entry) };
    let compiled = TextProgram::compile(&cuda(&program), None).unwrap_or_else(|error| panic!("{error}"));
    let one = Launch::Streams(StreamLaunch { first_stream: 0, blocks: 1 });
    let launch = TextLaunch {
        threads: program.threads,
        shared_bytes: 0,
        tables: &Tables { launches: vec![one], ..Tables::default() },
        weights: &[],
        launches: 1,
        wait_limit: Duration::from_secs(1),
        run_limit: Duration::from_secs(60),
        tensor_core: TensorCore::Hopper,
    };
    let mut memory = SessionMemory::new(arena, 0);
    compiled.run(launch, &mut memory).unwrap_or_else(|error| panic!("{error}"));
    outputs.into_iter().map(|start| memory.arena[start..start + 8].try_into().expect("eight bytes")).collect()
}

fn i32(value: i32) -> Constant {
    Constant::I32(value)
}

fn i64(value: i64) -> Constant {
    Constant::I64(value)
}

fn f32(value: f32) -> Constant {
    Constant::F32(value.to_bits())
}

fn binary(op: BinaryOp, left: Constant, right: Constant, output: Constant) -> Case {
    let apply = move |values: Vec<Expression>| {
        let [left, right] = values.try_into().expect("two values");
        Expression::binary(op, left, right)
    };
    Case { inputs: vec![left, right], output, apply: Box::new(apply) }
}

fn unary(op: UnaryOp, input: Constant, output: Constant) -> Case {
    let apply = move |mut values: Vec<Expression>| Expression::Unary(op, Box::new(values.remove(0)));
    Case { inputs: vec![input], output, apply: Box::new(apply) }
}

fn cast(input: Constant, output: Constant) -> Case {
    let apply = move |mut values: Vec<Expression>| Expression::Cast(output.scalar_type(), Box::new(values.remove(0)));
    Case { inputs: vec![input], output, apply: Box::new(apply) }
}

#[test]
fn corners_of_arithmetic() {
    let truth = Constant::Bool;
    let cases = [
        binary(BinaryOp::Add, i32(i32::MAX), i32(1), i32(i32::MIN)),
        binary(BinaryOp::Multiply, i64(i64::MIN), i64(-1), i64(i64::MIN)),
        binary(BinaryOp::Divide, i32(7), i32(0), i32(0)),
        binary(BinaryOp::Divide, i32(-7), i32(2), i32(-3)),
        binary(BinaryOp::Divide, i32(i32::MIN), i32(-1), i32(i32::MIN)),
        binary(BinaryOp::Divide, i64(i64::MIN), i64(-1), i64(i64::MIN)),
        binary(BinaryOp::Remainder, i32(-7), i32(2), i32(-1)),
        binary(BinaryOp::Remainder, i32(i32::MIN), i32(-1), i32(0)),
        binary(BinaryOp::Remainder, i64(5), i64(0), i64(0)),
        binary(BinaryOp::Remainder, f32(-7.5), f32(2.0), f32(-1.5)),
        binary(BinaryOp::Remainder, f32(-6.0), f32(3.0), f32(-0.0)),
        binary(BinaryOp::Remainder, f32(f32::MAX), f32(3.0e-45), f32(0.0)),
        binary(BinaryOp::Remainder, f32(1e30), f32(1e-38), f32(1e30 % 1e-38)),
        binary(BinaryOp::Remainder, f32(5e-39), f32(3e-39), f32(5e-39 % 3e-39)),
        binary(BinaryOp::Remainder, f32(3.0), f32(f32::INFINITY), f32(3.0)),
        binary(BinaryOp::Power, i32(-3), i32(5), i32(-243)),
        binary(BinaryOp::Power, i32(3), i32(21), i32(3i32.wrapping_pow(21))),
        binary(BinaryOp::Power, i32(-1), i32(-3), i32(-1)),
        binary(BinaryOp::Power, i32(2), i32(-1), i32(0)),
        binary(BinaryOp::Power, i64(-7), i64(23), i64((-7i64).wrapping_pow(23))),
        binary(BinaryOp::Power, i64(0), i64(0), i64(1)),
        binary(BinaryOp::ShiftRight, i32(-5), i32(1), i32(-3)),
        binary(BinaryOp::ShiftLeft, i64(-1), i64(63), i64(i64::MIN)),
        binary(BinaryOp::Minimum, i32(-1), i32(1), i32(-1)),
        binary(BinaryOp::Maximum, i64(-1), i64(1), i64(1)),
        binary(BinaryOp::Minimum, f32(f32::NAN), f32(1.0), f32(f32::from_bits(0x7fff_ffff))),
        binary(BinaryOp::Maximum, f32(1.0), f32(f32::NAN), f32(f32::from_bits(0x7fff_ffff))),
        binary(BinaryOp::Minimum, f32(0.0), f32(-0.0), f32(-0.0)),
        binary(BinaryOp::Maximum, f32(-0.0), f32(0.0), f32(0.0)),
        binary(BinaryOp::Less, i32(-1), i32(1), truth(true)),
        binary(BinaryOp::LessEqual, i64(-1), i64(-2), truth(false)),
        binary(BinaryOp::Less, f32(f32::NAN), f32(1.0), truth(false)),
        binary(BinaryOp::Equal, f32(-0.0), f32(0.0), truth(true)),
        binary(BinaryOp::Divide, f32(1.0), f32(-0.0), f32(f32::NEG_INFINITY)),
        unary(UnaryOp::Negate, f32(0.0), f32(-0.0)),
        unary(UnaryOp::Absolute, i32(i32::MIN), i32(i32::MIN)),
        unary(UnaryOp::RoundEven, f32(2.5), f32(2.0)),
        unary(UnaryOp::RoundEven, f32(-0.5), f32(-0.0)),
        unary(UnaryOp::ToF16, f32(2049.0), f32(2048.0)),
        unary(UnaryOp::ToF16, f32(65_520.0), f32(f32::INFINITY)),
        unary(UnaryOp::ToF16, f32(-1.5 * 2f32.powi(-25)), f32(-(2f32.powi(-24)))),
        unary(UnaryOp::ToBF16, f32(257.0), f32(256.0)),
        unary(UnaryOp::ToBF16, f32(f32::MAX), f32(f32::INFINITY)),
        unary(UnaryOp::OfF16, i32(0x7654_3c01), f32(1.0 + 2f32.powi(-10))),
        unary(UnaryOp::OfF16, i32(0x8001), f32(-(2f32.powi(-24)))),
        unary(UnaryOp::OfF16, i32(-1024), f32(f32::NEG_INFINITY)),
        unary(UnaryOp::Sin, f32(-0.0), f32(-0.0)),
        unary(UnaryOp::Sqrt, f32(2.0), f32(2.0f32.sqrt())),
        unary(UnaryOp::Bits, f32(-0.0), i32(i32::MIN)),
        unary(UnaryOp::OfBits, i32(1), f32(f32::from_bits(1))),
        cast(f32(f32::NAN), i32(0)),
        cast(f32(f32::NAN), i64(0)),
        cast(f32(3e9), i32(i32::MAX)),
        cast(f32(-3e9), i32(i32::MIN)),
        cast(f32(1e19), i64(i64::MAX)),
        cast(f32(f32::NEG_INFINITY), i64(i64::MIN)),
        cast(f32(-1.9), i32(-1)),
        cast(i32(-1), i64(-1)),
        cast(i64(1 << 33 | 5), i32(5)),
        cast(i64(i64::MAX), f32(i64::MAX as f32)),
        cast(i32(-3), f32(-3.0)),
        cast(f32(f32::NAN), truth(true)),
        cast(i64(1 << 40), truth(true)),
        cast(truth(true), f32(1.0)),
    ];
    for (number, (case, value)) in cases.iter().zip(run(&cases)).enumerate() {
        assert_eq!(value, bits(case.output), "case {number} of {:?}", case.inputs);
    }
}

#[test]
fn sine_and_cosine_are_accurate_everywhere() {
    let mut inputs: Vec<f32> = (0..200).map(|i| (i as f32 - 100.0) * 0.731).collect();
    inputs.extend((0..128).map(|exponent| 1.234_567_9 * 2.0f32.powi(exponent)));
    inputs.extend([f32::MAX, -f32::MAX, 65_535.996, 65_536.0, 1e-30, std::f32::consts::PI]);
    for (op, exact) in [(UnaryOp::Sin, f64::sin as fn(f64) -> f64), (UnaryOp::Cos, f64::cos)] {
        let cases: Vec<Case> = inputs.iter().map(|&x| unary(op, f32(x), f32(0.0))).collect();
        for (&x, value) in inputs.iter().zip(run(&cases)) {
            let value = f32::from_bits(u64::from_ne_bytes(value) as u32);
            let exact = exact(f64::from(x));
            let error = (f64::from(value) - exact).abs();
            assert!(error <= 1.2e-7 * exact.abs().max(1e-3), "{op:?} of {x:e} is {value:e}, not {exact:e}");
        }
    }
    let infinite = run(&[unary(UnaryOp::Sin, f32(f32::INFINITY), f32(0.0))]);
    assert!(f32::from_bits(u64::from_ne_bytes(infinite[0]) as u32).is_nan());
}
