//! The row template: a warp or the whole block shares a row.
//!
//! Reductions run across lanes and end with every lane holding the result; later stages read it and run along the row.
//! Softmax, the normalisations, means over long axes, and products of a matrix and a vector.

use std::collections::HashMap;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Guard, Index, IndirectIndex, Read, ReadId, Reducer, Scalar};
use warpweave_plan::body::{Stage, StageSource};
use warpweave_plan::template::row::RowThreads;
use warpweave_plan::template::row::rounds::{RUN, Round, is_fixed_along_row, is_shared, rounds};
use warpweave_plan::template::rules::Rules;

use crate::kernel_ir::expression::{BinaryOp, Builtin, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId};
use crate::kernel_ir::memory::WARP_SIZE;
use crate::kernel_ir::memory::{MemoryType, ShuffleMode, Width};
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::arithmetic::scalar_type;
use crate::lower::emitter::{Emitter, add, binary, both, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::reduce::{accumulate, combine, neutral, reduced_value};
use crate::lower::scalar::Point;
use crate::lower::store::{bind_value, store};
use crate::lower::tile::{TileAxes, decode_box};

/// The row that a thread works on.
pub(crate) struct Row {
    /// Coordinates of its axes; those of the tile's first row where there is no row of its own.
    pub(crate) coordinates: Vec<Expression>,
    /// Under which condition the row is real; absent if it always is.
    pub(crate) real: Option<Expression>,
    /// The thread's number among those that share the row.
    pub(crate) lane: LocalId,
    threads: RowThreads,
}

impl Row {
    fn width(&self) -> usize {
        match self.threads {
            RowThreads::Warp => WARP_SIZE as usize,
            RowThreads::Block => self.threads.block_size().threads(),
        }
    }
}

pub(crate) fn emit(emitter: &mut Emitter, threads: RowThreads) -> Result<(), LowerError> {
    let tile = TileAxes::emit(emitter)?;
    let thread = emitter.bind(ScalarType::I32, Expression::Builtin(Builtin::Thread));
    let axes: Vec<usize> = (0..emitter.body().tile_rank).collect();
    let warps = emitter.warps();
    let trips = tile.volume(&axes).div_ceil(warps);
    match threads {
        RowThreads::Block => {
            let row = Row { coordinates: tile.origin(), real: None, lane: thread, threads };
            emit_stages(emitter, &row)
        }
        RowThreads::Warp => {
            let warp = emitter.bind(ScalarType::I32, binary(BinaryOp::ShiftRight, thread, Expression::i32(5)));
            let lane = emitter.bind(ScalarType::I32, binary(BinaryOp::BitAnd, thread, Expression::i32(31)));
            if trips <= 1 {
                let row = emit_row(emitter, &tile, &axes, (warp, lane), warps)?;
                return emit_stages(emitter, &row);
            }
            let count = emitter.operand(trips as i64)?;
            emitter.repeat(count, false, |emitter, trip| {
                let first = multiply(trip, Expression::i32(warps as i32));
                let number = emitter.bind(ScalarType::I32, add(first, warp));
                let row = emit_row(emitter, &tile, &axes, (number, lane), trips * warps)?;
                emit_stages(emitter, &row)
            })
        }
    }
}

/// All stages on one row, reductions side by side where they can be.
fn emit_stages(emitter: &mut Emitter, row: &Row) -> Result<(), LowerError> {
    let mut stages: Vec<Option<LocalId>> = Vec::new();
    for round in rounds(emitter.body()) {
        let first = round.stages.start;
        if emitter.body().stages[first].expr.reducer.is_some() {
            emit_reductions(emitter, row, &round, &mut stages)?;
        } else {
            emit_along(emitter, row, first, &stages)?;
            stages.push(None);
        }
    }
    Ok(())
}

/// The row of this number along some axes of the tile, of which there are `numbers`, shared by a warp. Its coordinates are
/// those of these axes.
pub(crate) fn emit_row(
    emitter: &mut Emitter,
    tile: &TileAxes,
    axes: &[usize],
    (number, lane): (LocalId, LocalId),
    numbers: usize,
) -> Result<Row, LowerError> {
    let threads = RowThreads::Warp;
    let (coordinates, real) = tile.decode(emitter, axes, number, numbers)?;
    let Some(real) = real else {
        let coordinates = coordinates.into_iter().map(Expression::Local).collect();
        return Ok(Row { coordinates, real: None, lane, threads });
    };
    let real = Expression::Local(emitter.bind(ScalarType::Bool, real));
    let origin = tile.origin();
    let clamped = coordinates.into_iter().zip(axes).map(|(coordinate, &axis)| {
        let first = Box::new(origin[axis].clone());
        let chosen = Expression::Select(Box::new(real.clone()), Box::new(coordinate.into()), first);
        Expression::Local(emitter.bind(ScalarType::I32, chosen))
    });
    Ok(Row { coordinates: clamped.collect(), real: Some(real), lane, threads })
}

/// The reductions of a round across the row's threads; every thread gets the results.
fn emit_reductions(
    emitter: &mut Emitter,
    row: &Row,
    round: &Round,
    stages: &mut Vec<Option<LocalId>>,
) -> Result<(), LowerError> {
    let mut accumulators: Vec<Accumulator> = Vec::with_capacity(round.stages.len());
    for stage in round.stages.clone() {
        let places = row_places(emitter, row, stage, stages)?;
        accumulators.push(Accumulator { places, ..Accumulator::emit(emitter, stage)? });
    }
    accumulate_round(emitter, row, round, &accumulators, stages)?;
    across_lanes(emitter, &accumulators);
    for accumulator in &accumulators {
        if row.threads == RowThreads::Block {
            across_warps(emitter, row, accumulator)?;
        }
        let expr = &emitter.body().stages[accumulator.stage].expr;
        let known = stages.clone();
        let mut point = Point::new(accumulator.stage, row.coordinates.clone(), &known);
        let reduced = reduced_value(emitter, accumulator.reducer, expr.body_element(), accumulator.local);
        point.reduced = Some(reduced.clone());
        let result = match &expr.epilogue {
            Some(epilogue) => point.emit(emitter, epilogue)?,
            None => reduced,
        };
        let value = bind_value(emitter, accumulator.stage, result)?;
        if emitter.body().stages[accumulator.stage].output.is_some() {
            let first = binary(BinaryOp::Equal, row.lane, Expression::i32(0));
            let stage = accumulator.stage;
            emitter.when(both(row.real.clone(), Some(first)), |emitter| store(emitter, &mut point, stage, value))?;
        }
        stages.push(Some(value));
    }
    Ok(())
}

/// The places that reads of a stage name and that are the same all along a row, checked once.
fn row_places(
    emitter: &mut Emitter,
    row: &Row,
    stage: usize,
    stages: &[Option<LocalId>],
) -> Result<HashMap<IndirectIndex, LocalId>, LowerError> {
    let body = emitter.body();
    let expr = &body.stages[stage].expr;
    let mut coordinates = row.coordinates.clone();
    coordinates.resize(expr.axes.len(), Expression::i32(0));
    let mut point = Point::new(stage, coordinates, stages);
    let reads = expr.reads_of(&expr.body).into_iter().map(|id| &expr.reads[id]);
    let in_memory = |read: &&Read| matches!(body.stages[stage].sources[read.operand], StageSource::Operand(_));
    let indices = reads.filter(in_memory).flat_map(|read| &read.index);
    point.load_indirect(emitter, indices.filter(|index| is_fixed_along_row(body, expr, index)))?;
    Ok(point.places)
}

/// The walk along the row, every reduction of the round at each of its points.
fn accumulate_round(
    emitter: &mut Emitter,
    row: &Row,
    round: &Round,
    accumulators: &[Accumulator],
    stages: &[Option<LocalId>],
) -> Result<(), LowerError> {
    let stage = round.stages.start;
    let axes: Vec<AxisId> = emitter.body().stages[stage].expr.reduced().collect();
    let reads = round.reads(emitter.body());
    let is_wide = |emitter: &Emitter| {
        reads.iter().all(|&(stage, id, _)| Point::new(stage, Vec::new(), stages).is_wide(emitter, id))
    };
    if round.run == 1 || !is_wide(emitter) {
        return emit_points(emitter, row, stage, &axes, 1, |emitter, coordinates| {
            accumulate_point(emitter, &coordinates, accumulators, stages, HashMap::new())
        });
    }
    emit_points(emitter, row, stage, &axes, round.run, |emitter, coordinates| {
        let mut runs: Vec<ArrayId> = Vec::with_capacity(reads.len());
        for &(stage, id, _) in &reads {
            runs.push(fetch_run(emitter, stage, id, &coordinates, stages)?);
        }
        emitter.repeat(Expression::i32(round.run as i32), true, |emitter, step| {
            let mut loaded = HashMap::new();
            for (&(stage, _, read), &array) in reads.iter().zip(&runs) {
                let value = emitter.bind(ScalarType::F32, Expression::Element(array, Box::new(step.into())));
                loaded.insert(place_of(&emitter.body().stages[stage], read), value);
            }
            accumulate_point(emitter, &coordinates, accumulators, stages, loaded)
        })
    })
}

/// A run of neighbours of a read of memory, from a point on.
pub(crate) fn fetch_run(
    emitter: &mut Emitter,
    stage: usize,
    id: ReadId,
    point: &[Expression],
    stages: &[Option<LocalId>],
) -> Result<ArrayId, LowerError> {
    let array = emitter.array(ScalarType::F32, RUN);
    fetch_run_into(emitter, array, (stage, id), point, stages)?;
    Ok(array)
}

/// The same into the first elements of an array.
pub(crate) fn fetch_run_into(
    emitter: &mut Emitter,
    array: ArrayId,
    (stage, id): (usize, ReadId),
    point: &[Expression],
    stages: &[Option<LocalId>],
) -> Result<(), LowerError> {
    if Point::new(stage, Vec::new(), stages).is_wide(emitter, id) {
        return Point::new(stage, point.to_vec(), stages).read_wide(
            emitter,
            (id, Width::Four),
            array,
            Expression::i32(0),
        );
    }
    let inner = emitter.body().stages[stage].expr.reduced().last().expect("a run lies along a reduction");
    for step in 0..RUN {
        let mut point = point.to_vec();
        point[inner.index()] = add(point[inner.index()].clone(), Expression::i32(step as i32));
        let value = Point::new(stage, point, stages).emit(emitter, &Scalar::Read(id))?;
        let place = Place::Element(array, Expression::i32(step as i32));
        emitter.push(Statement::Assign { place, value });
    }
    Ok(())
}

/// A place in memory that several stages of a round may read.
pub(crate) type SharedPlace<'b> = (StageSource, &'b [Index], &'b Guard);

pub(crate) fn place_of<'b>(stage: &'b Stage, read: &'b Read) -> SharedPlace<'b> {
    (stage.sources[read.operand], &read.index, &read.guard)
}

/// Every reduction of a round at one point; what several read is loaded once.
pub(crate) fn accumulate_point<'b>(
    emitter: &mut Emitter<'b>,
    coordinates: &[Expression],
    accumulators: &[Accumulator],
    stages: &[Option<LocalId>],
    mut loaded: HashMap<SharedPlace<'b>, LocalId>,
) -> Result<(), LowerError> {
    for accumulator in accumulators {
        let stage = &emitter.body().stages[accumulator.stage];
        let mut point = Point::new(accumulator.stage, coordinates.to_vec(), stages);
        point.places.clone_from(&accumulator.places);
        let shared = || stage.expr.reads.iter().filter(|(_, read)| is_shared(read));
        for (id, read) in shared() {
            if let Some(&local) = loaded.get(&place_of(stage, read)) {
                point.known_read(id, local);
            }
        }
        let &Accumulator { reducer, local, scalar, .. } = accumulator;
        accumulate(emitter, &mut point, reducer, &stage.expr.body, local, scalar)?;
        for (id, read) in shared() {
            if let Some(local) = point.loaded(id) {
                loaded.insert(place_of(stage, read), local);
            }
        }
    }
    Ok(())
}

