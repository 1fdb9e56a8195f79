//! The template of kept rows: a warp a row, one factor of every product on chip since the launch began.
//!
//! A call runs the rTasks of several steps: it loads what registers can hold of the kept rows once. In a step a row's sums
//! are combined across the lanes of its warp, of which then one computes what follows them. What that reads of global memory is loaded behind the polls, beside the products. Vectors that carry their
//! own validity are polled once a tile, by as many threads at once as there are, and put into shared memory for all rows.

mod finish;
mod hold;
mod poll;
mod products;

use warpweave_plan::template::weight_stationary::passes::Passes;

pub(crate) use self::hold::emit_hold;
use self::products::{Products, Warp};
use crate::kernel_ir::expression::{BinaryOp, Builtin, Expression, ScalarType};
use crate::kernel_ir::ids::LocalId;
use crate::kernel_ir::memory::MemoryType;
use crate::kernel_ir::statement::Statement;
use crate::lower::emitter::{Emitter, add, binary, multiply};
use crate::lower::error::LowerError;
use crate::lower::row::emit_row;
use crate::lower::tile::TileAxes;

/// Emits the kernel.
pub(crate) fn emit(emitter: &mut Emitter) -> Result<(), LowerError> {
    let kept = hold::declare(emitter);
    let tile = TileAxes::emit(emitter)?;
    let thread = emitter.bind(ScalarType::I32, Expression::Builtin(Builtin::Thread));
    let number = emitter.bind(ScalarType::I32, binary(BinaryOp::ShiftRight, thread, Expression::i32(5)));
    let lane = emitter.bind(ScalarType::I32, binary(BinaryOp::BitAnd, thread, Expression::i32(31)));
    let passes = Passes::of(emitter.body(), &emitter.operator.params);
    let warp = Warp { number, lane };
    let own = add(multiply(lane, Expression::i32(emitter.warps() as i32)), number);
    let own = emitter.bind(ScalarType::I32, own);
    let finishing = emit_row(emitter, &tile, own, lane, emitter.threads())?;
    let polled = poll::Polled::declare(emitter);
    let sums = emitter.shared(MemoryType::F32, emitter.warps() * passes.all * passes.sums);
    let first = first_sum(emitter, warp, passes);
    let products = Products::load(emitter, &tile, warp, (kept, passes))?;
    emitter.steps(|emitter| {
        polled.poll(emitter, &tile)?;
        let accumulators = products.of_registers(emitter, &polled)?;
        let loaded = finish::load_finishing_reads(emitter, &finishing)?;
        products.finish(emitter, (&tile, &polled), accumulators, sums)?;
        emitter.push(Statement::WarpBarrier);
        emitter.when(finishing.real.clone(), |emitter| finish::finish(emitter, &finishing, &loaded, (sums, first)))?;
        polled.end(emitter);
        Ok(())
    })
}

/// Where the sums of the row that a lane finishes begin: a warp's rows lie side by side.
fn first_sum(emitter: &mut Emitter, warp: Warp, passes: Passes) -> LocalId {
    let of_warp = multiply(warp.number, Expression::i32((passes.all * passes.sums) as i32));
    emitter.bind(ScalarType::I32, add(of_warp, multiply(warp.lane, Expression::i32(passes.sums as i32))))
}
