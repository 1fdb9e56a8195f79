//! A phase that is a sum of products, a block of rows and columns a thread.
//!
//! A thread's rows, and its columns, lie a constant number apart, so that neighbouring threads take neighbouring columns, or
//! neighbouring rows. What is read of memory is asked for a trip of some steps before it is used.
//! Rows and columns beyond the box repeat its last ones and are not stored.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, ReadId, Scalar};
use warpweave_plan::body::StageSource;
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::staged::blocked::{Across, WRITTEN_OUT, is_fetched_ahead, reads, steps_a_trip};

use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId};
use crate::kernel_ir::memory::Width;
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::emitter::{Emitter, add, binary, both, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::scalar::Point;
use crate::lower::staged::phase::{Phase, all, fetch_behind, reduce_axes, thread_number};
use crate::lower::tile::decode_box;

/// The rows, or the columns, of a thread.
pub(crate) struct Side<'a> {
    factor: &'a Scalar,
    /// Positions among the phase's axes.
    axes: Vec<usize>,
    per_thread: usize,
    /// Blocks along the side.
    blocks: usize,
    /// Coordinates of the thread's elements, an array an axis.
    coordinates: Vec<ArrayId>,
    /// What the elements add to the number in the box.
    slots: ArrayId,
    /// Whether the elements are to be stored; absent if all are.
    real: Option<ArrayId>,
    /// Whether they are no padding; absent if all are none.
    exists: Option<ArrayId>,
    /// The factor at one step.
    values: ArrayId,
    /// Reads of which the values of several steps are fetched before the first is used.
    fetched: Vec<Fetched>,
    /// Steps of a trip along the reduction.
    steps: usize,
}

/// A read of a factor, and what has been fetched of it: some steps an element of the side.
struct Fetched {
    read: ReadId,
    /// Whether one load brings four steps.
    is_wide: bool,
    values: ArrayId,
    /// Steps in the array: those of a trip, or four of what is in shared memory.
    steps: usize,
    /// The steps of the next trip, which are under way while these are multiplied; absent of what is in shared memory.
    ahead: Option<ArrayId>,
}

/// A step of a trip: four that are written out follow one another some times.
#[derive(Clone, Copy)]
struct TripStep {
    four: LocalId,
    step: LocalId,
}

impl TripStep {
    /// The step among those that an array holds.
    fn in_array(self, fetched: &Fetched) -> Expression {
        match fetched.steps {
            WRITTEN_OUT => self.step.into(),
            _ => add(multiply(self.four, Expression::i32(WRITTEN_OUT as i32)), self.step),
        }
    }
}

/// A stretch of the innermost reduced axis; its first point and its length are multiples of the steps of a trip where the
/// length of the axis is.
pub(crate) struct Stretch {
    pub(crate) first: Expression,
    pub(crate) count: Expression,
}

/// A sum of products whose threads have blocks.
pub(crate) struct Product<'a> {
    phase: &'a Phase<'a>,
    batch: Vec<usize>,
    batches: Vec<usize>,
    row: Side<'a>,
    column: Side<'a>,
    across: Across,
    accumulators: ArrayId,
}

/// A block of a thread.
pub(crate) struct Placed {
    coordinates: Vec<Expression>,
    batch: Batch,
}

/// What gives a value for the coordinates of a row.
pub(crate) type OfRow<'f> = dyn Fn(&mut Emitter, &[Expression]) -> Result<LocalId, LowerError> + 'f;

/// Emits the phase.
pub(crate) fn emit(
    emitter: &mut Emitter,
    phase: &Phase,
    rows: usize,
    columns: usize,
    across: Across,
) -> Result<(), LowerError> {
    let contraction = Contraction::of_expression(phase.expr).expect("only contractions are blocked");
    let mut product = Product::new(emitter, phase, &contraction, [rows, columns], across);
    let blocks = product.blocks();
    let trips = emitter.operand(blocks.div_ceil(emitter.threads()) as i64)?;
    let limit = emitter.operand(blocks as i64)?;
    emitter.repeat(trips, false, |emitter, trip| {
        let number = thread_number(emitter, trip);
        emitter.when(Some(less(number, limit)), |emitter| {
            let placed = product.place(emitter, number.into())?;
            product.clear(emitter)?;
            product.reduce(emitter, &placed, None)?;
            product.store(emitter, &placed)
        })
    })
}