/// A stage that does not reduce: along its extra axes, or once a row.
fn emit_along(emitter: &mut Emitter, row: &Row, stage: usize, stages: &[Option<LocalId>]) -> Result<(), LowerError> {
    let body = emitter.body();
    let expr = &body.stages[stage].expr;
    let places = row_places(emitter, row, stage, stages)?;
    let element = |emitter: &mut Emitter, coordinates: Vec<Expression>| {
        let mut point = Point::new(stage, coordinates, stages);
        point.places.clone_from(&places);
        let value = point.emit(emitter, &expr.body)?;
        let value = bind_value(emitter, stage, value)?;
        store(emitter, &mut point, stage, value)
    };
    let axes = body.extra_axes(stage);
    if axes.is_empty() {
        let first = binary(BinaryOp::Equal, row.lane, Expression::i32(0));
        return emitter.when(both(row.real.clone(), Some(first)), |emitter| element(emitter, row.coordinates.clone()));
    }
    emitter.when(row.real.clone(), |emitter| match Fetched::of(emitter, stage, &axes, row)? {
        Some(fetched) => emit_fetched(emitter, row, (stage, &axes), (&fetched, &places), stages),
        None => emit_points(emitter, row, stage, &axes, 1, element),
    })
}

/// The reads of a stage from memory, with an array each for what the trips along a row fetch together.
struct Fetched(Vec<(ReadId, ArrayId)>);

