//! A hand-written program that multiplies matrices: a kernel for each type of factors and each way to load them.
//!
//! The weights hold a left factor of 16 × 16 codes, a right one of 16 × 8, and 16 × 8 singles, all by rows. A kernel copies the
//! factors to shared memory, by rows or by columns, loads them as fragments, and adds their product to the singles. Its operand
//! is the first element of what it stores.

#![allow(dead_code, reason = "each test uses a part")]

use warpweave_codegen::kernel_ir::{
    BinaryOp, Block, Builtin, Entry, Expression, Function, GlobalSpace, Half, Matrices, MemoryType, Place, Program,
    RegisterArray, ScalarType, SharedArray, SharedId, Statement, Width,
};
use warpweave_codegen::persistent;
use warpweave_graph::arena::Arena;
use warpweave_plan::tables::{Launch, StreamLaunch, StreamStep, Tables};
use warpweave_plan::tensor_core::sum::{FactorFormat, SumFormat, TensorCore, Term};

/// Threads of a block: a warp.
pub const THREADS: u32 = 32;
const ROWS: i32 = 16;
const COLUMNS: i32 = 8;
const DEPTH: i32 = 16;
const LEFT: usize = (ROWS * DEPTH) as usize;
const RIGHT: usize = (DEPTH * COLUMNS) as usize;
/// Elements that a kernel stores.
pub const SUMS: usize = (ROWS * COLUMNS) as usize;
/// Bytes of the weights before the singles.
const FACTOR_BYTES: usize = 2 * (LEFT + RIGHT);

/// What a kernel does.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    pub factors: Half,
    /// Whether shared memory holds both factors by columns.
    pub by_columns: bool,
    /// The matrices of the right factor that are loaded at once.
    pub right: Matrices,
}

/// All kernels, in order.
pub fn variants() -> Vec<Variant> {
    let mut variants = Vec::new();
    for factors in Half::ALL {
        for by_columns in [false, true] {
            for right in [Matrices::One, Matrices::Two] {
                variants.push(Variant { factors, by_columns, right });
            }
        }
    }
    variants
}

pub fn program() -> Program {
    let kernels: Arena<_, Function> = variants().into_iter().map(kernel).collect();
    Program { threads: THREADS, entry: Entry::Persistent(persistent::entry(&kernels)), kernels }
}

/// One block runs the kernels one after another.
pub fn tables() -> Tables {
    let count = variants().len() as u32;
    // The operands of an rTask begin at a multiple of four words.
    let operands = (0..count).flat_map(|kernel| [kernel as i32 * SUMS as i32, 0, 0, 0]).collect();
    let launches = vec![Launch::Streams(StreamLaunch { first_stream: 0, blocks: 1 })];
    let mut tables = Tables { operands, launches, ..Tables::default() };
    let run = |kernel| StreamStep::Run { kernel, operands: 4 * kernel, tile: 0, own: 0 };
    tables.push_stream(&(0..count).map(run).collect::<Vec<StreamStep>>());
    tables.close();
    tables
}

pub fn arena_bytes() -> usize {
    4 * SUMS * variants().len()
}

/// Ordinary numbers, as halves and as bfloats, for an even seed; for an odd one any bits.
pub fn weights(seed: u64) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ seed << 17;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    let is_ordinary = seed.is_multiple_of(2);
    let codes = (0..LEFT + RIGHT).flat_map(|_| {
        let bits = next();
        let code = if is_ordinary { bits & 0x83ff | (0x3400 + (bits >> 18 & 0x0c00)) } else { bits & 0xffff };
        (code as u16).to_le_bytes()
    });
    let mut bytes: Vec<u8> = codes.collect();
    bytes.extend((0..SUMS).flat_map(|_| {
        let bits = next();
        let sum = if is_ordinary { bits & 0x83ff_ffff | 0x3c00_0000 } else { bits };
        sum.to_le_bytes()
    }));
    bytes
}

/// The bits that all kernels store.
pub fn expected(core: TensorCore, weights: &[u8]) -> Vec<u32> {
    let code = |at: usize| u32::from(u16::from_le_bytes([weights[2 * at], weights[2 * at + 1]]));
    let sums: Vec<u32> =
        weights[FACTOR_BYTES..].as_chunks().0.iter().map(|bytes: &[u8; 4]| u32::from_le_bytes(*bytes)).collect();
    let mut all = Vec::new();
    for Variant { factors, .. } in variants() {
        let format = match factors {
            Half::F16 => FactorFormat::Half,
            Half::BF16 => FactorFormat::BFloat16,
        };
        for (at, old) in sums.iter().enumerate() {
            let (row, column) = (at / COLUMNS as usize, at % COLUMNS as usize);
            let left = |k: usize| format.decode(code(row * DEPTH as usize + k));
            let right = |k: usize| format.decode(code(LEFT + k * COLUMNS as usize + column));
            let [left, right]: [Vec<Term>; 2] =
                [(0..DEPTH as usize).map(left).collect(), (0..DEPTH as usize).map(right).collect()];
            all.push(core.dot(format, SumFormat::Single, &left, &right, *old));
        }
    }
    all
}

fn lane() -> Expression {
    Expression::Builtin(Builtin::Thread)
}

fn int(value: i32) -> Expression {
    Expression::i32(value)
}

