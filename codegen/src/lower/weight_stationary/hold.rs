//! The kernel that brings what a tile keeps on chip.

use warpweave_plan::template::row::rounds::RUN;
use warpweave_plan::template::weight_stationary::reads::{
    ResidentRead, column_axes, resident_element, resident_elements, resident_reads,
};

use crate::kernel_ir::expression::{BinaryOp, Builtin, Expression, ScalarType};
use crate::kernel_ir::ids::SharedId;
use crate::kernel_ir::statement::Statement;
use crate::lower::emitter::{Emitter, add, binary, multiply};
use crate::lower::error::LowerError;
use crate::lower::row::fetch_run;
use crate::lower::tile::{TileAxes, decode_box};

/// Emits the kernel that brings what a tile keeps: a thread a run of neighbours.
pub(crate) fn emit_hold(emitter: &mut Emitter) -> Result<(), LowerError> {
    let kept = declare(emitter)?;
    let tile = TileAxes::emit(emitter)?;
    let first_row = column_axes(emitter.body());
    let axes: Vec<usize> = (first_row..emitter.body().tile_rank).collect();
    let rows = tile.volume(&axes);
    let mut offset = 0;
    for read in resident_reads(emitter.body()) {
        let runs = read.length / RUN;
        let trips = emitter.operand((rows * runs).div_ceil(emitter.threads()) as i64)?;
        let limit = emitter.operand((rows * runs) as i64)?;
        let start = emitter.operand(offset as i64)?;
        emitter.repeat(trips, false, |emitter, trip| {
            let first = multiply(trip, Expression::i32(emitter.threads() as i32));
            let number = emitter.bind(ScalarType::I32, add(first, Expression::Builtin(Builtin::Thread)));
            let inside = binary(BinaryOp::Less, number, limit);
            emitter.when(Some(inside), |emitter| {
                let place = decode_box(emitter, &[rows, runs], number.into())?;
                let row = emitter.bind(ScalarType::I32, place[0].clone());
                let (coordinates, real) = tile.decode(emitter, &axes, row, rows)?;
                emitter.when(real, |emitter| {
                    let rows = coordinates.into_iter().map(Expression::Local);
                    let coordinates = tile.origin().into_iter().take(first_row).chain(rows).collect();
                    let from = multiply(place[1].clone(), Expression::i32(RUN as i32));
                    let point = reduced_point(emitter, &read, coordinates, from)?;
                    let array = fetch_run(emitter, read.stage, read.id, &point, &[])?;
                    let element = |at: usize| Expression::Element(array, Box::new(Expression::i32(at as i32)));
                    let index = add(multiply(number, Expression::i32(RUN as i32)), start.clone());
                    let values = (0..RUN).map(element).collect();
                    emitter.push(Statement::StoreShared { array: kept, index, values });
                    Ok(())
                })
            })
        })?;
        offset += rows * read.length;
    }
    Ok(())
}

/// The array that the constants of a tile lie in.
pub(super) fn declare(emitter: &mut Emitter) -> Result<SharedId, LowerError> {
    let memory = emitter.memory_type(resident_element(emitter.body()))?;
    let length = resident_elements(emitter.kernel());
    Ok(emitter.keep(memory, length))
}

/// The coordinates of all axes at a point of the reduction.
pub(super) fn reduced_point(
    emitter: &mut Emitter,
    read: &ResidentRead,
    mut coordinates: Vec<Expression>,
    from: Expression,
) -> Result<Vec<Expression>, LowerError> {
    let expr = &emitter.body().stages[read.stage].expr;
    let lengths: Vec<usize> = expr.reduced().map(|axis| expr.axes[axis].extent).collect();
    coordinates.extend(decode_box(emitter, &lengths, from)?);
    Ok(coordinates)
}