impl<'a> Product<'a> {
    pub(crate) fn new(
        emitter: &mut Emitter,
        phase: &'a Phase<'a>,
        contraction: &'a Contraction,
        [rows, columns]: [usize; 2],
        across: Across,
    ) -> Self {
        let batch = axes_of(phase, contraction, AxisClass::Batch);
        let batches = batch.iter().map(|&axis| phase.axes[axis].extent).collect();
        let per_thread = [(AxisClass::Row, rows), (AxisClass::Column, columns)];
        let fetched =
            per_thread.map(|(class, elements)| elements * in_memory(emitter, phase, contraction.factor(class)));
        let extent = phase.expr.reduced().last().map_or(1, |axis| phase.expr.axes[axis].extent);
        let ahead = fetched.map(|elements| if is_fetched_ahead(elements) { elements } else { 0 });
        let steps = steps_a_trip(extent, ahead);
        let [row, column] = per_thread.map(|own| side(emitter, phase, contraction, own, steps));
        let accumulators = emitter.array(ScalarType::F32, rows * columns);
        Self { phase, batch, batches, row, column, across, accumulators }
    }

    /// The number of blocks that cover the box.
    pub(crate) fn blocks(&self) -> usize {
        self.batches.iter().product::<usize>() * self.row.blocks * self.column.blocks
    }

    /// The block of this number.
    pub(crate) fn place(&mut self, emitter: &mut Emitter, number: Expression) -> Result<Placed, LowerError> {
        let phase = self.phase;
        let sides = match self.across {
            Across::Columns => [self.row.blocks, self.column.blocks],
            Across::Rows => [self.column.blocks, self.row.blocks],
        };
        let parts = decode_box(emitter, &[self.batches.iter().product(), sides[0], sides[1]], number)?;
        let [of_batch, outer, inner] = parts.try_into().expect("a position a part");
        let (of_row, of_column) = match self.across {
            Across::Columns => (outer, inner),
            Across::Rows => (inner, outer),
        };
        let mut coordinates = vec![Expression::i32(0); phase.expr.axes.len()];
        let batch = place_batch(emitter, phase, &self.batch, &self.batches, of_batch, &mut coordinates)?;
        place(emitter, phase, &mut self.row, of_row)?;
        place(emitter, phase, &mut self.column, of_column)?;
        Ok(Placed { coordinates, batch })
    }

    /// Sets the sums to 0.
    pub(crate) fn clear(&self, emitter: &mut Emitter) -> Result<(), LowerError> {
        let elements = Expression::i32((self.row.per_thread * self.column.per_thread) as i32);
        emitter.repeat(elements, true, |emitter, at| {
            emitter.push(set(self.accumulators, at.into(), Expression::f32(0.0)));
            Ok(())
        })
    }

    /// Adds the products along the reduction, or along a stretch of its innermost axis.
    pub(crate) fn reduce(
        &self,
        emitter: &mut Emitter,
        placed: &Placed,
        stretch: Option<&Stretch>,
    ) -> Result<(), LowerError> {
        let sides = [&self.row, &self.column];
        reduce(emitter, self.phase, sides, &placed.coordinates, self.accumulators, stretch)
    }

    /// Multiplies every sum by what `of_row` gives for the coordinates of its row.
    pub(crate) fn rescale_rows(
        &self,
        emitter: &mut Emitter,
        placed: &Placed,
        of_row: &OfRow,
    ) -> Result<(), LowerError> {
        emitter.repeat(Expression::i32(self.row.per_thread as i32), true, |emitter, row| {
            let mut coordinates = placed.coordinates.clone();
            element_axes(self.phase, &self.row, row, &mut coordinates);
            let value = of_row(emitter, &coordinates)?;
            emitter.repeat(Expression::i32(self.column.per_thread as i32), true, |emitter, column| {
                let at = accumulator_number(&self.column, row, column);
                let old = Expression::Element(self.accumulators, Box::new(at.clone()));
                emitter.push(set(self.accumulators, at, multiply(old, value)));
                Ok(())
            })
        })
    }

    /// Stores the elements that exist.
    pub(crate) fn store(&self, emitter: &mut Emitter, placed: &Placed) -> Result<(), LowerError> {
        let sides = [&self.row, &self.column];
        store(emitter, self.phase, sides, &placed.coordinates, &placed.batch, self.accumulators)
    }
}

