//! A phase with a warp an element: its reduction runs across lanes.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::AxisId;

use crate::kernel_ir::expression::{BinaryOp, Builtin, Expression, ScalarType};
use crate::kernel_ir::memory::WARP_SIZE;
use crate::kernel_ir::statement::Statement;
use crate::lower::arithmetic::scalar_type;
use crate::lower::emitter::{Emitter, add, binary, both, less, multiply};
use crate::lower::error::LowerError;
use crate::lower::reduce::{accumulate, neutral};
use crate::lower::row::across_warp;
use crate::lower::scalar::Point;
use crate::lower::staged::phase::Phase;
use crate::lower::staged::phase::Sink;
use crate::lower::tile::decode_box;

/// Emits the phase; its values go to shared memory. Warps beyond the last element repeat it and store nothing.
pub(crate) fn emit(emitter: &mut Emitter, phase: &Phase) -> Result<(), LowerError> {
    let Sink::Shared { array, .. } = phase.sink else { unreachable!("outputs are emitted point by point elsewhere") };
    let reducer = phase.expr.reducer.expect("only reductions run across lanes");
    let element = phase.expr.body_element();
    let scalar = scalar_type(emitter, element)?;
    let extents: Vec<usize> = phase.axes.iter().map(|axis| axis.extent).collect();
    let reduced: Vec<AxisId> = phase.expr.reduced().collect();
    let lengths: Vec<usize> = reduced.iter().map(|&axis| phase.expr.axes[axis].extent).collect();
    let length: usize = lengths.iter().product();
    let thread = emitter.bind(ScalarType::I32, Expression::Builtin(Builtin::Thread));
    let warp = emitter.bind(ScalarType::I32, binary(BinaryOp::ShiftRight, thread, Expression::i32(5)));
    let lane = emitter.bind(ScalarType::I32, binary(BinaryOp::BitAnd, thread, Expression::i32(31)));
    let volume = phase.volume();
    let trips = emitter.operand(volume.div_ceil(emitter.warps()) as i64)?;
    let limit = emitter.operand(volume as i64)?;
    let last = emitter.operand(volume as i64 - 1)?;
    let steps = emitter.operand(length.div_ceil(WARP_SIZE as usize) as i64)?;
    let length = emitter.operand(length as i64)?;
    emitter.repeat(trips, false, |emitter, trip| {
        let number = add(multiply(trip, Expression::i32(emitter.warps() as i32)), warp);
        let number = emitter.bind(ScalarType::I32, number);
        let kept = emitter.bind(ScalarType::I32, binary(BinaryOp::Minimum, number, last));
        let positions = decode_box(emitter, &extents, kept.into())?;
        let (coordinates, _) = phase.coordinates(emitter, positions);
        let start = neutral(emitter, reducer, element)?;
        let accumulator = emitter.bind(scalar, start);
        emitter.repeat(steps, false, |emitter, step| {
            let at = add(multiply(step, Expression::i32(WARP_SIZE as i32)), lane);
            let at = emitter.bind(ScalarType::I32, at);
            emitter.when(Some(less(at, length)), |emitter| {
                let mut coordinates = coordinates.clone();
                let inner = decode_box(emitter, &lengths, at.into())?;
                for (axis, coordinate) in reduced.iter().zip(inner) {
                    coordinates[axis.index()] = coordinate;
                }
                let mut point = Point::of(phase.stage, coordinates, &[]);
                accumulate(emitter, &mut point, reducer, &phase.expr.body, accumulator, scalar)
            })
        })?;
        across_warp(emitter, reducer, accumulator, scalar);
        let value = phase.finish(emitter, coordinates.clone(), Some(accumulator.into()))?;
        let first = binary(BinaryOp::Equal, lane, Expression::i32(0));
        emitter.when(both(Some(first), Some(less(number, limit))), |emitter| {
            emitter.push(Statement::StoreShared { array, index: number.into(), values: vec![value] });
            Ok(())
        })
    })
}
