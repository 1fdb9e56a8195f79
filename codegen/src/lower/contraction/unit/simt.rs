//! A multiply-add for each element of a thread's micro-tile.

use crate::kernel_ir::expression::{Expression, ScalarType};
use crate::kernel_ir::ids::ArrayId;
use crate::lower::arithmetic::set;
use crate::lower::contraction::unit::Products;
use crate::lower::emitter::{Emitter, add, multiply};
use crate::lower::error::LowerError;

/// Adds the products of a step's rows in `left` and its columns in `right` to the accumulators.
pub(super) fn add_products(
    emitter: &mut Emitter,
    products: &Products,
    left: ArrayId,
    right: ArrayId,
) -> Result<(), LowerError> {
    let Products { shape, accumulators, .. } = products;
    emitter.repeat(Expression::i32(shape.rows as i32), true, |emitter, row| {
        emitter.repeat(Expression::i32(shape.columns as i32), true, |emitter, column| {
            let at = add(multiply(row, Expression::i32(shape.columns as i32)), column);
            let old = Expression::Element(*accumulators, Box::new(at.clone()));
            let left = Expression::Element(left, Box::new(row.into()));
            let right = Expression::Element(right, Box::new(column.into()));
            let sum = match products.scalar {
                ScalarType::F32 => Expression::FusedMultiplyAdd(Box::new(left), Box::new(right), Box::new(old)),
                ScalarType::Bool | ScalarType::I32 | ScalarType::I64 => add(multiply(left, right), old),
            };
            emitter.push(set(*accumulators, at, sum));
            Ok(())
        })
    })
}
