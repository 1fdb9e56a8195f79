//! A hand-written persistent program: a producer kernel, a consumer kernel and an entry that walks the streams.
//!
//! In elements of `F32`, `x` = arena[0, 128), `y` = arena[128, 256), `z` = arena[256, 384), and the weights `w` have 64
//! elements. The producer's tile `t` computes `y[64t + i] = fma(x[64t + i], w[i], 1)`. The consumer's tile `t` reads
//! `y` of the other tile `u = 1 − t`. It adds to `z[64t + i]` the sum of the four neighbours `y[64u + 4·⌊i / 4⌋ …]`,
//! plus the largest `y` of that tile.

#![allow(dead_code, reason = "each test uses a part")]

use warpweave_codegen::kernel_ir::expression::magic;
use warpweave_codegen::kernel_ir::{
    BinaryOp, Block, Builtin, Entry, Expression, Function, GlobalSpace, LocalId, MemoryType, Place, Program,
    RegisterArray, ScalarType, SharedArray, ShuffleMode, Statement, Width,
};
use warpweave_codegen::persistent;
use warpweave_graph::arena::Arena;
use warpweave_plan::tables::{Launch, StreamLaunch, StreamStep, Tables};

/// Threads of a block, elements of a tile.
pub const THREADS: u32 = 64;

/// The program.
pub fn program() -> Program {
    let kernels = Arena::from_iter([producer(), consumer()]);
    Program { threads: THREADS, entry: Entry::Persistent(persistent::entry(&kernels)), kernels }
}

/// Two vEUs: each produces one tile and consumes the other's.
pub fn tables() -> Tables {
    let (multiplier, shift) = magic(4);
    let operands = vec![0, 128, 0, 0, 128, 256, multiplier, shift];
    let launches = vec![Launch::Streams(StreamLaunch { first_stream: 0, blocks: 2 })];
    let mut tables = Tables { operands, launches, ..Tables::default() };
    let run = |kernel, operands, tile| StreamStep::Run { kernel, operands, tile, own: 0 };
    let wait = |counter| StreamStep::Wait { counter, arrivals: 1, signals: 1 };
    for veu in 0..2 {
        tables.push_stream(&[
            run(0, 0, veu),
            StreamStep::Signal(veu),
            wait(1 - veu),
            run(1, 4, veu),
            StreamStep::Signal(2 + veu),
            wait(3 - veu),
        ]);
    }
    tables.close();
    tables
}

/// What `launches` launches leave in the arena whose first 128 elements are `x`.
pub fn expected(x: &[f32], w: &[f32], launches: usize) -> Vec<f32> {
    let y: Vec<f32> = (0..128).map(|i| x[i].mul_add(w[i % 64], 1.0)).collect();
    let mut z = vec![0.0f32; 128];
    for _ in 0..launches {
        for (i, z) in z.iter_mut().enumerate() {
            let tile = &y[(1 - i / 64) * 64..][..64];
            let neighbours = &tile[i % 64 / 4 * 4..][..4];
            let largest = tile.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            *z += neighbours.iter().fold(0.0, |sum, y| sum + y) + largest;
        }
    }
    [x, &y, &z].concat()
}

fn producer() -> Function {
    let mut kernel = Function::default();
    let element = kernel.locals.push(ScalarType::I32);
    let x = kernel.locals.push(ScalarType::F32);
    let w = kernel.locals.push(ScalarType::F32);
    let index = |operand| add(Expression::Operand(operand), element.into());
    kernel.body = vec![
        assign(element, add(multiply(Expression::Tile, Expression::i32(THREADS as i32)), thread())),
        load(x, GlobalSpace::Arena, index(0)),
        load(w, GlobalSpace::Weights, thread()),
        Statement::StoreGlobal {
            memory: MemoryType::F32,
            index: index(1),
            values: vec![Expression::FusedMultiplyAdd(
                Box::new(x.into()),
                Box::new(w.into()),
                Box::new(Expression::f32(1.0)),
            )],
        },
    ];
    kernel
}

