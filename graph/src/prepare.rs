//! What a program is rewritten to before it is partitioned.

use crate::arena::Arena;
use crate::program::{TensorId, TensorProgram};
use crate::quantized_products::quantized_products;
use crate::reduction_order::order_reductions;
use crate::siblings::merge_siblings;
use crate::slices::slice_reductions;
use crate::views::{Layout, inline_views, place_joins};

/// Most bytes of constants that are read again for every step of a sequence: with as much again for the recurrence itself,
/// what the multiprocessors of a large device keep on chip.
const SLICED_BYTES: usize = 12 << 20;

/// The program with views composed into their readers, products of dequantised bytes in integers, what a recurrence consumes step by step computed so, siblings merged,
/// reductions in the order in which constants are read fastest, and joins placed; and each tensor's layout. Sums may be taken
/// in another order, and of dequantised bytes in integers; otherwise values are unchanged.
pub fn prepare(program: &TensorProgram) -> (TensorProgram, Arena<TensorId, Layout>) {
    let quantized = quantized_products(&inline_views(program));
    let merged = merge_siblings(&slice_reductions(&quantized, SLICED_BYTES));
    place_joins(&order_reductions(&inline_views(&merged)))
}
