//! The products of one step, from shared memory to the accumulators: a file a compute unit.

mod simt;

use warpweave_plan::template::block::WARP;
use warpweave_plan::template::contraction::shape::ContractionShape;
use warpweave_plan::template::contraction::tile_load::{RowLayout, SideLoad};
use warpweave_plan::template::contraction::unit::ComputeUnit;

use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId};
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::arithmetic::set;
use crate::lower::arithmetic::{access, quotient, remainder, scaled, zero};
use crate::lower::contraction::side::Side;
use crate::lower::contraction::slices::{Finished, Slice};
use crate::lower::emitter::{Emitter, add, binary};
use crate::lower::error::LowerError;

/// Steps whose products are written out; the others are iterations of a loop.
const UNROLLED: usize = 32;

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

/// One factor of the products: its side, the registers, the first word, neighbouring elements, threads, elements.
type Operand<'o> = (&'o Side<'o>, ArrayId, LocalId, usize, usize, usize);

/// A thread's part of the block tile.
pub(crate) struct Products {
    pub(crate) shape: ContractionShape,
    /// `rows × columns`, row by row.
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
        [0, 1].map(|at| {
            let (load, (width, _, _)) = (&sides[at].load, self.sides()[at]);
            let mut start = scaled(self.threads[at].into(), width);
            if let Some(slice) = &self.slice {
                let begin = scaled(slice.number.into(), self.slice_steps());
                if let Some(order) = order(load, begin.clone()).filter(|_| !is_whole_period(load, self.slice_steps())) {
                    start = binary(BinaryOp::BitXor, start, order);
                }
                start = add(start, scaled(begin, load.row()));
            }
            emitter.bind(ScalarType::I32, start)
        })
    }

    /// Adds one step's products, of the tiles in a buffer, in which the thread reads from `starts` on.
    pub(crate) fn add(
        &self,
        emitter: &mut Emitter,
        (sides, starts): (&[Side; 2], [LocalId; 2]),
        buffer: &Expression,
        meanwhile: Meanwhile,
    ) -> Result<(), LowerError> {
        let operands = [0, 1].map(|at| {
            let (width, threads, count) = self.sides()[at];
            let base = sides[at].base(emitter, buffer);
            let first = emitter.bind(ScalarType::I32, add(base, starts[at]));
            (&sides[at], emitter.array(self.scalar, count), first, width, threads, count)
        });
        let windows = Expression::i32((self.slice_steps() / self.unrolled()) as i32);
        emitter.repeat(windows, false, |emitter, window| self.add_window(emitter, operands, window, meanwhile))
    }

    /// Points of a step that a slice multiplies.
    fn slice_steps(&self) -> usize {
        self.shape.k_tile / self.shape.k_slices
    }

    /// Steps of a window.
    fn unrolled(&self) -> usize {
        self.slice_steps().min(UNROLLED)
    }

    fn add_window(
        &self,
        emitter: &mut Emitter,
        operands: [Operand; 2],
        window: LocalId,
        meanwhile: Meanwhile,
    ) -> Result<(), LowerError> {
        let unrolled = self.unrolled();
        let early = Expression::i32(unrolled.div_ceil(EARLY_SHARE) as i32);
        emitter.repeat(Expression::i32(unrolled as i32), true, |emitter, step| {
            if meanwhile == Meanwhile::Loads {
                emitter.when(Some(binary(BinaryOp::Equal, step, early)), |emitter| {
                    emitter.push(Statement::WarpBarrier);
                    Ok::<(), LowerError>(())
                })?;
            }
            let step = add(scaled(window.into(), unrolled), step);
            for (side, array, first, width, threads, count) in operands {
                emitter.repeat(Expression::i32((count / width) as i32), true, |emitter, run| {
                    let row = scaled(step.clone(), side.load.row());
                    let index = add(place_of_run(&side.load, first, (run, threads * width), &step), row);
                    let place = Place::Element(array, scaled(run.into(), width));
                    let width = access(width);
                    emitter.push(Statement::LoadShared { place, array: side.shared, width, index });
                    Ok::<(), LowerError>(())
                })?;
            }
            add_products(emitter, self, operands[0].1, operands[1].1)
        })
    }
}

/// How far the elements of a step's row are moved, where rows have orders.
fn order(load: &SideLoad, step: Expression) -> Option<Expression> {
    match load.layout {
        RowLayout::Padded(_) => None,
        RowLayout::Swizzled { unit, turns } => Some(scaled(remainder(quotient(step, load.width), turns), unit)),
    }
}

/// Whether rows so many steps apart have the same order.
fn is_whole_period(load: &SideLoad, steps: usize) -> bool {
    match load.layout {
        RowLayout::Padded(_) => true,
        RowLayout::Swizzled { turns, .. } => steps.is_multiple_of(load.width * turns),
    }
}

/// Where a thread's run of a step's row lies, beside the row's place, from where the first run of the first row does. Runs are
/// `apart` elements apart. The thread's own part of a place lies below `apart`, so within a period of the order nothing is
/// carried.
fn place_of_run(load: &SideLoad, first: LocalId, (run, apart): (LocalId, usize), step: &Expression) -> Expression {
    let run = scaled(run.into(), apart);
    let RowLayout::Swizzled { unit, turns } = load.layout else { return add(first, run) };
    let period = unit * turns;
    let order = order(load, step.clone()).expect("a swizzle orders rows");
    if apart.is_multiple_of(period) {
        return add(binary(BinaryOp::BitXor, first, order), run);
    }
    let moved = binary(BinaryOp::BitXor, order, remainder(run.clone(), period));
    add(binary(BinaryOp::BitXor, first, moved), scaled(quotient(run, period), period))
}

/// The thread's place along rows and along columns, as [`ContractionShape::place_of`] says.
fn place(shape: &ContractionShape, thread: LocalId) -> [Expression; 2] {
    let warp = shape.warp();
    if !warp.is_interleaved() {
        return [quotient(thread, shape.column_threads()), remainder(thread, shape.column_threads())];
    }
    let along = shape.column_threads() / warp.columns;
    let masked =
        |shift: usize, mask: usize| binary(BinaryOp::BitAnd, quotient(thread, shift), Expression::i32(mask as i32));
    let number = quotient(thread, WARP);
    let row = add(masked(2, 1), masked(warp.columns, warp.rows - 2));
    let column = add(masked(1, 1), masked(2, warp.columns - 2));
    [
        add(scaled(quotient(number.clone(), along), warp.rows), row),
        add(scaled(remainder(number, along), warp.columns), column),
    ]
}

/// Adds the products of a step's rows in `left` and its columns in `right` to the accumulators.
fn add_products(emitter: &mut Emitter, products: &Products, left: ArrayId, right: ArrayId) -> Result<(), LowerError> {
    match products.shape.unit {
        ComputeUnit::Simt => simt::add_products(emitter, products, left, right),
    }
}
