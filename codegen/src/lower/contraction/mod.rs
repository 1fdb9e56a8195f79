//! The contraction template: a blocked matrix product through shared memory.
//!
//! Matrix products, batched ones, and convolutions as implicit matrix products. The two factors are evaluated, with
//! whatever was fused in front of them, while their tiles are brought into shared memory; what was fused behind is
//! evaluated on the accumulators.

pub(crate) mod boxes;
pub(crate) mod epilogue;
mod part;
pub(crate) mod side;
mod slices;
pub(crate) mod unit;

use warpweave_graph::expr::AxisId;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::contraction::column_runs::ColumnRuns;
use warpweave_plan::template::contraction::shape::{ContractionShape, Pipeline};
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::staged::padded::PaddedBody;

use crate::kernel_ir::expression::{BinaryOp, Builtin, Expression, ScalarType};
use crate::kernel_ir::ids::LocalId;
use crate::kernel_ir::memory::MemoryOrder;
use crate::kernel_ir::statement::Statement;
use crate::lower::arithmetic::scalar_type;
use crate::lower::contraction::boxes::Boxes;
use crate::lower::contraction::side::{Side, Step};
use crate::lower::contraction::unit::mma::{Ahead, StepPlace};
use crate::lower::contraction::unit::{Meanwhile, Products, end_of_loads};
use crate::lower::emitter::{Emitter, add, binary, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::tile::{TileAxes, decode_box};

/// Emits the kernel of a body, whose padding has been found; the first fetches of the sides `prologue` stand before the
/// kernel's own waits.
pub(crate) fn emit(
    emitter: &mut Emitter,
    shape: ContractionShape,
    prologue: &[AxisClass],
    (original, padded): (&Kernel, &PaddedBody),
) -> Result<(), LowerError> {
    let contraction = emitter.kernel().contraction().expect("the template is only chosen for contractions");
    let tile = TileAxes::emit(emitter)?;
    let thread = emitter.bind(ScalarType::I32, Expression::Builtin(Builtin::Thread));
    let boxes = Boxes::emit(emitter, &tile, (original, padded))?;
    let [row, column] = SIDES.map(|class| Side::emit(emitter, contraction, &tile, class, &shape, thread));
    let sides = [row?, column?];
    let scalar = scalar_type(emitter, contraction.element)?;
    let products = Products::emit(emitter, shape, scalar, thread)?;
    Loop::emit(emitter, contraction, &tile, (&sides, &boxes), &products, prologue)?;
    let runs = ColumnRuns::of(emitter.body(), contraction, &shape, emitter.kernel().tile());
    epilogue::emit(emitter, &tile, &sides, &products, runs)
}

/// The classes of the two sides, in order.
const SIDES: [AxisClass; 2] = [AxisClass::Row, AxisClass::Column];

/// The loop along the reduction.
struct Loop<'l> {
    tile: &'l TileAxes,
    sides: &'l [Side<'l>; 2],
    /// Those whose first fetch stands before the kernel's own waits.
    prologue: Vec<&'l Side<'l>>,
    behind_waits: Vec<&'l Side<'l>>,
    boxes: &'l Boxes,
    products: &'l Products,
    /// Where the thread reads its first element of each side.
    starts: [LocalId; 2],
    axes: Vec<AxisId>,
    extents: Vec<usize>,
    /// Steps of the loop.
    steps: Expression,
    /// Points of the reduction; absent where no fetch reaches beyond them.
    length: Option<Expression>,
}

