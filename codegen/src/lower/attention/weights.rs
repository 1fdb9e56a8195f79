//! Scores of a block of keys into weights: a warp a row, some side by side, and the state of the rows brought up to date.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{ReadId, Reducer};
use warpweave_graph::online_softmax::{Arithmetic, Law};
use warpweave_plan::body::StageSource;
use warpweave_plan::template::attention::{Attention, AttentionGeometry};
use warpweave_plan::template::staged::phase::ProductStep;
use warpweave_plan::template::staged::{StagedBox, StagedSpan};

use crate::kernel_ir::expression::{BinaryOp, Builtin, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId};
use crate::kernel_ir::memory::WARP_SIZE;
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::attention::law::Text;
use crate::lower::attention::{Parts, load_word, store_word};
use crate::lower::emitter::{Emitter, add, binary, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::reduce::combine;
use crate::lower::row::butterfly;
use crate::lower::scalar::{Point, StageName};
use crate::lower::tile::decode_box;

/// A lane's place among the rows and keys of a block.
struct Lane {
    warp: Expression,
    lane: LocalId,
}

impl Parts<'_> {
    /// Turns the scores of the block into weights, and brings the state of the rows up to date: a warp a row, some side by side.
    pub(crate) fn weigh(&self, emitter: &mut Emitter) -> Result<(), LowerError> {
        let registers = Registers::new(emitter, self.geometry);
        let thread = Expression::Builtin(Builtin::Thread);
        let lane = binary(BinaryOp::BitAnd, thread.clone(), Expression::i32(WARP_SIZE as i32 - 1));
        let lane = emitter.bind(ScalarType::I32, lane);
        let warp = binary(BinaryOp::ShiftRight, thread, Expression::i32(WARP_SIZE.ilog2() as i32));
        let warp: Expression = emitter.bind(ScalarType::I32, warp).into();
        let of = Lane { warp, lane };
        let rows = self.geometry.rows();
        let together = emitter.warps() * registers.side_by_side;
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
        let apart = multiply(row, Expression::i32(emitter.warps() as i32));
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
        let alike = self.boxes_alike();
        registers.each_key(emitter, row, |emitter, step, score| {
            set(emitter, registers.scores, score.clone(), Expression::f32(f32::NEG_INFINITY));
            let at = self.key(emitter, of, step);
            emitter.when(self.exists(at), |emitter| {
                let mut coordinates = coordinates.clone();
                let key = add(self.keys.first, at);
                coordinates[attention.softmax.axis.index()] = emitter.bind(ScalarType::I32, key).into();
                let mut point = Point::of(StageName::Staged(attention.weights), coordinates, &[]);
                for &(read, staged) in &alike {
                    let pitch = emitter.operand(row_pitch(&self.geometry.boxes[staged]) as i64)?;
                    let index = add(multiply(number, pitch), at);
                    let loaded = load_word(emitter, emitter.staged[staged].array, index);
                    point.known_read(read, loaded);
                }
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
            emitter.when(self.is_stored(at), |emitter| {
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
        let exact = !self.geometry.is_ragged() && self.geometry.block.is_multiple_of(WARP_SIZE as usize);
        (!exact).then(|| less(at, self.keys.count))
    }

    /// Whether the weight of a key is stored. Tensor cores read whole matrices, in which keys that the block does not have weigh nothing.
    fn is_stored(&self, at: LocalId) -> Option<Expression> {
        let block = self.geometry.block;
        match self.geometry.product {
            ProductStep::Blocked(_) => self.exists(at),
            ProductStep::Matrices(_) if block.is_multiple_of(WARP_SIZE as usize) => None,
            ProductStep::Matrices(_) => Some(less(at, Expression::i32(block as i32))),
        }
    }

    /// Where the weights of a row begin in their box.
    fn place_of_row(&self, emitter: &mut Emitter, number: LocalId) -> Result<Expression, LowerError> {
        let spans = &self.geometry.boxes[self.attention().weights];
        if self.are_rows(spans) {
            let pitch = emitter.operand(row_pitch(spans) as i64)?;
            return Ok(emitter.bind(ScalarType::I32, multiply(number, pitch)).into());
        }
        let axes: Vec<usize> = self.row_axes().collect();
        let boxed: Vec<usize> = axes.iter().map(|&axis| spans[axis].extent).collect();
        let positions = decode_box(emitter, &boxed, number.into())?;
        let mut place: Option<Expression> = None;
        for (&axis, position) in axes.iter().zip(positions).filter(|(axis, _)| spans[**axis].extent > 1) {
            let stride = emitter.operand(spans[axis + 1..].iter().map(|span| span.pitch).product::<usize>() as i64)?;
            let moved = multiply(position, stride);
            place = Some(place.map_or(moved.clone(), |sum| add(sum, moved)));
        }
        let place = place.unwrap_or_else(|| Expression::i32(0));
        Ok(emitter.bind(ScalarType::I32, place).into())
    }

    /// Whether the rows of the weights' box lie one behind the other, each with its keys.
    fn are_rows(&self, spans: &StagedBox) -> bool {
        self.attention().streams[self.attention().weights] == Some(spans.len() - 1)
    }

    /// The reads of staged values by the score that find element by element what lies in the weights' box at the same place: neither
    /// has to be decoded.
    fn boxes_alike(&self) -> Vec<(ReadId, usize)> {
        let Attention { weights, softmax, .. } = self.attention();
        let stage = &self.body.staged[*weights];
        let own = &self.geometry.boxes[*weights];
        let same = |(own, other): (&StagedSpan, &StagedSpan)| {
            (&own.steps, own.first, own.extent) == (&other.steps, other.first, other.extent)
        };
        let alike = |id: ReadId| {
            let read = &stage.expr.reads[id];
            let StageSource::Staged(staged) = stage.sources[read.operand] else { return None };
            let other = self.geometry.boxes.get(staged).filter(|other| other.len() == own.len())?;
            let state = [self.attention().maximum, self.attention().total].contains(&staged);
            let plain = read.guard.is_always()
                && stage.expr.parallel().zip(&read.index).all(|(axis, index)| index.as_axis() == Some(axis));
            (!state && plain && self.are_rows(own) && own.iter().zip(other).all(same)).then_some((id, staged))
        };
        stage.expr.reads_of(&softmax.score).into_iter().filter_map(alike).collect()
    }

    /// Weights from one key to the next in their box.
    fn stride_of_keys(&self) -> usize {
        let weights = self.attention().weights;
        let dimension = self.attention().streams[weights].expect("weights are computed block by block");
        self.geometry.boxes[weights][dimension + 1..].iter().map(|span| span.pitch).product()
    }
}

/// Elements from one row of a box to the next.
fn row_pitch(spans: &StagedBox) -> usize {
    spans.last().map_or(1, |keys| keys.pitch)
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
    fn new(emitter: &mut Emitter, geometry: &AttentionGeometry) -> Self {
        let (side_by_side, steps) = (geometry.side_by_side(), geometry.block.div_ceil(WARP_SIZE as usize));
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