fn consumer() -> Function {
    let mut kernel = Function::default();
    let other = kernel.locals.push(ScalarType::I64);
    let group = kernel.locals.push(ScalarType::I32);
    let largest = kernel.locals.push(ScalarType::F32);
    let offered = kernel.locals.push(ScalarType::F32);
    let sum = kernel.locals.push(ScalarType::F32);
    let round = kernel.locals.push(ScalarType::I32);
    let z = kernel.locals.push(ScalarType::F32);
    let values = kernel.arrays.push(RegisterArray { scalar: ScalarType::F32, length: 4 });
    let warps = kernel.shared.push(SharedArray { memory: MemoryType::F32, length: THREADS / 32 });
    let tile = kernel.shared.push(SharedArray { memory: MemoryType::F32, length: THREADS });
    let wide = |value: Expression| Expression::Cast(ScalarType::I64, Box::new(value));
    let maximum = |left: LocalId, right: LocalId| Expression::binary(BinaryOp::Maximum, left.into(), right.into());
    let mut body = vec![
        assign(
            other,
            add(
                wide(Expression::Operand(0)),
                wide(multiply(subtract(Expression::i32(1), Expression::Tile), Expression::i32(THREADS as i32))),
            ),
        ),
        load(largest, GlobalSpace::Arena, add(other.into(), wide(thread()))),
        Statement::StoreShared { array: tile, index: thread(), values: vec![largest.into()] },
    ];
    for mask in [16, 8, 4, 2, 1] {
        body.extend([
            Statement::Shuffle { place: Place::Local(offered), value: largest.into(), mode: ShuffleMode::Xor(mask) },
            assign(largest, maximum(largest, offered)),
        ]);
    }
    body.extend([
        when(
            equal(Expression::binary(BinaryOp::BitAnd, thread(), Expression::i32(31)), Expression::i32(0)),
            vec![Statement::StoreShared {
                array: warps,
                index: Expression::binary(BinaryOp::ShiftRight, thread(), Expression::i32(5)),
                values: vec![largest.into()],
            }],
        ),
        Statement::BlockBarrier,
        Statement::For {
            variable: round,
            extent: Expression::i32((THREADS / 32) as i32),
            unroll: false,
            body: vec![
                Statement::LoadShared {
                    place: Place::Local(offered),
                    array: warps,
                    width: Width::One,
                    index: round.into(),
                },
                assign(largest, maximum(largest, offered)),
            ],
        },
        assign(group, Expression::FastDivide(Box::new(thread()), 2)),
        Statement::LoadShared {
            place: Place::Element(values, Expression::i32(0)),
            array: tile,
            width: Width::Four,
            index: multiply(group.into(), Expression::i32(4)),
        },
        assign(sum, Expression::f32(0.0)),
        Statement::For {
            variable: round,
            extent: Expression::i32(4),
            unroll: true,
            body: vec![assign(sum, add(sum.into(), Expression::Element(values, Box::new(round.into()))))],
        },
        assign(
            group,
            add(add(Expression::Operand(1), multiply(Expression::Tile, Expression::i32(THREADS as i32))), thread()),
        ),
        load(z, GlobalSpace::Arena, group.into()),
        Statement::StoreGlobal {
            memory: MemoryType::F32,
            index: group.into(),
            values: vec![add(z.into(), add(sum.into(), largest.into()))],
        },
    ]);
    kernel.body = body;
    kernel
}

fn thread() -> Expression {
    Expression::Builtin(Builtin::Thread)
}

fn add(left: Expression, right: Expression) -> Expression {
    Expression::binary(BinaryOp::Add, left, right)
}

fn subtract(left: Expression, right: Expression) -> Expression {
    Expression::binary(BinaryOp::Subtract, left, right)
}

fn multiply(left: Expression, right: Expression) -> Expression {
    Expression::binary(BinaryOp::Multiply, left, right)
}

fn equal(left: Expression, right: Expression) -> Expression {
    Expression::binary(BinaryOp::Equal, left, right)
}

fn assign(local: LocalId, value: Expression) -> Statement {
    Statement::Assign { place: Place::Local(local), value }
}

fn when(condition: Expression, then: Block) -> Statement {
    Statement::If { condition, then, otherwise: Vec::new() }
}

fn load(local: LocalId, space: GlobalSpace, index: Expression) -> Statement {
    Statement::LoadGlobal { place: Place::Local(local), space, memory: MemoryType::F32, width: Width::One, index }
}
