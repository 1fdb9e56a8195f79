//! The stable sort of a row: a bitonic network over pairs of a value and its place.
//!
//! Every step compares pairs of which the first belongs in front. So what would pad a row to a power of two never
//! moves, and pairs beyond the row are left out. A chunk of the row is sorted in shared memory. The pairs of a longer
//! row stand in the memory of the row's own places, eight bytes each, until the last step writes these.

use warpweave_graph::ElementType;
use warpweave_graph::procedure::sort::Direction;
use warpweave_plan::template::opaque::sort::CHUNK;

use crate::kernel_ir::expression::{BinaryOp, Expression, ScalarType, UnaryOp};
use crate::kernel_ir::ids::{LocalId, SharedId};
use crate::kernel_ir::memory::{GlobalSpace, MemoryType, Width};
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::convert::converted;
use crate::lower::emitter::{Emitter, add, binary, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::opaque::Row;
use crate::lower::unsupported::check_sorted;

pub(crate) fn emit(emitter: &mut Emitter, row: &Row, direction: Direction) -> Result<(), LowerError> {
    let sort = Sort::declare(emitter, row, direction)?;
    let levels = sort.padded.trailing_zeros() as usize;
    if sort.padded <= CHUNK {
        let start = Expression::i32(0);
        sort.bring(emitter, &start)?;
        sort.levels_of_chunk(emitter, levels, &start)?;
        return sort.each_of_chunk(emitter, &start, |emitter, slot, place| sort.finish(emitter, slot, place));
    }
    let inner = CHUNK.trailing_zeros() as usize;
    sort.each_chunk(emitter, |emitter, start| {
        sort.bring(emitter, start)?;
        sort.levels_of_chunk(emitter, inner, start)?;
        sort.each_of_chunk(emitter, start, |emitter, slot, place| sort.put_back(emitter, slot, place))
    })?;
    let outer = emitter.operand((levels - inner) as i64)?;
    emitter.repeat(outer.clone(), false, |emitter, level| {
        let level = Expression::Local(level);
        let steps = add(level.clone(), Expression::i32(1));
        emitter.repeat(steps, false, |emitter, step| {
            let shift = binary(BinaryOp::Subtract, add(level.clone(), Expression::i32(inner as i32)), step);
            sort.exchange_far(emitter, shift, step)
        })?;
        sort.each_chunk(emitter, |emitter, start| {
            sort.fetch(emitter, start)?;
            emitter.repeat(Expression::i32(inner as i32), false, |emitter, step| {
                let shift = binary(BinaryOp::Subtract, Expression::i32(inner as i32 - 1), step);
                let shift = Expression::Local(emitter.bind(ScalarType::I32, shift));
                let mask = binary(BinaryOp::ShiftLeft, Expression::i32(1), shift.clone());
                sort.exchange_near(emitter, shift, mask, start)
            })?;
            let last = binary(BinaryOp::Equal, add(level.clone(), Expression::i32(1)), outer.clone());
            let last = Expression::Local(emitter.bind(ScalarType::Bool, last));
            sort.each_of_chunk(emitter, start, |emitter, slot, place| {
                emitter.when(Some(last.clone()), |emitter| sort.finish(emitter, slot, place))?;
                let not_last = Expression::Unary(UnaryOp::Not, Box::new(last.clone()));
                emitter.when(Some(not_last), |emitter| sort.put_back(emitter, slot, place))
            })
        })
    })
}

/// A pair of a value and its place, in registers.
#[derive(Clone, Copy)]
struct Pair {
    key: LocalId,
    place: LocalId,
}

struct Sort<'r> {
    row: &'r Row,
    direction: Direction,
    /// The row's length as a power of two.
    padded: usize,
    length: Expression,
    scalar: ScalarType,
    memory: MemoryType,
    keys: SharedId,
    places: SharedId,
}