pub(super) fn axes_of(phase: &Phase, contraction: &Contraction, class: AxisClass) -> Vec<usize> {
    let parallel = phase.expr.parallel().enumerate();
    parallel.filter(|(_, axis)| contraction.class(*axis) == class).map(|(position, _)| position).collect()
}

fn side<'a>(
    emitter: &mut Emitter,
    phase: &Phase,
    contraction: &'a Contraction,
    (class, per_thread): (AxisClass, usize),
    steps: usize,
) -> Side<'a> {
    let axes = axes_of(phase, contraction, class);
    let length: usize = axes.iter().map(|&axis| phase.axes[axis].extent).product();
    let factor = contraction.factor(class);
    Side {
        coordinates: axes.iter().map(|_| emitter.array(ScalarType::I32, per_thread)).collect(),
        axes,
        per_thread,
        blocks: length.div_ceil(per_thread),
        slots: emitter.array(ScalarType::I32, per_thread),
        real: None,
        exists: None,
        values: emitter.array(ScalarType::F32, per_thread),
        fetched: fetched_reads(emitter, phase, factor, (per_thread, steps)),
        steps,
        factor,
    }
}

/// Reads of a factor that a step makes of memory at a place that no data names.
fn in_memory(emitter: &Emitter, phase: &Phase, factor: &Scalar) -> usize {
    reads(factor).into_iter().filter(|read| is_in_memory(emitter, phase, *read)).count()
}

/// The reads of a factor that are fetched several steps at a time.
///
/// These are the reads of which one load brings four, and those of tensors in memory whose place no data names.
fn fetched_reads(
    emitter: &mut Emitter,
    phase: &Phase,
    factor: &Scalar,
    (per_thread, steps): (usize, usize),
) -> Vec<Fetched> {
    let point = Point::of(phase.stage, Vec::new(), &[]);
    let pipelined = is_fetched_ahead(in_memory(emitter, phase, factor) * per_thread);
    let mut found = Vec::new();
    for read in reads(factor) {
        let is_wide = point.is_wide(emitter, read);
        let ahead = pipelined && is_in_memory(emitter, phase, read);
        if is_wide || ahead {
            let steps = if ahead { steps } else { WRITTEN_OUT };
            let mut array = || emitter.array(ScalarType::F32, per_thread * steps);
            found.push(Fetched { read, is_wide, values: array(), steps, ahead: ahead.then(array) });
        }
    }
    found
}

/// Whether a read is of singles in memory that are there before the kernel begins, at a place that no data names.
fn is_in_memory(emitter: &Emitter, phase: &Phase, read: ReadId) -> bool {
    let stage = phase.stage.of(emitter.body());
    let read = &stage.expr.reads[read];
    let StageSource::Operand(operand) = stage.sources[read.operand] else { return false };
    let tensor = emitter.body().operands[operand];
    let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
    stage.expr.operands[read.operand].element.is_single()
        && !emitter.is_tagged(tensor)
        && read.index.iter().chain(conditions).all(Index::is_free_of_reads)
}

