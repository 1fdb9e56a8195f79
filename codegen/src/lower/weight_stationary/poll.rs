//! Vectors that all rows of a tile read, brought into shared memory at once; those that carry their own validity are
//! polled.

use warpweave_graph::expr::{Index, ReadId};
use warpweave_plan::plan::MOST_POLLED;
use warpweave_plan::template::row::rounds::RUN;
use warpweave_plan::template::staged::blocked::is_wide;
use warpweave_plan::template::weight_stationary::passes::brings_vectors;
use warpweave_plan::template::weight_stationary::reads::{ResidentRead, shared_vectors};

use super::hold::reduced_point;
use crate::kernel_ir::expression::{BinaryOp, Builtin, Expression, ScalarType};
use crate::kernel_ir::ids::{LocalId, SharedId};
use crate::kernel_ir::memory::{MemoryType, WARP_SIZE, Width};
use crate::kernel_ir::statement::Statement;
use crate::lower::emitter::{Emitter, add, binary, multiply};
use crate::lower::error::LowerError;
use crate::lower::scalar::Point;
use crate::lower::tile::TileAxes;

/// A vector that is brought into shared memory.
pub(super) struct PolledVector<'b> {
    pub(super) stage: usize,
    pub(super) id: ReadId,
    pub(super) array: SharedId,
    read: ResidentRead<'b>,
}

/// The vectors that are brought into shared memory.
///
/// Each has room for two steps: a warp may poll for a step while others still use what the one before has polled.
pub(super) struct Polled<'b> {
    pub(super) vectors: Vec<PolledVector<'b>>,
    /// Where those of this step begin in their arrays; alternates.
    pub(super) first: LocalId,
    room: usize,
    /// Whether all carry their own validity.
    are_tagged: bool,
}