impl<'r> Sort<'r> {
    fn declare(emitter: &mut Emitter, row: &'r Row, direction: Direction) -> Result<Self, LowerError> {
        let element = emitter.body().stages[0].expr.body_element();
        let scalar = check_sorted(element).map_err(|what| emitter.unsupported(what))?;
        let (scalar, memory) = match scalar {
            ScalarType::F32 => (ScalarType::F32, MemoryType::F32),
            ScalarType::Bool | ScalarType::I32 | ScalarType::I64 => (ScalarType::I32, MemoryType::I32),
        };
        let padded = row.length.next_power_of_two().max(2);
        let chunk = padded.min(CHUNK);
        let length = emitter.operand(row.length as i64)?;
        let (keys, places) = (emitter.shared(memory, chunk), emitter.shared(MemoryType::I32, chunk));
        Ok(Self { row, direction, padded, length, scalar, memory, keys, places })
    }

    fn chunk(&self) -> usize {
        self.padded.min(CHUNK)
    }

    /// Every chunk of a long row, its first place given.
    fn each_chunk(
        &self,
        emitter: &mut Emitter,
        body: impl FnOnce(&mut Emitter, &Expression) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        let chunks = emitter.operand(self.row.length.div_ceil(CHUNK) as i64)?;
        emitter.repeat(chunks, false, |emitter, number| {
            let start = multiply(number, Expression::i32(CHUNK as i32));
            let start = Expression::Local(emitter.bind(ScalarType::I32, start));
            body(emitter, &start)
        })
    }

    /// Every pair of the chunk that the row has, spread over the threads; then they meet.
    fn each_of_chunk(
        &self,
        emitter: &mut Emitter,
        start: &Expression,
        body: impl FnOnce(&mut Emitter, LocalId, LocalId) -> Result<(), LowerError>,
    ) -> Result<(), LowerError> {
        let rounds = self.chunk().div_ceil(emitter.threads());
        emitter.repeat(Expression::i32(rounds as i32), false, |emitter, round| {
            let first = multiply(round, Expression::i32(emitter.threads() as i32));
            let slot = emitter.bind(ScalarType::I32, add(first, self.row.thread));
            let place = emitter.bind(ScalarType::I32, add(start.clone(), slot));
            emitter.when(Some(less(place, self.length.clone())), |emitter| body(emitter, slot, place))
        })?;
        emitter.push(Statement::BlockBarrier);
        Ok(())
    }

    /// Brings a chunk's values and places into shared memory.
    fn bring(&self, emitter: &mut Emitter, start: &Expression) -> Result<(), LowerError> {
        self.each_of_chunk(emitter, start, |emitter, slot, place| {
            let element = emitter.body().stages[0].expr.body_element();
            let value = self.row.value(emitter, self.row.point(Expression::i32(0), place.into()))?;
            let value = match element {
                ElementType::Bool => converted(emitter, ElementType::Bool, ElementType::I32, value)?,
                _ => value,
            };
            self.store_shared(emitter, slot.into(), [value, place.into()]);
            Ok(())
        })
    }

    /// Brings a chunk's pairs from where they stand between steps.
    fn fetch(&self, emitter: &mut Emitter, start: &Expression) -> Result<(), LowerError> {
        self.each_of_chunk(emitter, start, |emitter, slot, place| {
            let pair = self.load_far(emitter, place.into())?;
            self.store_shared(emitter, slot.into(), [pair.key.into(), pair.place.into()]);
            Ok(())
        })
    }

    /// Writes a pair to where it stands between steps.
    fn put_back(&self, emitter: &mut Emitter, slot: LocalId, place: LocalId) -> Result<(), LowerError> {
        let pair = self.load_shared(emitter, slot.into());
        self.store_far(emitter, place.into(), pair)
    }

    /// Writes a place of the order.
    fn finish(&self, emitter: &mut Emitter, slot: LocalId, place: LocalId) -> Result<(), LowerError> {
        let pair = self.load_shared(emitter, slot.into());
        let index = self.row.element(emitter, place.into())?;
        let value = Expression::Cast(ScalarType::I64, Box::new(pair.place.into()));
        emitter.push(Statement::StoreGlobal { memory: MemoryType::I64, index, values: vec![value] });
        Ok(())
    }

