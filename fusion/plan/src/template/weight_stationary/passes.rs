//! How a tile's rows go over the warps of its block, and which of their constants stay in registers.

use warpweave_graph::expr::{BinaryOp, Reducer, Scalar, TensorExpr};
use warpweave_graph::types::ElementType;

use crate::body::{GroupBody, Stage};
use crate::kernel::Kernel;
use crate::template::WeightStationary;
use crate::template::block::WARP;
use crate::template::row::rounds::{RUN, Round, is_shared, rounds};
use crate::template::rules::Rules;
use crate::template::weight_stationary::reads::{columns, resident_reads, rows, shared_vectors};

/// The rows of a tile, a warp a row: each pass gives every warp one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passes {
    /// Passes over the rows.
    pub all: usize,
    /// Leading passes whose constants a call loads once, into registers.
    pub in_registers: usize,
    /// Sums of a row in a column.
    pub sums: usize,
    /// Columns of the tile.
    pub columns: usize,
    /// Columns that rows are multiplied by together: as many as registers allow, a divisor of all; one where what is reduced
    /// is more than a product.
    pub together: usize,
    /// Whether the last pass, whose constants come from shared memory, is multiplied together with those before it: there are
    /// several columns, and registers for a step's constants.
    pub last_joins: bool,
}

/// Most registers of a thread that hold constants.
const MOST_REGISTERS: usize = 128;

/// Most registers of a thread that hold constants while a step multiplies columns.
const MOST_REGISTERS_OF_STEP: usize = 192;

/// Most registers of a thread that hold constants, accumulators and runs of vectors while columns are multiplied together.
const MOST_REGISTERS_OF_COLUMNS: usize = 200;

/// Most trips of a warp along a row that are written out, as registers need.
const MOST_TRIPS: usize = 8;

impl Passes {
    /// The passes of a tile.
    pub fn of(kernel: &Kernel) -> Self {
        let body = kernel.body();
        let all = rows(kernel).div_ceil(WeightStationary.block_size().warps());
        let short = reducing_rounds(body).iter().all(|round| trips(body, round) <= MOST_TRIPS);
        let registers: usize = resident_reads(body).iter().map(|read| read.length.div_ceil(WARP * RUN) * RUN).sum();
        let in_registers = if short { (MOST_REGISTERS / registers.max(1)).min(all) } else { 0 };
        let (sums, columns) = (body.reductions().count(), columns(kernel));
        let kept = resident_reads(body).len();
        let reads = reducing_rounds(body).iter().map(|round| round.reads(body).len()).max().unwrap_or(0);
        let joins = in_registers > 0 && all == in_registers + 1 && all * registers <= MOST_REGISTERS_OF_STEP;
        let last_joins = columns > 1 && joins;
        let of_column = sums * (in_registers.max(1) + usize::from(last_joins)) + reads.saturating_sub(kept) * RUN;
        let others = in_registers * registers + if all > in_registers { kept * RUN } else { 0 };
        let products = reducing_rounds(body).iter().all(|round| sums_products(body, round));
        let fits = |columns: usize| products && others + columns * of_column <= MOST_REGISTERS_OF_COLUMNS;
        let together = (1..=columns).rev().find(|&some| columns.is_multiple_of(some) && fits(some)).unwrap_or(1);
        Self { all, in_registers, sums, columns, together, last_joins }
    }

    /// Sums of a warp.
    pub fn sums_of_warp(&self) -> usize {
        self.all * self.sums * self.columns
    }

    /// Passes whose constants are read from shared memory.
    pub fn in_shared(&self) -> usize {
        self.all - self.in_registers
    }
}

/// Bytes of shared memory in which vectors lie, at most.
const MOST_VECTOR_BYTES: usize = 32 << 10;

/// For how many steps the vectors that all rows of a tile read have room in shared memory: two, one or none. With room for
/// two a warp may bring those of a step while others still read those of the step before.
pub fn vector_steps(kernel: &Kernel) -> usize {
    let bytes = vector_bytes(kernel);
    (1..=2).rev().find(|steps| steps * bytes <= MOST_VECTOR_BYTES).unwrap_or(0)
}

/// Bytes of shared memory that a step takes: its rows' sums, and the vectors.
pub fn step_bytes(kernel: &Kernel) -> usize {
    let sums = WeightStationary.block_size().warps() * Passes::of(kernel).sums_of_warp();
    let sums = sums * ElementType::F32.bytes();
    sums.next_multiple_of(16) + vector_steps(kernel) * vector_bytes(kernel)
}

/// Bytes of the vectors of a step.
fn vector_bytes(kernel: &Kernel) -> usize {
    let vectors = shared_vectors(kernel);
    let room = vectors.iter().map(|vector| vector.read.length.next_multiple_of(RUN) * vector.columns).max();
    room.unwrap_or(0) * vectors.len() * ElementType::F32.bytes()
}

/// The rounds of a body that reduce, in order.
pub fn reducing_rounds(body: &GroupBody) -> Vec<Round> {
    let reduces = |round: &Round| body.stages[round.stages.start].expr.reducer.is_some();
    rounds(body).into_iter().filter(reduces).collect()
}

/// Whether all that the stages of a round reduce are sums of products of two reads, to which zeros add nothing.
pub fn sums_products(body: &GroupBody, round: &Round) -> bool {
    let stages = &body.stages[round.stages.clone()];
    stages.iter().all(|Stage { expr, .. }| expr.reducer == Some(Reducer::Sum) && is_of_products(expr, &expr.body))
}

/// Whether a scalar is a product of two reads that name no others, or a sum of such.
fn is_of_products(expr: &TensorExpr, scalar: &Scalar) -> bool {
    let is_read = |scalar: &Scalar| match scalar {
        Scalar::Read(id) => is_shared(&expr.reads[*id]),
        _ => false,
    };
    match scalar {
        Scalar::Binary(BinaryOp::Multiply, left, right) => is_read(left) && is_read(right),
        Scalar::Binary(BinaryOp::Add, left, right) => is_of_products(expr, left) && is_of_products(expr, right),
        _ => false,
    }
}

/// Points of the reduction of a round.
pub fn points(body: &GroupBody, round: &Round) -> usize {
    let expr = &body.stages[round.stages.start].expr;
    expr.reduced().map(|axis| expr.axes[axis].extent).product()
}

/// Trips of a warp along a row of a round, a run of neighbours a lane.
pub fn trips(body: &GroupBody, round: &Round) -> usize {
    points(body, round).div_ceil(WARP * RUN)
}
