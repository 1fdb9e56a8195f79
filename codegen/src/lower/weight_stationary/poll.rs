//! Vectors that carry their own validity, polled for all rows of a tile at once.

use warpweave_graph::expr::{Index, ReadId};
use warpweave_plan::template::staged::blocked::is_wide;
use warpweave_plan::template::weight_stationary::reads::{ResidentRead, shared_vectors};

use super::hold::reduced_point;
use crate::kernel_ir::expression::{BinaryOp, Builtin, Expression, ScalarType};
use crate::kernel_ir::ids::SharedId;
use crate::kernel_ir::memory::{MemoryType, WARP_SIZE};
use crate::kernel_ir::statement::Statement;
use crate::lower::emitter::{Emitter, add, binary, multiply};
use crate::lower::error::LowerError;
use crate::lower::scalar::Point;
use crate::lower::tile::TileAxes;

/// A vector that is polled into shared memory.
pub(super) struct PolledVector<'b> {
    pub(super) stage: usize,
    pub(super) id: ReadId,
    pub(super) array: SharedId,
    read: ResidentRead<'b>,
}

/// The vectors that are polled, with arrays for them.
pub(super) fn polled_vectors<'b>(emitter: &mut Emitter<'b>) -> Vec<PolledVector<'b>> {
    let body = emitter.body();
    let mut found = Vec::new();
    for read in shared_vectors(body) {
        if !emitter.is_tagged(body.operands[read.operand]) {
            continue;
        }
        let array = emitter.shared(MemoryType::F32, read.length);
        found.push(PolledVector { stage: read.stage, id: read.id, array, read });
    }
    found
}

/// Polls what all rows read into shared memory, pairs of neighbours at once where they are; every vector begins with
/// the threads that the one before it leaves idle.
pub(super) fn poll_vectors(emitter: &mut Emitter, tile: &TileAxes, polled: &[PolledVector]) -> Result<(), LowerError> {
    let mut busy = 0;
    for vector in polled {
        poll_vector(emitter, tile, vector, busy)?;
        busy = (busy + (vector.read.length / 2).next_multiple_of(WARP_SIZE as usize)) % emitter.threads();
    }
    if !polled.is_empty() {
        emitter.push(Statement::BlockBarrier);
    }
    Ok(())
}

fn poll_vector(emitter: &mut Emitter, tile: &TileAxes, vector: &PolledVector, busy: usize) -> Result<(), LowerError> {
    let (read, threads) = (&vector.read, emitter.threads());
    let each = if are_neighbours(emitter, read) { 2 } else { 1 };
    let count = read.length / each;
    let thread = Expression::Builtin(Builtin::Thread);
    let own = match busy {
        0 => thread,
        _ => {
            let free = add(thread, Expression::i32((threads - busy) as i32));
            binary(BinaryOp::BitAnd, free, Expression::i32(threads as i32 - 1))
        }
    };
    let own = emitter.bind(ScalarType::I32, own);
    let trips = count.div_ceil(threads);
    for trip in 0..trips.min(WRITTEN_OUT) {
        let number = match trip {
            0 => own,
            _ => emitter.bind(ScalarType::I32, add(own, Expression::i32((trip * threads) as i32))),
        };
        let inside = ((trip + 1) * threads > count).then(|| binary(BinaryOp::Less, number, Expression::i32(count as i32)));
        emitter.when(inside, |emitter| poll_part(emitter, tile, vector, number.into(), each))?;
    }
    if trips <= WRITTEN_OUT {
        return Ok(());
    }
    let rest = emitter.operand((trips - WRITTEN_OUT) as i64)?;
    let limit = emitter.operand(count as i64)?;
    emitter.repeat(rest, false, |emitter, trip| {
        let first = multiply(add(trip, Expression::i32(WRITTEN_OUT as i32)), Expression::i32(threads as i32));
        let number = emitter.bind(ScalarType::I32, add(first, own));
        let inside = Some(binary(BinaryOp::Less, number, limit));
        emitter.when(inside, |emitter| poll_part(emitter, tile, vector, number.into(), each))
    })
}

/// Polls of a thread that are written out.
const WRITTEN_OUT: usize = 4;

/// Polls the neighbours of this number.
fn poll_part(
    emitter: &mut Emitter,
    tile: &TileAxes,
    vector: &PolledVector,
    number: Expression,
    each: usize,
) -> Result<(), LowerError> {
    let first = emitter.bind(ScalarType::I32, multiply(number, Expression::i32(each as i32)));
    let point = reduced_point(emitter, &vector.read, tile.origin(), first.into())?;
    let values = emitter.array(ScalarType::F32, each);
    Point::new(vector.stage, point, &[]).poll(emitter, vector.id, values, (each as u32, None))?;
    let element = |at: usize| Expression::Element(values, Box::new(Expression::i32(at as i32)));
    let values = (0..each).map(element).collect();
    emitter.push(Statement::StoreShared { array: vector.array, index: first.into(), values });
    Ok(())
}

/// Whether pairs of neighbours along a vector are aligned neighbours in memory.
fn are_neighbours(emitter: &Emitter, read: &ResidentRead) -> bool {
    let expr = &emitter.body().stages[read.stage].expr;
    let layout = &emitter.memory.tensors[emitter.body().operands[read.operand]].layout;
    is_wide(expr, read.read, &Index::linear(&read.read.index, &layout.strides, layout.offset))
}
