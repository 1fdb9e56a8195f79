//! The products of one step, from shared memory to the accumulators: a file a compute unit.

pub(crate) mod mma;
mod simt;

use warpweave_plan::template::block::WARP;
use warpweave_plan::template::contraction::shape::ContractionShape;
use warpweave_plan::template::contraction::unit::ComputeUnit;

use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId};
use crate::kernel_ir::statement::Statement;
use crate::lower::arithmetic::set;
use crate::lower::arithmetic::{quotient, remainder, scaled, zero};
use crate::lower::contraction::side::Side;
use crate::lower::contraction::slices::{Finished, Slice};
use crate::lower::emitter::{Emitter, add, binary};
use crate::lower::error::LowerError;

/// One in so many of a window's steps stands before a barrier behind which no load of the next step's factors begins. Compilers
/// may else move loads to where what they load is used.
const EARLY_SHARE: usize = 4;

/// What a thread does while it multiplies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meanwhile {
    /// Nothing that the products could hide.
    Nothing,
    /// It loads the next step's factors into registers.
    Loads,
}

/// A thread's part of the block tile.
pub(crate) struct Products {
    pub(crate) shape: ContractionShape,
    /// `rows × columns`, in the order of [`ContractionShape::sum`].
    pub(crate) accumulators: ArrayId,
    /// What is multiplied and summed.
    pub(super) scalar: ScalarType,
    /// The thread's place along rows and along columns.
    threads: [LocalId; 2],
    /// Its slice, of several.
    pub(super) slice: Option<Slice>,
}

impl Products {
    pub(crate) fn emit(
        emitter: &mut Emitter,
        shape: ContractionShape,
        scalar: ScalarType,
        thread: LocalId,
    ) -> Result<Self, LowerError> {
        let count = shape.rows * shape.columns;
        let accumulators = emitter.array(scalar, count);
        emitter.repeat(Expression::i32(count as i32), true, |emitter, at| {
            emitter.push(set(accumulators, at.into(), zero(scalar)));
            Ok::<(), LowerError>(())
        })?;
        let slice = (shape.k_slices > 1).then(|| Slice {
            number: emitter.bind(ScalarType::I32, quotient(thread, shape.slice_threads())),
            thread: emitter.bind(ScalarType::I32, remainder(thread, shape.slice_threads())),
        });
        let thread = slice.as_ref().map_or(thread, |slice| slice.thread);
        let threads = place(&shape, thread).map(|place| emitter.bind(ScalarType::I32, place));
        Ok(Self { shape, accumulators, scalar, threads, slice })
    }

    /// Neighbouring elements of a thread, threads, and elements of a thread, along rows and along columns.
    fn sides(&self) -> [(usize, usize, usize); 2] {
        let shape = &self.shape;
        [
            (shape.row_width(), shape.row_threads, shape.rows),
            (shape.column_width, shape.column_threads(), shape.columns),
        ]
    }

    /// The row (side 0) or column (side 1) of the block tile that is the `at`-th that the thread finishes.
    pub(crate) fn element(&self, finished: &Finished, side: usize, at: LocalId) -> Expression {
        let (width, threads, _) = self.sides()[side];
        let at = finished.place(side, at);
        let run = add(scaled(quotient(at.clone(), width), threads * width), scaled(self.threads[side].into(), width));
        if width == 1 { run } else { add(run, remainder(at, width)) }
    }

    /// Where in a tile the thread reads its first element of each side.
    pub(crate) fn starts(&self, emitter: &mut Emitter, sides: &[Side; 2]) -> [LocalId; 2] {
        match self.shape.unit {
            ComputeUnit::Simt => simt::starts(emitter, self, sides),
            ComputeUnit::Mma => mma::starts(emitter, self, sides),
        }
    }

    /// Adds one step's products, of the tiles in a buffer, in which the thread reads from `starts` on.
    pub(crate) fn add(
        &self,
        emitter: &mut Emitter,
        (sides, starts): (&[Side; 2], [LocalId; 2]),
        buffer: &Expression,
        meanwhile: Meanwhile,
    ) -> Result<(), LowerError> {
        let firsts = self.firsts(emitter, (sides, starts), buffer);
        match self.shape.unit {
            ComputeUnit::Simt => simt::add_step(emitter, self, (sides, firsts), meanwhile),
            ComputeUnit::Mma => mma::add_step(emitter, self, (sides, firsts), meanwhile),
        }
    }

    /// Where in shared memory the thread reads its first element of each side's tile in a buffer.
    fn firsts(
        &self,
        emitter: &mut Emitter,
        (sides, starts): (&[Side; 2], [LocalId; 2]),
        buffer: &Expression,
    ) -> [LocalId; 2] {
        [0, 1].map(|at| {
            let base = sides[at].base(emitter, buffer);
            emitter.bind(ScalarType::I32, add(base, starts[at]))
        })
    }

    /// Which of the thread's sums is that of a row and a column of its tile, as [`ContractionShape::sum`] says.
    pub(super) fn sum(&self, row: Expression, column: Expression) -> Expression {
        let columns = self.shape.columns;
        match self.shape.unit {
            ComputeUnit::Simt => add(scaled(row, columns), column),
            ComputeUnit::Mma => mma::sum(row, column, columns),
        }
    }
}

/// Before the step `early` of those that are written out, no load of the next step's factors is begun any more.
fn end_early(emitter: &mut Emitter, (step, steps): (LocalId, usize), meanwhile: Meanwhile) -> Result<(), LowerError> {
    match meanwhile {
        Meanwhile::Nothing => Ok(()),
        Meanwhile::Loads => {
            let early = Expression::i32(steps.div_ceil(EARLY_SHARE) as i32);
            emitter.when(Some(binary(BinaryOp::Equal, step, early)), |emitter| {
                end_of_loads(emitter);
                Ok(())
            })
        }
    }
}

/// No load of the next step's factors is begun any more.
pub(super) fn end_of_loads(emitter: &mut Emitter) {
    emitter.push(Statement::WarpBarrier);
}

/// The thread's place along rows and along columns, as [`ContractionShape::place_of`] says.
fn place(shape: &ContractionShape, thread: LocalId) -> [Expression; 2] {
    let warp = shape.warp();
    let masked =
        |shift: usize, mask: usize| binary(BinaryOp::BitAnd, quotient(thread, shift), Expression::i32(mask as i32));
    let [row, column] = match shape.unit {
        ComputeUnit::Simt if !warp.is_interleaved() => {
            return [quotient(thread, shape.column_threads()), remainder(thread, shape.column_threads())];
        }
        ComputeUnit::Simt => {
            [add(masked(2, 1), masked(warp.columns, warp.rows - 2)), add(masked(1, 1), masked(2, warp.columns - 2))]
        }
        ComputeUnit::Mma => [masked(warp.columns, warp.rows - 1), masked(1, warp.columns - 1)],
    };
    let [first_row, first_column] = first_of_warp(shape, thread);
    [add(first_row, row), add(first_column, column)]
}

/// The row and the column of threads of the first lane of a thread's warp.
fn first_of_warp(shape: &ContractionShape, thread: LocalId) -> [Expression; 2] {
    let (warp, number) = (shape.warp(), quotient(thread, WARP));
    let along = shape.column_threads() / warp.columns;
    [scaled(quotient(number.clone(), along), warp.rows), scaled(remainder(number, along), warp.columns)]
}
