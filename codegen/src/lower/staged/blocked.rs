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
use crate::lower::emitter::{Emitter, add, binary, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::scalar::Point;
use crate::lower::staged::phase::{Phase, fetch_behind, reduce_axes, thread_number};
use crate::lower::staged::sums::{Elements, OfRow, Placed, SumOrder, Sums, axes_of, extents};
use crate::lower::tile::decode_box;

/// The rows, or the columns, of a thread.
pub(crate) struct Side<'a> {
    factor: &'a Scalar,
    elements: Elements,
    /// Blocks along the side.
    blocks: usize,
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
    row: Side<'a>,
    column: Side<'a>,
    across: Across,
    sums: Sums,
}

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
        let per_thread = [(AxisClass::Row, rows), (AxisClass::Column, columns)];
        let fetched =
            per_thread.map(|(class, elements)| elements * in_memory(emitter, phase, contraction.factor(class)));
        let extent = phase.expr.reduced().last().map_or(1, |axis| phase.expr.axes[axis].extent);
        let ahead = fetched.map(|elements| if is_fetched_ahead(elements) { elements } else { 0 });
        let steps = steps_a_trip(extent, ahead);
        let [row, column] = per_thread.map(|own| side(emitter, phase, contraction, own, steps));
        let sums = Sums::new(emitter, SumOrder::Rows, [rows, columns]);
        Self { phase, batch, row, column, across, sums }
    }

    /// The number of blocks that cover the box.
    pub(crate) fn blocks(&self) -> usize {
        self.batches() * self.row.blocks * self.column.blocks
    }

    /// Points of the batch.
    fn batches(&self) -> usize {
        extents(self.phase, &self.batch).iter().product()
    }

    /// The block of this number.
    pub(crate) fn place(&mut self, emitter: &mut Emitter, number: Expression) -> Result<Placed, LowerError> {
        let phase = self.phase;
        let sides = match self.across {
            Across::Columns => [self.row.blocks, self.column.blocks],
            Across::Rows => [self.column.blocks, self.row.blocks],
        };
        let parts = decode_box(emitter, &[self.batches(), sides[0], sides[1]], number)?;
        let [of_batch, outer, inner] = parts.try_into().expect("a position a part");
        let (of_row, of_column) = match self.across {
            Across::Columns => (outer, inner),
            Across::Rows => (inner, outer),
        };
        let placed = Placed::new(emitter, phase, &self.batch, of_batch)?;
        self.row.place(emitter, phase, of_row)?;
        self.column.place(emitter, phase, of_column)?;
        Ok(placed)
    }

    /// Sets the sums to 0.
    pub(crate) fn clear(&self, emitter: &mut Emitter) -> Result<(), LowerError> {
        self.sums.clear(emitter)
    }

    /// Adds the products along the reduction, or along a stretch of its innermost axis.
    pub(crate) fn reduce(
        &self,
        emitter: &mut Emitter,
        placed: &Placed,
        stretch: Option<&Stretch>,
    ) -> Result<(), LowerError> {
        let sides = [&self.row, &self.column];
        reduce(emitter, self.phase, sides, &placed.coordinates, &self.sums, stretch)
    }

    /// Multiplies every sum by what `of_row` gives for the coordinates of its row.
    pub(crate) fn rescale_rows(
        &self,
        emitter: &mut Emitter,
        placed: &Placed,
        of_row: &OfRow,
    ) -> Result<(), LowerError> {
        self.sums.rescale_rows(emitter, (self.phase, &self.row.elements), placed, of_row)
    }

    /// Stores the elements that exist.
    pub(crate) fn store(&self, emitter: &mut Emitter, placed: &Placed) -> Result<(), LowerError> {
        self.sums.store(emitter, (self.phase, [&self.row.elements, &self.column.elements]), placed)
    }
}

