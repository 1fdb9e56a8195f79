//! Vectors that all rows of a tile read, brought into shared memory at once; those that carry their own validity are
//! polled.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, ReadId};
use warpweave_plan::plan::MOST_POLLED;
use warpweave_plan::template::row::rounds::RUN;
use warpweave_plan::template::staged::blocked::is_wide;
use warpweave_plan::template::weight_stationary::passes::vector_steps;
use warpweave_plan::template::weight_stationary::reads::{ResidentRead, SharedVector, column_axes, shared_vectors};

use super::hold::reduced_point;
use super::rows::RowAxes;
use crate::kernel_ir::expression::{BinaryOp, Builtin, Expression, ScalarType};
use crate::kernel_ir::ids::{LocalId, SharedId};
use crate::kernel_ir::memory::{MemoryType, WARP_SIZE, Width};
use crate::kernel_ir::statement::Statement;
use crate::lower::emitter::{Emitter, add, binary, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::scalar::Point;
use crate::lower::tile::TileAxes;

/// A vector that is brought into shared memory, or one for each column.
pub(super) struct PolledVector<'b> {
    pub(super) stage: usize,
    pub(super) id: ReadId,
    pub(super) array: SharedId,
    read: ResidentRead<'b>,
    columns: usize,
}

/// The vectors that are brought into shared memory.
///
/// Where there is room for two steps, a warp may poll for a step while others still use what the one before has polled.
pub(super) struct Polled<'b> {
    pub(super) vectors: Vec<PolledVector<'b>>,
    /// Where those of this step begin in their arrays; alternates if there is room for two steps.
    pub(super) first: LocalId,
    axes: RowAxes,
    /// Elements from one column to the next.
    room: usize,
    /// Elements from one step to the next.
    step: usize,
    /// Steps that there is room for.
    steps: usize,
    /// Whether all carry their own validity.
    are_tagged: bool,
}

