//! One point of a tile after another.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, Read, ReadId, Reducer, Scalar, TensorExpr};
use warpweave_graph::program::TensorId;
use warpweave_plan::body::{Stage, StageSource};
use warpweave_plan::plan::polled_together;

use crate::kernel_ir::expression::{Expression, ScalarType};
use crate::kernel_ir::ids::LocalId;
use crate::lower::arithmetic::scalar_type;
use crate::lower::emitter::{Emitter, add, multiply};
use crate::lower::error::LowerError;
use crate::lower::reduce::{accumulate, combine, neutral, reduced_value};
use crate::lower::scalar::Point;
use crate::lower::shared_values::SharedValues;
use crate::lower::store::{bind_value, store};
use crate::lower::tile::TileAxes;

/// Emits every stage at the point of the tile with this number, if there is one.
pub(crate) fn emit_point(
    emitter: &mut Emitter,
    tile: &TileAxes,
    axes: &[usize],
    number: LocalId,
    per_thread: usize,
) -> Result<(), LowerError> {
    let (coordinates, inside) = tile.decode(emitter, axes, number, per_thread * emitter.threads())?;
    let coordinates: Vec<Expression> = coordinates.into_iter().map(Expression::Local).collect();
    emitter.when(inside, |emitter| {
        let mut stages: Vec<Option<LocalId>> = Vec::new();
        let count = emitter.body().stages.len();
        let polled = (0..count).find(|stage| PolledSum::of(emitter, *stage).is_some());
        let mut beside = Beside::new();
        let mut shared = SharedValues::new(emitter.body());
        for stage in 0..count {
            if polled == Some(stage) {
                beside = load_beside_polls(emitter, stage, &coordinates)?;
            }
            let value = emit_stage(emitter, stage, &coordinates, (&stages, &beside), &mut shared)?;
            stages.push(Some(value));
        }
        Ok(())
    })
}

fn emit_stage(
    emitter: &mut Emitter,
    stage: usize,
    tile: &[Expression],
    (stages, beside): (&[Option<LocalId>], &Beside),
    shared: &mut SharedValues,
) -> Result<LocalId, LowerError> {
    let expr = &emitter.body().stages[stage].expr;
    let mut point = Point::new(stage, tile.to_vec(), stages);
    let own = beside.iter().filter(|((of, _), _)| *of == stage);
    own.for_each(|((_, read), local)| point.known_read(*read, *local));
    if let Some(reducer) = expr.reducer {
        let element = expr.body_element();
        let reduced = scalar_type(emitter, element)?;
        let start = neutral(emitter, reducer, element)?;
        let accumulator = emitter.bind(reduced, start);
        match PolledSum::of(emitter, stage) {
            Some(sum) => sum.emit(emitter, tile, accumulator)?,
            None => {
                let axes: Vec<AxisId> = expr.reduced().collect();
                point.load_places(emitter, expr.indirect_indices_by_reduction().0)?;
                let places = &point.places;
                reduce_over(emitter, expr, &axes, tile.to_vec(), &mut |emitter, axes| {
                    let mut inner = Point::new(stage, axes, stages);
                    inner.places.clone_from(places);
                    accumulate(emitter, &mut inner, reducer, &expr.body, accumulator, reduced)
                })?;
            }
        }
        point.reduced = Some(reduced_value(emitter, reducer, element, accumulator));
    }
    let result = shared.emit(emitter, &mut point, stage)?;
    let value = bind_value(emitter, stage, result)?;
    store(emitter, &mut point, stage, value)?;
    Ok(value)
}

/// Values of reads that are not polled, by stage and read.
type Beside = BTreeMap<(usize, ReadId), LocalId>;

/// Loads what a stage and those behind it read once a point while the sum that the stage polls is under way, so that the two
/// latencies overlap.
fn load_beside_polls(emitter: &mut Emitter, first: usize, tile: &[Expression]) -> Result<Beside, LowerError> {
    let body = emitter.body();
    let mut beside = Beside::new();
    let mut known: HashMap<(TensorId, Read), LocalId> = HashMap::new();
    for (stage, Stage { expr, sources, .. }) in body.stages.iter().enumerate().skip(first) {
        let once = expr.epilogue.as_ref().or_else(|| expr.reducer.is_none().then_some(&expr.body));
        let mut point = Point::new(stage, tile.to_vec(), &[]);
        for read in once.into_iter().flat_map(|scalar| expr.reads_of(scalar)) {
            let at = &expr.reads[read];
            let StageSource::Operand(operand) = sources[at.operand] else { continue };
            let tensor = body.operands[operand];
            if at.is_free_of_reads() && !emitter.is_tagged(tensor) {
                let local = match known.entry((tensor, Read { operand: 0, ..at.clone() })) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(new) => *new.insert(point.read(emitter, read)?),
                };
                beside.insert((stage, read), local);
            }
        }
    }
    Ok(beside)
}