impl<'l> Loop<'l> {
    fn emit(
        emitter: &mut Emitter,
        contraction: &Contraction,
        tile: &'l TileAxes,
        (sides, boxes): (&'l [Side<'l>; 2], &'l Boxes),
        products: &'l Products,
        prologue: &[AxisClass],
    ) -> Result<(), LowerError> {
        let shape = products.shape;
        let (in_prologue, behind) =
            sides.iter().zip(SIDES).partition::<Vec<_>, _>(|(_, class)| prologue.contains(class));
        let [prologue, behind_waits] =
            [in_prologue, behind].map(|sides| sides.into_iter().map(|(side, _)| side).collect());
        let expr = &emitter.body().stages[0].expr;
        let axes = contraction.axes(AxisClass::Reduction);
        let extents: Vec<usize> = axes.iter().map(|&axis| expr.axes[axis].extent).collect();
        let length: usize = extents.iter().product();
        let steps = emitter.operand(length.div_ceil(shape.k_tile) as i64)?;
        let beyond = shape.pipeline != Pipeline::Unpipelined || !length.is_multiple_of(shape.k_tile);
        let length = if beyond { Some(emitter.operand(length as i64)?) } else { None };
        let starts = products.starts(emitter, sides);
        let this = Self { tile, sides, prologue, behind_waits, boxes, products, starts, axes, extents, steps, length };
        match shape.pipeline {
            Pipeline::Unpipelined => this.in_turn(emitter),
            Pipeline::RegisterPrefetch => this.through_registers(emitter),
            Pipeline::Asynchronous { depth } if sides.iter().all(|side| side.is_copied) => {
                this.asynchronous(emitter, depth)
            }
            Pipeline::Asynchronous { .. } => this.through_registers(emitter),
        }
    }

    /// Fetch both tiles, meet, multiply, meet.
    fn in_turn(&self, emitter: &mut Emitter) -> Result<(), LowerError> {
        self.boxes.fill(emitter)?;
        let buffer = Expression::i32(0);
        emitter.repeat(self.steps.clone(), false, |emitter, step| {
            let step = self.step(emitter, step.into())?;
            fetch(emitter, self.sides, &step)?;
            self.place(emitter, &step, &buffer)?;
            emitter.push(Statement::BlockBarrier);
            self.products.add(emitter, (self.sides, self.starts), &buffer, Meanwhile::Nothing)?;
            emitter.push(Statement::BlockBarrier);
            Ok(())
        })
    }

    /// The next step's loads are under way while this step's tiles are multiplied. Two buffers need one barrier a step, among the
    /// threads that fetch together. A side that copies can bring alone is copied to the buffer that all have read.
    fn through_registers(&self, emitter: &mut Emitter) -> Result<(), LowerError> {
        let meeting = match self.products.shape.fetching_slices() {
            1 => Statement::BlockBarrier,
            _ => Statement::WarpBarrier,
        };
        let tiles = (self.sides, self.starts);
        let buffer = |step: LocalId| binary(BinaryOp::BitAnd, step, Expression::i32(1));
        let place = |emitter: &mut Emitter, step: &Step, buffer: &Expression| {
            self.place(emitter, step, buffer)?;
            if self.has_copies() {
                emitter.push(Statement::AsyncWait { pending: 0 });
            }
            emitter.push(meeting.clone());
            Ok::<(), LowerError>(())
        };
        let first = self.fetch_first(emitter)?;
        place(emitter, &first, &Expression::i32(0))?;
        let ahead = Ahead::of(emitter, self.products, tiles);
        ahead.iter().try_for_each(|products| products.load(emitter, &Expression::i32(0), 0))?;
        emitter.repeat(self.steps.clone(), false, |emitter, step| {
            let next = emitter.bind(ScalarType::I32, add(step, Expression::i32(1)));
            let fetched = self.fetch_next(emitter, next, &buffer(next))?;
            match &ahead {
                Some(products) => {
                    products.add(emitter, [buffer(step), buffer(next)], |emitter, place_of| match place_of {
                        StepPlace::First => {
                            end_of_loads(emitter);
                            Ok(())
                        }
                        StepPlace::Last => place(emitter, &fetched, &buffer(next)),
                    })
                }
                None => {
                    self.products.add(emitter, tiles, &buffer(step), Meanwhile::Loads)?;
                    place(emitter, &fetched, &buffer(next))
                }
            }
        })
    }

