//! The opaque template: a block a row, one file a procedure.

pub(crate) mod sort;
pub(crate) mod suppress;

use warpweave_graph::expr::{Index, Scalar};
use warpweave_graph::procedure::{Opaque, Procedure};

use crate::kernel_ir::expression::{Builtin, Expression, ScalarType};
use crate::kernel_ir::ids::LocalId;
use crate::lower::emitter::{Emitter, add};
use crate::lower::error::LowerError;
use crate::lower::scalar::Point;
use crate::lower::tile::TileAxes;

pub(crate) fn emit(emitter: &mut Emitter) -> Result<(), LowerError> {
    let stage = &emitter.body().stages[0];
    let procedure = stage.procedure.expect("a verified plan gives the template to procedures alone");
    let length = Opaque::row(&stage.expr);
    if length == 0 {
        return Ok(());
    }
    let coordinates = TileAxes::emit(emitter)?.origin();
    let thread = emitter.bind(ScalarType::I32, Expression::Builtin(Builtin::Thread));
    let row = Row { coordinates, length, thread };
    match procedure {
        Procedure::Sort(direction) => sort::emit(emitter, &row, direction),
        Procedure::Suppress { most } => suppress::emit(emitter, &row, most),
    }
}

/// The row of a block.
pub(crate) struct Row {
    /// Coordinates of the tile axes.
    coordinates: Vec<Expression>,
    /// Places of the row.
    length: usize,
    /// The thread's number in the block.
    thread: LocalId,
}

impl Row {
    /// The stage at a place, the reduced axis at `each`.
    fn point(&self, place: Expression, each: Expression) -> Point<'static> {
        let axes = self.coordinates.iter().cloned().chain([place, each]).collect();
        Point::new(0, axes, &[])
    }

    /// The body's value at such a point.
    fn value(&self, emitter: &mut Emitter, mut point: Point<'_>) -> Result<Expression, LowerError> {
        let body: &Scalar = &emitter.body().stages[0].expr.body;
        point.emit(emitter, body)
    }

    /// Where the element of a place is written, counted in elements.
    fn element(&self, emitter: &mut Emitter, place: Expression) -> Result<Expression, LowerError> {
        let body = emitter.body();
        let stage = &body.stages[0];
        let output = stage.output.as_ref().expect("a verified plan writes what a procedure computes");
        let tensor = body.outputs[output.position];
        let layout = &emitter.memory.tensors[tensor].layout;
        let offset = Index::linear(&output.index, &layout.strides, layout.offset);
        let base = emitter.element(tensor, offset.offset())?;
        let relative = offset.plus(-offset.offset());
        let index = self.point(place, Expression::i32(0)).index(emitter, &stage.expr, &relative)?;
        Ok(add(index, base))
    }
}
