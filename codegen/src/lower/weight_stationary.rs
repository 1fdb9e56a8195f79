//! The template of kept rows: a warp a row, one factor of every product in shared memory since the launch began.
//!
//! A row's sums are combined across the lanes of its warp and put into shared memory; when all rows have theirs, a
//! thread a row computes what follows them. What that reads of global memory is loaded before the products. Vectors
//! that carry their own validity are polled once a tile, by as many threads at once as there are, and put into shared
//! memory for all rows.

use warpweave_graph::expr::{Index, ReadId, Scalar};
use warpweave_plan::template::row::rounds::{RUN, Round, rounds};
use warpweave_plan::template::staged::blocked::is_wide;
use warpweave_plan::template::weight_stationary::reads::{
    ResidentRead, resident_elements, resident_reads, shared_vectors, sum_groups,
};

use crate::kernel_ir::expression::{BinaryOp, Builtin, Expression, ScalarType};
use crate::kernel_ir::ids::{LocalId, SharedId};
use crate::kernel_ir::memory::WARP_SIZE;
use crate::kernel_ir::memory::{MemoryType, Width};
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::emitter::{Emitter, add, binary, both, multiply};
use crate::lower::error::LowerError;
use crate::lower::row::{Accumulator, Row, RunSource, accumulate_runs, emit_row, fetch_run, spread_across_lanes};
use crate::lower::scalar::Point;
use crate::lower::store::store;
use crate::lower::tile::{TileAxes, decode_box};
use crate::lower::types::scalar_type;

/// Emits the kernel.
pub(crate) fn emit(emitter: &mut Emitter) -> Result<(), LowerError> {
    let kept = declare(emitter);
    let tile = TileAxes::emit(emitter)?;
    let thread = emitter.bind(ScalarType::I32, Expression::Builtin(Builtin::Thread));
    let warp = emitter.bind(ScalarType::I32, binary(BinaryOp::ShiftRight, thread, Expression::i32(5)));
    let lane = emitter.bind(ScalarType::I32, binary(BinaryOp::BitAnd, thread, Expression::i32(31)));
    let finishing = emit_row(emitter, &tile, thread, lane, emitter.threads())?;
    let loaded = load_finishing_reads(emitter, &finishing)?;

    let axes: Vec<usize> = (0..emitter.body().tile_rank).collect();
    let rows = tile.volume(&axes);
    let polled = poll_vectors(emitter, &tile)?;
    let sums = emitter.shared(MemoryType::F32, rows * emitter.body().reductions().count());
    let trips = rows.div_ceil(emitter.warps());
    let count = emitter.operand(trips as i64)?;
    emitter.repeat(count, false, |emitter, trip| {
        let first = multiply(trip, Expression::i32(emitter.warps() as i32));
        let number = emitter.bind(ScalarType::I32, add(first, warp));
        let places = trips * emitter.warps();
        let row = emit_row(emitter, &tile, number, lane, places)?;
        emit_sums(emitter, &row, number, &Held { kept, polled: &polled, rows }, sums)
    })?;
    emitter.push(Statement::BlockBarrier);
    emitter.when(finishing.real.clone(), |emitter| finish(emitter, &finishing, &loaded, thread, sums, rows))
}

