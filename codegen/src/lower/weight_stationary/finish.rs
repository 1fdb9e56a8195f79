//! What follows the sums of a row: a thread a row.

use warpweave_graph::expr::{Index, Read, ReadId, Scalar};
use warpweave_plan::body::{Stage, StageSource};
use warpweave_plan::template::weight_stationary::reads::column_axes;

use crate::kernel_ir::expression::{Expression, ScalarType};
use crate::kernel_ir::ids::{LocalId, SharedId};
use crate::kernel_ir::memory::{GlobalSpace, Width};
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::emitter::{Emitter, add};
use crate::lower::error::LowerError;
use crate::lower::row::{Row, SharedPlace, place_of};
use crate::lower::scalar::Point;
use crate::lower::shared_values::SharedValues;
use crate::lower::store::{bind_value, output, store};

/// What the finishing thread reads of memory, by stage, loaded.
pub(super) type LoadedReads = Vec<Vec<(ReadId, LocalId)>>;

/// Loads what the finishing thread reads of constants that all steps of a call share.
pub(super) fn load_constants(emitter: &mut Emitter, row: &Row) -> Result<LoadedReads, LowerError> {
    load(emitter, row, is_shared_constant)
}

/// Loads what else it reads, in every step.
pub(super) fn load_finishing_reads(
    emitter: &mut Emitter,
    row: &Row,
    constants: &LoadedReads,
) -> Result<LoadedReads, LowerError> {
    let mut loaded = load(emitter, row, |emitter, stage, id| !is_shared_constant(emitter, stage, id))?;
    loaded.iter_mut().zip(constants).for_each(|(loaded, constants)| loaded.extend(constants));
    Ok(loaded)
}

/// Whether a read is of a constant that has no elements for other steps: no more than are read of it.
fn is_shared_constant(emitter: &Emitter, stage: usize, id: ReadId) -> bool {
    let body = emitter.body();
    let tensor_of = |stage: &Stage, operand: usize| match stage.sources[operand] {
        StageSource::Operand(own) => Some(body.operands[own]),
        StageSource::Stage(_) | StageSource::Staged(_) => None,
    };
    let expr = &body.stages[stage].expr;
    let Read { operand, index, guard, .. } = &expr.reads[id];
    let Some(tensor) = tensor_of(&body.stages[stage], *operand) else { return false };
    let reads_of =
        |stage: &Stage| stage.expr.reads.values().filter(|read| tensor_of(stage, read.operand) == Some(tensor)).count();
    let reads: usize = body.stages.iter().map(reads_of).sum();
    let rows: usize = body.tile_extents().iter().skip(column_axes(body)).product();
    let is_whole = expr.operands[*operand].shape.elements() <= reads * rows;
    let is_plain = guard.is_always() && index.iter().all(Index::is_free_of_reads);
    emitter.place(tensor).0 == GlobalSpace::Weights && is_whole && is_plain
}

/// Loads what the finishing thread reads and `chosen` chooses; what several stages read is loaded once.
fn load(
    emitter: &mut Emitter,
    row: &Row,
    chosen: impl Fn(&Emitter, usize, ReadId) -> bool,
) -> Result<LoadedReads, LowerError> {
    let body = emitter.body();
    let mut stages = Vec::new();
    let mut known: Vec<(SharedPlace<'_>, LocalId)> = Vec::new();
    for (stage, own) in body.stages.iter().enumerate() {
        let mut loaded = Vec::new();
        for id in finishing_reads(emitter, stage) {
            if !chosen(emitter, stage, id) {
                continue;
            }
            let read = &own.expr.reads[id];
            let place = place_of(own, read);
            if let Some(&(_, local)) = known.iter().find(|(other, _)| *other == place) {
                loaded.push((id, local));
                continue;
            }
            let value = Point::new(stage, row.coordinates.clone(), &[]).emit(emitter, &Scalar::Read(id))?;
            if let Expression::Local(local) = value {
                loaded.push((id, local));
                if read.guard.is_always() && read.index.iter().all(Index::is_free_of_reads) {
                    known.push((place, local));
                }
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
                let in_memory = matches!(stage.sources[stage.expr.reads[*read].operand], StageSource::Operand(_));
                if in_memory && !found.contains(read) {
                    found.push(*read);
                }
            }
        });
    }
    found
}

/// All stages on the thread's row, its sums from shared memory from an element on. What others poll is stored first.
pub(super) fn finish(
    emitter: &mut Emitter,
    row: &Row,
    loaded: &LoadedReads,
    (sums, first): (SharedId, LocalId),
) -> Result<(), LowerError> {
    let mut stages: Vec<Option<LocalId>> = Vec::new();
    let mut shared = SharedValues::new(emitter.body());
    let mut position = 0;
    for (stage, reads) in loaded.iter().enumerate() {
        let expr = &emitter.body().stages[stage].expr;
        let known = stages.clone();
        let mut point = Point::new(stage, row.coordinates.clone(), &known);
        reads.iter().for_each(|&(id, local)| point.known_read(id, local));
        if expr.reducer.is_some() {
            let sum = emitter.declare(ScalarType::F32);
            let index = add(first, Expression::i32(position));
            emitter.push(Statement::LoadShared { place: Place::Local(sum), array: sums, width: Width::One, index });
            point.reduced = Some(sum.into());
            position += 1;
        }
        let result = shared.emit(emitter, &mut point, stage)?;
        stages.push(Some(bind_value(emitter, stage, result)?));
    }
    let is_polled = |stage: usize| output(emitter, stage).is_some_and(|(tensor, _)| emitter.is_tagged(tensor));
    let (polled, others): (Vec<usize>, Vec<usize>) = (0..stages.len()).partition(|&stage| is_polled(stage));
    for stage in polled.into_iter().chain(others) {
        let value = stages[stage].expect("every stage has its value");
        store(emitter, &mut Point::new(stage, row.coordinates.clone(), &stages), stage, value)?;
    }
    Ok(())
}
