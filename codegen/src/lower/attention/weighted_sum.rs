//! The weighted sum that threads, or warps, keep from block to block of keys.

use warpweave_plan::template::attention::AttentionGeometry;
use warpweave_plan::template::contraction::Contraction;
use warpweave_plan::template::staged::phase::ProductStep;

use crate::kernel_ir::expression::{BinaryOp, Builtin, Expression, ScalarType};
use crate::lower::emitter::{Emitter, binary, less};
use crate::lower::error::LowerError;
use crate::lower::staged::blocked::{Product, Stretch};
use crate::lower::staged::matrices::{WarpProduct, warp_number};
use crate::lower::staged::phase::Phase;
use crate::lower::staged::sums::{OfRow, Placed};

/// How the sum is computed.
enum Method<'a> {
    /// A block a thread.
    Blocked(Box<Product<'a>>),
    /// A block a warp.
    Matrices(Box<WarpProduct<'a>>),
}

/// The sums of the threads, or warps, that have a block.
pub(super) struct WeightedSum<'a> {
    method: Method<'a>,
    placed: Placed,
    /// Whether the thread, or its warp, has a block; absent if all have. Those without take the last and store nothing.
    busy: Option<Expression>,
}

impl<'a> WeightedSum<'a> {
    /// The sums, set to 0.
    pub(super) fn emit(
        emitter: &mut Emitter,
        phase: &'a Phase<'a>,
        contraction: &'a Contraction,
        geometry: &AttentionGeometry,
    ) -> Result<Self, LowerError> {
        match &geometry.product {
            ProductStep::Blocked(step) => {
                let mut product = Product::new(emitter, phase, contraction, [step.rows, step.columns], step.across);
                let worker = (Expression::Builtin(Builtin::Thread), emitter.threads());
                let (number, busy) = numbered(emitter, worker, product.blocks())?;
                let placed = product.place(emitter, number)?;
                product.clear(emitter)?;
                Ok(Self { method: Method::Blocked(Box::new(product)), placed, busy })
            }
            ProductStep::Matrices(step) => {
                let mut product = WarpProduct::new(emitter, phase, step.product.block, geometry.walk());
                let worker = (warp_number(emitter).into(), emitter.warps());
                let (number, busy) = numbered(emitter, worker, product.blocks())?;
                let placed = product.place(emitter, number)?;
                product.clear(emitter)?;
                Ok(Self { method: Method::Matrices(Box::new(product)), placed, busy })
            }
        }
    }

    /// Rescales the sums by what `of_row` gives and adds the products of a block of keys.
    pub(super) fn add(&self, emitter: &mut Emitter, of_row: &OfRow, stretch: &Stretch) -> Result<(), LowerError> {
        emitter.when(self.busy.clone(), |emitter| {
            self.rescale(emitter, of_row)?;
            match &self.method {
                Method::Blocked(product) => product.reduce(emitter, &self.placed, Some(stretch)),
                Method::Matrices(product) => product.reduce(emitter, &self.placed, Some(stretch)),
            }
        })
    }

    /// Rescales the sums by what `of_row` gives and stores them.
    pub(super) fn finish(&self, emitter: &mut Emitter, of_row: &OfRow) -> Result<(), LowerError> {
        emitter.when(self.busy.clone(), |emitter| {
            self.rescale(emitter, of_row)?;
            match &self.method {
                Method::Blocked(product) => product.store(emitter, &self.placed),
                Method::Matrices(product) => product.store(emitter, &self.placed),
            }
        })
    }

    fn rescale(&self, emitter: &mut Emitter, of_row: &OfRow) -> Result<(), LowerError> {
        match &self.method {
            Method::Blocked(product) => product.rescale_rows(emitter, &self.placed, of_row),
            Method::Matrices(product) => product.rescale_rows(emitter, &self.placed, of_row),
        }
    }
}

/// The block of a worker, of so many workers, and whether it has one of its own; absent if all have.
fn numbered(
    emitter: &mut Emitter,
    (worker, workers): (Expression, usize),
    blocks: usize,
) -> Result<(Expression, Option<Expression>), LowerError> {
    let last = emitter.operand(blocks as i64 - 1)?;
    let number = emitter.bind(ScalarType::I32, binary(BinaryOp::Minimum, worker.clone(), last)).into();
    let busy = match blocks < workers {
        true => Some(less(worker, emitter.operand(blocks as i64)?)),
        false => None,
    };
    Ok((number, busy))
}