/// The loop along the reduction, some steps of its innermost axis at a time where they fit.
fn reduce(
    emitter: &mut Emitter,
    phase: &Phase,
    sides: [&Side; 2],
    coordinates: &[Expression],
    accumulators: ArrayId,
    stretch: Option<&Stretch>,
) -> Result<(), LowerError> {
    let axes: Vec<AxisId> = phase.expr.reduced().collect();
    let (&inner, outer) = axes.split_last().expect("a contraction reduces");
    let extent = phase.expr.axes[inner].extent;
    let from_start = |emitter: &mut Emitter, number: Expression| match stretch {
        Some(stretch) => emitter.bind(ScalarType::I32, add(stretch.first.clone(), number)).into(),
        None => number,
    };
    reduce_axes(emitter, phase.expr, outer, coordinates, &mut |emitter, coordinates| {
        let at = |number: Expression| {
            let mut coordinates = coordinates.to_vec();
            coordinates[inner.index()] = number;
            coordinates
        };
        let products = |emitter: &mut Emitter, coordinates: &[Expression], step: Option<TripStep>| {
            sides.iter().try_for_each(|side| fetch(emitter, phase, side, coordinates, step))?;
            multiply_block(emitter, sides[0], sides[1], accumulators)
        };
        if !extent.is_multiple_of(WRITTEN_OUT) {
            let count = match stretch {
                Some(stretch) => stretch.count.clone(),
                None => emitter.operand(extent as i64)?,
            };
            return emitter.repeat(count, false, |emitter, number| {
                let number = from_start(emitter, number.into());
                products(emitter, &at(number), None)
            });
        }
        let steps = sides[0].steps;
        let trips = match stretch {
            Some(stretch) => binary(BinaryOp::ShiftRight, stretch.count.clone(), Expression::i32(steps.ilog2() as i32)),
            None => emitter.operand((extent / steps) as i64)?,
        };
        let fetched = |emitter: &mut Emitter, relative: Expression| {
            let first = from_start(emitter, relative);
            emitter.bind(ScalarType::I32, first)
        };
        let ahead = extent > 0 && sides.iter().any(|side| side.fetched.iter().any(|read| read.ahead.is_some()));
        if ahead {
            let first = fetched(emitter, Expression::i32(0));
            sides.iter().try_for_each(|side| fetch_ahead(emitter, phase, side, &at, first))?;
        }
        emitter.repeat(trips.clone(), false, |emitter, trip| {
            let first = fetched(emitter, multiply(trip, Expression::i32(steps as i32)));
            sides.iter().try_for_each(|side| take_fetched(emitter, side))?;
            if ahead {
                fetch_behind(emitter, (trip, &trips), stretch.is_none(), &mut |emitter, behind| {
                    let first = fetched(emitter, multiply(behind, Expression::i32(steps as i32)));
                    sides.iter().try_for_each(|side| fetch_ahead(emitter, phase, side, &at, first))
                })?;
            }
            emitter.repeat(Expression::i32((steps / WRITTEN_OUT) as i32), true, |emitter, four| {
                let first = add(first, multiply(four, Expression::i32(WRITTEN_OUT as i32)));
                let first = emitter.bind(ScalarType::I32, first);
                sides.iter().try_for_each(|side| fetch_four(emitter, phase, side, &at(first.into())))?;
                emitter.repeat(Expression::i32(WRITTEN_OUT as i32), true, |emitter, step| {
                    let number = emitter.bind(ScalarType::I32, add(first, step));
                    products(emitter, &at(number.into()), Some(TripStep { four, step }))
                })
            })
        })
    })
}

/// Takes the steps of a trip from where they were fetched to ahead.
fn take_fetched(emitter: &mut Emitter, side: &Side) -> Result<(), LowerError> {
    for Fetched { values, steps, ahead, .. } in &side.fetched {
        let Some(ahead) = ahead else { continue };
        emitter.repeat(Expression::i32((side.per_thread * steps) as i32), true, |emitter, at| {
            emitter.push(set(*values, at.into(), element(*ahead, at)));
            Ok::<(), LowerError>(())
        })?;
    }
    Ok(())
}

/// Brings four steps of the reads that are not fetched ahead, for every element of the block.
fn fetch_four(emitter: &mut Emitter, phase: &Phase, side: &Side, coordinates: &[Expression]) -> Result<(), LowerError> {
    for Fetched { read, values, .. } in side.fetched.iter().filter(|read| read.ahead.is_none()) {
        emitter.repeat(Expression::i32(side.per_thread as i32), true, |emitter, at| {
            let first = multiply(at, Expression::i32(WRITTEN_OUT as i32));
            fetch_wide(emitter, phase, side, (*read, *values), coordinates, (at, first))
        })?;
    }
    Ok(())
}

/// Asks for the steps of a trip from `first` on of what is fetched ahead.
fn fetch_ahead(
    emitter: &mut Emitter,
    phase: &Phase,
    side: &Side,
    at_step: &dyn Fn(Expression) -> Vec<Expression>,
    first: LocalId,
) -> Result<(), LowerError> {
    for Fetched { read, is_wide, steps, ahead, .. } in &side.fetched {
        let Some(ahead) = *ahead else { continue };
        emitter.repeat(Expression::i32(side.per_thread as i32), true, |emitter, at| {
            if *is_wide {
                return emitter.repeat(Expression::i32((steps / WRITTEN_OUT) as i32), true, |emitter, four| {
                    let behind = multiply(four, Expression::i32(WRITTEN_OUT as i32));
                    let to = add(multiply(at, Expression::i32(*steps as i32)), behind.clone());
                    fetch_wide(emitter, phase, side, (*read, ahead), &at_step(add(first, behind)), (at, to))
                });
            }
            emitter.repeat(Expression::i32(*steps as i32), true, |emitter, step| {
                let mut coordinates = at_step(add(first, step));
                element_axes(phase, side, at, &mut coordinates);
                let to = add(multiply(at, Expression::i32(*steps as i32)), step);
                Point::of(phase.stage, coordinates, &[]).read_into(emitter, *read, ahead, to)
            })
        })?;
    }
    Ok(())
}

