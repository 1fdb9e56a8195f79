//! Rewrites of programs: one pass a file, in the order in which they run before a program is partitioned.
//!
//! [`crate::pipeline`] runs them, and verifies what each leaves.

mod concats;
mod dead_statements;
mod quantized_products;
mod rebuild;
mod reduction_order;
mod siblings;
mod slices;
mod uses;
mod views;

use super::TensorProgram;

pub use concats::{concat_placement, place_concats};
pub use dead_statements::remove_dead;
pub use quantized_products::quantized_products;
pub use reduction_order::order_reductions;
pub use siblings::merge_siblings;
pub use slices::slice_reductions;
pub use views::inline_views;

/// A pass: the program rewritten.
pub type Pass = fn(&TensorProgram) -> TensorProgram;

/// The name of the pass that plans cannot do without.
pub const CONCAT_PLACEMENT: &str = "concat_placement";

/// The name of the pass that pays only where waiting costs more than reading constants anew.
pub const REDUCTION_SLICING: &str = "reduction_slicing";

/// The passes in the order in which they run, by name. Sums may be taken in another order, and of dequantised bytes in
/// integers; otherwise values are unchanged.
pub const PASSES: [(&str, Pass); 7] = [
    ("view_inlining", inline_views),
    ("quantized_products", quantized_products),
    (REDUCTION_SLICING, sliced),
    ("sibling_merging", merge_siblings),
    ("slice_inlining", inline_views),
    ("reduction_ordering", order_reductions),
    (CONCAT_PLACEMENT, concat_placement),
];

/// Most bytes of constants that are read again for every step of a sequence: with as much again for the recurrence itself,
/// what the multiprocessors of a large device keep on chip.
const SLICED_BYTES: usize = 12 << 20;

fn sliced(program: &TensorProgram) -> TensorProgram {
    slice_reductions(program, SLICED_BYTES)
}
