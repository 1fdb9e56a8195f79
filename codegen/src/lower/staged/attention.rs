//! The template of attention: blocks of keys one after another, each as scores, weights and weighted sums.
//!
//! The state of every row, its maximum and its total, is in shared memory, the weighted sums are in registers.

use warpweave_fusion::partition::GroupBody;
use warpweave_fusion::partition::attention::{Attention, AttentionKernel};
use warpweave_fusion::partition::attention_phase::{Part, parts};
use warpweave_fusion::partition::contraction::Contraction;
use warpweave_fusion::partition::padded::PaddedBody;
use warpweave_fusion::partition::params::{BLOCK_THREADS, BLOCK_WARPS};
use warpweave_fusion::partition::staged::extents;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::Reducer;
use warpweave_graph::online_softmax::{Arithmetic, Law};

use super::super::LowerError;
use super::super::emitter::{Emitter, StagedArray, add, binary, less, multiply};
use super::super::index::Coordinates;
use super::super::reduce::combine;
use super::super::row::butterfly;
use super::super::scalar::{Point, StageName, number_in_box};
use super::super::tile::{TileAxes, decode_box};
use super::blocked::{Placed, Product, Stretch};
use super::law::Text;
use super::{Bounds, Phase, PhaseAxis, Sink, emit_phase, main_axis, staged_axis, thread_number};
use crate::kernel_ir::{
    ArrayId, BinaryOp, Builtin, Expression, LocalId, MemoryType, Place, ScalarType, SharedId, Statement, WARP_SIZE,
    Width,
};

/// What the phases share.
struct Parts<'a> {
    body: &'a GroupBody,
    kernel: &'a AttentionKernel,
    /// Per staged value, the axes of its box.
    axes: Vec<Vec<PhaseAxis>>,
    rows: Rows,
    /// The keys of the block.
    keys: Stretch,
}

/// The rows of a tile: one element of each array a row.
#[derive(Clone, Copy)]
struct Rows {
    maximum: SharedId,
    total: SharedId,
    /// By what the sums of earlier blocks are multiplied.
    factor: SharedId,
}

/// Emits the kernel of a body whose padding has been found.
pub(in crate::lower) fn emit(
    emitter: &mut Emitter,
    original: &GroupBody,
    padded: &PaddedBody,
) -> Result<(), LowerError> {
    let tile = TileAxes::emit(emitter)?;
    let params = &emitter.operator.params;
    let kernel = AttentionKernel::of(original, params).expect("parameters are chosen so that the kernel fits");
    let body = emitter.body();
    let plan = parts(body, params, &kernel);
    let [first, count] = [(); 2].map(|()| emitter.declare(ScalarType::I32));
    let keys = Stretch { first: first.into(), count: count.into() };
    let axes = axes(emitter, &tile, &kernel, padded, params.grid(original).as_slice(), &keys)?;
    let rows = [(); 3].map(|()| emitter.shared(MemoryType::F32, kernel.rows()));
    let rows = Rows { maximum: rows[0], total: rows[1], factor: rows[2] };
    allocate(emitter, &kernel, &axes, &rows);
    let parts = Parts { body, kernel: &kernel, axes, rows, keys };

    for (position, part) in plan.iter().enumerate() {
        if let Part::Before(method) = part {
            emit_phase(emitter, &parts.phase(emitter, position, padded), *method)?;
            emitter.push(Statement::BlockBarrier);
        }
    }
    parts.clear_rows(emitter)?;
    let contraction = Contraction::of(body).expect("the template sums products");
    let lead = lead(body, &tile);
    let step = &kernel.product;
    let mut product = Product::new(emitter, &lead, &contraction, [step.rows, step.columns], step.across);
    let busy = Busy::emit(emitter, product.blocks())?;
    let placed = product.place(emitter, busy.number.clone())?;
    product.clear(emitter)?;
    emitter.push(Statement::BlockBarrier);

    let blocks = emitter.operand(kernel.blocks() as i64)?;
    emitter.repeat(blocks, false, |emitter, block| {
        let begin = multiply(block, Expression::i32(kernel.block as i32));
        emitter.assign(first, begin);
        let left = binary(BinaryOp::Subtract, emitter.operand(kernel.attention.keys as i64)?, first);
        emitter.assign(count, binary(BinaryOp::Minimum, left, Expression::i32(kernel.block as i32)));
        for (position, part) in plan.iter().enumerate() {
            match part {
                Part::Block(method) => emit_phase(emitter, &parts.phase(emitter, position, padded), *method)?,
                Part::Weights => parts.weigh(emitter)?,
                Part::Before(_) | Part::State => continue,
            }
            emitter.push(Statement::BlockBarrier);
        }
        emitter.when(busy.condition.clone(), |emitter| {
            parts.update(emitter, &product, &placed, parts.rows.factor, BinaryOp::Multiply)?;
            product.reduce(emitter, &placed, Some(&parts.keys))
        })?;
        emitter.push(Statement::BlockBarrier);
        Ok::<(), LowerError>(())
    })?;
    parts.finish_rows(emitter)?;
    emitter.push(Statement::BlockBarrier);
    emitter.when(busy.condition.clone(), |emitter| {
        parts.update(emitter, &product, &placed, parts.rows.total, BinaryOp::Divide)?;
        product.store(emitter, &placed)
    })
}

