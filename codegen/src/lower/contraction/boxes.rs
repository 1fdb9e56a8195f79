//! Boxes that factors are read from: what the tile reads of a tensor, brought into shared memory at once.

use warpweave_graph::expr::Literal;
use warpweave_plan::body::StageSource;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::contraction::operand_staging;
use warpweave_plan::template::contraction::operand_staging::Filling;
use warpweave_plan::template::staged::extents;
use warpweave_plan::template::staged::padded::PaddedBody;

use crate::kernel_ir::expression::{Builtin, Expression, ScalarType};
use crate::kernel_ir::ids::{ArrayId, LocalId, SharedId};
use crate::kernel_ir::statement::Statement;
use crate::lower::arithmetic::emit_literal;
use crate::lower::arithmetic::set;
use crate::lower::emitter::{Emitter, StagedArray, add, both, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::scalar::{Point, StageName};
use crate::lower::tile::{PhaseAxis, TileAxes, decode_box, staged_axis};

/// A box: the value of the staged stage at its position.
struct FactorBox {
    position: usize,
    array: SharedId,
    axes: Vec<PhaseAxis>,
    /// What lies beyond the tensor's edges.
    padding: Option<Literal>,
    filling: Filling,
}

/// The boxes of a contraction.
pub(crate) struct Boxes(Vec<FactorBox>);

impl Boxes {
    /// Finds where the tile's boxes begin. Reads of them may be emitted from now on, to stand behind [`Self::fill`].
    pub(crate) fn emit(
        emitter: &mut Emitter,
        tile: &TileAxes,
        (original, padded): (&Kernel, &PaddedBody),
    ) -> Result<Self, LowerError> {
        if original.body().staged.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let grid = original.grid();
        let boxes = operand_staging::boxes(original).expect("contractions have boxes only where they fit");
        let mut found = Vec::with_capacity(boxes.len());
        for (position, spans) in boxes.iter().enumerate() {
            let padding = padded.padding[position];
            let memory = emitter.memory_type(emitter.body().staged[position].expr.element)?;
            let array = emitter.shared(memory, extents(spans).iter().product());
            let axes = spans.iter().map(|span| staged_axis(emitter, tile, span, span.stays_inside(&grid), padding));
            let axes = axes.collect::<Result<Vec<_>, _>>()?;
            let first = axes.iter().map(|axis| axis.first.clone()).collect();
            let filling = Filling::of(spans, &grid, emitter.block_size());
            found.push(FactorBox { position, array, axes, padding, filling });
            emitter.staged.push(StagedArray { array, first, spans: spans.clone() });
        }
        Ok(Self(found))
    }

    /// Fills the boxes and meets the block behind them.
    pub(crate) fn fill(&self, emitter: &mut Emitter) -> Result<(), LowerError> {
        self.0.iter().try_for_each(|factor| factor.fill(emitter))?;
        if !self.0.is_empty() {
            emitter.push(Statement::BlockBarrier);
        }
        Ok(())
    }
}

impl FactorBox {
    fn fill(&self, emitter: &mut Emitter) -> Result<(), LowerError> {
        let Filling { dimension, count, rounds } = self.filling;
        let strides = self.strides();
        let mut extents: Vec<usize> = self.axes.iter().map(|axis| axis.extent).collect();
        extents[dimension] /= count;
        let (volume, step) = (extents.iter().product::<usize>(), extents[dimension]);
        let rounds = emitter.operand(rounds as i64)?;
        let limit = emitter.operand(volume as i64)?;
        let values = emitter.array(ScalarType::F32, count);
        emitter.repeat(rounds, false, |emitter, round| {
            let number =
                add(multiply(round, Expression::i32(emitter.threads() as i32)), Expression::Builtin(Builtin::Thread));
            let number = emitter.bind(ScalarType::I32, number);
            emitter.when(Some(less(number, limit)), |emitter| {
                let positions = decode_box(emitter, &extents, number.into())?;
                let slot = self.slot(emitter, &positions, &strides)?;
                let (mut coordinates, mut exists) = (Vec::with_capacity(positions.len()), None);
                for (axis, position) in self.axes.iter().zip(positions) {
                    let found = axis.coordinate(emitter, position);
                    coordinates.push(found.value);
                    exists = both(exists, found.exists);
                }
                self.load(emitter, coordinates, values, step)?;
                for at in 0..count {
                    let value = Expression::Element(values, Box::new(Expression::i32(at as i32)));
                    let value = match (self.padding, &exists) {
                        (Some(fill), Some(exists)) => {
                            let fill = emit_literal(emitter, fill)?;
                            Expression::Select(Box::new(exists.clone()), Box::new(value), Box::new(fill))
                        }
                        (None, _) | (_, None) => value,
                    };
                    let apart = emitter.operand((at * step * strides[dimension]) as i64)?;
                    let index = if at == 0 { slot.into() } else { add(slot, apart) };
                    emitter.push(Statement::StoreShared { array: self.array, index, values: vec![value] });
                }
                Ok(())
            })
        })
    }

    /// Brings a thread's elements, the first at these coordinates, `step` coordinates from one to the next.
    fn load(
        &self,
        emitter: &mut Emitter,
        coordinates: Vec<Expression>,
        values: ArrayId,
        step: usize,
    ) -> Result<(), LowerError> {
        let Filling { dimension, count, .. } = self.filling;
        let body = emitter.body();
        let stage = &body.staged[self.position];
        let StageSource::Operand(operand) = stage.sources[0] else { unreachable!("a box is a copy of a tensor") };
        let tensor = body.operands[operand];
        if emitter.is_tagged(tensor) {
            let stride = emitter.memory.tensors[tensor].layout.strides[dimension];
            let apart = if count > 1 { Some(emitter.operand((step * stride) as i64)?) } else { None };
            let read = stage.expr.reads.ids().next().expect("a copy reads its tensor");
            let mut point = Point::of(StageName::Staged(self.position), coordinates, &[]);
            return point.poll(emitter, read, values, (count as u32, apart));
        }
        for at in 0..count {
            let mut coordinates = coordinates.clone();
            if at > 0 {
                let moved = emitter.operand((at * step) as i64)?;
                coordinates[dimension] = add(coordinates[dimension].clone(), moved);
            }
            let mut point = Point::of(StageName::Staged(self.position), coordinates, &[]);
            let value = point.emit(emitter, &stage.expr.body)?;
            emitter.push(set(values, Expression::i32(at as i32), value));
        }
        Ok(())
    }

    /// From one coordinate to the next in the box, per dimension.
    fn strides(&self) -> Vec<usize> {
        (0..self.axes.len()).map(|at| self.axes[at + 1..].iter().map(|axis| axis.extent).product()).collect()
    }

    /// The number in the box of the element at these positions.
    fn slot(&self, emitter: &mut Emitter, positions: &[Expression], strides: &[usize]) -> Result<LocalId, LowerError> {
        let mut slot: Option<Expression> = None;
        for (position, &stride) in positions.iter().zip(strides) {
            let stride = emitter.operand(stride as i64)?;
            let moved = multiply(position.clone(), stride);
            slot = Some(slot.map_or(moved.clone(), |slot| add(slot, moved)));
        }
        let slot = slot.unwrap_or_else(|| Expression::i32(0));
        Ok(emitter.bind(ScalarType::I32, slot))
    }
}
