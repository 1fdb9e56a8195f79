//! The template of attention: blocks of keys one after another, each as scores, weights and weighted sums.
//!
//! The state of every row, its maximum and its total, is in shared memory, the weighted sums are in registers.

pub(crate) mod law;
mod weighted_sum;
pub(crate) mod weights;

use warpweave_graph::online_softmax::Law;
use warpweave_plan::body::GroupBody;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::attention::phase::{AttentionPhase, phases, spans};
use warpweave_plan::template::attention::{Attention, AttentionGeometry};
use warpweave_plan::template::staged::elements;
use warpweave_plan::template::staged::matrices::PhaseSpan;
use warpweave_plan::template::staged::padded::PaddedBody;

use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType};
use crate::kernel_ir::ids::{LocalId, SharedId};
use crate::kernel_ir::memory::{MemoryType, Width};
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::attention::law::Text;
use crate::lower::attention::weighted_sum::WeightedSum;
use crate::lower::emitter::{Emitter, StagedArray, binary, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::index::Coordinates;
use crate::lower::scalar::{StageName, number_in_box};
use crate::lower::staged::blocked::Stretch;
use crate::lower::staged::emit_phase;
use crate::lower::staged::phase::Sink;
use crate::lower::staged::phase::{Phase, thread_number};
use crate::lower::tile::TileAxes;
use crate::lower::tile::{Bounds, PhaseAxis, main_axis, staged_axis};

/// What the phases share.
pub(crate) struct Parts<'a> {
    pub(crate) body: &'a GroupBody,
    pub(crate) geometry: &'a AttentionGeometry,
    /// Per staged value, the axes of its box.
    pub(crate) axes: Vec<Vec<PhaseAxis>>,
    pub(crate) rows: Rows,
    pub(crate) keys: Keys,
}

/// The rows of a tile: one element of each array a row.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) maximum: SharedId,
    pub(crate) total: SharedId,
    /// By what the sums of earlier blocks are multiplied.
    pub(crate) factor: SharedId,
}

/// Emits the kernel of a body whose padding has been found.
pub(crate) fn emit(emitter: &mut Emitter, original: &Kernel, padded: &PaddedBody) -> Result<(), LowerError> {
    let tile = TileAxes::emit(emitter)?;
    let geometry = AttentionGeometry::of(original).expect("parameters are chosen so that the kernel fits");
    let plan = phases(emitter.kernel(), &geometry);
    let shared = Parts::emit(emitter, &tile, &geometry, padded)?;
    for (position, phase) in plan.iter().enumerate() {
        if let AttentionPhase::Before(method) = phase {
            emit_phase(emitter, &shared.phase(emitter, position, padded), *method)?;
            emitter.push(Statement::BlockBarrier);
        }
    }
    shared.clear_rows(emitter)?;
    let contraction = emitter.kernel().contraction().expect("the template sums products");
    let lead = lead(emitter, &tile);
    let sum = WeightedSum::emit(emitter, &lead, contraction, &geometry)?;
    emitter.push(Statement::BlockBarrier);

    let blocks = emitter.operand(geometry.blocks() as i64)?;
    emitter.repeat(blocks, false, |emitter, block| {
        shared.next_keys(emitter, block)?;
        for (position, phase) in plan.iter().enumerate() {
            match phase {
                AttentionPhase::Block(method) => {
                    emit_phase(emitter, &shared.phase(emitter, position, padded), *method)?
                }
                AttentionPhase::Weights => shared.weigh(emitter)?,
                AttentionPhase::Before(_) | AttentionPhase::State => continue,
            }
            emitter.push(Statement::BlockBarrier);
        }
        let factor = |emitter: &mut Emitter, at: &[Expression]| shared.word_of_row(emitter, shared.rows.factor, at);
        sum.add(emitter, &factor, &shared.keys.stretch())?;
        emitter.push(Statement::BlockBarrier);
        Ok::<(), LowerError>(())
    })?;
    shared.finish_rows(emitter)?;
    emitter.push(Statement::BlockBarrier);
    sum.finish(emitter, &|emitter: &mut Emitter, at: &[Expression]| shared.word_of_row(emitter, shared.rows.total, at))
}