/// Emits the kernel that brings what a tile keeps: a thread a run of neighbours.
pub(crate) fn emit_hold(emitter: &mut Emitter) -> Result<(), LowerError> {
    let kept = declare(emitter);
    let tile = TileAxes::emit(emitter)?;
    let axes: Vec<usize> = (0..emitter.body().tile_rank).collect();
    let rows = tile.volume(&axes);
    let mut offset = 0;
    for read in resident_reads(emitter.body()) {
        let runs = read.length / RUN;
        let trips = emitter.operand((rows * runs).div_ceil(emitter.threads()) as i64)?;
        let limit = emitter.operand((rows * runs) as i64)?;
        let start = emitter.operand(offset as i64)?;
        emitter.repeat(trips, false, |emitter, trip| {
            let first = multiply(trip, Expression::i32(emitter.threads() as i32));
            let number = emitter.bind(ScalarType::I32, add(first, Expression::Builtin(Builtin::Thread)));
            let inside = binary(BinaryOp::Less, number, limit);
            emitter.when(Some(inside), |emitter| {
                let place = decode_box(emitter, &[rows, runs], number.into())?;
                let row = emitter.bind(ScalarType::I32, place[0].clone());
                let (coordinates, real) = tile.decode(emitter, &axes, row, rows)?;
                emitter.when(real, |emitter| {
                    let coordinates = coordinates.into_iter().map(Expression::Local).collect();
                    let from = multiply(place[1].clone(), Expression::i32(RUN as i32));
                    let point = reduced_point(emitter, &read, coordinates, from)?;
                    let array = fetch_run(emitter, read.stage, read.id, &point, &[])?;
                    let element = |at: usize| Expression::Element(array, Box::new(Expression::i32(at as i32)));
                    let index = add(multiply(number, Expression::i32(RUN as i32)), start.clone());
                    let values = (0..RUN).map(element).collect();
                    emitter.push(Statement::StoreShared { array: kept, index, values });
                    Ok(())
                })
            })
        })?;
        offset += rows * read.length;
    }
    Ok(())
}

fn declare(emitter: &mut Emitter) -> SharedId {
    let length = resident_elements(emitter.body(), &emitter.operator.params);
    emitter.keep(MemoryType::F32, length)
}

/// The coordinates of all axes at a point of the reduction.
fn reduced_point(
    emitter: &mut Emitter,
    read: &ResidentRead,
    mut coordinates: Vec<Expression>,
    from: Expression,
) -> Result<Vec<Expression>, LowerError> {
    let expr = &emitter.body().stages[read.stage].expr;
    let lengths: Vec<usize> = expr.reduced().map(|axis| expr.axes[axis].extent).collect();
    coordinates.extend(decode_box(emitter, &lengths, from)?);
    Ok(coordinates)
}

/// The sums of one row, into shared memory.
fn emit_sums(emitter: &mut Emitter, row: &Row, number: LocalId, held: &Held, sums: SharedId) -> Result<(), LowerError> {
    let rows = held.rows;
    // A warp without a row of its own repeats the first.
    let own = match &row.real {
        Some(real) => Expression::Select(Box::new(real.clone()), Box::new(number.into()), Box::new(Expression::i32(0))),
        None => number.into(),
    };
    let own = emitter.bind(ScalarType::I32, own);
    let mut position = 0;
    for round in reducing_rounds(emitter) {
        let mut accumulators: Vec<Accumulator> = Vec::with_capacity(round.stages.len());
        for stage in round.stages.clone() {
            accumulators.push(Accumulator::emit(emitter, stage)?);
        }
        let sources = run_sources(emitter, &round, own, held)?;
        accumulate_runs(emitter, row, &round, &accumulators, &sources, &[])?;
        for group in groups(&accumulators) {
            let (sum, which) = spread_across_lanes(emitter, row.lane, group);
            let lanes = binary(BinaryOp::BitAnd, row.lane, Expression::i32(WARP_SIZE as i32 / group.len() as i32 - 1));
            let first = binary(BinaryOp::Equal, lanes, Expression::i32(0));
            emitter.when(both(row.real.clone(), Some(first)), |emitter| {
                let apart = multiply(which, emitter.operand(rows as i64)?);
                let index = add(add(apart, emitter.operand((position * rows) as i64)?), number);
                emitter.push(Statement::StoreShared { array: sums, index, values: vec![sum.into()] });
                Ok::<(), LowerError>(())
            })?;
            position += group.len();
        }
    }
    Ok(())
}

/// Accumulators that are combined together: as many as the largest power of two that is left, and no more than there are
/// lanes.
fn groups(mut accumulators: &[Accumulator]) -> Vec<&[Accumulator]> {
    let mut found = Vec::new();
    for count in sum_groups(accumulators.len()) {
        let (group, rest) = accumulators.split_at(count);
        found.push(group);
        accumulators = rest;
    }
    found
}