impl Fetched {
    /// `None` where there is one trip alone, or data name again at every point what is read.
    fn of(emitter: &mut Emitter, stage: usize, axes: &[AxisId], row: &Row) -> Result<Option<Self>, LowerError> {
        let body = emitter.body();
        let Stage { expr, sources, .. } = &body.stages[stage];
        let points: usize = axes.iter().map(|&axis| expr.axes[axis].extent).product();
        let together = Trips::of(points, row.width()).together;
        let in_memory = |id: &ReadId| matches!(sources[expr.reads[*id].operand], StageSource::Operand(_));
        let reads: Vec<ReadId> = expr.reads_of(&expr.body).into_iter().filter(in_memory).collect();
        let is_fixed = |read: &Read| {
            let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
            read.index.iter().all(|index| index.is_free_of_reads() || is_fixed_along_row(body, expr, index))
                && conditions.clone().all(Index::is_free_of_reads)
        };
        let named = |id: &ReadId| is_fixed(&expr.reads[*id]);
        if together == 1 || !reads.iter().all(named) {
            return Ok(None);
        }
        let mut found = Vec::with_capacity(reads.len());
        for id in reads {
            let scalar = scalar_type(emitter, expr.operands[expr.reads[id].operand].element)?;
            found.push((id, emitter.array(scalar, together)));
        }
        Ok(Some(Self(found)))
    }
}

