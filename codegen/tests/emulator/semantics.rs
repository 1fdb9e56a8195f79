//! What statements compute.

use warpweave_codegen::emulate::{Device, LaunchOptions, LaunchReport};
use warpweave_codegen::kernel_ir::expression::magic;
use warpweave_codegen::kernel_ir::{
    BinaryOp, Constant, Expression, Function, GlobalSpace, LocalId, MemoryType, Place, RegisterArray, ScalarType,
    SharedArray, ShuffleMode, Statement, Width,
};
use warpweave_codegen::verify;

use crate::build::*;

const THREADS: i32 = 64;

/// Runs a kernel that stores one `I32` a thread from element 0 on, and gives those.
fn results(kernel: Function, operands: &[i32], weights: &[u8]) -> (Vec<i32>, LaunchReport) {
    let program = program(THREADS as u32, vec![kernel]);
    assert_eq!(verify::verify(&program), []);
    let tables = tables(&[vec![run(0, 0, 5)]], operands);
    let mut device = Device::new(&program, &tables, weights, 4 * THREADS as usize, 0).unwrap();
    let report = device.launch(&[], &LaunchOptions { count: true, ..LaunchOptions::seeded(3) });
    assert!(report.is_clean(), "{report}");
    let words = device.arena().chunks_exact(4).map(|word| i32::from_le_bytes(word.try_into().unwrap()));
    (words.collect(), report)
}

fn check(kernel: Function, operands: &[i32], expected: impl Fn(i32) -> i32) {
    let (found, _) = results(kernel, operands, &[]);
    assert_eq!(found, (0..THREADS).map(expected).collect::<Vec<i32>>());
}

fn put(value: Expression) -> Statement {
    Statement::StoreGlobal { memory: MemoryType::I32, index: thread(), values: vec![value] }
}

fn assign(local: LocalId, value: Expression) -> Statement {
    Statement::Assign { place: Place::Local(local), value }
}

fn cast(scalar: ScalarType, value: Expression) -> Expression {
    Expression::Cast(scalar, Box::new(value))
}

#[test]
fn loops_and_branches_diverge() {
    let mut kernel = Function::default();
    let [sum, variable] = std::array::from_fn(|_| kernel.locals.push(ScalarType::I32));
    let odd =
        Expression::binary(BinaryOp::Equal, Expression::binary(BinaryOp::BitAnd, variable.into(), int(1)), int(1));
    let body = vec![Statement::If {
        condition: odd,
        then: vec![assign(sum, add(sum.into(), variable.into()))],
        otherwise: vec![when(less(thread(), int(40)), vec![assign(sum, add(sum.into(), int(100)))])],
    }];
    kernel.body =
        vec![assign(sum, int(0)), Statement::For { variable, extent: thread(), unroll: false, body }, put(sum.into())];
    check(kernel, &[], |thread| {
        (0..thread)
            .map(|i| {
                if i % 2 == 1 {
                    i
                } else if thread < 40 {
                    100
                } else {
                    0
                }
            })
            .sum()
    });
}

#[test]
fn shuffles_reduce_a_warp() {
    let mut kernel = Function::default();
    let [sum, other] = std::array::from_fn(|_| kernel.locals.push(ScalarType::I64));
    kernel.body = vec![assign(sum, cast(ScalarType::I64, thread()))];
    for step in 0..5 {
        let mode = ShuffleMode::Xor(1 << step);
        kernel.body.push(Statement::Shuffle { place: Place::Local(other), value: sum.into(), mode });
        kernel.body.push(assign(sum, add(sum.into(), other.into())));
    }
    let mode = ShuffleMode::Broadcast(7);
    kernel.body.push(Statement::Shuffle { place: Place::Local(other), value: add(sum.into(), sum.into()), mode });
    kernel.body.push(put(cast(ScalarType::I32, other.into())));
    check(kernel, &[], |thread| 2 * (496 + thread / 32 * 1024));
}