/// One load of four steps of a read, for an element of the side, into the array from `first` on.
fn fetch_wide(
    emitter: &mut Emitter,
    phase: &Phase,
    side: &Side,
    (read, to): (ReadId, ArrayId),
    coordinates: &[Expression],
    (at, first): (LocalId, Expression),
) -> Result<(), LowerError> {
    let mut coordinates = coordinates.to_vec();
    element_axes(phase, side, at, &mut coordinates);
    Point::of(phase.stage, coordinates, &[]).read_wide(emitter, (read, Width::Four), to, first)
}

/// The number of elements of the box from one position along an axis to the next.
pub(super) fn stride(phase: &Phase, axis: usize) -> usize {
    phase.axes[axis + 1..].iter().map(|axis| axis.extent).product()
}

/// What the batch axes add to the number in the box, whether the elements are to be stored, and whether they are no padding.
pub(crate) struct Batch {
    pub(super) slot: Expression,
    pub(super) real: Option<Expression>,
    pub(super) exists: Option<Expression>,
}

/// Coordinates of the batch axes.
pub(super) fn place_batch(
    emitter: &mut Emitter,
    phase: &Phase,
    axes: &[usize],
    extents: &[usize],
    number: Expression,
    coordinates: &mut [Expression],
) -> Result<Batch, LowerError> {
    let parallel = phase.parallel();
    let positions = decode_box(emitter, extents, number)?;
    let mut slot = Expression::i32(0);
    let (mut real, mut exists) = (None, None);
    for (&axis, position) in axes.iter().zip(positions) {
        let stride = emitter.operand(stride(phase, axis) as i64)?;
        slot = add(slot, multiply(position.clone(), stride));
        let found = phase.axes[axis].coordinate(emitter, position);
        coordinates[parallel[axis]] = found.value;
        real = both(real, found.kept);
        exists = both(exists, found.exists);
    }
    Ok(Batch { slot: emitter.bind(ScalarType::I32, slot).into(), real, exists })
}

/// Coordinates, numbers and reality of the elements of a side's block.
fn place(emitter: &mut Emitter, phase: &Phase, side: &mut Side, block: Expression) -> Result<(), LowerError> {
    let extents: Vec<usize> = side.axes.iter().map(|&axis| phase.axes[axis].extent).collect();
    let length: usize = extents.iter().product();
    let apart = emitter.operand(side.blocks as i64)?;
    let partial = !length.is_multiple_of(side.per_thread);
    let (mut real, mut exists) = (None, None);
    emitter.repeat(Expression::i32(side.per_thread as i32), true, |emitter, at| {
        let number = emitter.bind(ScalarType::I32, add(block, multiply(at, apart)));
        let (mut kept, mut found) = (None, None);
        let mut inside = Expression::Local(number);
        if partial {
            let limit = emitter.operand(length as i64)?;
            let last = emitter.operand(length as i64 - 1)?;
            kept = Some(less(number, limit));
            inside = emitter.bind(ScalarType::I32, binary(BinaryOp::Minimum, number, last)).into();
        }
        let mut slot = Expression::i32(0);
        let positions = decode_box(emitter, &extents, inside)?;
        for ((&axis, &array), position) in side.axes.iter().zip(&side.coordinates).zip(positions) {
            let stride = emitter.operand(stride(phase, axis) as i64)?;
            slot = add(slot, multiply(position.clone(), stride));
            let coordinate = phase.axes[axis].coordinate(emitter, position);
            emitter.push(set(array, at.into(), coordinate.value));
            kept = both(kept, coordinate.kept);
            found = both(found, coordinate.exists);
        }
        emitter.push(set(side.slots, at.into(), slot));
        for (condition, array) in [(kept, &mut real), (found, &mut exists)] {
            if let Some(condition) = condition {
                let conditions = emitter.array(ScalarType::Bool, side.per_thread);
                emitter.push(set(conditions, at.into(), condition));
                *array = Some(conditions);
            }
        }
        Ok::<(), LowerError>(())
    })?;
    (side.real, side.exists) = (real, exists);
    Ok(())
}