impl<'b> Polled<'b> {
    /// Declares room for the vectors: those that carry their own validity, and those that are loaded four at a time.
    pub(super) fn declare(emitter: &mut Emitter<'b>) -> Self {
        let body = emitter.body();
        let params = &emitter.operator.params;
        let mut reads = shared_vectors(body, params);
        if !brings_vectors(body, params) {
            reads.clear();
        }
        let is_tagged = |read: &ResidentRead| emitter.is_tagged(body.operands[read.operand]);
        reads.retain(|read| is_tagged(read) || are_neighbours(emitter, read));
        let are_tagged = reads.iter().all(is_tagged);
        let room = reads.iter().map(|read| read.length.next_multiple_of(RUN)).max().unwrap_or(0);
        let declare = |read: ResidentRead<'b>| {
            let array = emitter.shared(MemoryType::F32, 2 * room);
            PolledVector { stage: read.stage, id: read.id, array, read }
        };
        let vectors = reads.into_iter().map(declare).collect();
        Self { vectors, first: emitter.bind(ScalarType::I32, Expression::i32(0)), room, are_tagged }
    }

    /// The vector of a read.
    pub(super) fn find(&self, (stage, id): (usize, ReadId)) -> Option<&PolledVector<'b>> {
        self.vectors.iter().find(|vector| (vector.stage, vector.id) == (stage, id))
    }

    /// Polls what all rows read into shared memory, pairs of neighbours at once where they are; every vector begins with
    /// the threads that the one before it leaves idle.
    pub(super) fn poll(&self, emitter: &mut Emitter, tile: &TileAxes) -> Result<(), LowerError> {
        let mut busy = 0;
        for vector in &self.vectors {
            self.poll_vector(emitter, tile, vector, busy)?;
            busy = (busy + (vector.read.length / 2).next_multiple_of(WARP_SIZE as usize)) % emitter.threads();
        }
        if !self.vectors.is_empty() {
            emitter.push(Statement::BlockBarrier);
        }
        Ok(())
    }

    /// Ends a step: unless all that the next reads is polled, it may read what another warp has written in this one.
    pub(super) fn end(&self, emitter: &mut Emitter) {
        if self.vectors.is_empty() || !self.are_tagged {
            emitter.push(Statement::BlockBarrier);
        }
        if !self.vectors.is_empty() {
            let other = binary(BinaryOp::Subtract, Expression::i32(self.room as i32), self.first);
            emitter.assign(self.first, other);
        }
    }

    fn poll_vector(
        &self,
        emitter: &mut Emitter,
        tile: &TileAxes,
        vector: &PolledVector,
        busy: usize,
    ) -> Result<(), LowerError> {
        if let Some(count) = polled_apart(emitter, &vector.read) {
            return self.poll_apart(emitter, tile, vector, count);
        }
        let (read, threads) = (&vector.read, emitter.threads());
        let each = match (emitter.is_tagged(emitter.body().operands[read.operand]), are_neighbours(emitter, read)) {
            (false, _) => RUN,
            (true, true) => 2,
            (true, false) => 1,
        };
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
            let inside =
                ((trip + 1) * threads > count).then(|| binary(BinaryOp::Less, number, Expression::i32(count as i32)));
            emitter.when(inside, |emitter| self.poll_part(emitter, tile, vector, number.into(), each))?;
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
            emitter.when(inside, |emitter| self.poll_part(emitter, tile, vector, number.into(), each))
        })
    }

    /// Polls a long vector, `count` elements a thread, all of which are asked for before the first is looked at.
    fn poll_apart(
        &self,
        emitter: &mut Emitter,
        tile: &TileAxes,
        vector: &PolledVector,
        count: usize,
    ) -> Result<(), LowerError> {
        let apart = vector.read.length / count;
        let own = emitter.bind(ScalarType::I32, Expression::Builtin(Builtin::Thread));
        let inside = (apart < emitter.threads()).then(|| binary(BinaryOp::Less, own, Expression::i32(apart as i32)));
        emitter.when(inside, |emitter| {
            let point = reduced_point(emitter, &vector.read, tile.origin(), own.into())?;
            let values = emitter.array(ScalarType::F32, count);
            let polled = (count as u32, Some(Expression::i32(apart as i32)));
            Point::new(vector.stage, point, &[]).poll(emitter, vector.id, values, polled)?;
            for at in 0..count {
                let index = add(add(self.first, own), Expression::i32((at * apart) as i32));
                let value = Expression::Element(values, Box::new(Expression::i32(at as i32)));
                emitter.push(Statement::StoreShared { array: vector.array, index, values: vec![value] });
            }
            Ok(())
        })
    }

    /// Brings the neighbours of this number.
    fn poll_part(
        &self,
        emitter: &mut Emitter,
        tile: &TileAxes,
        vector: &PolledVector,
        number: Expression,
        each: usize,
    ) -> Result<(), LowerError> {
        let first = emitter.bind(ScalarType::I32, multiply(number, Expression::i32(each as i32)));
        let point = reduced_point(emitter, &vector.read, tile.origin(), first.into())?;
        let values = emitter.array(ScalarType::F32, each);
        let mut point = Point::new(vector.stage, point, &[]);
        match each {
            RUN => point.read_wide(emitter, (vector.id, Width::Four), values, Expression::i32(0))?,
            _ => point.poll(emitter, vector.id, values, (each as u32, None))?,
        }
        let element = |at: usize| Expression::Element(values, Box::new(Expression::i32(at as i32)));
        let values = (0..each).map(element).collect();
        emitter.push(Statement::StoreShared { array: vector.array, index: add(self.first, first), values });
        Ok(())
    }
}

/// Polls of a thread that are written out.
const WRITTEN_OUT: usize = 4;

/// Whether runs of neighbours along a vector are aligned neighbours in memory.
fn are_neighbours(emitter: &Emitter, read: &ResidentRead) -> bool {
    let expr = &emitter.body().stages[read.stage].expr;
    let layout = &emitter.memory.tensors[emitter.body().operands[read.operand]].layout;
    is_wide(expr, read.read, &Index::linear(&read.read.index, &layout.strides, layout.offset))
}

/// How many elements a thread polls at once where pairs of neighbours would take it several polls, one after another.
fn polled_apart(emitter: &Emitter, read: &ResidentRead) -> Option<usize> {
    let (body, threads) = (emitter.body(), emitter.threads());
    let expr = &body.stages[read.stage].expr;
    let is_long = read.length > 2 * threads && expr.reduced().count() == 1;
    let is_one = emitter.is_tagged(body.operands[read.operand]) && are_neighbours(emitter, read);
    let divides = |count: &usize| read.length.is_multiple_of(*count) && read.length / count <= threads;
    (2..=MOST_POLLED).find(divides).filter(|_| is_long && is_one)
}