    /// Copies run `stages` − 1 steps ahead; a meeting tells all threads that a step's tiles have arrived, and that the
    /// buffer which comes free is read no more.
    fn asynchronous(&self, emitter: &mut Emitter, stages: usize) -> Result<(), LowerError> {
        let ahead = stages as i32 - 1;
        if !self.prologue.is_empty() {
            emitter.repeat(Expression::i32(ahead), true, |emitter, step| {
                self.copy(emitter, self.prologue.iter().copied(), step.into(), &step.into())
            })?;
            emitter.push(Statement::Await { order: MemoryOrder::Acquire, loaded: Vec::new() });
        }
        emitter.repeat(Expression::i32(ahead), true, |emitter, step| {
            self.copy(emitter, self.behind_waits.iter().copied(), step.into(), &step.into())?;
            emitter.push(Statement::AsyncCommit);
            Ok::<(), LowerError>(())
        })?;
        let read = emitter.bind(ScalarType::I32, Expression::i32(0));
        let write = emitter.bind(ScalarType::I32, Expression::i32(ahead));
        let arrive = |emitter: &mut Emitter| {
            emitter.push(Statement::AsyncWait { pending: stages as u32 - 2 });
            emitter.push(Statement::BlockBarrier);
        };
        let copy = |emitter: &mut Emitter, step: LocalId| {
            self.copy(emitter, self.sides, add(step, Expression::i32(ahead)), &write.into())?;
            emitter.push(Statement::AsyncCommit);
            turn(emitter, write, stages);
            Ok::<(), LowerError>(())
        };
        let tiles = (self.sides, self.starts);
        match Ahead::of(emitter, self.products, tiles) {
            Some(products) => {
                arrive(emitter);
                products.load(emitter, &read.into(), 0)?;
                emitter.repeat(self.steps.clone(), false, |emitter, step| {
                    products.add(emitter, [read.into(), read.into()], |emitter, place| {
                        match place {
                            StepPlace::First => copy(emitter, step)?,
                            StepPlace::Last => {
                                arrive(emitter);
                                turn(emitter, read, stages);
                            }
                        }
                        Ok(())
                    })
                })?;
            }
            None => emitter.repeat(self.steps.clone(), false, |emitter, step| {
                arrive(emitter);
                copy(emitter, step)?;
                self.products.add(emitter, tiles, &read.into(), Meanwhile::Nothing)?;
                turn(emitter, read, stages);
                Ok::<(), LowerError>(())
            })?,
        }
        emitter.push(Statement::AsyncWait { pending: 0 });
        Ok(())
    }