/// The coordinates of a side's element.
fn element_axes(phase: &Phase, side: &Side, at: LocalId, coordinates: &mut [Expression]) {
    let parallel = phase.parallel();
    for (&axis, &array) in side.axes.iter().zip(&side.coordinates) {
        coordinates[parallel[axis]] = element(array, at);
    }
}

/// The side's factor at one step, for every element of the block; `step` counts those of the fetched reads.
fn fetch(
    emitter: &mut Emitter,
    phase: &Phase,
    side: &Side,
    coordinates: &[Expression],
    step: Option<TripStep>,
) -> Result<(), LowerError> {
    emitter.repeat(Expression::i32(side.per_thread as i32), true, |emitter, at| {
        let mut coordinates = coordinates.to_vec();
        element_axes(phase, side, at, &mut coordinates);
        let mut point = Point::of(phase.stage, coordinates, &[]);
        for (fetched, step) in side.fetched.iter().zip(step.iter().cycle()) {
            let index = add(multiply(at, Expression::i32(fetched.steps as i32)), step.in_array(fetched));
            let loaded = emitter.bind(ScalarType::F32, Expression::Element(fetched.values, Box::new(index)));
            point.known_read(fetched.read, loaded);
        }
        let value = point.emit(emitter, side.factor)?;
        emitter.push(set(side.values, at.into(), value));
        Ok(())
    })
}

fn multiply_block(emitter: &mut Emitter, rows: &Side, columns: &Side, accumulators: ArrayId) -> Result<(), LowerError> {
    emitter.repeat(Expression::i32(rows.per_thread as i32), true, |emitter, row| {
        emitter.repeat(Expression::i32(columns.per_thread as i32), true, |emitter, column| {
            let at = accumulator_number(columns, row, column);
            let old = Expression::Element(accumulators, Box::new(at.clone()));
            let (left, right) = (element(rows.values, row), element(columns.values, column));
            emitter.push(set(
                accumulators,
                at,
                Expression::FusedMultiplyAdd(Box::new(left), Box::new(right), Box::new(old)),
            ));
            Ok(())
        })
    })
}

fn store(
    emitter: &mut Emitter,
    phase: &Phase,
    [rows, columns]: [&Side; 2],
    coordinates: &[Expression],
    batch: &Batch,
    accumulators: ArrayId,
) -> Result<(), LowerError> {
    let kept = |side: &Side, at: LocalId| side.real.map(|array| element(array, at));
    let exists = |side: &Side, at: LocalId| side.exists.map(|array| element(array, at));
    emitter.repeat(Expression::i32(rows.per_thread as i32), true, |emitter, row| {
        emitter.when(all([batch.real.clone(), kept(rows, row)]), |emitter| {
            emitter.repeat(Expression::i32(columns.per_thread as i32), true, |emitter, column| {
                emitter.when(kept(columns, column), |emitter| {
                    let mut coordinates = coordinates.to_vec();
                    element_axes(phase, rows, row, &mut coordinates);
                    element_axes(phase, columns, column, &mut coordinates);
                    let slot = add(batch.slot.clone(), add(element(rows.slots, row), element(columns.slots, column)));
                    let at = accumulator_number(columns, row, column);
                    let reduced = Expression::Element(accumulators, Box::new(at));
                    let exists = all([batch.exists.clone(), exists(rows, row), exists(columns, column)]);
                    phase.store(emitter, coordinates, slot, reduced, exists)
                })
            })
        })
    })
}

fn accumulator_number(columns: &Side, row: LocalId, column: LocalId) -> Expression {
    add(multiply(row, Expression::i32(columns.per_thread as i32)), column)
}

fn element(array: ArrayId, at: LocalId) -> Expression {
    Expression::Element(array, Box::new(at.into()))
}

fn set(array: ArrayId, index: Expression, value: Expression) -> Statement {
    Statement::Assign { place: Place::Element(array, index), value }
}
