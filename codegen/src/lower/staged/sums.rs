//! What threads keep of a sum of products, whatever multiplies: the sums of some rows and columns of a phase's box.

use warpweave_plan::template::contraction::{AxisClass, Contraction};

use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId};
use crate::lower::arithmetic::set;
use crate::lower::contraction::unit::mma;
use crate::lower::emitter::{Emitter, add, binary, both, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::staged::phase::{Phase, all};
use crate::lower::tile::{Bounds, PhaseAxis, decode_box};

/// Some rows, or columns, of the box: an element of each array one.
pub(crate) struct Elements {
    /// Positions among the phase's axes.
    pub(super) axes: Vec<usize>,
    pub(super) count: usize,
    /// Coordinates, an array an axis.
    coordinates: Vec<ArrayId>,
    /// What they add to the number in the box.
    slots: ArrayId,
    /// Whether they are to be stored; absent if all are.
    real: Option<ArrayId>,
    /// Whether they are no padding; absent if all are none.
    exists: Option<ArrayId>,
}

/// The place of a block: coordinates of its batch, and what that says of its elements.
pub(crate) struct Placed {
    pub(super) coordinates: Vec<Expression>,
    batch: Batch,
}

/// What the batch axes add to the number in the box, whether the elements are to be stored, and whether they are no padding.
struct Batch {
    slot: Expression,
    real: Option<Expression>,
    exists: Option<Expression>,
}

/// In which order the sums of a thread lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SumOrder {
    /// Row by row.
    Rows,
    /// As products of matrices leave them.
    Products,
}

/// The sums of a thread.
pub(super) struct Sums {
    pub(super) accumulators: ArrayId,
    order: SumOrder,
    /// Its rows and its columns.
    counts: [usize; 2],
}

/// What gives a value for the coordinates of a row.
pub(crate) type OfRow<'f> = dyn Fn(&mut Emitter, &[Expression]) -> Result<LocalId, LowerError> + 'f;

impl Sums {
    pub(super) fn new(emitter: &mut Emitter, order: SumOrder, counts: [usize; 2]) -> Self {
        Self { accumulators: emitter.array(ScalarType::F32, counts[0] * counts[1]), order, counts }
    }

    /// Which is that of a row and a column of the thread.
    pub(super) fn number(&self, row: LocalId, column: LocalId) -> Expression {
        match self.order {
            SumOrder::Rows => add(multiply(row, Expression::i32(self.counts[1] as i32)), column),
            SumOrder::Products => mma::sum(row.into(), column.into(), self.counts[1]),
        }
    }

    fn element(&self, row: LocalId, column: LocalId) -> Expression {
        Expression::Element(self.accumulators, Box::new(self.number(row, column)))
    }

    /// Sets them to 0.
    pub(super) fn clear(&self, emitter: &mut Emitter) -> Result<(), LowerError> {
        let count = Expression::i32((self.counts[0] * self.counts[1]) as i32);
        emitter.repeat(count, true, |emitter, at| {
            emitter.push(set(self.accumulators, at.into(), Expression::f32(0.0)));
            Ok(())
        })
    }

    /// Multiplies each by what `of_row` gives for the coordinates of its row.
    pub(super) fn rescale_rows(
        &self,
        emitter: &mut Emitter,
        (phase, rows): (&Phase, &Elements),
        placed: &Placed,
        of_row: &OfRow,
    ) -> Result<(), LowerError> {
        let [row_count, column_count] = self.counts.map(|count| Expression::i32(count as i32));
        emitter.repeat(row_count, true, |emitter, row| {
            let mut coordinates = placed.coordinates.clone();
            rows.set(phase, row, &mut coordinates);
            let value = of_row(emitter, &coordinates)?;
            emitter.repeat(column_count, true, |emitter, column| {
                let rescaled = multiply(self.element(row, column), value);
                emitter.push(set(self.accumulators, self.number(row, column), rescaled));
                Ok(())
            })
        })
    }

    /// Stores those of the elements that exist.
    pub(super) fn store(
        &self,
        emitter: &mut Emitter,
        (phase, [rows, columns]): (&Phase, [&Elements; 2]),
        placed: &Placed,
    ) -> Result<(), LowerError> {
        let of = |array: Option<ArrayId>, at: LocalId| array.map(|array| element(array, at));
        let batch = &placed.batch;
        let [row_count, column_count] = self.counts.map(|count| Expression::i32(count as i32));
        emitter.repeat(row_count, true, |emitter, row| {
            emitter.when(all([batch.real.clone(), of(rows.real, row)]), |emitter| {
                emitter.repeat(column_count, true, |emitter, column| {
                    emitter.when(of(columns.real, column), |emitter| {
                        let mut coordinates = placed.coordinates.clone();
                        rows.set(phase, row, &mut coordinates);
                        columns.set(phase, column, &mut coordinates);
                        let slot =
                            add(batch.slot.clone(), add(element(rows.slots, row), element(columns.slots, column)));
                        let exists = all([batch.exists.clone(), of(rows.exists, row), of(columns.exists, column)]);
                        phase.store(emitter, coordinates, slot, self.element(row, column), exists)
                    })
                })
            })
        })
    }
}

