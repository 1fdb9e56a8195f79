//! The template of kept rows: a warp a row, one factor of every product on chip since the launch began.
//!
//! A call runs the rTasks of several steps: it loads what registers can hold of the kept rows once. In a step a row's sums
//! are combined across the lanes of its warp, of which then one computes what follows them. Constants that this reads are
//! loaded once a call, too. What else it reads of global memory is loaded behind the polls, beside the products. Vectors that
//! carry their own validity are polled once a tile, by as many threads at once as there are, and put into shared memory for all
//! rows.
//!
//! A tile may have several columns: the points of a batch, whose vectors the same rows are multiplied by. As many columns as
//! there are registers for share what is loaded of a row.

mod finish;
mod hold;
mod poll;
mod products;
mod rows;
mod runs;

use warpweave_plan::template::weight_stationary::passes::Passes;

pub(crate) use self::hold::emit_hold;
use self::products::{Products, Warp};
use self::rows::{FinishingRow, RowAxes};
use crate::kernel_ir::expression::{BinaryOp, Builtin, Expression, ScalarType};
use crate::kernel_ir::memory::MemoryType;
use crate::kernel_ir::statement::Statement;
use crate::lower::emitter::{Emitter, binary};
use crate::lower::error::LowerError;
use crate::lower::tile::TileAxes;

pub(crate) fn emit(emitter: &mut Emitter) -> Result<(), LowerError> {
    let kept = hold::declare(emitter)?;
    let tile = TileAxes::emit(emitter)?;
    let thread = emitter.bind(ScalarType::I32, Expression::Builtin(Builtin::Thread));
    let number = emitter.bind(ScalarType::I32, binary(BinaryOp::ShiftRight, thread, Expression::i32(5)));
    let lane = emitter.bind(ScalarType::I32, binary(BinaryOp::BitAnd, thread, Expression::i32(31)));
    let passes = Passes::of(emitter.kernel());
    let warp = Warp { number, lane };
    let finishing = RowAxes::of(emitter).finishing(emitter, &tile, (warp, passes))?;
    let polled = poll::Polled::declare(emitter);
    let sums = emitter.shared(MemoryType::F32, emitter.warps() * passes.sums_of_warp());
    let products = Products::load(emitter, &tile, warp, (kept, passes))?;
    let mut constants = Vec::with_capacity(finishing.len());
    for finishing in &finishing {
        constants.push(finish::load_constants(emitter, &finishing.row)?);
    }
    emitter.steps(|emitter| {
        polled.poll(emitter, &tile)?;
        let accumulators = products.of_registers(emitter, (&tile, &polled))?;
        let mut loaded = Vec::with_capacity(finishing.len());
        for (finishing, constants) in finishing.iter().zip(&constants) {
            loaded.push(finish::load_finishing_reads(emitter, &finishing.row, constants)?);
        }
        products.finish(emitter, (&tile, &polled), accumulators, sums)?;
        emitter.push(Statement::WarpBarrier);
        for (finishing, loaded) in finishing.iter().zip(&loaded) {
            let FinishingRow { row, first_sum } = finishing;
            emitter.when(row.real.clone(), |emitter| finish::finish(emitter, row, loaded, (sums, *first_sum)))?;
        }
        polled.end(emitter);
        Ok(())
    })
}