fn reducing_rounds(emitter: &Emitter) -> Vec<Round> {
    let body = emitter.body();
    let reduces = |round: &Round| body.stages[round.stages.start].expr.reducer.is_some();
    rounds(body).into_iter().filter(reduces).collect()
}

/// Where a round's reads come from for the row of this number: kept and polled ones from shared memory.
fn run_sources(emitter: &mut Emitter, round: &Round, row: LocalId, held: &Held) -> Result<Vec<RunSource>, LowerError> {
    let &Held { kept, polled, rows } = held;
    let mut offsets: Vec<((usize, ReadId), usize, usize)> = Vec::new();
    let mut offset = 0;
    for read in resident_reads(emitter.body()) {
        offsets.push(((read.stage, read.id), offset, read.length));
        offset += rows * read.length;
    }
    let mut sources = Vec::new();
    for (stage, id, _) in round.reads(emitter.body()) {
        let found = offsets.iter().find(|(name, ..)| *name == (stage, id));
        let vector = polled.iter().find(|vector| (vector.stage, vector.id) == (stage, id));
        sources.push(match (found, vector) {
            (None, None) => RunSource::Memory,
            (None, Some(vector)) => {
                let first = emitter.bind(ScalarType::I32, Expression::i32(0));
                RunSource::Shared { array: vector.array, first }
            }
            (Some(&(_, offset, length)), _) => {
                let (start, length) = (emitter.operand(offset as i64)?, emitter.operand(length as i64)?);
                let first = emitter.bind(ScalarType::I32, add(multiply(row, length), start));
                RunSource::Shared { array: kept, first }
            }
        });
    }
    Ok(sources)
}

/// A vector that has been polled into shared memory.
struct PolledVector {
    stage: usize,
    id: ReadId,
    array: SharedId,
}

/// What a tile has in shared memory before its sums.
struct Held<'p> {
    kept: SharedId,
    polled: &'p [PolledVector],
    rows: usize,
}

/// Polls what all rows read into shared memory, pairs of neighbours at once where they are; every vector begins with
/// the threads that the one before it leaves idle.
fn poll_vectors(emitter: &mut Emitter, tile: &TileAxes) -> Result<Vec<PolledVector>, LowerError> {
    let mut polled = Vec::new();
    let mut busy = 0;
    for read in shared_vectors(emitter.body()) {
        if !emitter.is_tagged(emitter.body().operands[read.operand]) {
            continue;
        }
        let array = emitter.shared(MemoryType::F32, read.length);
        poll_vector(emitter, tile, &read, array, busy)?;
        busy = (busy + (read.length / 2).next_multiple_of(WARP_SIZE as usize)) % emitter.threads();
        polled.push(PolledVector { stage: read.stage, id: read.id, array });
    }
    if !polled.is_empty() {
        emitter.push(Statement::BlockBarrier);
    }
    Ok(polled)
}

fn poll_vector(
    emitter: &mut Emitter,
    tile: &TileAxes,
    read: &ResidentRead,
    array: SharedId,
    busy: usize,
) -> Result<(), LowerError> {
    let each = if are_neighbours(emitter, read) { 2 } else { 1 };
    let count = read.length / each;
    let free = add(Expression::Builtin(Builtin::Thread), Expression::i32((emitter.threads() - busy) as i32));
    let own = binary(BinaryOp::BitAnd, free, Expression::i32(emitter.threads() as i32 - 1));
    let own = emitter.bind(ScalarType::I32, own);
    let trips = emitter.operand(count.div_ceil(emitter.threads()) as i64)?;
    let limit = emitter.operand(count as i64)?;
    emitter.repeat(trips, false, |emitter, trip| {
        let number = add(multiply(trip, Expression::i32(emitter.threads() as i32)), own);
        let number = emitter.bind(ScalarType::I32, number);
        emitter.when(Some(binary(BinaryOp::Less, number, limit)), |emitter| {
            let first = emitter.bind(ScalarType::I32, multiply(number, Expression::i32(each as i32)));
            let point = reduced_point(emitter, read, tile.origin(), first.into())?;
            let values = emitter.array(ScalarType::F32, each);
            Point::new(read.stage, point, &[]).poll(emitter, read.id, values, (each as u32, None))?;
            let element = |at: usize| Expression::Element(values, Box::new(Expression::i32(at as i32)));
            let values = (0..each).map(element).collect();
            emitter.push(Statement::StoreShared { array, index: first.into(), values });
            Ok(())
        })
    })
}

