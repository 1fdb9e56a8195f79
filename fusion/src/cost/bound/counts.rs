//! The quantities of the thesis' Tables 3.5–3.7, derived from an expression's footprints.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, AxisKind, BinaryOp, Read, ReadId, Reducer, Scalar, TensorExpr};

use crate::cost::arch::GpuArch;
use crate::cost::bound::footprint::{Footprint, Runs, points};
use crate::cost::bound::{BlockShape, BoundMode, InputExtent, OperandLevel};

/// The thesis' classes of operations (its Table 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Complexity {
    /// Work grows with the input.
    Simple,
    /// Sums of products in which each factor is used again along axes of the other: matrix products, convolutions.
    Complex,
}

impl Complexity {
    /// The class of an expression: complex if it sums products and each factor varies along a parallel axis on which
    /// the other does not depend.
    pub fn of(expr: &TensorExpr) -> Self {
        let (Some(Reducer::Sum), Scalar::Binary(BinaryOp::Multiply, left, right)) = (expr.reducer, &expr.body) else {
            return Self::Simple;
        };
        let (left, right) = (expr.scalar_axes(left), expr.scalar_axes(right));
        let parallel = |axis: &AxisId| expr.axes[*axis].kind == AxisKind::Parallel;
        let reused = left.difference(&right).any(parallel) && right.difference(&left).any(parallel);
        if reused { Self::Complex } else { Self::Simple }
    }
}

/// What a kernel of one expression does, by a block and by a thread.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Counts {
    /// Blocks of the grid (N_TB).
    pub blocks: u64,
    /// Arithmetic operations of a block (COMP_block), two a multiply-add.
    pub block_operations: u64,
    /// Arithmetic operations of a thread (COMP_thread).
    pub thread_operations: u64,
    /// Global load transactions of a block (NUM_trans).
    pub load_transactions: u64,
    /// Global store transactions of a block; the thesis does not count them (erratum E4).
    pub store_transactions: u64,
    /// Loads of a thread (N_load).
    pub thread_loads: u64,
    /// Loads of a thread at one point of the reduction: these do not wait for one another.
    pub loads_a_step: u64,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u64,
    /// Registers that a thread needs at least: its results and the operands of one step.
    pub registers: u64,
}

impl Counts {
    /// The counts of an expression under a shape.
    pub fn of(expr: &TensorExpr, shape: &BlockShape, arch: &GpuArch, mode: BoundMode) -> Self {
        let rule = mode.input_extent();
        let step = one_step(expr, &shape.thread);
        let results: u64 = expr.parallel().map(|axis| shape.thread[axis.index()] as u64).product();
        let loads_a_step = loads(expr, &step, rule, mode);
        let registers = match (Complexity::of(expr), expr.reducer) {
            (Complexity::Complex, _) => results + loads_a_step,
            (Complexity::Simple, Some(_)) => results + 1,
            (Complexity::Simple, None) => 1,
        };
        Self {
            blocks: blocks(expr, &shape.block),
            block_operations: operations(expr, &shape.block),
            thread_operations: operations(expr, &shape.thread),
            load_transactions: load_transactions(expr, &shape.block, arch, mode),
            store_transactions: match mode {
                BoundMode::Thesis(_) => 0,
                BoundMode::Corrected => store_transactions(expr, &shape.block, arch),
            },
            thread_loads: loads(expr, &shape.thread, rule, mode),
            loads_a_step,
            shared_bytes: shared_bytes(expr, shape, rule),
            registers,
        }
    }
}

/// Blocks whose boxes cover an expression's points.
pub fn blocks(expr: &TensorExpr, block: &[usize]) -> u64 {
    expr.axes.values().zip(block).map(|(axis, block)| axis.extent.div_ceil(*block) as u64).product()
}

/// Arithmetic operations in a box: what the body and the epilogue compute and a combination a reduced point, at least
/// one a point.
pub fn operations(expr: &TensorExpr, extents: &[usize]) -> u64 {
    let all: u64 = extents.iter().map(|&extent| extent as u64).product();
    let results: u64 = expr.parallel().map(|axis| extents[axis.index()] as u64).product();
    let body = expr.body.operations() as u64 + u64::from(expr.reducer.is_some());
    let epilogue = expr.epilogue.as_ref().map_or(0, |epilogue| epilogue.operations() as u64);
    all * body.max(1) + results * epilogue
}

/// Global load transactions of a box (Table 3.7): an operand that several reads share is counted once, by its largest
/// read.
pub fn load_transactions(expr: &TensorExpr, extents: &[usize], arch: &GpuArch, mode: BoundMode) -> u64 {
    by_operand(expr, mode, |read| read_transactions(expr, read, extents, arch, mode))
}

