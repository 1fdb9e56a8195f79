//! What a program is rewritten to before it is partitioned.

use crate::arena::Arena;
use crate::program::{TensorId, TensorProgram};
use crate::reduction_order::order_reductions;
use crate::siblings::merge_siblings;
use crate::views::{Layout, inline_views, place_joins};

/// The program with views composed into their readers, siblings merged, reductions in the order in which constants are read
/// fastest, and joins placed; and each tensor's layout. Sums may be taken in another order, otherwise values are unchanged.
pub fn prepare(program: &TensorProgram) -> (TensorProgram, Arena<TensorId, Layout>) {
    let merged = merge_siblings(&inline_views(program));
    place_joins(&order_reductions(&inline_views(&merged)))
}