/// The threads that have a block of the weighted sums.
struct Busy {
    /// The number of the thread's block; threads without one take the last.
    number: Expression,
    /// Whether the thread has a block; absent if all have.
    condition: Option<Expression>,
}

impl Busy {
    fn emit(emitter: &mut Emitter, blocks: usize) -> Result<Self, LowerError> {
        let thread = Expression::Builtin(Builtin::Thread);
        let last = emitter.operand(blocks as i64 - 1)?;
        let number = emitter.bind(ScalarType::I32, binary(BinaryOp::Minimum, thread.clone(), last)).into();
        let condition = match blocks < BLOCK_THREADS {
            true => Some(less(thread, emitter.operand(blocks as i64)?)),
            false => None,
        };
        Ok(Self { number, condition })
    }
}

/// The axes of the boxes of all staged values.
fn axes(
    emitter: &mut Emitter,
    tile: &TileAxes,
    kernel: &AttentionKernel,
    padded: &PaddedBody,
    grid: &[usize],
    keys: &Stretch,
) -> Result<Vec<Vec<PhaseAxis>>, LowerError> {
    let mut found = Vec::with_capacity(kernel.boxes.len());
    for (position, spans) in kernel.boxes.iter().enumerate() {
        let stream = kernel.attention.streams[position];
        let mut axes = Vec::with_capacity(spans.len());
        for (dimension, span) in spans.iter().enumerate() {
            axes.push(if stream == Some(dimension) {
                let bounds = match kernel.is_ragged() {
                    true => Bounds::Windowed(emitter.operand(span.whole as i64 - 1)?),
                    false => Bounds::Inside,
                };
                PhaseAxis { first: keys.first.clone(), extent: span.extent, bounds }
            } else {
                staged_axis(emitter, tile, span, span.stays_inside(grid), padded.padding[position])?
            });
        }
        found.push(axes);
    }
    Ok(found)
}

/// Names the arrays of all staged values.
fn allocate(emitter: &mut Emitter, kernel: &AttentionKernel, axes: &[Vec<PhaseAxis>], rows: &Rows) {
    for (position, (spans, axes)) in kernel.boxes.iter().zip(axes).enumerate() {
        let array = match position {
            _ if position == kernel.attention.maximum => rows.maximum,
            _ if position == kernel.attention.total => rows.total,
            _ => emitter.shared(MemoryType::F32, extents(spans).iter().product()),
        };
        let first = axes.iter().map(|axis| axis.first.clone()).collect();
        emitter.staged.push(StagedArray { array, first, spans: spans.clone() });
    }
}

/// The phase of what leaves the group.
fn lead<'a>(body: &'a GroupBody, tile: &TileAxes) -> Phase<'a> {
    let axes = (0..body.tile_rank).map(|axis| main_axis(tile, axis)).collect();
    Phase { stage: StageName::Main(0), expr: &body.stages[0].expr, axes, sink: Sink::Outputs }
}