    /// The fetch of the first step, around the kernel's own waits if it does them, and around the filling of boxes.
    fn fetch_first(&self, emitter: &mut Emitter) -> Result<Step<'_>, LowerError> {
        let (step, buffer) = (self.step(emitter, Expression::i32(0))?, Expression::i32(0));
        if !self.prologue.is_empty() {
            bring(emitter, self.prologue.iter().copied(), &step, &buffer)?;
            let loaded = self.prologue.iter().flat_map(|side| side.fetched()).collect();
            emitter.push(Statement::Await { order: MemoryOrder::Acquire, loaded });
        }
        let (boxed, plain): (Vec<&Side>, Vec<&Side>) = self.behind_waits.iter().partition(|side| side.stages_operands);
        bring(emitter, plain, &step, &buffer)?;
        self.boxes.fill(emitter)?;
        bring(emitter, boxed, &step, &buffer)?;
        Ok(step)
    }

    /// Whether copies bring a side beside one that goes through registers.
    fn has_copies(&self) -> bool {
        self.sides.iter().any(Side::is_copied_alone)
    }

    /// The fetch of a step behind the first. Elements outside of the output are zero from the first step on, so nothing is cleared
    /// again, unless the last step reaches beyond the reduction.
    fn fetch_next(&self, emitter: &mut Emitter, next: LocalId, buffer: &Expression) -> Result<Step<'_>, LowerError> {
        let step = self.step(emitter, next.into())?;
        let (copied, through_registers) = divided(self.sides);
        copy(emitter, &copied, &step, buffer)?;
        if step.length.is_some() {
            fetch(emitter, through_registers, &step)?;
        } else {
            let fetch =
                |emitter: &mut Emitter| through_registers.iter().try_for_each(|side| side.fetch(emitter, &step));
            emitter.when(step.exists.clone(), fetch)?;
        }
        Ok(step)
    }

    fn copy<'s>(
        &self,
        emitter: &mut Emitter,
        sides: impl IntoIterator<Item = &'s Side<'l>>,
        step: Expression,
        buffer: &Expression,
    ) -> Result<(), LowerError>
    where
        'l: 's,
    {
        let step = self.step(emitter, step)?;
        sides.into_iter().try_for_each(|side| side.copy(emitter, &step, buffer))
    }

    fn step(&self, emitter: &mut Emitter, step: Expression) -> Result<Step<'_>, LowerError> {
        let k_tile = self.products.shape.k_tile;
        let first = emitter.bind(ScalarType::I32, multiply(step.clone(), Expression::i32(k_tile as i32)));
        let (axes, extents, tile) = (&self.axes, &self.extents, self.tile);
        let is_aligned = extents.last().is_some_and(|innermost| innermost.is_multiple_of(k_tile));
        let origin = match extents.len() {
            1 => Some(vec![first.into()]),
            _ if is_aligned => Some(decode_box(emitter, extents, first.into())?),
            _ => None,
        };
        let length: usize = extents.iter().product();
        let is_first = step == Expression::i32(0) && length > 0;
        let reached = || self.length.clone().filter(|_| !is_first).map(|length| less(first, length));
        Ok(match length.is_multiple_of(k_tile) {
            true => Step { axes, first, origin, exists: reached(), length: None, tile },
            false => Step { axes, first, origin, exists: None, length: self.length.as_ref(), tile },
        })
    }

    fn place(&self, emitter: &mut Emitter, step: &Step, buffer: &Expression) -> Result<(), LowerError> {
        divided(self.sides).1.into_iter().try_for_each(|side| side.place(emitter, step, buffer))
    }
}

/// The next of the buffers that take turns.
fn turn(emitter: &mut Emitter, buffer: LocalId, buffers: usize) {
    let next = emitter.bind(ScalarType::I32, add(buffer, Expression::i32(1)));
    let last = binary(BinaryOp::Equal, next, Expression::i32(buffers as i32));
    let turned = Expression::Select(Box::new(last), Box::new(Expression::i32(0)), Box::new(next.into()));
    emitter.assign(buffer, turned);
}

/// The sides that copies bring beside others, and those that go through registers.
fn divided<'s, 'l: 's>(sides: impl IntoIterator<Item = &'s Side<'l>>) -> (Vec<&'s Side<'l>>, Vec<&'s Side<'l>>) {
    sides.into_iter().partition(|side| side.is_copied_alone())
}

/// Begins to bring the sides of a step, by copies to a buffer or through registers.
fn bring<'s, 'l: 's>(
    emitter: &mut Emitter,
    sides: impl IntoIterator<Item = &'s Side<'l>>,
    step: &Step,
    buffer: &Expression,
) -> Result<(), LowerError> {
    let (copied, through_registers) = divided(sides);
    copy(emitter, &copied, step, buffer)?;
    fetch(emitter, through_registers, step)
}

/// Begins to copy sides of a step to a buffer, as a group.
fn copy(emitter: &mut Emitter, sides: &[&Side], step: &Step, buffer: &Expression) -> Result<(), LowerError> {
    sides.iter().try_for_each(|side| side.copy(emitter, step, buffer))?;
    if !sides.is_empty() {
        emitter.push(Statement::AsyncCommit);
    }
    Ok(())
}

/// Evaluates factors on the thread's elements of a step, zero where there is nothing.
fn fetch<'s, 'l: 's>(
    emitter: &mut Emitter,
    sides: impl IntoIterator<Item = &'s Side<'l>>,
    step: &Step,
) -> Result<(), LowerError> {
    let sides: Vec<&Side> = sides.into_iter().collect();
    sides.iter().try_for_each(|side| side.clear(emitter))?;
    emitter.when(step.exists.clone(), |emitter| sides.iter().try_for_each(|side| side.fetch(emitter, step)))
}