/// A stage along its extra axes: what several trips read is asked for before the first is computed.
fn emit_fetched(
    emitter: &mut Emitter,
    row: &Row,
    (stage, axes): (usize, &[AxisId]),
    (fetched, places): (&Fetched, &HashMap<IndirectIndex, LocalId>),
    stages: &[Option<LocalId>],
) -> Result<(), LowerError> {
    let expr = &emitter.body().stages[stage].expr;
    let extents: Vec<usize> = axes.iter().map(|&axis| expr.axes[axis].extent).collect();
    let points: usize = extents.iter().product();
    let Trips { count, together } = Trips::of(points, row.width());
    let limit = match points.is_multiple_of(row.width() * together) {
        true => None,
        false => Some(emitter.operand(points as i64)?),
    };
    let element = |array: ArrayId, part: LocalId| Expression::Element(array, Box::new(part.into()));
    let part = |emitter: &mut Emitter, trip: Expression, part: LocalId, finishes: bool| {
        let number = add(multiply(trip, Expression::i32(row.width() as i32)), row.lane);
        let number = emitter.bind(ScalarType::I32, number);
        emitter.when(limit.as_ref().map(|limit| less(number, limit.clone())), |emitter| {
            let inner = decode_box(emitter, &extents, number.into())?;
            let mut point = Point::new(stage, row.coordinates.iter().cloned().chain(inner).collect(), stages);
            point.places.clone_from(places);
            for &(id, array) in &fetched.0 {
                if finishes {
                    let scalar = scalar_type(emitter, expr.operands[expr.reads[id].operand].element)?;
                    let value = emitter.bind(scalar, element(array, part));
                    point.known_read(id, value);
                } else {
                    let value = point.read(emitter, id)?.into();
                    emitter.push(Statement::Assign { place: Place::Element(array, part.into()), value });
                }
            }
            if !finishes {
                return Ok(());
            }
            let value = point.emit(emitter, &expr.body)?;
            let value = bind_value(emitter, stage, value)?;
            store(emitter, &mut point, stage, value)
        })
    };
    let each = || Expression::i32(together as i32);
    let both_parts = |emitter: &mut Emitter, first: Option<LocalId>| {
        [false, true].into_iter().try_for_each(|finishes| {
            emitter.repeat(each(), true, |emitter, at| {
                let trip = first.map_or(at.into(), |round| add(multiply(round, each()), at));
                part(emitter, trip, at, finishes)
            })
        })
    };
    if count == together {
        return both_parts(emitter, None);
    }
    let rounds = emitter.operand(count.div_ceil(together) as i64)?;
    emitter.repeat(rounds, false, |emitter, round| both_parts(emitter, Some(round)))
}

/// How often the threads of a row go along it.
struct Trips {
    count: usize,
    /// Those that are written out.
    together: usize,
}