#[test]
fn wide_integers_are_wide() {
    let mut kernel = Function::default();
    let big = kernel.locals.push(ScalarType::I64);
    let constant = |value| Expression::Constant(Constant::I64(value));
    let scaled = multiply(cast(ScalarType::I64, thread()), constant(1 << 33));
    let shifted = Expression::binary(BinaryOp::ShiftRight, big.into(), constant(31));
    let value = Expression::Select(
        Box::new(Expression::binary(BinaryOp::LessEqual, constant(1 << 38), big.into())),
        Box::new(shifted),
        Box::new(constant(-1)),
    );
    kernel.body = vec![assign(big, scaled), put(cast(ScalarType::I32, value))];
    check(kernel, &[], |thread| if thread >= 32 { thread * 4 } else { -1 });
}

#[test]
fn operands_tiles_and_fast_division() {
    let mut kernel = Function::default();
    let scaled = add(multiply(thread(), int(1_000_003)), Expression::Tile);
    kernel.body = vec![put(add(Expression::FastDivide(Box::new(scaled), 1), operand(0)))];
    let (multiplier, shift) = magic(77);
    check(kernel, &[9, multiplier, shift], |thread| (thread * 1_000_003 + 5) / 77 + 9);
}

#[test]
fn narrow_memory_truncates() {
    let mut kernel = Function::default();
    let [signed, unsigned] = std::array::from_fn(|_| kernel.locals.push(ScalarType::I32));
    let truth = kernel.locals.push(ScalarType::Bool);
    let length = THREADS as u32;
    let mut statements = Vec::new();
    let value = |memory| match memory {
        MemoryType::Bool => less(thread(), int(5)),
        _ => add(multiply(thread(), int(7)), int(100)),
    };
    for (local, memory) in [(signed, MemoryType::I8), (unsigned, MemoryType::U8), (truth, MemoryType::Bool)] {
        let array = kernel.shared.push(SharedArray { memory, length });
        statements.push(Statement::StoreShared { array, index: thread(), values: vec![value(memory)] });
        let place = Place::Local(local);
        statements.push(Statement::LoadShared { place, array, width: Width::One, index: thread() });
    }
    let sum = add(add(signed.into(), multiply(unsigned.into(), int(1000))), cast(ScalarType::I32, truth.into()));
    statements.push(put(sum));
    kernel.body = statements;
    check(kernel, &[], |thread| {
        let value = thread * 7 + 100;
        i32::from(value as i8) + i32::from(value as u8) * 1000 + i32::from(thread < 5)
    });
}

#[test]
fn memory_traffic_is_counted() {
    let mut kernel = Function::default();
    let value = kernel.locals.push(ScalarType::I32);
    let array = kernel.shared.push(SharedArray { memory: MemoryType::I32, length: 64 * 32 });
    let quad = kernel.arrays.push(RegisterArray { scalar: ScalarType::I32, length: 4 });
    let load = |place, width, index| Statement::LoadGlobal {
        place,
        space: GlobalSpace::Weights,
        memory: MemoryType::I32,
        width,
        index,
    };
    kernel.body = vec![
        load(Place::Local(value), Width::One, thread()),
        load(Place::Local(value), Width::One, multiply(thread(), int(8))),
        load(Place::Element(quad, int(0)), Width::Four, multiply(thread(), int(4))),
        Statement::StoreShared { array, index: thread(), values: vec![value.into()] },
        Statement::BlockBarrier,
        Statement::StoreShared { array, index: multiply(thread(), int(2)), values: vec![value.into(), value.into()] },
        Statement::BlockBarrier,
        Statement::StoreShared { array, index: multiply(thread(), int(32)), values: vec![value.into()] },
        put(value.into()),
    ];
    let (_, report) = results(kernel, &[], &[0; 64 * 8 * 4]);
    let counts = report.kernel_counts[0];
    assert_eq!(counts.load_sectors, 2 * (4 + 32 + 16));
    assert_eq!(counts.store_sectors, 2 * 4);
    assert_eq!(counts.shared_wavefronts, 2 * (1 + 2 + 32));
}