impl Side<'_> {
    /// Finds the elements of a block of the side.
    fn place(&mut self, emitter: &mut Emitter, phase: &Phase, block: Expression) -> Result<(), LowerError> {
        let length: usize = extents(phase, &self.elements.axes).iter().product();
        let apart = emitter.operand(self.blocks as i64)?;
        let partial = !length.is_multiple_of(self.elements.count);
        self.elements.place(emitter, phase, (partial, 1), |at| add(block, multiply(at, apart)))
    }
}

fn side<'a>(
    emitter: &mut Emitter,
    phase: &Phase,
    contraction: &'a Contraction,
    (class, per_thread): (AxisClass, usize),
    steps: usize,
) -> Side<'a> {
    let axes = axes_of(phase, contraction, class);
    let length: usize = extents(phase, &axes).iter().product();
    let factor = contraction.factor(class);
    Side {
        elements: Elements::new(emitter, &axes, per_thread),
        blocks: length.div_ceil(per_thread),
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
    sums: &Sums,
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
            multiply_block(emitter, sides, sums)
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
        emitter.repeat(Expression::i32((side.elements.count * steps) as i32), true, |emitter, at| {
            emitter.push(set(*values, at.into(), element(*ahead, at)));
            Ok::<(), LowerError>(())
        })?;
    }
    Ok(())
}

/// Brings four steps of the reads that are not fetched ahead, for every element of the block.
fn fetch_four(emitter: &mut Emitter, phase: &Phase, side: &Side, coordinates: &[Expression]) -> Result<(), LowerError> {
    for Fetched { read, values, .. } in side.fetched.iter().filter(|read| read.ahead.is_none()) {
        emitter.repeat(Expression::i32(side.elements.count as i32), true, |emitter, at| {
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
        emitter.repeat(Expression::i32(side.elements.count as i32), true, |emitter, at| {
            if *is_wide {
                return emitter.repeat(Expression::i32((steps / WRITTEN_OUT) as i32), true, |emitter, four| {
                    let behind = multiply(four, Expression::i32(WRITTEN_OUT as i32));
                    let to = add(multiply(at, Expression::i32(*steps as i32)), behind.clone());
                    fetch_wide(emitter, phase, side, (*read, ahead), &at_step(add(first, behind)), (at, to))
                });
            }
            emitter.repeat(Expression::i32(*steps as i32), true, |emitter, step| {
                let mut coordinates = at_step(add(first, step));
                side.elements.set(phase, at, &mut coordinates);
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
    side.elements.set(phase, at, &mut coordinates);
    Point::of(phase.stage, coordinates, &[]).read_wide(emitter, (read, Width::Four), to, first)
}

/// The side's factor at one step, for every element of the block; `step` counts those of the fetched reads.
fn fetch(
    emitter: &mut Emitter,
    phase: &Phase,
    side: &Side,
    coordinates: &[Expression],
    step: Option<TripStep>,
) -> Result<(), LowerError> {
    emitter.repeat(Expression::i32(side.elements.count as i32), true, |emitter, at| {
        let mut coordinates = coordinates.to_vec();
        side.elements.set(phase, at, &mut coordinates);
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

fn multiply_block(emitter: &mut Emitter, sides: [&Side; 2], sums: &Sums) -> Result<(), LowerError> {
    let [rows, columns] = sides;
    emitter.repeat(Expression::i32(rows.elements.count as i32), true, |emitter, row| {
        emitter.repeat(Expression::i32(columns.elements.count as i32), true, |emitter, column| {
            let at = sums.number(row, column);
            let old = Expression::Element(sums.accumulators, Box::new(at.clone()));
            let (left, right) = (element(rows.values, row), element(columns.values, column));
            emitter.push(set(
                sums.accumulators,
                at,
                Expression::FusedMultiplyAdd(Box::new(left), Box::new(right), Box::new(old)),
            ));
            Ok(())
        })
    })
}

fn element(array: ArrayId, at: LocalId) -> Expression {
    Expression::Element(array, Box::new(at.into()))
}

fn set(array: ArrayId, index: Expression, value: Expression) -> Statement {
    Statement::Assign { place: Place::Element(array, index), value }
}