impl Parts<'_> {
    fn attention(&self) -> &Attention {
        &self.kernel.attention
    }

    /// The phase of a staged value.
    fn phase(&self, emitter: &Emitter, position: usize, padded: &PaddedBody) -> Phase<'_> {
        let (array, padding) = (emitter.staged[position].array, padded.padding[position]);
        Phase {
            stage: StageName::Staged(position),
            expr: &self.body.staged[position].expr,
            axes: self.axes[position].clone(),
            sink: Sink::Shared { array, padding },
        }
    }

    /// For every row, one thread after another.
    fn each_row(
        &self,
        emitter: &mut Emitter,
        body: impl FnOnce(&mut Emitter, LocalId) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        let rows = self.kernel.rows();
        let trips = emitter.operand(rows.div_ceil(BLOCK_THREADS) as i64)?;
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

    /// Finishes the totals.
    fn finish_rows(&self, emitter: &mut Emitter) -> Result<(), LowerError> {
        self.each_row(emitter, |emitter, row| {
            let [maximum, total] = [self.rows.maximum, self.rows.total].map(|array| load_word(emitter, array, row));
            let total = Law::finished(&mut Text(emitter), &total.into(), &maximum.into());
            store_word(emitter, self.rows.total, row, total);
            Ok(())
        })
    }

    /// Multiplies the weighted sums by a word of their rows, or divides them by it.
    fn update(
        &self,
        emitter: &mut Emitter,
        product: &Product,
        placed: &Placed,
        words: SharedId,
        each: BinaryOp,
    ) -> Result<(), LowerError> {
        let rows = self.attention().row_of_lead(self.body);
        let weights = self.attention().weights;
        let dimensions: Vec<(Expression, usize)> = self
            .row_axes()
            .map(|axis| (self.axes[weights][axis].first.clone(), self.axes[weights][axis].extent))
            .collect();
        let of_row = |emitter: &mut Emitter, coordinates: &[Expression]| {
            let coordinates = Coordinates { axes: coordinates, reads: &Default::default() };
            let expr = &self.body.stages[0].expr;
            let number = number_in_box(emitter, expr, &rows, dimensions.iter().cloned(), &coordinates)?;
            Ok(load_word(emitter, words, number))
        };
        product.update_rows(emitter, placed, &of_row, each)
    }

    /// The dimensions of the weights beside the keys.
    fn row_axes(&self) -> impl Iterator<Item = usize> {
        let keys = self.attention().streams[self.attention().weights];
        (0..self.axes[self.attention().weights].len()).filter(move |axis| Some(*axis) != keys)
    }
}

fn load_word(emitter: &mut Emitter, array: SharedId, index: impl Into<Expression>) -> LocalId {
    let value = emitter.declare(ScalarType::F32);
    let (place, index) = (Place::Local(value), index.into());
    emitter.push(Statement::LoadShared { place, array, width: Width::One, index });
    value
}

fn store_word(emitter: &mut Emitter, array: SharedId, index: impl Into<Expression>, value: Expression) {
    emitter.push(Statement::StoreShared { array, index: index.into(), values: vec![value] });
}

/// The registers in which a warp turns scores into weights, an element a row that it has side by side.
struct Registers {
    side_by_side: usize,
    /// Keys of a lane.
    steps: usize,
    /// The scores, those of a row together.
    scores: ArrayId,
    /// The largest score of the row so far.
    maximum: ArrayId,
    reference: ArrayId,
    /// The sum of the block's powers.
    total: ArrayId,
}

impl Registers {
    fn new(emitter: &mut Emitter, kernel: &AttentionKernel) -> Self {
        let (side_by_side, steps) = (kernel.side_by_side(), kernel.block.div_ceil(WARP_SIZE as usize));
        let mut array = |length: usize| emitter.array(ScalarType::F32, length);
        let [maximum, reference, total] = [(); 3].map(|()| array(side_by_side));
        Self { side_by_side, steps, scores: array(side_by_side * steps), maximum, reference, total }
    }

    /// For each of the rows side by side.
    fn each(
        &self,
        emitter: &mut Emitter,
        body: impl FnOnce(&mut Emitter, LocalId) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        emitter.repeat(Expression::i32(self.side_by_side as i32), true, body)
    }

    /// For each key of a lane, given the number of its score.
    fn each_key(
        &self,
        emitter: &mut Emitter,
        row: LocalId,
        body: impl FnOnce(&mut Emitter, LocalId, Expression) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        emitter.repeat(Expression::i32(self.steps as i32), true, |emitter, step| {
            let number = add(multiply(row, Expression::i32(self.steps as i32)), step);
            body(emitter, step, number)
        })
    }

    /// Combines an element a row across the lanes of the warp.
    fn across(&self, emitter: &mut Emitter, array: ArrayId, reducer: Reducer) -> Result<(), LowerError> {
        let other = emitter.array(ScalarType::F32, self.side_by_side);
        butterfly(|mode| {
            self.each(emitter, |emitter, row| {
                let (own, others) = (element(array, row), element(other, row));
                let place = Place::Element(other, row.into());
                emitter.push(Statement::Shuffle { place, value: own.clone(), mode });
                set(emitter, array, row, combine(reducer, own, others));
                Ok(())
            })
        })
    }
}

