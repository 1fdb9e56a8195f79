//! A phase with a thread an element: what several elements, or several taps of a reduction, read of memory is asked for before
//! the first value is used.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, ReadId, Reducer, TensorExpr};
use warpweave_plan::body::StageSource;
use warpweave_plan::template::staged::thread::{ELEMENTS, Taps};

use crate::kernel_ir::expression::{Builtin, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId};
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::arithmetic::scalar_type;
use crate::lower::emitter::{Emitter, add, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::reduce::{accumulate, neutral};
use crate::lower::scalar::Point;
use crate::lower::staged::phase::Sink;
use crate::lower::staged::phase::{Phase, reduce_axes, thread_number};
use crate::lower::tile::decode_box;

/// Emits the phase; its values go to shared memory.
pub(crate) fn emit(emitter: &mut Emitter, phase: &Phase) -> Result<(), LowerError> {
    let Sink::Shared { array, .. } = phase.sink else { unreachable!("outputs are emitted point by point elsewhere") };
    let volume = phase.volume();
    let each = ELEMENTS.min(volume.div_ceil(emitter.threads()));
    if phase.expr.reducer.is_none() && each > 1 && names_places(phase.expr) {
        return emit_together(emitter, phase, each);
    }
    let extents: Vec<usize> = phase.axes.iter().map(|axis| axis.extent).collect();
    let trips = emitter.operand(volume.div_ceil(emitter.threads()) as i64)?;
    let limit = emitter.operand(volume as i64)?;
    emitter.repeat(trips, false, |emitter, trip| {
        let number = thread_number(emitter, trip);
        emitter.when(Some(less(number, limit)), |emitter| {
            let positions = decode_box(emitter, &extents, number.into())?;
            let (coordinates, exists) = phase.coordinates(emitter, positions);
            let reduced = reduce(emitter, phase, &coordinates)?;
            let value = phase.finish(emitter, coordinates, reduced.map(Into::into))?;
            let value = phase.padded(emitter, value, exists)?;
            emitter.push(Statement::StoreShared { array, index: number.into(), values: vec![value] });
            Ok(())
        })
    })
}

/// Whether no place that an expression reads is named by data.
fn names_places(expr: &TensorExpr) -> bool {
    let mut free = true;
    expr.visit_indices(&mut |index: &Index| free &= index.is_free_of_reads());
    free
}

/// The reads of a phase's body from memory, with an array each for what is fetched together.
struct Fetched(Vec<(ReadId, ArrayId)>);

impl Fetched {
    fn new(emitter: &mut Emitter, phase: &Phase, count: usize) -> Result<Self, LowerError> {
        let stage = phase.stage.of(emitter.body());
        let mut found = Vec::new();
        for id in stage.expr.reads_of(&phase.expr.body) {
            let operand = stage.expr.reads[id].operand;
            if matches!(stage.sources[operand], StageSource::Operand(_)) {
                let scalar = scalar_type(emitter, stage.expr.operands[operand].element)?;
                found.push((id, emitter.array(scalar, count)));
            }
        }
        Ok(Self(found))
    }

    /// Fetches what is read at a point.
    fn fetch(&self, emitter: &mut Emitter, point: &mut Point, at: &Expression) -> Result<(), LowerError> {
        for &(id, array) in &self.0 {
            let value = point.read(emitter, id)?.into();
            emitter.push(Statement::Assign { place: Place::Element(array, at.clone()), value });
        }
        Ok(())
    }

    /// Lets a point take what was fetched for it.
    fn hand_to(&self, emitter: &mut Emitter, point: &mut Point, at: &Expression) -> Result<(), LowerError> {
        let stage = point.stage.of(emitter.body());
        for &(id, array) in &self.0 {
            let scalar = scalar_type(emitter, stage.expr.operands[stage.expr.reads[id].operand].element)?;
            let value = emitter.bind(scalar, Expression::Element(array, Box::new(at.clone())));
            point.known_read(id, value);
        }
        Ok(())
    }
}

/// Elements without a reduction, `each` of a thread at a time.
fn emit_together(emitter: &mut Emitter, phase: &Phase, each: usize) -> Result<(), LowerError> {
    let Sink::Shared { array, .. } = phase.sink else { unreachable!("the sink of a staged value") };
    let extents: Vec<usize> = phase.axes.iter().map(|axis| axis.extent).collect();
    let (volume, threads) = (phase.volume(), emitter.threads());
    let trips = emitter.operand(volume.div_ceil(threads * each) as i64)?;
    let limit = emitter.operand(volume as i64)?;
    let inside = &|number: LocalId| match volume.is_multiple_of(threads * each) {
        true => None,
        false => Some(less(number, limit.clone())),
    };
    let fetched = Fetched::new(emitter, phase, each)?;
    let coordinates: Vec<ArrayId> = phase.expr.axes.iter().map(|_| emitter.array(ScalarType::I32, each)).collect();
    let present = emitter.array(ScalarType::Bool, each);
    let count = || Expression::i32(each as i32);
    emitter.repeat(trips, false, |emitter, trip| {
        let of_trip = multiply(trip, Expression::i32((each * threads) as i32));
        let first = emitter.bind(ScalarType::I32, add(of_trip, Expression::Builtin(Builtin::Thread)));
        let number = |emitter: &mut Emitter, at: LocalId| {
            emitter.bind(ScalarType::I32, add(multiply(at, Expression::i32(threads as i32)), first))
        };
        let mut pads = false;
        emitter.repeat(count(), true, |emitter, at| {
            let number = number(emitter, at);
            emitter.when(inside(number), |emitter| {
                let positions = decode_box(emitter, &extents, number.into())?;
                let (axes, exists) = phase.coordinates(emitter, positions);
                for (&to, axis) in coordinates.iter().zip(&axes) {
                    emitter.push(Statement::Assign { place: Place::Element(to, at.into()), value: axis.clone() });
                }
                if let Some(exists) = exists {
                    pads = true;
                    emitter.push(Statement::Assign { place: Place::Element(present, at.into()), value: exists });
                }
                fetched.fetch(emitter, &mut Point::of(phase.stage, axes, &[]), &at.into())
            })
        })?;
        emitter.repeat(count(), true, |emitter, at| {
            let number = number(emitter, at);
            emitter.when(inside(number), |emitter| {
                let element = |array: ArrayId| Expression::Element(array, Box::new(at.into()));
                let axes = coordinates.iter().map(|&array| element(array)).collect();
                let mut point = Point::of(phase.stage, axes, &[]);
                fetched.hand_to(emitter, &mut point, &at.into())?;
                let value = point.emit(emitter, &phase.expr.body)?;
                let value = phase.padded(emitter, value, pads.then(|| element(present)))?;
                emitter.push(Statement::StoreShared { array, index: number.into(), values: vec![value] });
                Ok(())
            })
        })
    })
}

fn reduce(emitter: &mut Emitter, phase: &Phase, coordinates: &[Expression]) -> Result<Option<LocalId>, LowerError> {
    let Some(reducer) = phase.expr.reducer else { return Ok(None) };
    let element = phase.expr.body_element();
    let scalar = scalar_type(emitter, element)?;
    let start = neutral(emitter, reducer, element)?;
    let sum = Sum { accumulator: emitter.bind(scalar, start), reducer, scalar };
    let taps = Taps::of(phase.expr);
    if taps.count() > 1 && names_places(phase.expr) {
        let fetched = Fetched::new(emitter, phase, taps.count())?;
        reduce_axes(emitter, phase.expr, &taps.rolled, coordinates, &mut |emitter, at| {
            let start = Expression::i32(0);
            each_tap(emitter, phase.expr, &taps.written, (at.to_vec(), start.clone()), &mut |emitter, axes, tap| {
                fetched.fetch(emitter, &mut Point::of(phase.stage, axes, &[]), &tap)
            })?;
            each_tap(emitter, phase.expr, &taps.written, (at.to_vec(), start), &mut |emitter, axes, tap| {
                let mut point = Point::of(phase.stage, axes, &[]);
                fetched.hand_to(emitter, &mut point, &tap)?;
                sum.add(emitter, phase, &mut point)
            })
        })?;
        return Ok(Some(sum.accumulator));
    }
    let axes: Vec<AxisId> = phase.expr.reduced().collect();
    reduce_axes(emitter, phase.expr, &axes, coordinates, &mut |emitter, coordinates| {
        sum.add(emitter, phase, &mut Point::of(phase.stage, coordinates.to_vec(), &[]))
    })?;
    Ok(Some(sum.accumulator))
}

/// A running reduction.
struct Sum {
    accumulator: LocalId,
    reducer: Reducer,
    scalar: ScalarType,
}

impl Sum {
    fn add(&self, emitter: &mut Emitter, phase: &Phase, point: &mut Point) -> Result<(), LowerError> {
        accumulate(emitter, point, self.reducer, &phase.expr.body, self.accumulator, self.scalar)
    }
}

/// What is emitted at a tap, given the coordinates of all axes and its number.
type AtTap<'p> = dyn FnMut(&mut Emitter, Vec<Expression>, Expression) -> Result<(), LowerError> + 'p;

/// Nested loops over reduced axes, written out.
fn each_tap(
    emitter: &mut Emitter,
    expr: &TensorExpr,
    axes: &[AxisId],
    (coordinates, number): (Vec<Expression>, Expression),
    body: &mut AtTap,
) -> Result<(), LowerError> {
    let Some((&axis, rest)) = axes.split_first() else { return body(emitter, coordinates, number) };
    let extent = Expression::i32(expr.axes[axis].extent as i32);
    emitter.repeat(extent.clone(), true, |emitter, variable| {
        let mut coordinates = coordinates;
        coordinates[axis.index()] = variable.into();
        let number = add(multiply(number, extent), variable);
        each_tap(emitter, expr, rest, (coordinates, number), body)
    })
}