    /// The first levels of the network, which stay in a chunk.
    fn levels_of_chunk(&self, emitter: &mut Emitter, levels: usize, start: &Expression) -> Result<(), LowerError> {
        emitter.repeat(Expression::i32(levels as i32), false, |emitter, level| {
            emitter.repeat(add(level, Expression::i32(1)), false, |emitter, step| {
                let shift = emitter.bind(ScalarType::I32, binary(BinaryOp::Subtract, level, step));
                let mask = Expression::Local(emitter.bind(ScalarType::I32, partner_mask(shift.into(), step)));
                self.exchange_near(emitter, shift.into(), mask, start)
            })
        })
    }

    /// A step over pairs in shared memory, whose partners differ by `mask`; then all threads meet.
    fn exchange_near(
        &self,
        emitter: &mut Emitter,
        shift: Expression,
        mask: Expression,
        start: &Expression,
    ) -> Result<(), LowerError> {
        let limit = emitter.bind(ScalarType::I32, binary(BinaryOp::Subtract, self.length.clone(), start.clone()));
        let limit = binary(BinaryOp::Minimum, limit, Expression::i32(self.chunk() as i32));
        let limit = Expression::Local(emitter.bind(ScalarType::I32, limit));
        let rounds = Expression::i32((self.chunk() / 2).div_ceil(emitter.threads()) as i32);
        emitter.repeat(rounds, false, |emitter, round| {
            let [low, high] = self.partners(emitter, round, &shift, &mask);
            emitter.when(Some(less(high, limit.clone())), |emitter| {
                let pairs = [low, high].map(|at| self.load_shared(emitter, at.into()));
                let swap = self.comes_before(emitter, pairs[1], pairs[0]);
                emitter.when(Some(swap), |emitter| {
                    self.store_shared(emitter, low.into(), [pairs[1].key.into(), pairs[1].place.into()]);
                    self.store_shared(emitter, high.into(), [pairs[0].key.into(), pairs[0].place.into()]);
                    Ok(())
                })
            })
        })?;
        emitter.push(Statement::BlockBarrier);
        Ok(())
    }

    /// A step over pairs of a long row; then all threads meet.
    fn exchange_far(&self, emitter: &mut Emitter, shift: Expression, step: LocalId) -> Result<(), LowerError> {
        let shift = Expression::Local(emitter.bind(ScalarType::I32, shift));
        let mask = Expression::Local(emitter.bind(ScalarType::I32, partner_mask(shift.clone(), step)));
        let rounds = emitter.operand((self.padded / 2 / emitter.threads()) as i64)?;
        emitter.repeat(rounds, false, |emitter, round| {
            let [low, high] = self.partners(emitter, round, &shift, &mask);
            emitter.when(Some(less(high, self.length.clone())), |emitter| {
                let pairs = [self.load_far(emitter, low.into())?, self.load_far(emitter, high.into())?];
                let swap = self.comes_before(emitter, pairs[1], pairs[0]);
                emitter.when(Some(swap), |emitter| {
                    self.store_far(emitter, low.into(), pairs[1])?;
                    self.store_far(emitter, high.into(), pairs[0])
                })
            })
        })?;
        emitter.push(Statement::BlockBarrier);
        Ok(())
    }

    /// The slots of the pairs that a thread compares in a round: one without the bit of the distance, and its partner.
    fn partners(&self, emitter: &mut Emitter, round: LocalId, shift: &Expression, mask: &Expression) -> [LocalId; 2] {
        let first = multiply(round, Expression::i32(emitter.threads() as i32));
        let number = emitter.bind(ScalarType::I32, add(first, self.row.thread));
        let one = Expression::i32(1);
        let above = binary(BinaryOp::ShiftRight, number, shift.clone());
        let above = binary(BinaryOp::ShiftLeft, above, add(shift.clone(), one.clone()));
        let below = binary(BinaryOp::Subtract, binary(BinaryOp::ShiftLeft, one.clone(), shift.clone()), one);
        let low = emitter.bind(ScalarType::I32, add(above, binary(BinaryOp::BitAnd, number, below)));
        let high = emitter.bind(ScalarType::I32, binary(BinaryOp::BitXor, low, mask.clone()));
        [low, high]
    }