/// Global load transactions of one read of a box.
pub fn read_transactions(expr: &TensorExpr, read: &Read, extents: &[usize], arch: &GpuArch, mode: BoundMode) -> u64 {
    let runs = match mode {
        BoundMode::Thesis(_) => Runs::Printed,
        BoundMode::Corrected => Runs::Contiguous,
    };
    let per_transaction = per_transaction(expr.operands[read.operand].element.bytes(), arch);
    Footprint::of_read(expr, read, extents, mode.input_extent()).transactions(per_transaction, runs)
}

/// Distinct bytes of one read of a box.
pub fn read_bytes(expr: &TensorExpr, read: &Read, extents: &[usize]) -> u64 {
    let size = expr.operands[read.operand].element.bytes() as u64;
    Footprint::of_read(expr, read, extents, InputExtent::Exact).elements() * size
}

/// Distinct bytes that a box of the output is stored to.
pub fn output_bytes(expr: &TensorExpr, extents: &[usize]) -> u64 {
    Footprint::of_output(expr, extents).elements() * expr.element.bytes() as u64
}

/// Global store transactions of a box of the output (erratum E4).
pub fn store_transactions(expr: &TensorExpr, extents: &[usize], arch: &GpuArch) -> u64 {
    let per_transaction = per_transaction(expr.element.bytes(), arch);
    Footprint::of_output(expr, extents).transactions(per_transaction, Runs::Contiguous)
}

/// Distinct bytes that a box reads and writes.
pub fn unique_bytes(expr: &TensorExpr, extents: &[usize]) -> u64 {
    by_operand(expr, BoundMode::Corrected, |read| read_bytes(expr, read, extents)) + output_bytes(expr, extents)
}

/// Loads of a box (Table 3.6). A complex operation keeps a thread's factors in registers and loads each element once; a
/// simple one loads at every point of the axes that the read depends on.
pub fn loads(expr: &TensorExpr, extents: &[usize], rule: InputExtent, mode: BoundMode) -> u64 {
    let complexity = Complexity::of(expr);
    let of_read = |read: &Read| match complexity {
        Complexity::Complex => Footprint::of_read(expr, read, extents, rule).elements(),
        Complexity::Simple => points(expr, &read.index, extents),
    };
    counted(expr, mode).into_iter().map(|read| of_read(&expr.reads[read])).sum()
}

/// Bytes of shared memory that a slice of a block's operands takes, twice if the next one is fetched meanwhile.
fn shared_bytes(expr: &TensorExpr, shape: &BlockShape, rule: InputExtent) -> u64 {
    let OperandLevel::Shared { slice, overlapped, .. } = &shape.level else { return 0 };
    let mut extents = shape.block.clone();
    for (axis, extent) in expr.reduced().zip(slice) {
        extents[axis.index()] = *extent;
    }
    let slice = by_operand(expr, BoundMode::Thesis(rule), |read| {
        let size = expr.operands[read.operand].element.bytes() as u64;
        Footprint::of_read(expr, read, &extents, rule).elements() * size
    });
    if *overlapped { 2 * slice } else { slice }
}

fn per_transaction(element_bytes: usize, arch: &GpuArch) -> u64 {
    (arch.transaction_bytes.value / element_bytes).max(1) as u64
}

fn by_operand(expr: &TensorExpr, mode: BoundMode, count: impl Fn(&Read) -> u64) -> u64 {
    let mut most: BTreeMap<usize, u64> = BTreeMap::new();
    for read in counted(expr, mode) {
        let read = &expr.reads[read];
        let most = most.entry(read.operand).or_default();
        *most = count(read).max(*most);
    }
    most.values().sum()
}

/// The reads that count: all of them (erratum E11), or, as the thesis prints it, the predecessor's alone, without those
/// of an epilogue.
fn counted(expr: &TensorExpr, mode: BoundMode) -> BTreeSet<ReadId> {
    match mode {
        BoundMode::Corrected => expr.reads.ids().collect(),
        BoundMode::Thesis(_) => {
            let mut found = BTreeSet::new();
            expr.body.visit(&mut |scalar| {
                if let Scalar::Read(read) = scalar {
                    found.insert(*read);
                }
            });
            found
        }
    }
}

/// A thread's box at one point of the reduction.
fn one_step(expr: &TensorExpr, thread: &[usize]) -> Vec<usize> {
    let mut step = thread.to_vec();
    expr.reduced().for_each(|axis| step[axis.index()] = 1);
    step
}
