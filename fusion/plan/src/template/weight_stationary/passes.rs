//! How a tile's rows go over the warps of its block, and which of their constants stay in registers.

use warpweave_graph::types::ElementType;

use crate::body::GroupBody;
use crate::template::WeightStationary;
use crate::template::block::WARP;
use crate::template::row::rounds::{RUN, Round, rounds};
use crate::template::rules::Rules;
use crate::template::tile::ScheduleParams;
use crate::template::weight_stationary::reads::{resident_reads, shared_vectors};

/// The rows of a tile, a warp a row: each pass gives every warp one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passes {
    /// Passes over the rows.
    pub all: usize,
    /// Leading passes whose constants a call loads once, into registers.
    pub in_registers: usize,
    /// Sums of a row.
    pub sums: usize,
}

/// Most registers of a thread that hold constants.
const MOST_REGISTERS: usize = 128;

/// Most trips of a warp along a row that are written out, as registers need.
const MOST_TRIPS: usize = 8;

impl Passes {
    /// The passes of a tile.
    pub fn of(body: &GroupBody, params: &ScheduleParams) -> Self {
        let rows: usize = params.tile.iter().product();
        let all = rows.div_ceil(WeightStationary.block_size().warps());
        let short = reducing_rounds(body).iter().all(|round| trips(body, round) <= MOST_TRIPS);
        let registers: usize = resident_reads(body).iter().map(|read| read.length.div_ceil(WARP * RUN) * RUN).sum();
        let in_registers = if short { (MOST_REGISTERS / registers.max(1)).min(all) } else { 0 };
        Self { all, in_registers, sums: body.reductions().count() }
    }

    /// Passes whose constants are read from shared memory.
    pub fn in_shared(&self) -> usize {
        self.all - self.in_registers
    }
}

/// Bytes of shared memory in which vectors lie, at most.
const MOST_VECTOR_BYTES: usize = 32 << 10;

/// Whether the vectors that all rows of a tile read have room in shared memory, for two steps.
pub fn brings_vectors(body: &GroupBody, params: &ScheduleParams) -> bool {
    vector_bytes(body, params) <= MOST_VECTOR_BYTES
}

/// Bytes of shared memory that a step takes: its rows' sums, and the vectors.
pub fn step_bytes(body: &GroupBody, params: &ScheduleParams) -> usize {
    let passes = Passes::of(body, params);
    let sums = WeightStationary.block_size().warps() * passes.all * passes.sums * ElementType::F32.bytes();
    let vectors = if brings_vectors(body, params) { vector_bytes(body, params) } else { 0 };
    sums.next_multiple_of(16) + vectors
}

fn vector_bytes(body: &GroupBody, params: &ScheduleParams) -> usize {
    let vectors = shared_vectors(body, params);
    let room = vectors.iter().map(|read| read.length.next_multiple_of(RUN)).max().unwrap_or(0);
    2 * room * vectors.len() * ElementType::F32.bytes()
}

/// The rounds of a body that reduce, in order.
pub fn reducing_rounds(body: &GroupBody) -> Vec<Round> {
    let reduces = |round: &Round| body.stages[round.stages.start].expr.reducer.is_some();
    rounds(body).into_iter().filter(reduces).collect()
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