fn add(left: Expression, right: Expression) -> Expression {
    Expression::binary(BinaryOp::Add, left, right)
}

fn times(left: Expression, right: i32) -> Expression {
    Expression::binary(BinaryOp::Multiply, left, int(right))
}

/// `width` bits of `value` from bit `first` on.
fn bits(value: Expression, first: i32, width: i32) -> Expression {
    let shifted = Expression::binary(BinaryOp::ShiftRight, value, int(first));
    Expression::binary(BinaryOp::BitAnd, shifted, int((1 << width) - 1))
}

/// Copies a matrix from element `first` of the weights on, of `rows` by `columns` elements, 32 elements at a time.
fn copy(
    kernel: &mut Function,
    memory: MemoryType,
    (first, [rows, columns]): (i32, [i32; 2]),
    by_columns: bool,
) -> SharedId {
    let array = kernel.shared.push(SharedArray { memory, length: (rows * columns) as u32 });
    let value = kernel.locals.push(ScalarType::F32);
    for step in 0..rows * columns / THREADS as i32 {
        let at = add(lane(), int(step * THREADS as i32));
        let width = columns.ilog2() as i32;
        let (row, column) = (bits(at.clone(), width, 5), bits(at.clone(), 0, width));
        let place = if by_columns { add(times(column, rows), row) } else { at.clone() };
        let (space, index) = (GlobalSpace::Weights, add(at, int(first)));
        let place_of_value = Place::Local(value);
        kernel.body.extend([
            Statement::LoadGlobal { place: place_of_value, space, memory, width: Width::One, index },
            Statement::StoreShared { array, index: place, values: vec![value.into()] },
        ]);
    }
    array
}

fn kernel(Variant { factors, by_columns, right }: Variant) -> Function {
    let mut kernel = Function::default();
    let memory = factors.memory();
    let left_array = copy(&mut kernel, memory, (0, [ROWS, DEPTH]), by_columns);
    let right_array = copy(&mut kernel, memory, (LEFT as i32, [DEPTH, COLUMNS]), by_columns);
    kernel.body.push(Statement::WarpBarrier);
    let words = |kernel: &mut Function, length| kernel.arrays.push(RegisterArray { scalar: ScalarType::I32, length });
    let (left_words, right_words) = (words(&mut kernel, 4), words(&mut kernel, 2));
    let sums = kernel.arrays.push(RegisterArray { scalar: ScalarType::F32, length: 4 });

    // Matrix m of the left factor has rows from 8 (m mod 2) on and columns from 8 (m / 2) on.
    let (row_half, column_half) = (bits(lane(), 3, 1), bits(lane(), 4, 1));
    let (along, across) = if by_columns { (column_half, row_half) } else { (row_half, column_half) };
    let row = add(bits(lane(), 0, 3), times(along, 8));
    kernel.body.push(Statement::LoadMatrices {
        place: Place::Element(left_words, int(0)),
        array: left_array,
        matrices: Matrices::Four,
        index: add(times(row, 16), times(across, 8)),
        transposed: by_columns,
    });

    // Matrix m of the right factor has rows from 8 m on. Lanes behind the last matrix name what no array has.
    let count = right.count() as i32;
    for first in (0..2).step_by(count as usize) {
        let half = if count == 2 { bits(lane(), 3, 1) } else { int(first) };
        let beyond = times(bits(lane(), if count == 2 { 4 } else { 3 }, 2), 12_345);
        let row = bits(lane(), 0, 3);
        let index =
            if by_columns { add(times(row, DEPTH), times(half, 8)) } else { times(add(row, times(half, 8)), COLUMNS) };
        kernel.body.push(Statement::LoadMatrices {
            place: Place::Element(right_words, int(first)),
            array: right_array,
            matrices: right,
            index: add(index, beyond),
            transposed: !by_columns,
        });
    }

    let sum_index = kernel.locals.push(ScalarType::I32);
    let position = add(times(bits(lane(), 2, 3), COLUMNS), times(bits(lane(), 0, 2), 2));
    kernel.body.push(Statement::Assign { place: Place::Local(sum_index), value: position });
    let offset = |register: i32| register / 2 * 8 * COLUMNS + register % 2;
    let at = |register: i32| add(sum_index.into(), int(offset(register)));
    for register in 0..4 {
        kernel.body.push(Statement::LoadGlobal {
            place: Place::Element(sums, int(register)),
            space: GlobalSpace::Weights,
            memory: MemoryType::F32,
            width: Width::One,
            index: add(at(register), int(FACTOR_BYTES as i32 / 4)),
        });
    }
    let of = |array, count| (0..count).map(|at| Expression::Element(array, Box::new(int(at)))).collect::<Vec<_>>();
    kernel.body.push(Statement::MultiplyMatrices {
        place: Place::Element(sums, int(0)),
        factors,
        left: of(left_words, 4),
        right: of(right_words, 2),
        sums: of(sums, 4),
    });
    let stores: Block = (0..4)
        .map(|register| Statement::StoreGlobal {
            memory: MemoryType::F32,
            index: add(Expression::Operand(0), at(register)),
            values: vec![Expression::Element(sums, Box::new(int(register)))],
        })
        .collect();
    kernel.body.extend(stores);
    kernel
}