fn element(array: ArrayId, at: impl Into<Expression>) -> Expression {
    Expression::Element(array, Box::new(at.into()))
}

fn set(emitter: &mut Emitter, array: ArrayId, at: impl Into<Expression>, value: Expression) {
    emitter.push(Statement::Assign { place: Place::Element(array, at.into()), value });
}

/// A lane's place among the rows and keys of a block.
struct Lane {
    warp: Expression,
    lane: LocalId,
}

impl Parts<'_> {
    /// Turns the scores of the block into weights, and brings the state of the rows up to date: a warp a row, some side by side.
    fn weigh(&self, emitter: &mut Emitter) -> Result<(), LowerError> {
        let registers = Registers::new(emitter, self.kernel);
        let thread = Expression::Builtin(Builtin::Thread);
        let lane = binary(BinaryOp::BitAnd, thread.clone(), Expression::i32(WARP_SIZE as i32 - 1));
        let lane = emitter.bind(ScalarType::I32, lane);
        let warp = binary(BinaryOp::ShiftRight, thread, Expression::i32(WARP_SIZE.ilog2() as i32));
        let warp: Expression = emitter.bind(ScalarType::I32, warp).into();
        let of = Lane { warp, lane };
        let rows = self.kernel.rows();
        let together = BLOCK_WARPS * registers.side_by_side;
        let trips = emitter.operand(rows.div_ceil(together) as i64)?;
        let limit = emitter.operand(rows as i64)?;
        emitter.repeat(trips, false, |emitter, trip| {
            let start = add(multiply(trip, Expression::i32(together as i32)), of.warp.clone());
            let start: Expression = emitter.bind(ScalarType::I32, start).into();
            let exists = (!rows.is_multiple_of(together)).then(|| less(start.clone(), limit));
            emitter.when(exists, |emitter| self.weigh_rows(emitter, &registers, &of, &start))
        })
    }

    /// The number of a row in the tile: rows that a warp has side by side lie a block's warps apart.
    fn row_number(&self, emitter: &mut Emitter, start: &Expression, row: LocalId) -> LocalId {
        let apart = multiply(row, Expression::i32(BLOCK_WARPS as i32));
        emitter.bind(ScalarType::I32, add(start.clone(), apart))
    }

    fn weigh_rows(
        &self,
        emitter: &mut Emitter,
        registers: &Registers,
        of: &Lane,
        start: &Expression,
    ) -> Result<(), LowerError> {
        registers.each(emitter, |emitter, row| self.score_row(emitter, registers, of, start, row))?;
        registers.across(emitter, registers.maximum, Reducer::Maximum)?;
        registers.each(emitter, |emitter, row| {
            let number = self.row_number(emitter, start, row);
            let old = load_word(emitter, self.rows.maximum, number).into();
            let mut text = Text(emitter);
            let maximum = text.maximum(&old, &element(registers.maximum, row));
            let reference = Law::reference(&mut text, &maximum);
            let factor = Law::power(&mut text, &old, &reference);
            set(emitter, registers.maximum, row, maximum);
            set(emitter, registers.reference, row, reference);
            let first = binary(BinaryOp::Equal, of.lane, Expression::i32(0));
            emitter.push(Statement::WarpBarrier);
            emitter.when(Some(first), |emitter| {
                store_word(emitter, self.rows.maximum, number, element(registers.maximum, row));
                store_word(emitter, self.rows.factor, number, factor);
                Ok::<(), LowerError>(())
            })?;
            self.weigh_row(emitter, registers, of, number, row)
        })?;
        registers.across(emitter, registers.total, Reducer::Sum)?;
        registers.each(emitter, |emitter, row| {
            let number = self.row_number(emitter, start, row);
            let first = binary(BinaryOp::Equal, of.lane, Expression::i32(0));
            emitter.when(Some(first), |emitter| {
                let [old, factor] =
                    [self.rows.total, self.rows.factor].map(|array| load_word(emitter, array, number).into());
                let total = Law::rescaled(&mut Text(emitter), &old, &factor, &element(registers.total, row));
                store_word(emitter, self.rows.total, number, total);
                Ok(())
            })
        })
    }

    /// A row's scores of the block, and their maximum in each lane. Lanes without a key have the neutral score.
    fn score_row(
        &self,
        emitter: &mut Emitter,
        registers: &Registers,
        of: &Lane,
        start: &Expression,
        row: LocalId,
    ) -> Result<(), LowerError> {
        let attention = self.attention();
        let expr = &self.body.staged[attention.weights].expr;
        let number = self.row_number(emitter, start, row);
        let axes: Vec<usize> = self.row_axes().collect();
        let boxed: Vec<usize> = axes.iter().map(|&axis| self.axes[attention.weights][axis].extent).collect();
        let positions = decode_box(emitter, &boxed, number.into())?;
        let parallel: Vec<usize> = expr.parallel().map(Id::index).collect();
        let mut coordinates = vec![Expression::i32(0); expr.axes.len()];
        for (&axis, position) in axes.iter().zip(positions) {
            coordinates[parallel[axis]] = self.axes[attention.weights][axis].coordinate(emitter, position).value;
        }
        set(emitter, registers.maximum, row, Expression::f32(f32::NEG_INFINITY));
        set(emitter, registers.total, row, Expression::f32(0.0));
        registers.each_key(emitter, row, |emitter, step, score| {
            set(emitter, registers.scores, score.clone(), Expression::f32(f32::NEG_INFINITY));
            let at = self.key(emitter, of, step);
            emitter.when(self.exists(at), |emitter| {
                let mut coordinates = coordinates.clone();
                let key = add(self.keys.first.clone(), at);
                coordinates[attention.softmax.axis.index()] = emitter.bind(ScalarType::I32, key).into();
                let mut point = Point::of(StageName::Staged(attention.weights), coordinates, &[]);
                let value = point.emit(emitter, &attention.softmax.score)?;
                set(emitter, registers.scores, score.clone(), value);
                Ok::<(), LowerError>(())
            })?;
            let maximum = Text(emitter).maximum(&element(registers.maximum, row), &element(registers.scores, score));
            set(emitter, registers.maximum, row, maximum);
            Ok(())
        })
    }

    /// The weights of a row, and their sum in each lane.
    fn weigh_row(
        &self,
        emitter: &mut Emitter,
        registers: &Registers,
        of: &Lane,
        number: LocalId,
        row: LocalId,
    ) -> Result<(), LowerError> {
        let weights = self.attention().weights;
        let array = emitter.staged[weights].array;
        let place = self.place_of_row(emitter, number)?;
        let stride = self.stride_of_keys();
        registers.each_key(emitter, row, |emitter, step, score| {
            let mut text = Text(emitter);
            let power = Law::power(&mut text, &element(registers.scores, score), &element(registers.reference, row));
            let total = text.sum(&element(registers.total, row), &power);
            set(emitter, registers.total, row, total);
            let at = self.key(emitter, of, step);
            emitter.when(self.exists(at), |emitter| {
                let stride = emitter.operand(stride as i64)?;
                store_word(emitter, array, add(place.clone(), multiply(at, stride)), power);
                Ok(())
            })
        })
    }

    /// The number of a lane's key in the block.
    fn key(&self, emitter: &mut Emitter, of: &Lane, step: LocalId) -> LocalId {
        emitter.bind(ScalarType::I32, add(multiply(step, Expression::i32(WARP_SIZE as i32)), of.lane))
    }

    /// Whether the block has this key; absent where every lane has one.
    fn exists(&self, at: LocalId) -> Option<Expression> {
        let exact = !self.kernel.is_ragged() && self.kernel.block.is_multiple_of(WARP_SIZE as usize);
        (!exact).then(|| less(at, self.keys.count.clone()))
    }

    /// Where the weights of a row begin in their box.
    fn place_of_row(&self, emitter: &mut Emitter, number: LocalId) -> Result<Expression, LowerError> {
        let spans = &self.kernel.boxes[self.attention().weights];
        let axes: Vec<usize> = self.row_axes().collect();
        let boxed: Vec<usize> = axes.iter().map(|&axis| spans[axis].extent).collect();
        let positions = decode_box(emitter, &boxed, number.into())?;
        let mut place: Option<Expression> = None;
        for (&axis, position) in axes.iter().zip(positions).filter(|(axis, _)| spans[**axis].extent > 1) {
            let stride = emitter.operand(spans[axis + 1..].iter().map(|span| span.extent).product::<usize>() as i64)?;
            let moved = multiply(position, stride);
            place = Some(place.map_or(moved.clone(), |sum| add(sum, moved)));
        }
        let place = place.unwrap_or_else(|| Expression::i32(0));
        Ok(emitter.bind(ScalarType::I32, place).into())
    }

    /// Weights from one key to the next in their box.
    fn stride_of_keys(&self) -> usize {
        let weights = self.attention().weights;
        let dimension = self.attention().streams[weights].expect("weights are computed block by block");
        self.kernel.boxes[weights][dimension + 1..].iter().map(|span| span.extent).product()
    }
}