/// The sum of values that carry their own validity, along one axis: several are asked for at once, and added in their order.
pub(super) struct PolledSum {
    stage: usize,
    read: ReadId,
    /// Values to add.
    extent: usize,
    /// Elements from one to the next.
    apart: i64,
    /// Values asked for at once.
    each: usize,
}

impl PolledSum {
    pub(super) fn of(emitter: &Emitter, stage: usize) -> Option<Self> {
        let Stage { expr, sources, .. } = &emitter.body().stages[stage];
        let (Some(Reducer::Sum), &Scalar::Read(read)) = (expr.reducer, &expr.body) else { return None };
        let StageSource::Operand(operand) = sources[expr.reads[read].operand] else { return None };
        let tensor = emitter.body().operands[operand];
        let axes: Vec<AxisId> = expr.reduced().collect();
        let (&[axis], true) = (axes.as_slice(), emitter.is_tagged(tensor)) else { return None };
        let layout = &emitter.memory.tensors[tensor].layout;
        let linear = Index::linear(&expr.reads[read].index, &layout.strides, layout.offset);
        let extent = expr.axes[axis].extent;
        let each = polled_together(extent);
        let is_plain = linear.is_affine() && expr.reads[read].guard.is_always();
        is_plain.then(|| Self { stage, read, extent, apart: linear.coefficient(axis), each })
    }

    fn emit(&self, emitter: &mut Emitter, tile: &[Expression], accumulator: LocalId) -> Result<(), LowerError> {
        let values = emitter.array(ScalarType::F32, self.each);
        let trips = emitter.operand((self.extent / self.each) as i64)?;
        emitter.repeat(trips, false, |emitter, trip| {
            let first = multiply(trip, Expression::i32(self.each as i32));
            let point = tile.iter().cloned().chain([first]).collect();
            let apart = emitter.operand(self.apart)?;
            Point::new(self.stage, point, &[]).poll(emitter, self.read, values, (self.each as u32, Some(apart)))?;
            for at in 0..self.each {
                let value = Expression::Element(values, Box::new(Expression::i32(at as i32)));
                emitter.assign(accumulator, combine(Reducer::Sum, accumulator.into(), value));
            }
            Ok(())
        })
    }
}

/// What is emitted at one point, given the coordinates of all axes.
type AtPoint<'p> = dyn FnMut(&mut Emitter, Vec<Expression>) -> Result<(), LowerError> + 'p;

/// Values of a reduction that are asked for before the first is looked at.
const TOGETHER: usize = 16;
/// The same where a loop remains around them.
const TOGETHER_IN_LOOP: usize = 8;

/// Nested loops over reduced axes; `body` gets the coordinates of all axes. The innermost loops are written out, so that
/// their loads are under way together.
fn reduce_over(
    emitter: &mut Emitter,
    expr: &TensorExpr,
    axes: &[AxisId],
    coordinates: Vec<Expression>,
    body: &mut AtPoint,
) -> Result<(), LowerError> {
    let Some((&axis, rest)) = axes.split_first() else { return body(emitter, coordinates) };
    debug_assert_eq!(coordinates.len(), axis.index(), "reduced axes follow the tile axes");
    let extent = expr.axes[axis].extent;
    let inner: usize = rest.iter().map(|&axis| expr.axes[axis].extent).product();
    let mut at = |emitter: &mut Emitter, coordinate: Expression| {
        let coordinates = coordinates.iter().cloned().chain([coordinate]).collect();
        reduce_over(emitter, expr, rest, coordinates, body)
    };
    if extent * inner <= TOGETHER {
        return emitter.repeat(Expression::i32(extent as i32), true, |emitter, variable| at(emitter, variable.into()));
    }
    if rest.is_empty() && extent.is_multiple_of(TOGETHER_IN_LOOP) {
        let trips = emitter.operand((extent / TOGETHER_IN_LOOP) as i64)?;
        return emitter.repeat(trips, false, |emitter, trip| {
            emitter.repeat(Expression::i32(TOGETHER_IN_LOOP as i32), true, |emitter, part| {
                at(emitter, add(multiply(trip, Expression::i32(TOGETHER_IN_LOOP as i32)), part))
            })
        });
    }
    let extent = emitter.operand(extent as i64)?;
    emitter.repeat(extent, false, |emitter, variable| at(emitter, variable.into()))
}