/// The keys of the block that is at hand: assigned again for each.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    pub(crate) first: LocalId,
    pub(crate) count: LocalId,
}

impl Keys {
    fn stretch(self) -> Stretch {
        Stretch { first: self.first.into(), count: self.count.into() }
    }
}

/// The axes of the boxes of all staged values.
fn axes(
    emitter: &mut Emitter,
    tile: &TileAxes,
    geometry: &AttentionGeometry,
    padded: &PaddedBody,
    grid: &[usize],
    keys: Keys,
) -> Result<Vec<Vec<PhaseAxis>>, LowerError> {
    let mut found = Vec::with_capacity(geometry.boxes.len());
    for (position, spans) in geometry.boxes.iter().enumerate() {
        let stream = geometry.attention.streams[position];
        let mut axes = Vec::with_capacity(spans.len());
        for (dimension, span) in spans.iter().enumerate() {
            axes.push(if stream == Some(dimension) {
                let bounds = match geometry.is_ragged() {
                    true => Bounds::Windowed(emitter.operand(span.whole as i64 - 1)?),
                    false => Bounds::Inside,
                };
                PhaseAxis { first: keys.first.into(), extent: span.extent, bounds }
            } else {
                staged_axis(emitter, tile, span, span.stays_inside(grid), padded.padding[position])?
            });
        }
        found.push(axes);
    }
    Ok(found)
}

/// Names the arrays of all staged values.
fn allocate(
    emitter: &mut Emitter,
    geometry: &AttentionGeometry,
    axes: &[Vec<PhaseAxis>],
    rows: &Rows,
) -> Result<(), LowerError> {
    for (position, (spans, axes)) in geometry.boxes.iter().zip(axes).enumerate() {
        let array = match position {
            _ if position == geometry.attention.maximum => rows.maximum,
            _ if position == geometry.attention.total => rows.total,
            _ => {
                let memory = emitter.memory_type(emitter.body().staged[position].expr.element)?;
                emitter.shared(memory, elements(spans))
            }
        };
        let first = axes.iter().map(|axis| axis.first.clone()).collect();
        emitter.staged.push(StagedArray { array, first, spans: spans.clone() });
    }
    Ok(())
}

/// The phase of what leaves the group.
fn lead<'a>(emitter: &Emitter<'a>, tile: &TileAxes) -> Phase<'a> {
    let (body, kernel) = (emitter.body(), emitter.kernel());
    let axes = (0..body.tile_rank).map(|axis| main_axis(tile, axis)).collect();
    let spans = PhaseSpan::of_tile(kernel.tile(), &kernel.grid());
    Phase { stage: StageName::Main(0), expr: &body.stages[0].expr, axes, spans, sink: Sink::Outputs }
}

impl<'a> Parts<'a> {
    fn emit<'b: 'a>(
        emitter: &mut Emitter<'b>,
        tile: &TileAxes,
        geometry: &'a AttentionGeometry,
        padded: &PaddedBody,
    ) -> Result<Self, LowerError> {
        let body = emitter.body();
        let grid = emitter.kernel().grid();
        let [first, count] = [(); 2].map(|()| emitter.declare(ScalarType::I32));
        let keys = Keys { first, count };
        let axes = axes(emitter, tile, geometry, padded, &grid, keys)?;
        let [maximum, total, factor] = [(); 3].map(|()| emitter.shared(MemoryType::F32, geometry.rows()));
        let rows = Rows { maximum, total, factor };
        allocate(emitter, geometry, &axes, &rows)?;
        Ok(Self { body, geometry, axes, rows, keys })
    }