impl<'b> Polled<'b> {
    /// Declares room for the vectors: those that carry their own validity, and those that are loaded four at a time.
    pub(super) fn declare(emitter: &mut Emitter<'b>) -> Self {
        let body = emitter.body();
        let steps = vector_steps(emitter.kernel());
        let mut shared = if steps > 0 { shared_vectors(emitter.kernel()) } else { Vec::new() };
        let is_tagged = |vector: &SharedVector| emitter.is_tagged(body.operands[vector.read.operand]);
        shared.retain(|vector| is_tagged(vector) || are_neighbours(emitter, &vector.read));
        let are_tagged = shared.iter().all(is_tagged);
        let room = shared.iter().map(|vector| vector.read.length.next_multiple_of(RUN)).max().unwrap_or(0);
        let step = room * shared.iter().map(|vector| vector.columns).max().unwrap_or(0);
        let declare = |SharedVector { read, columns }: SharedVector<'b>| {
            let array = emitter.shared(MemoryType::F32, steps * step);
            PolledVector { stage: read.stage, id: read.id, array, read, columns }
        };
        let vectors = shared.into_iter().map(declare).collect();
        let (first, axes) = (emitter.bind(ScalarType::I32, Expression::i32(0)), RowAxes::of(emitter));
        Self { vectors, first, axes, room, step, steps, are_tagged }
    }

    /// The vector of a read.
    pub(super) fn find(&self, (stage, id): (usize, ReadId)) -> Option<&PolledVector<'b>> {
        self.vectors.iter().find(|vector| (vector.stage, vector.id) == (stage, id))
    }

    /// Of how many columns a read's vectors are, if they are brought into shared memory: of one where all share it.
    pub(super) fn columns_of(&self, name: (usize, ReadId)) -> Option<usize> {
        self.find(name).map(|vector| vector.columns)
    }

    /// Where the vector of a column begins, from that of the first on.
    pub(super) fn start_of(&self, vector: &PolledVector, column: Expression) -> Expression {
        match vector.columns {
            1 => Expression::i32(0),
            _ => multiply(column, Expression::i32(self.room as i32)),
        }
    }

    /// Polls what all rows read into shared memory, pairs of neighbours at once where they are; every vector begins with
    /// the threads that the one before it leaves idle.
    pub(super) fn poll(&self, emitter: &mut Emitter, tile: &TileAxes) -> Result<(), LowerError> {
        let mut busy = 0;
        for vector in &self.vectors {
            if let Some(apart) = polled_columns(emitter, vector) {
                self.poll_columns(emitter, tile, vector, apart)?;
                continue;
            }
            for column in 0..vector.columns {
                self.poll_vector(emitter, tile, (vector, column), busy)?;
                busy = (busy + (vector.read.length / 2).next_multiple_of(WARP_SIZE as usize)) % emitter.threads();
            }
        }
        if !self.vectors.is_empty() {
            emitter.push(Statement::BlockBarrier);
        }
        Ok(())
    }

    /// Ends a step: unless all that the next reads is polled, it may read what another warp has written in this one. Without
    /// room for it, it is brought where others still read.
    pub(super) fn end(&self, emitter: &mut Emitter) {
        if self.vectors.is_empty() || !self.are_tagged || self.steps < 2 {
            emitter.push(Statement::BlockBarrier);
        }
        if !self.vectors.is_empty() && self.steps == 2 {
            let other = binary(BinaryOp::Subtract, Expression::i32(self.step as i32), self.first);
            emitter.assign(self.first, other);
        }
    }

    fn poll_vector(
        &self,
        emitter: &mut Emitter,
        tile: &TileAxes,
        (vector, column): (&PolledVector, usize),
        busy: usize,
    ) -> Result<(), LowerError> {
        if let Some(count) = polled_apart(emitter, &vector.read) {
            return self.poll_apart(emitter, tile, (vector, column), count);
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
            emitter.when(inside, |emitter| self.poll_part(emitter, tile, (vector, column), (number.into(), each)))?;
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
            emitter.when(inside, |emitter| self.poll_part(emitter, tile, (vector, column), (number.into(), each)))
        })
    }

    /// Polls a long vector, `count` elements a thread, all of which are asked for before the first is looked at.
    fn poll_apart(
        &self,
        emitter: &mut Emitter,
        tile: &TileAxes,
        (vector, column): (&PolledVector, usize),
        count: usize,
    ) -> Result<(), LowerError> {
        let apart = vector.read.length / count;
        let own = emitter.bind(ScalarType::I32, Expression::Builtin(Builtin::Thread));
        let inside = (apart < emitter.threads()).then(|| binary(BinaryOp::Less, own, Expression::i32(apart as i32)));
        emitter.when(inside, |emitter| {
            let point = self.point(emitter, tile, vector, (column, own.into()))?;
            let values = emitter.array(ScalarType::F32, count);
            let polled = (count as u32, Some(Expression::i32(apart as i32)));
            Point::new(vector.stage, point, &[]).poll(emitter, vector.id, values, polled)?;
            for at in 0..count {
                let index = add(add(self.first, own), Expression::i32((column * self.room + at * apart) as i32));
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
        (vector, column): (&PolledVector, usize),
        (number, each): (Expression, usize),
    ) -> Result<(), LowerError> {
        let first = emitter.bind(ScalarType::I32, multiply(number, Expression::i32(each as i32)));
        let point = self.point(emitter, tile, vector, (column, first.into()))?;
        let values = emitter.array(ScalarType::F32, each);
        let mut point = Point::new(vector.stage, point, &[]);
        match each {
            RUN => point.read_wide(emitter, (vector.id, Width::Four), values, Expression::i32(0))?,
            _ => point.poll(emitter, vector.id, values, (each as u32, None))?,
        }
        let element = |at: usize| Expression::Element(values, Box::new(Expression::i32(at as i32)));
        let values = (0..each).map(element).collect();
        let index = match column {
            0 => add(self.first, first),
            _ => add(add(self.first, first), Expression::i32((column * self.room) as i32)),
        };
        emitter.push(Statement::StoreShared { array: vector.array, index, values });
        Ok(())
    }

    /// Polls an element of every column a thread, [`MOST_POLLED`] at most at once: columns lie `apart` from one another in memory.
    fn poll_columns(
        &self,
        emitter: &mut Emitter,
        tile: &TileAxes,
        vector: &PolledVector,
        (count, apart): (usize, usize),
    ) -> Result<(), LowerError> {
        let (length, threads) = (vector.read.length, emitter.threads());
        let own = emitter.bind(ScalarType::I32, Expression::Builtin(Builtin::Thread));
        for trip in 0..length.div_ceil(threads) {
            let number = add(own, Expression::i32((trip * threads) as i32));
            let number = emitter.bind(ScalarType::I32, number);
            let inside = ((trip + 1) * threads > length).then(|| less(number, Expression::i32(length as i32)));
            emitter.when(inside, |emitter| {
                for first in (0..vector.columns).step_by(count) {
                    let point = self.point(emitter, tile, vector, (first, number.into()))?;
                    let values = emitter.array(ScalarType::F32, count);
                    let polled = (count as u32, Some(Expression::i32(apart as i32)));
                    Point::new(vector.stage, point, &[]).poll(emitter, vector.id, values, polled)?;
                    for at in 0..count {
                        let start = Expression::i32(((first + at) * self.room) as i32);
                        let index = add(add(self.first, number), start);
                        let value = Expression::Element(values, Box::new(Expression::i32(at as i32)));
                        emitter.push(Statement::StoreShared { array: vector.array, index, values: vec![value] });
                    }
                }
                Ok::<(), LowerError>(())
            })?;
        }
        Ok(())
    }

    /// The coordinates of an element of a column's vector.
    fn point(
        &self,
        emitter: &mut Emitter,
        tile: &TileAxes,
        vector: &PolledVector,
        (column, element): (usize, Expression),
    ) -> Result<Vec<Expression>, LowerError> {
        let mut coordinates = tile.origin();
        if vector.columns > 1 {
            let column = self.axes.column(emitter, tile, Expression::i32(column as i32))?;
            coordinates.splice(..column.len(), column);
        }
        reduced_point(emitter, &vector.read, coordinates, element)
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

/// How many columns a thread polls at once, and how far they lie apart in memory: where values carry their own validity and
/// one axis tells columns apart.
fn polled_columns(emitter: &Emitter, vector: &PolledVector) -> Option<(usize, usize)> {
    let body = emitter.body();
    let PolledVector { read, columns, .. } = vector;
    let layout = &emitter.memory.tensors[body.operands[read.operand]].layout;
    let place = Index::linear(&read.read.index, &layout.strides, layout.offset);
    let long = (0..column_axes(body)).filter(|&axis| emitter.kernel().tile()[axis] > 1);
    let [axis] = long.collect::<Vec<usize>>()[..] else { return None };
    let is_one = emitter.is_tagged(body.operands[read.operand]) && place.is_affine();
    let apart = usize::try_from(place.coefficient(AxisId::from_index(axis))).ok()?;
    let count = (2..=MOST_POLLED).rev().find(|count| columns.is_multiple_of(*count))?;
    (is_one && *columns > 1 && apart > 0).then_some((count, apart))
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