impl Placed {
    /// The block of a number among those of the batch.
    pub(super) fn new(
        emitter: &mut Emitter,
        phase: &Phase,
        axes: &[usize],
        number: Expression,
    ) -> Result<Self, LowerError> {
        let mut coordinates = vec![Expression::i32(0); phase.expr.axes.len()];
        let parallel = phase.parallel();
        let positions = decode_box(emitter, &extents(phase, axes), number)?;
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
        let slot = emitter.bind(ScalarType::I32, slot).into();
        Ok(Self { coordinates, batch: Batch { slot, real, exists } })
    }
}

impl Elements {
    pub(super) fn new(emitter: &mut Emitter, axes: &[usize], count: usize) -> Self {
        Self {
            coordinates: axes.iter().map(|_| emitter.array(ScalarType::I32, count)).collect(),
            axes: axes.to_vec(),
            count,
            slots: emitter.array(ScalarType::I32, count),
            real: None,
            exists: None,
        }
    }

    /// Finds their coordinates. `number` gives the number in the box of each, or the first of `run` neighbours; `partial` says whether
    /// some may lie beyond the box.
    pub(super) fn place(
        &mut self,
        emitter: &mut Emitter,
        phase: &Phase,
        (partial, run): (bool, usize),
        number: impl FnOnce(LocalId) -> Expression,
    ) -> Result<(), LowerError> {
        let extents = extents(phase, &self.axes);
        let length: usize = extents.iter().product();
        let innermost = self.axes.iter().copied().rfind(|&axis| phase.axes[axis].extent > 1);
        let (mut real, mut exists) = (None, None);
        emitter.repeat(Expression::i32(self.count as i32), true, |emitter, at| {
            let number = emitter.bind(ScalarType::I32, number(at));
            let (mut kept, mut found) = (None, None);
            let mut inside = Expression::Local(number);
            if partial {
                let limit = emitter.operand(length as i64)?;
                let last = emitter.operand((length - run.min(length)) as i64)?;
                kept = Some(less(number, limit));
                inside = emitter.bind(ScalarType::I32, binary(BinaryOp::Minimum, number, last)).into();
            }
            let mut slot = Expression::i32(0);
            let positions = decode_box(emitter, &extents, inside)?;
            for ((&axis, &array), position) in self.axes.iter().zip(&self.coordinates).zip(positions) {
                let stride = emitter.operand(stride(phase, axis) as i64)?;
                slot = add(slot, multiply(position.clone(), stride));
                let run = if Some(axis) == innermost { run } else { 1 };
                let (value, kept_here, found_here) = coordinate(emitter, &phase.axes[axis], position, run);
                emitter.push(set(array, at.into(), value));
                kept = both(kept, kept_here);
                found = both(found, found_here);
            }
            emitter.push(set(self.slots, at.into(), slot));
            for (condition, array) in [(kept, &mut real), (found, &mut exists)] {
                if let Some(condition) = condition {
                    let conditions = emitter.array(ScalarType::Bool, self.count);
                    emitter.push(set(conditions, at.into(), condition));
                    *array = Some(conditions);
                }
            }
            Ok::<(), LowerError>(())
        })?;
        (self.real, self.exists) = (real, exists);
        Ok(())
    }

    /// Sets the coordinates of one.
    pub(super) fn set(&self, phase: &Phase, at: LocalId, coordinates: &mut [Expression]) {
        let parallel = phase.parallel();
        for (&axis, &array) in self.axes.iter().zip(&self.coordinates) {
            coordinates[parallel[axis]] = element(array, at);
        }
    }
}

/// The positions among the phase's axes of those of a class.
pub(super) fn axes_of(phase: &Phase, contraction: &Contraction, class: AxisClass) -> Vec<usize> {
    let parallel = phase.expr.parallel().enumerate();
    parallel.filter(|(_, axis)| contraction.class(*axis) == class).map(|(position, _)| position).collect()
}

/// The extents of the box along some axes.
pub(super) fn extents(phase: &Phase, axes: &[usize]) -> Vec<usize> {
    axes.iter().map(|&axis| phase.axes[axis].extent).collect()
}

/// The number of elements of the box from one position along an axis to the next.
fn stride(phase: &Phase, axis: usize) -> usize {
    phase.axes[axis + 1..].iter().map(|axis| axis.extent).product()
}

fn element(array: ArrayId, at: LocalId) -> Expression {
    Expression::Element(array, Box::new(at.into()))
}

/// The coordinate of a position, or of the first of `run` neighbours, at the edge where it lies beyond it; whether it is to be stored,
/// and whether it is no padding.
fn coordinate(
    emitter: &mut Emitter,
    axis: &PhaseAxis,
    position: Expression,
    run: usize,
) -> (Expression, Option<Expression>, Option<Expression>) {
    match &axis.bounds {
        Bounds::Ragged(limit) if run > 1 => {
            let plain = emitter.bind(ScalarType::I32, add(axis.first.clone(), position));
            let last = binary(BinaryOp::Subtract, limit.clone(), Expression::i32(run as i32));
            let value = emitter.bind(ScalarType::I32, binary(BinaryOp::Minimum, plain, last));
            (value.into(), Some(less(plain, limit.clone())), None)
        }
        _ => {
            let found = axis.coordinate(emitter, position);
            (found.value, found.kept, found.exists)
        }
    }
}
