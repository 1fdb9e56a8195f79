//! The sums of a block whose threads are slices: each slice has summed its part of every step's points.

use crate::kernel_ir::expression::{Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId, SharedId};
use crate::kernel_ir::memory::MemoryType;
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::arithmetic::{access, quotient, remainder, scaled, set};
use crate::lower::contraction::unit::Products;
use crate::lower::emitter::{Emitter, add, less};
use crate::lower::error::LowerError;

/// A slice of the block's threads, each of which sums its part of every step's points.
pub(super) struct Slice {
    pub(super) number: LocalId,
    /// The thread's number in it.
    pub(super) thread: LocalId,
}

/// The sums that a thread finishes.
pub(crate) struct Finished {
    /// `rows × columns`: those of the thread's tile in their order, or those of a part of it row by row.
    sums: ArrayId,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// The first row and the first column of the thread's tile, where slices finish parts of it.
    first: Option<[LocalId; 2]>,
}

impl Finished {
    /// The number in the thread's tile of the `at`-th row (side 0) or column (side 1).
    pub(super) fn place(&self, side: usize, at: LocalId) -> Expression {
        self.first.map_or(at.into(), |first| add(first[side], at))
    }
}

impl Products {
    /// The sum of a row and a column that a thread finishes.
    pub(crate) fn finished(&self, finished: &Finished, row: LocalId, column: Expression) -> Expression {
        let at = match finished.first {
            None => self.sum(row.into(), column),
            Some(_) => add(scaled(row.into(), finished.columns), column),
        };
        Expression::Element(finished.sums, Box::new(at))
    }

    /// The sums of all slices. The threads of the second half of slices leave theirs in shared memory. Those of the first half
    /// add them to their own, and leave the sums in the same places. Each thread then adds what is there of the part that it
    /// finishes.
    pub(crate) fn finish(&self, emitter: &mut Emitter) -> Result<Finished, LowerError> {
        let Self { shape, accumulators, scalar, .. } = self;
        let Some(slice) = &self.slice else {
            return Ok(Finished { sums: *accumulators, rows: shape.rows, columns: shape.columns, first: None });
        };
        let finish = shape.finish().expect("a shape with slices divides its elements among them");
        let shared = self.leave(emitter, slice)?;
        let row = scaled(quotient(slice.number, finish.column_parts), finish.rows);
        let column = scaled(remainder(slice.number, finish.column_parts), finish.columns);
        let first = [row, column].map(|first| emitter.bind(ScalarType::I32, first));
        let sums = emitter.array(*scalar, finish.rows * finish.columns);
        let finished = Finished { sums, rows: finish.rows, columns: finish.columns, first: Some(first) };
        emitter.repeat(Expression::i32(finish.rows as i32), true, |emitter, row| {
            emitter.repeat(Expression::i32(finish.columns as i32), true, |emitter, column| {
                let element = self.sum(finished.place(0, row), finished.place(1, column));
                let index = add(scaled(element, self.half()), slice.thread);
                let at = add(scaled(row.into(), finish.columns), column);
                self.add_slices(emitter, (shared, index), (sums, at))
            })
        })?;
        Ok(finished)
    }

    /// Threads of half the slices.
    fn half(&self) -> usize {
        self.shape.block_size().threads() / 2
    }

    /// Leaves in shared memory the sums of each slice of the first half with those of one of the second, `[element][thread]`.
    fn leave(&self, emitter: &mut Emitter, slice: &Slice) -> Result<SharedId, LowerError> {
        let Self { shape, accumulators, scalar, .. } = self;
        let memory = match scalar {
            ScalarType::F32 => MemoryType::F32,
            ScalarType::Bool | ScalarType::I32 | ScalarType::I64 => MemoryType::I32,
        };
        let shared = emitter.shared(memory, shape.slice_sums());
        let elements = Expression::i32((shape.rows * shape.columns) as i32);
        let own = add(scaled(slice.number.into(), shape.slice_threads()), slice.thread);
        let own = emitter.bind(ScalarType::I32, remainder(own, self.half()));
        let place = |at: LocalId| add(own, scaled(at.into(), self.half()));
        let sum = |at: LocalId| Expression::Element(*accumulators, Box::new(at.into()));
        let store = |emitter: &mut Emitter, at: LocalId| {
            emitter.push(Statement::StoreShared { array: shared, index: place(at), values: vec![sum(at)] });
        };
        let half = shape.k_slices as i32 / 2;
        let is_first = less(slice.number, Expression::i32(half));
        let is_second = less(Expression::i32(half - 1), slice.number);
        emitter.when(Some(is_second), |emitter| {
            emitter.repeat(elements.clone(), true, |emitter, at| {
                store(emitter, at);
                Ok::<(), LowerError>(())
            })
        })?;
        emitter.push(Statement::BlockBarrier);
        let other = emitter.array(*scalar, 1);
        emitter.when(Some(is_first), |emitter| {
            emitter.repeat(elements, true, |emitter, at| {
                let left = Place::Element(other, Expression::i32(0));
                emitter.push(Statement::LoadShared { place: left, array: shared, width: access(1), index: place(at) });
                let both = add(sum(at), Expression::Element(other, Box::new(Expression::i32(0))));
                emitter.push(set(*accumulators, at.into(), both));
                store(emitter, at);
                Ok::<(), LowerError>(())
            })
        })?;
        emitter.push(Statement::BlockBarrier);
        Ok(shared)
    }

    /// Adds what there is of an element, in the order of slices.
    fn add_slices(
        &self,
        emitter: &mut Emitter,
        (shared, index): (SharedId, Expression),
        (sums, at): (ArrayId, Expression),
    ) -> Result<(), LowerError> {
        let index = emitter.bind(ScalarType::I32, index);
        let parts = self.shape.k_slices / 2;
        let part = emitter.array(self.scalar, parts);
        for slice in 0..parts {
            let place = Place::Element(part, Expression::i32(slice as i32));
            let index = add(index, Expression::i32((slice * self.shape.slice_threads()) as i32));
            emitter.push(Statement::LoadShared { place, array: shared, width: access(1), index });
        }
        let element = |slice: usize| Expression::Element(part, Box::new(Expression::i32(slice as i32)));
        let sum = (1..parts).fold(element(0), |sum, slice| add(sum, element(slice)));
        emitter.push(set(sums, at, sum));
        Ok(())
    }
}
