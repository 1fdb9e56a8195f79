//! Greedy suppression: the lanes of every warp look at as many places of a batch, each warp at other places before them.
//!
//! Which places before a batch stay is known, a bit each in shared memory. Which places of the batch suppress which is found
//! by all threads side by side; then every thread goes through the batch by itself and finds the same.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Index, ReadId, TensorExpr};

use crate::kernel_ir::expression::{BinaryOp, Constant, Expression, ScalarType, UnaryOp};
use crate::kernel_ir::ids::{LocalId, SharedId};
use crate::kernel_ir::memory::WARP_SIZE;
use crate::kernel_ir::memory::{MemoryType, Width};
use crate::kernel_ir::statement::{Place, Statement};
use crate::lower::emitter::{Emitter, add, binary, both, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::opaque::Row;

/// Places of a batch.
const BATCH: i32 = WARP_SIZE as i32;

pub(crate) fn emit(emitter: &mut Emitter, row: &Row, most: u64) -> Result<(), LowerError> {
    let batches = row.length.div_ceil(BATCH as usize);
    let kernel = Suppression {
        row,
        staying: emitter.shared(MemoryType::I32, batches),
        found: emitter.shared(MemoryType::I32, emitter.threads()),
        joined: emitter.shared(MemoryType::I32, BATCH as usize),
        lane: emitter.bind(ScalarType::I32, binary(BinaryOp::BitAnd, row.thread, Expression::i32(BATCH - 1))),
        warp: emitter.bind(ScalarType::I32, binary(BinaryOp::ShiftRight, row.thread, Expression::i32(5))),
        length: emitter.operand(row.length as i64)?,
    };
    let most = emitter.operand(most.min(row.length as u64) as i64)?;
    let left = emitter.bind(ScalarType::I32, most);
    let batches = emitter.operand(batches as i64)?;
    emitter.repeat(batches, false, |emitter, batch| kernel.batch(emitter, batch, left))
}

struct Suppression<'r> {
    row: &'r Row,
    /// Of each batch, the places that stay.
    staying: SharedId,
    /// Of each thread, by which of its places of the batch its lane's place is suppressed.
    found: SharedId,
    /// Of each place of the batch, by which of them it is suppressed; by itself if by an earlier one.
    joined: SharedId,
    lane: LocalId,
    warp: LocalId,
    length: Expression,
}

