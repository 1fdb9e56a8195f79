//! A program of matrix products as large as the ones that a real program holds.
//!
//! A block has 64 × 64 outputs, a thread 4 × 4. Shared memory holds 16 steps of the reduction at a time. Each kernel
//! has a different epilogue.
//!
//! The first kernel operands are element offsets: of A (rows of K) in the arena, of B (rows of N) in the weights, of C
//! in the arena. Then come K, N, and the tiles of a row of C. Extents are multiples of the tiles.

#![allow(dead_code, reason = "each test uses a part")]

use warpweave_codegen::kernel_ir::{
    BinaryOp, Block, Builtin, Entry, Expression, Function, GlobalSpace, LocalId, MemoryType, Place, Program,
    RegisterArray, ScalarType, SharedArray, Statement, UnaryOp, Width,
};

use warpweave_codegen::persistent;

const TILE: i32 = 64;
const STEP: i32 = 16;
const THREADS: u32 = 256;

/// A program of `kernels` such kernels.
pub fn program(kernels: usize) -> Program {
    let epilogues =
        [None, Some(UnaryOp::Tanh), Some(UnaryOp::Exp), Some(UnaryOp::Erf), Some(UnaryOp::Sqrt), Some(UnaryOp::Log)];
    let bodies = (0..kernels).map(|number| contraction(epilogues[number % epilogues.len()], number as f32));
    let kernels = bodies.collect();
    Program { threads: THREADS, entry: Entry::Persistent(persistent::entry(&kernels)), kernels }
}

fn contraction(epilogue: Option<UnaryOp>, bias: f32) -> Function {
    let mut kernel = Function::default();
    let mut local = || kernel.locals.push(ScalarType::I32);
    let [depth, columns, first_row, first_column, row, column, base] = [(); 7].map(|()| local());
    let [step, k, i, j] = [(); 4].map(|()| local());
    let mut array = |length| kernel.arrays.push(RegisterArray { scalar: ScalarType::F32, length });
    let [sums, left, right, moved] = [16, 4, 4, 4].map(&mut array);
    let mut shared = || kernel.shared.push(SharedArray { memory: MemoryType::F32, length: (TILE * STEP) as u32 });
    let [a, b] = [(); 2].map(|()| shared());
    let thread = || Expression::Builtin(Builtin::Thread);
    let element = |array, index| Expression::Element(array, Box::new(index));
    let ops = |op, left, right: i32| Expression::binary(op, left, Expression::i32(right));
    let at = |i: LocalId, j: LocalId| add(multiply(i.into(), Expression::i32(4)), j.into());
    let four = |variable, body| count(variable, Expression::i32(4), true, body);

    let store_a = Statement::StoreShared {
        array: a,
        index: add(
            multiply(
                add(ops(BinaryOp::Multiply, ops(BinaryOp::BitAnd, thread(), 3), 4), i.into()),
                Expression::i32(TILE),
            ),
            ops(BinaryOp::ShiftRight, thread(), 2),
        ),
        values: vec![element(moved, i.into())],
    };
    let fill: Block = vec![
        load(
            moved,
            GlobalSpace::Arena,
            add(
                add(
                    Expression::Operand(0),
                    multiply(add(first_row.into(), ops(BinaryOp::ShiftRight, thread(), 2)), depth.into()),
                ),
                add(base.into(), ops(BinaryOp::Multiply, ops(BinaryOp::BitAnd, thread(), 3), 4)),
            ),
        ),
        four(i, vec![store_a]),
        load(
            moved,
            GlobalSpace::Weights,
            add(
                add(
                    Expression::Operand(1),
                    multiply(add(base.into(), ops(BinaryOp::ShiftRight, thread(), 4)), columns.into()),
                ),
                add(first_column.into(), ops(BinaryOp::Multiply, ops(BinaryOp::BitAnd, thread(), 15), 4)),
            ),
        ),
        Statement::StoreShared {
            array: b,
            index: ops(BinaryOp::Multiply, thread(), 4),
            values: (0..4).map(|n| element(moved, Expression::i32(n))).collect(),
        },
        Statement::BlockBarrier,
    ];
    let row_of = |array, shared, offset: LocalId| Statement::LoadShared {
        place: Place::Element(array, Expression::i32(0)),
        array: shared,
        width: Width::Four,
        index: add(multiply(k.into(), Expression::i32(TILE)), offset.into()),
    };
    let product = Statement::Assign {
        place: Place::Element(sums, at(i, j)),
        value: Expression::FusedMultiplyAdd(
            Box::new(element(left, i.into())),
            Box::new(element(right, j.into())),
            Box::new(element(sums, at(i, j))),
        ),
    };
    let inner = vec![row_of(left, a, row), row_of(right, b, column), four(i, vec![four(j, vec![product])])];
    let mut steps = vec![assign(base, ops(BinaryOp::Multiply, step.into(), STEP))];
    steps.extend(fill);
    steps.extend([count(k, Expression::i32(STEP), true, inner), Statement::BlockBarrier]);

    let finish = |value| {
        let value = Expression::binary(BinaryOp::Add, value, Expression::f32(bias));
        epilogue.map_or(value.clone(), |op| Expression::Unary(op, Box::new(value)))
    };
    let write = Statement::StoreGlobal {
        memory: MemoryType::F32,
        index: add(
            add(Expression::Operand(2), multiply(add(add(first_row.into(), row.into()), i.into()), columns.into())),
            add(first_column.into(), column.into()),
        ),
        values: (0..4)
            .map(|n| finish(element(sums, add(multiply(i.into(), Expression::i32(4)), Expression::i32(n)))))
            .collect(),
    };
    let clear = Statement::Assign { place: Place::Element(sums, i.into()), value: Expression::f32(0.0) };
    kernel.body = vec![
        assign(depth, Expression::Operand(3)),
        assign(columns, Expression::Operand(4)),
        assign(
            first_row,
            ops(
                BinaryOp::Multiply,
                Expression::binary(BinaryOp::Divide, Expression::Tile, Expression::Operand(5)),
                TILE,
            ),
        ),
        assign(
            first_column,
            ops(
                BinaryOp::Multiply,
                Expression::binary(BinaryOp::Remainder, Expression::Tile, Expression::Operand(5)),
                TILE,
            ),
        ),
        assign(row, ops(BinaryOp::Multiply, ops(BinaryOp::ShiftRight, thread(), 4), 4)),
        assign(column, ops(BinaryOp::Multiply, ops(BinaryOp::BitAnd, thread(), 15), 4)),
        count(i, Expression::i32(16), true, vec![clear]),
        count(step, ops(BinaryOp::ShiftRight, depth.into(), 4), false, steps),
        four(i, vec![write]),
    ];
    kernel
}

fn add(left: Expression, right: Expression) -> Expression {
    Expression::binary(BinaryOp::Add, left, right)
}

fn multiply(left: Expression, right: Expression) -> Expression {
    Expression::binary(BinaryOp::Multiply, left, right)
}

fn assign(local: LocalId, value: Expression) -> Statement {
    Statement::Assign { place: Place::Local(local), value }
}

fn count(variable: LocalId, extent: Expression, unroll: bool, body: Block) -> Statement {
    Statement::For { variable, extent, unroll, body }
}

fn load(array: warpweave_codegen::kernel_ir::ArrayId, space: GlobalSpace, index: Expression) -> Statement {
    Statement::LoadGlobal {
        place: Place::Element(array, Expression::i32(0)),
        space,
        memory: MemoryType::F32,
        width: Width::Four,
        index,
    }
}