/// Whether pairs of neighbours along a vector are aligned neighbours in memory.
fn are_neighbours(emitter: &Emitter, read: &ResidentRead) -> bool {
    let expr = &emitter.body().stages[read.stage].expr;
    let layout = &emitter.memory.tensors[emitter.body().operands[read.operand]].layout;
    is_wide(expr, read.read, &Index::linear(&read.read.index, &layout.strides, layout.offset))
}

/// What the finishing thread reads of memory, by stage, loaded.
type LoadedReads = Vec<Vec<(ReadId, LocalId)>>;

fn load_finishing_reads(emitter: &mut Emitter, row: &Row) -> Result<LoadedReads, LowerError> {
    let mut stages = Vec::new();
    for stage in 0..emitter.body().stages.len() {
        let mut loaded = Vec::new();
        for id in finishing_reads(emitter, stage) {
            let value = Point::new(stage, row.coordinates.clone(), &[]).emit(emitter, &Scalar::Read(id))?;
            if let Expression::Local(local) = value {
                loaded.push((id, local));
            }
        }
        stages.push(loaded);
    }
    Ok(stages)
}

/// The reads of what follows a stage's reduction, or of all of it without one, that are of memory.
fn finishing_reads(emitter: &Emitter, stage: usize) -> Vec<ReadId> {
    let stage = &emitter.body().stages[stage];
    let scalar = if stage.expr.reducer.is_some() { stage.expr.epilogue.as_ref() } else { Some(&stage.expr.body) };
    let mut found = Vec::new();
    if let Some(scalar) = scalar {
        scalar.visit(&mut |scalar| {
            if let Scalar::Read(read) = scalar {
                let in_memory = matches!(
                    stage.sources[stage.expr.reads[*read].operand],
                    warpweave_plan::body::StageSource::Operand(_)
                );
                if in_memory && !found.contains(read) {
                    found.push(*read);
                }
            }
        });
    }
    found
}

/// All stages on the thread's row, its sums from shared memory.
fn finish(
    emitter: &mut Emitter,
    row: &Row,
    loaded: &LoadedReads,
    thread: LocalId,
    sums: SharedId,
    rows: usize,
) -> Result<(), LowerError> {
    let mut stages: Vec<Option<LocalId>> = Vec::new();
    let mut position = 0;
    for (stage, reads) in loaded.iter().enumerate() {
        let expr = &emitter.body().stages[stage].expr;
        let known = stages.clone();
        let mut point = Point::new(stage, row.coordinates.clone(), &known);
        reads.iter().for_each(|&(id, local)| point.known_read(id, local));
        if expr.reducer.is_some() {
            let sum = emitter.declare(ScalarType::F32);
            let index = add(emitter.operand((position * rows) as i64)?, thread);
            let place = Place::Local(sum);
            emitter.push(Statement::LoadShared { place, array: sums, width: Width::One, index });
            point.reduced = Some(sum.into());
            position += 1;
        }
        let result = match (&expr.epilogue, point.reduced.clone()) {
            (Some(epilogue), _) => point.emit(emitter, epilogue)?,
            (None, Some(sum)) => sum,
            (None, None) => point.emit(emitter, &expr.body)?,
        };
        let value = emitter.bind(scalar_type(emitter, expr.element)?, result);
        store(emitter, &mut point, stage, value)?;
        stages.push(Some(value));
    }
    Ok(())
}