    /// Whether pair `x` comes before pair `y` in the order.
    fn comes_before(&self, emitter: &mut Emitter, x: Pair, y: Pair) -> Expression {
        let (first, second) = match self.direction {
            Direction::Ascending => (x, y),
            Direction::Descending => (y, x),
        };
        let mut ahead = less(first.key, second.key);
        let mut equal = binary(BinaryOp::Equal, x.key, y.key);
        if self.scalar == ScalarType::F32 {
            let number = |pair: Pair| binary(BinaryOp::Equal, pair.key, pair.key);
            let not = |value: Expression| Expression::Unary(UnaryOp::Not, Box::new(value));
            let last = binary(BinaryOp::And, number(first), not(number(second)));
            ahead = binary(BinaryOp::Or, ahead, last);
            equal = binary(BinaryOp::Or, equal, not(binary(BinaryOp::Or, number(x), number(y))));
        }
        let tie = binary(BinaryOp::And, equal, less(x.place, y.place));
        Expression::Local(emitter.bind(ScalarType::Bool, binary(BinaryOp::Or, ahead, tie)))
    }

    fn load_shared(&self, emitter: &mut Emitter, slot: Expression) -> Pair {
        let pair = self.pair(emitter);
        for (local, array) in [(pair.key, self.keys), (pair.place, self.places)] {
            let place = Place::Local(local);
            emitter.push(Statement::LoadShared { place, array, width: Width::One, index: slot.clone() });
        }
        pair
    }

    fn store_shared(&self, emitter: &mut Emitter, slot: Expression, values: [Expression; 2]) {
        for (array, value) in [self.keys, self.places].into_iter().zip(values) {
            emitter.push(Statement::StoreShared { array, index: slot.clone(), values: vec![value] });
        }
    }

    fn load_far(&self, emitter: &mut Emitter, place: Expression) -> Result<Pair, LowerError> {
        let pair = self.pair(emitter);
        let words = self.words(emitter, place)?;
        for ((local, memory), index) in [(pair.key, self.memory), (pair.place, MemoryType::I32)].into_iter().zip(words)
        {
            let (place, space) = (Place::Local(local), GlobalSpace::Arena);
            emitter.push(Statement::LoadGlobal { place, space, memory, width: Width::One, index });
        }
        Ok(pair)
    }

    fn store_far(&self, emitter: &mut Emitter, place: Expression, pair: Pair) -> Result<(), LowerError> {
        let words = self.words(emitter, place)?;
        for ((local, memory), index) in [(pair.key, self.memory), (pair.place, MemoryType::I32)].into_iter().zip(words)
        {
            emitter.push(Statement::StoreGlobal { memory, index, values: vec![local.into()] });
        }
        Ok(())
    }

    /// The words of a pair in the memory of an element of the output.
    fn words(&self, emitter: &mut Emitter, place: Expression) -> Result<[Expression; 2], LowerError> {
        let element = self.row.element(emitter, place)?;
        let wide = |value: Expression| Expression::Cast(ScalarType::I64, Box::new(value));
        let first = emitter.bind(ScalarType::I64, multiply(wide(element), wide(Expression::i32(2))));
        Ok([first.into(), add(first, wide(Expression::i32(1)))])
    }

    fn pair(&self, emitter: &mut Emitter) -> Pair {
        Pair { key: emitter.declare(self.scalar), place: emitter.declare(ScalarType::I32) }
    }
}

/// By which bits partners differ: in the first step of a level they lie opposite one another in runs of twice the distance,
/// later at the distance.
fn partner_mask(shift: Expression, step: LocalId) -> Expression {
    let opposite = binary(BinaryOp::ShiftLeft, Expression::i32(2), shift.clone());
    let opposite = binary(BinaryOp::Subtract, opposite, Expression::i32(1));
    let apart = binary(BinaryOp::ShiftLeft, Expression::i32(1), shift);
    let is_first = binary(BinaryOp::Equal, step, Expression::i32(0));
    Expression::Select(Box::new(is_first), Box::new(opposite), Box::new(apart))
}