impl Trips {
    fn of(points: usize, width: usize) -> Self {
        let count = points.div_ceil(width);
        Self { count, together: if count <= WRITTEN_OUT { count } else { TOGETHER } }
    }
}

/// The points of a box of axes, spread over the threads of the row in runs of neighbours. `body` gets the coordinates of tile
/// axes and box at the first of each run.
///
/// Trips in which all threads have a run stand without a guard, so that their loads are under way together. A last trip in which
/// some have none stands by itself.
fn emit_points<'b>(
    emitter: &mut Emitter<'b>,
    row: &Row,
    stage: usize,
    axes: &[AxisId],
    run: usize,
    mut body: impl FnMut(&mut Emitter<'b>, Vec<Expression>) -> Result<(), LowerError>,
) -> Result<(), LowerError> {
    let expr = &emitter.body().stages[stage].expr;
    let extents: Vec<usize> = axes.iter().map(|&axis| expr.axes[axis].extent).collect();
    let points: usize = extents.iter().product();
    let width = row.width() * run;
    let lane = if run == 1 { row.lane.into() } else { multiply(row.lane, Expression::i32(run as i32)) };
    let mut at_trip = |emitter: &mut Emitter<'b>, trip: Expression, limit: Option<Expression>| {
        let number = add(multiply(trip, Expression::i32(width as i32)), lane.clone());
        let number = emitter.bind(ScalarType::I32, number);
        emitter.when(limit.map(|limit| less(number, limit)), |emitter| {
            let inner = decode_box(emitter, &extents, number.into())?;
            let coordinates = row.coordinates.iter().cloned().chain(inner).collect();
            body(emitter, coordinates)
        })
    };
    let full = points / width;
    let rounds = if full <= WRITTEN_OUT { 0 } else { full / TOGETHER };
    if rounds > 0 {
        let (rounds, each) = (emitter.operand(rounds as i64)?, Expression::i32(TOGETHER as i32));
        emitter.repeat(rounds, false, |emitter, round| {
            emitter.repeat(each.clone(), true, |emitter, part| at_trip(emitter, add(multiply(round, each), part), None))
        })?;
    }
    let first = rounds * TOGETHER;
    let mut at = |emitter: &mut Emitter<'b>, trips: usize, first: usize, limit: Option<Expression>| {
        emitter.repeat(Expression::i32(trips as i32), true, |emitter, trip| {
            let trip = if first == 0 { trip.into() } else { add(trip, Expression::i32(first as i32)) };
            at_trip(emitter, trip, limit)
        })
    };
    if full > first {
        at(emitter, full - first, first, None)?;
    }
    if !points.is_multiple_of(width) {
        let limit = emitter.operand(points as i64)?;
        at(emitter, 1, full, Some(limit))?;
    }
    Ok(())
}

/// Trips along a row that are written out, all of them; where there are more, so many at a time. Their loads are under way
/// together.
const WRITTEN_OUT: usize = 8;
const TOGETHER: usize = 4;

/// The running value of one reduction.
#[derive(Clone)]
pub(crate) struct Accumulator {
    stage: usize,
    reducer: Reducer,
    pub(crate) local: LocalId,
    scalar: ScalarType,
    memory: MemoryType,
    start: Expression,
    /// The places along the row that its stage's reads name.
    places: HashMap<IndirectIndex, LocalId>,
}

impl Accumulator {
    pub(crate) fn emit(emitter: &mut Emitter, stage: usize) -> Result<Self, LowerError> {
        let expr = &emitter.body().stages[stage].expr;
        let reducer = expr.reducer.expect("the stage reduces");
        let element = expr.body_element();
        let (scalar, memory) = (scalar_type(emitter, element)?, emitter.memory_type(element.compute())?);
        let start = neutral(emitter, reducer, element)?;
        let local = emitter.bind(scalar, start.clone());
        Ok(Self { stage, reducer, local, scalar, memory, start, places: HashMap::new() })
    }
}

/// Combines the accumulators of a warp's lanes, in butterflies side by side.
pub(crate) fn across_lanes(emitter: &mut Emitter, accumulators: &[Accumulator]) {
    let others: Vec<LocalId> = accumulators.iter().map(|accumulator| emitter.declare(accumulator.scalar)).collect();
    for mask in BUTTERFLY {
        for (accumulator, &other) in accumulators.iter().zip(&others) {
            exchange(emitter, accumulator.local, other, mask);
        }
        for (accumulator, &other) in accumulators.iter().zip(&others) {
            let Accumulator { reducer, local, .. } = *accumulator;
            emitter.assign(local, combine(reducer, local.into(), other.into()));
        }
    }
}