    /// Goes to the keys of this block.
    fn next_keys(&self, emitter: &mut Emitter, block: LocalId) -> Result<(), LowerError> {
        let Keys { first, count } = self.keys;
        let length = Expression::i32(self.geometry.block as i32);
        emitter.assign(first, multiply(block, length.clone()));
        let left = binary(BinaryOp::Subtract, emitter.operand(self.attention().keys as i64)?, first);
        emitter.assign(count, binary(BinaryOp::Minimum, left, length));
        Ok(())
    }

    pub(crate) fn attention(&self) -> &Attention {
        &self.geometry.attention
    }

    /// The phase of a staged value.
    fn phase(&self, emitter: &Emitter, position: usize, padded: &PaddedBody) -> Phase<'_> {
        let (array, padding) = (emitter.staged[position].array, padded.padding[position]);
        Phase {
            stage: StageName::Staged(position),
            expr: &self.body.staged[position].expr,
            axes: self.axes[position].clone(),
            spans: spans(self.geometry, position, &emitter.kernel().grid()),
            sink: Sink::Shared { array, padding },
        }
    }

    /// For every row, one thread after another.
    fn each_row(
        &self,
        emitter: &mut Emitter,
        body: impl FnOnce(&mut Emitter, LocalId) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        let rows = self.geometry.rows();
        let trips = emitter.operand(rows.div_ceil(emitter.threads()) as i64)?;
        let limit = emitter.operand(rows as i64)?;
        emitter.repeat(trips, false, |emitter, trip| {
            let number = thread_number(emitter, trip);
            emitter.when(Some(less(number, limit)), |emitter| body(emitter, number))
        })
    }

    /// Sets the rows to the neutral state.
    fn clear_rows(&self, emitter: &mut Emitter) -> Result<(), LowerError> {
        self.each_row(emitter, |emitter, row| {
            store_word(emitter, self.rows.maximum, row, Expression::f32(f32::NEG_INFINITY));
            store_word(emitter, self.rows.total, row, Expression::f32(0.0));
            Ok(())
        })
    }

    /// Finishes the totals: each becomes what the sums of its row are multiplied by.
    fn finish_rows(&self, emitter: &mut Emitter) -> Result<(), LowerError> {
        self.each_row(emitter, |emitter, row| {
            let [maximum, total] = [self.rows.maximum, self.rows.total].map(|array| load_word(emitter, array, row));
            let total = Law::finished(&mut Text(emitter), &total.into(), &maximum.into());
            store_word(emitter, self.rows.total, row, binary(BinaryOp::Divide, Expression::f32(1.0), total));
            Ok(())
        })
    }

    /// A word of the row to which a point of the first stage belongs.
    fn word_of_row(
        &self,
        emitter: &mut Emitter,
        words: SharedId,
        coordinates: &[Expression],
    ) -> Result<LocalId, LowerError> {
        let rows = self.attention().row_of_lead(self.body);
        let axes = &self.axes[self.attention().weights];
        let dimensions: Vec<(Expression, usize)> =
            self.row_axes().map(|axis| (axes[axis].first.clone(), axes[axis].extent)).collect();
        let coordinates = Coordinates { axes: coordinates, places: &Default::default() };
        let expr = &self.body.stages[0].expr;
        let number = number_in_box(emitter, expr, &rows, dimensions.into_iter(), &coordinates)?;
        Ok(load_word(emitter, words, number))
    }

    /// The dimensions of the weights beside the keys.
    pub(crate) fn row_axes(&self) -> impl Iterator<Item = usize> {
        let keys = self.attention().streams[self.attention().weights];
        (0..self.axes[self.attention().weights].len()).filter(move |axis| Some(*axis) != keys)
    }
}

pub(crate) fn load_word(emitter: &mut Emitter, array: SharedId, index: impl Into<Expression>) -> LocalId {
    let value = emitter.declare(ScalarType::F32);
    let (place, index) = (Place::Local(value), index.into());
    emitter.push(Statement::LoadShared { place, array, width: Width::One, index });
    value
}

pub(crate) fn store_word(emitter: &mut Emitter, array: SharedId, index: impl Into<Expression>, value: Expression) {
    emitter.push(Statement::StoreShared { array, index: index.into(), values: vec![value] });
}
