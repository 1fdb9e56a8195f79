//! A phase with a thread an element.

use warpweave_graph::expr::AxisId;

use crate::kernel_ir::statement::Statement;
use crate::lower::emitter::{Emitter, less};
use crate::lower::error::LowerError;
use crate::lower::reduce::{accumulate, neutral};
use crate::lower::scalar::Point;
use crate::lower::staged::phase::Sink;
use crate::lower::staged::phase::{Phase, reduce_axes, thread_number};
use crate::lower::tile::decode_box;
use crate::lower::types::scalar_type;

/// Emits the phase; its values go to shared memory.
pub(crate) fn emit(emitter: &mut Emitter, phase: &Phase) -> Result<(), LowerError> {
    let Sink::Shared { array, .. } = phase.sink else { unreachable!("outputs are emitted point by point elsewhere") };
    let extents: Vec<usize> = phase.axes.iter().map(|axis| axis.extent).collect();
    let volume = phase.volume();
    let trips = emitter.operand(volume.div_ceil(emitter.threads()) as i64)?;
    let limit = emitter.operand(volume as i64)?;
    emitter.repeat(trips, false, |emitter, trip| {
        let number = thread_number(emitter, trip);
        emitter.when(Some(less(number, limit)), |emitter| {
            let positions = decode_box(emitter, &extents, number.into())?;
            let (coordinates, exists) = phase.coordinates(emitter, positions);
            let reduced = reduce(emitter, phase, &coordinates)?;
            let value = phase.finish(emitter, coordinates, reduced.map(Into::into))?;
            let value = phase.padded(emitter, value, exists)?;
            emitter.push(Statement::StoreShared { array, index: number.into(), values: vec![value] });
            Ok(())
        })
    })
}

fn reduce(
    emitter: &mut Emitter,
    phase: &Phase,
    coordinates: &[crate::kernel_ir::expression::Expression],
) -> Result<Option<crate::kernel_ir::ids::LocalId>, LowerError> {
    let Some(reducer) = phase.expr.reducer else { return Ok(None) };
    let element = phase.expr.body_element();
    let scalar = scalar_type(emitter, element)?;
    let start = neutral(emitter, reducer, element)?;
    let accumulator = emitter.bind(scalar, start);
    let axes: Vec<AxisId> = phase.expr.reduced().collect();
    reduce_axes(emitter, phase.expr, &axes, coordinates, &mut |emitter, coordinates| {
        let mut point = Point::of(phase.stage, coordinates.to_vec(), &[]);
        accumulate(emitter, &mut point, reducer, &phase.expr.body, accumulator, scalar)
    })?;
    Ok(Some(accumulator))
}
