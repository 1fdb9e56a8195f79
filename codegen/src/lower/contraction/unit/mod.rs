//! The products of a step on each compute unit: a file a unit.

mod simt;

use warpweave_plan::template::contraction::unit::ComputeUnit;

use crate::kernel_ir::ids::ArrayId;
use crate::lower::contraction::products::Products;
use crate::lower::emitter::Emitter;
use crate::lower::error::LowerError;

/// Adds the products of a step's rows in `left` and its columns in `right` to the accumulators.
pub(super) fn add_products(
    emitter: &mut Emitter,
    products: &Products,
    left: ArrayId,
    right: ArrayId,
) -> Result<(), LowerError> {
    match products.shape.unit {
        ComputeUnit::Simt => simt::add_products(emitter, products, left, right),
    }
}