/// Combines a power of two of accumulators across a warp's lanes: at every step half of what a lane holds goes to its
/// partner. Each lane ends with the sum of one; returns it and its number, which the lane's upper bits say.
pub(crate) fn spread_across_lanes(
    emitter: &mut Emitter,
    lane: LocalId,
    accumulators: &[Accumulator],
) -> (LocalId, Expression) {
    let mut held = accumulators.to_vec();
    let mut which = Expression::i32(0);
    for mask in BUTTERFLY {
        if held.len() == 1 {
            let other = emitter.declare(held[0].scalar);
            exchange(emitter, held[0].local, other, mask);
            let Accumulator { reducer, local, .. } = held[0];
            emitter.assign(local, combine(reducer, local.into(), other.into()));
            continue;
        }
        let bit = binary(BinaryOp::BitAnd, lane, Expression::i32(mask as i32));
        let upper = binary(BinaryOp::Equal, bit, Expression::i32(mask as i32));
        let upper = Expression::Local(emitter.bind(ScalarType::Bool, upper));
        let half = held.len() / 2;
        let (first, second) = held.split_at(half);
        let mut kept = Vec::with_capacity(half);
        for (low, high) in first.iter().zip(second) {
            let choose = |then: LocalId, otherwise: LocalId| {
                Expression::Select(Box::new(upper.clone()), Box::new(then.into()), Box::new(otherwise.into()))
            };
            let offered = emitter.bind(low.scalar, choose(low.local, high.local));
            let own = emitter.bind(low.scalar, choose(high.local, low.local));
            let other = emitter.declare(low.scalar);
            exchange(emitter, offered, other, mask);
            emitter.assign(own, combine(low.reducer, own.into(), other.into()));
            kept.push(Accumulator { local: own, ..low.clone() });
        }
        let number = |at: usize| Box::new(Expression::i32(at as i32));
        which = add(which, Expression::Select(Box::new(upper), number(half), number(0)));
        held = kept;
    }
    (held[0].local, which)
}

/// Combines one accumulator of a warp's lanes, in a butterfly.
pub(crate) fn across_warp(emitter: &mut Emitter, reducer: Reducer, accumulator: LocalId, scalar: ScalarType) {
    let other = emitter.declare(scalar);
    for mask in BUTTERFLY {
        exchange(emitter, accumulator, other, mask);
        emitter.assign(accumulator, combine(reducer, accumulator.into(), other.into()));
    }
}

const BUTTERFLY: [u32; 5] = [16, 8, 4, 2, 1];

/// The exchanges after which every lane has what all have, one after another.
pub(crate) fn butterfly<E>(exchange: impl FnMut(ShuffleMode) -> Result<(), E>) -> Result<(), E> {
    BUTTERFLY.into_iter().map(ShuffleMode::Xor).try_for_each(exchange)
}

fn exchange(emitter: &mut Emitter, offered: LocalId, other: LocalId, mask: u32) {
    let place = Place::Local(other);
    emitter.push(Statement::Shuffle { place, value: offered.into(), mode: ShuffleMode::Xor(mask) });
}

/// Combines the accumulators of the block's warps through shared memory, in the order of the warps.
fn across_warps(emitter: &mut Emitter, row: &Row, accumulator: &Accumulator) -> Result<(), LowerError> {
    let Accumulator { reducer, local, memory, .. } = *accumulator;
    let partial = emitter.shared(memory, emitter.warps());
    let in_warp = binary(BinaryOp::BitAnd, row.lane, Expression::i32(31));
    let warp = binary(BinaryOp::ShiftRight, row.lane, Expression::i32(5));
    let first = binary(BinaryOp::Equal, in_warp, Expression::i32(0));
    emitter.when(Some(first), |emitter| {
        emitter.push(Statement::StoreShared { array: partial, index: warp, values: vec![local.into()] });
        Ok::<(), LowerError>(())
    })?;
    emitter.push(Statement::BlockBarrier);
    emitter.assign(local, accumulator.start.clone());
    let other = emitter.declare(memory.scalar_type());
    emitter.repeat(Expression::i32(emitter.warps() as i32), true, |emitter, warp| {
        let place = Place::Local(other);
        emitter.push(Statement::LoadShared { place, array: partial, width: Width::One, index: warp.into() });
        emitter.assign(local, combine(reducer, local.into(), other.into()));
        Ok(())
    })
}
