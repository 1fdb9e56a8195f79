//! Phases of kernels at shared-memory level: what one computes, on which box, and where it goes.

use crate::kernel_ir::expression::BinaryOp;
use crate::kernel_ir::expression::Builtin;
use crate::kernel_ir::expression::Expression;
use crate::kernel_ir::expression::ScalarType;
use crate::kernel_ir::ids::LocalId;
use crate::kernel_ir::ids::SharedId;
use crate::kernel_ir::statement::Statement;
use crate::lower::arithmetic::emit_literal;
use crate::lower::contraction::epilogue::finish_element;
use crate::lower::emitter::Emitter;
use crate::lower::emitter::add;
use crate::lower::emitter::binary;
use crate::lower::emitter::both;
use crate::lower::emitter::less;
use crate::lower::emitter::multiply;
use crate::lower::error::LowerError;
use crate::lower::scalar::Point;
use crate::lower::scalar::StageName;
use crate::lower::tile::PhaseAxis;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Literal, TensorExpr};
use warpweave_plan::template::staged::blocked::WRITTEN_OUT;
use warpweave_plan::template::staged::matrices::PhaseSpan;

/// One expression on one box.
pub(crate) struct Phase<'a> {
    pub(crate) stage: StageName,
    pub(crate) expr: &'a TensorExpr,
    /// One entry a parallel axis, in order.
    pub(crate) axes: Vec<PhaseAxis>,
    /// The same as the plan knows them.
    pub(crate) spans: Vec<PhaseSpan>,
    pub(crate) sink: Sink,
}

/// Where a phase's values go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sink {
    /// Into the staged value's array, at the element's number in the box.
    Shared {
        array: SharedId,
        /// What lies beyond the value's edges.
        padding: Option<Literal>,
    },
    /// Through the group's stages to its outputs.
    Outputs,
}

impl Phase<'_> {
    /// The numbers of the parallel axes in the expression.
    pub(crate) fn parallel(&self) -> Vec<usize> {
        self.expr.parallel().map(Id::index).collect()
    }

    /// The number of elements of the box.
    pub(crate) fn volume(&self) -> usize {
        self.axes.iter().map(|axis| axis.extent).product()
    }

    /// Coordinates of all axes, reduced ones at 0, from positions in the box, and whether the element is no padding.
    pub(crate) fn coordinates(
        &self,
        emitter: &mut Emitter,
        positions: Vec<Expression>,
    ) -> (Vec<Expression>, Option<Expression>) {
        let mut coordinates = vec![Expression::i32(0); self.expr.axes.len()];
        let mut exists = None;
        for ((axis, number), position) in self.axes.iter().zip(self.parallel()).zip(positions) {
            let found = axis.coordinate(emitter, position);
            coordinates[number] = found.value;
            exists = both(exists, found.exists);
        }
        (coordinates, exists)
    }

    /// An element's value, or the padding in its place.
    pub(crate) fn padded(
        &self,
        emitter: &Emitter,
        value: Expression,
        exists: Option<Expression>,
    ) -> Result<Expression, LowerError> {
        match (self.sink, exists) {
            (Sink::Shared { padding: Some(fill), .. }, Some(exists)) => {
                let fill = emit_literal(emitter, fill)?;
                Ok(Expression::Select(Box::new(exists), Box::new(value), Box::new(fill)))
            }
            (Sink::Shared { .. } | Sink::Outputs, _) => Ok(value),
        }
    }

    /// The value of an element: the epilogue of what was reduced, or the body.
    pub(crate) fn finish(
        &self,
        emitter: &mut Emitter,
        coordinates: Vec<Expression>,
        reduced: Option<Expression>,
    ) -> Result<Expression, LowerError> {
        let mut point = Point::of(self.stage, coordinates, &[]);
        point.reduced.clone_from(&reduced);
        match (&self.expr.epilogue, reduced) {
            (Some(epilogue), _) => point.emit(emitter, epilogue),
            (None, Some(reduced)) => Ok(reduced),
            (None, None) => point.emit(emitter, &self.expr.body),
        }
    }

    /// Stores an element: `slot` is its number in the box, `exists` whether it is no padding.
    pub(crate) fn store(
        &self,
        emitter: &mut Emitter,
        coordinates: Vec<Expression>,
        slot: Expression,
        reduced: Expression,
        exists: Option<Expression>,
    ) -> Result<(), LowerError> {
        match self.sink {
            Sink::Outputs => finish_element(emitter, coordinates, reduced),
            Sink::Shared { array, .. } => {
                let value = self.finish(emitter, coordinates, Some(reduced))?;
                let value = self.padded(emitter, value, exists)?;
                emitter.push(Statement::StoreShared { array, index: slot, values: vec![value] });
                Ok(())
            }
        }
    }
}

/// `trip · threads + thread`.
pub(crate) fn thread_number(emitter: &mut Emitter, trip: LocalId) -> LocalId {
    let first = multiply(trip, Expression::i32(emitter.threads() as i32));
    emitter.bind(ScalarType::I32, add(first, Expression::Builtin(Builtin::Thread)))
}

/// What is emitted at one point, given the coordinates of all axes.
type AtPoint<'p> = dyn FnMut(&mut Emitter, &[Expression]) -> Result<(), LowerError> + 'p;

/// Nested loops over reduced axes; the innermost in runs where they fit.
pub(crate) fn reduce_axes(
    emitter: &mut Emitter,
    expr: &TensorExpr,
    axes: &[AxisId],
    coordinates: &[Expression],
    body: &mut AtPoint,
) -> Result<(), LowerError> {
    let Some((&axis, rest)) = axes.split_first() else { return body(emitter, coordinates) };
    let extent = expr.axes[axis].extent;
    let at = |variable: Expression| {
        let mut coordinates = coordinates.to_vec();
        coordinates[axis.index()] = variable;
        coordinates
    };
    if rest.is_empty() && extent.is_multiple_of(WRITTEN_OUT) {
        let trips = emitter.operand((extent / WRITTEN_OUT) as i64)?;
        return emitter.repeat(trips, false, |emitter, trip| {
            emitter.repeat(Expression::i32(WRITTEN_OUT as i32), true, |emitter, step| {
                let first = multiply(trip, Expression::i32(WRITTEN_OUT as i32));
                let number = emitter.bind(ScalarType::I32, add(first, step));
                body(emitter, &at(number.into()))
            })
        });
    }
    let extent = emitter.operand(extent as i64)?;
    emitter.repeat(extent, false, |emitter, variable| reduce_axes(emitter, expr, rest, &at(variable.into()), body))
}

/// Both conditions on all of these.
pub(crate) fn all(conditions: impl IntoIterator<Item = Option<Expression>>) -> Option<Expression> {
    conditions.into_iter().fold(None, both)
}

/// Asks for the trip behind this one. Where the whole axis is walked, the last trip asks for its own steps again: nothing
/// branches, so the loads stand before the products.
pub(super) fn fetch_behind(
    emitter: &mut Emitter,
    (trip, trips): (LocalId, &Expression),
    again: bool,
    fetch: &mut dyn FnMut(&mut Emitter, LocalId) -> Result<(), LowerError>,
) -> Result<(), LowerError> {
    let behind = emitter.bind(ScalarType::I32, add(trip, Expression::i32(1)));
    if !again {
        return emitter.when(Some(less(behind, trips.clone())), |emitter| fetch(emitter, behind));
    }
    let last = binary(BinaryOp::Subtract, trips.clone(), Expression::i32(1));
    let behind = emitter.bind(ScalarType::I32, binary(BinaryOp::Minimum, behind, last));
    fetch(emitter, behind)
}