impl Suppression<'_> {
    fn batch(&self, emitter: &mut Emitter, batch: LocalId, left: LocalId) -> Result<(), LowerError> {
        let first = emitter.bind(ScalarType::I32, multiply(batch, Expression::i32(BATCH)));
        let place = emitter.bind(ScalarType::I32, add(first, self.lane));
        let inside = Expression::Local(emitter.bind(ScalarType::Bool, less(place, self.length.clone())));
        let found = emitter.bind(ScalarType::I32, Expression::i32(0));
        let open = both(Some(inside.clone()), Some(less(Expression::i32(0), left)));
        emitter.when(open, |emitter| {
            let known = self.known_reads(emitter, place)?;
            let gone = self.by_earlier(emitter, batch, place, &known)?;
            emitter.when(Some(not(gone.into())), |emitter| self.by_batch(emitter, [first, place], &known, found))?;
            emitter.when(Some(gone.into()), |emitter| {
                emitter.assign(found, bit(self.lane.into()));
                Ok::<_, LowerError>(())
            })
        })?;
        self.join(emitter, found)?;
        let stays = self.resolve(emitter, first, left)?;
        let leads = less(self.row.thread, Expression::i32(BATCH));
        emitter.when(both(Some(leads), Some(inside)), |emitter| {
            let index = self.row.element(emitter, place.into())?;
            let values = vec![has_bit(stays.into(), self.lane.into())];
            emitter.push(Statement::StoreGlobal { memory: MemoryType::Bool, index, values });
            Ok::<_, LowerError>(())
        })?;
        let is_one = binary(BinaryOp::Equal, self.row.thread, Expression::i32(0));
        emitter.when(Some(is_one), |emitter| {
            emitter.push(Statement::StoreShared {
                array: self.staying,
                index: batch.into(),
                values: vec![stays.into()],
            });
            Ok::<_, LowerError>(())
        })?;
        emitter.push(Statement::BlockBarrier);
        Ok(())
    }

    /// The values of reads that depend on the place alone.
    fn known_reads(&self, emitter: &mut Emitter, place: LocalId) -> Result<Vec<(ReadId, LocalId)>, LowerError> {
        let expr = &emitter.body().stages[0].expr;
        let mut point = self.row.point(place.into(), Expression::i32(0));
        let mut known = Vec::new();
        for id in expr.reads.ids().filter(|id| is_of_place(expr, *id)) {
            known.push((id, point.read(emitter, id)?));
        }
        Ok(known)
    }

    /// The body's value for a place and another.
    fn value(
        &self,
        emitter: &mut Emitter,
        [place, each]: [LocalId; 2],
        known: &[(ReadId, LocalId)],
    ) -> Result<Expression, LowerError> {
        let mut point = self.row.point(place.into(), each.into());
        known.iter().for_each(|(id, local)| point.known_read(*id, *local));
        self.row.value(emitter, point)
    }

    /// Whether one of the places that stay of the warp's batches before this one suppresses the place.
    fn by_earlier(
        &self,
        emitter: &mut Emitter,
        batch: LocalId,
        place: LocalId,
        known: &[(ReadId, LocalId)],
    ) -> Result<LocalId, LowerError> {
        let gone = emitter.bind(ScalarType::Bool, Expression::Constant(Constant::Bool(false)));
        let warps = emitter.warps() as i32;
        let count = binary(BinaryOp::Subtract, add(batch, Expression::i32(warps - 1)), self.warp);
        let count = binary(BinaryOp::ShiftRight, count, Expression::i32(warps.ilog2() as i32));
        let count = emitter.bind(ScalarType::I32, count);
        emitter.repeat(count.into(), false, |emitter, trip| {
            let word = add(multiply(trip, Expression::i32(warps)), self.warp);
            let word = emitter.bind(ScalarType::I32, word);
            let staying = self.load(emitter, self.staying, word.into());
            let any = not(binary(BinaryOp::Equal, staying, Expression::i32(0)));
            emitter.when(Some(any), |emitter| {
                emitter.repeat(Expression::i32(BATCH), false, |emitter, at| {
                    let counts = both(Some(has_bit(staying.into(), at.into())), Some(not(gone.into())));
                    emitter.when(counts, |emitter| {
                        let each = add(multiply(word, Expression::i32(BATCH)), at);
                        let each = emitter.bind(ScalarType::I32, each);
                        let value = self.value(emitter, [place, each], known)?;
                        emitter.assign(gone, value);
                        Ok(())
                    })
                })
            })
        })?;
        Ok(gone)
    }

    /// Adds to `found` which of the warp's places of the batch, up to the place itself, suppress the place.
    fn by_batch(
        &self,
        emitter: &mut Emitter,
        [first, place]: [LocalId; 2],
        known: &[(ReadId, LocalId)],
        found: LocalId,
    ) -> Result<(), LowerError> {
        // Places of the batch with which a warp compares all others.
        let own = BATCH / emitter.warps() as i32;
        emitter.repeat(Expression::i32(own), false, |emitter, trip| {
            let at = emitter.bind(ScalarType::I32, add(multiply(self.warp, Expression::i32(own)), trip));
            let each = emitter.bind(ScalarType::I32, add(first, at));
            emitter.when(Some(binary(BinaryOp::LessEqual, each, place)), |emitter| {
                let value = self.value(emitter, [place, each], known)?;
                emitter.when(Some(value), |emitter| {
                    emitter.assign(found, binary(BinaryOp::BitOr, found, bit(at.into())));
                    Ok(())
                })
            })
        })
    }

    /// Joins what the warps found; then all threads meet.
    fn join(&self, emitter: &mut Emitter, found: LocalId) -> Result<(), LowerError> {
        let index = self.row.thread.into();
        emitter.push(Statement::StoreShared { array: self.found, index, values: vec![found.into()] });
        emitter.push(Statement::BlockBarrier);
        emitter.when(Some(less(self.row.thread, Expression::i32(BATCH))), |emitter| {
            let joined = emitter.bind(ScalarType::I32, Expression::i32(0));
            emitter.repeat(Expression::i32(emitter.warps() as i32), false, |emitter, warp| {
                let index = add(multiply(warp, Expression::i32(BATCH)), self.row.thread);
                let found = self.load(emitter, self.found, index);
                emitter.assign(joined, binary(BinaryOp::BitOr, joined, found));
                Ok::<_, LowerError>(())
            })?;
            let index = self.row.thread.into();
            emitter.push(Statement::StoreShared { array: self.joined, index, values: vec![joined.into()] });
            Ok::<_, LowerError>(())
        })?;
        emitter.push(Statement::BlockBarrier);
        Ok(())
    }

    /// Which places of the batch stay, one after another.
    fn resolve(&self, emitter: &mut Emitter, first: LocalId, left: LocalId) -> Result<LocalId, LowerError> {
        let stays = emitter.bind(ScalarType::I32, Expression::i32(0));
        emitter.repeat(Expression::i32(BATCH), false, |emitter, at| {
            let by = self.load(emitter, self.joined, at.into());
            let own = emitter.bind(ScalarType::I32, binary(BinaryOp::BitOr, stays, bit(at.into())));
            let alone = binary(BinaryOp::Equal, binary(BinaryOp::BitAnd, by, own), Expression::i32(0));
            let counts = both(Some(less(Expression::i32(0), left)), Some(less(add(first, at), self.length.clone())));
            emitter.when(both(Some(alone), counts), |emitter| {
                emitter.assign(stays, own.into());
                emitter.assign(left, binary(BinaryOp::Subtract, left, Expression::i32(1)));
                Ok::<_, LowerError>(())
            })
        })?;
        Ok(stays)
    }

    fn load(&self, emitter: &mut Emitter, array: SharedId, index: Expression) -> LocalId {
        let value = emitter.declare(ScalarType::I32);
        emitter.push(Statement::LoadShared { place: Place::Local(value), array, width: Width::One, index });
        value
    }
}

/// Whether a read's place depends on the row and the place alone.
fn is_of_place(expr: &TensorExpr, id: ReadId) -> bool {
    let read = &expr.reads[id];
    let parallel = expr.parallel().count();
    let is_free = |index: &Index| {
        let mut free = index.is_free_of_reads();
        index.visit(&mut |axis| free &= axis.index() < parallel, &mut |_| {});
        free
    };
    read.index.iter().all(is_free) && read.guard.conditions().iter().all(|condition| is_free(&condition.index))
}

fn bit(at: Expression) -> Expression {
    binary(BinaryOp::ShiftLeft, Expression::i32(1), at)
}

fn has_bit(word: Expression, at: Expression) -> Expression {
    let rest = binary(BinaryOp::BitAnd, binary(BinaryOp::ShiftRight, word, at), Expression::i32(1));
    binary(BinaryOp::Equal, rest, Expression::i32(1))
}

fn not(value: Expression) -> Expression {
    Expression::Unary(UnaryOp::Not, Box::new(value))
}
