//! Rewrites of programs: one pass a file, in the order in which they run before a program is partitioned.
//!
//! [`crate::pipeline`] runs them, and verifies what each leaves.

mod channels_last;
mod common_reductions;
mod concats;
mod constant_scalars;
mod dead_statements;
mod divided_axes;
mod integers;
mod invariants;
mod joined_products;
mod phases;
mod reduction_order;
mod rewriting;
mod siblings;
mod slices;
mod sorted_keys;
mod transposed_factors;
mod views;

use super::TensorProgram;

pub use channels_last::channels_last;
pub use common_reductions::share_reductions;
pub use concats::{concat_placement, place_concats};
pub use constant_scalars::fold_constant_scalars;
pub use dead_statements::remove_dead;
pub use divided_axes::split_divided_axes;
pub use integers::{quantized_products, sum_windows_in_singles, widen_in_products};
pub use invariants::hoist_invariants;
pub use joined_products::join_products;
pub use phases::split_phases;
pub use reduction_order::order_reductions;
pub use siblings::merge_siblings;
pub use slices::slice_reductions;
pub use sorted_keys::sort_keys;
pub use transposed_factors::transpose_factors;
pub use views::{inline_lines, inline_views};

/// A pass: the program rewritten.
pub type Pass = fn(&TensorProgram) -> TensorProgram;

/// A pass and what it is called.
#[derive(Clone, Copy, Debug)]
pub struct NamedPass {
    pub name: &'static str,
    /// What programs for GPUs are rewritten by; none where they do not gain by it.
    pub of_gpus: Option<Pass>,
    /// The same for processors.
    pub of_processors: Option<Pass>,
}

const fn both(name: &'static str, pass: Pass) -> NamedPass {
    NamedPass { name, of_gpus: Some(pass), of_processors: Some(pass) }
}

/// The name of the pass that plans cannot do without.
pub const CONCAT_PLACEMENT: &str = "concat_placement";

/// The place of the pass that runs again where a program's singles are stored in 16 bits.
pub const CHANNELS_LAST: usize = PASSES.len() - 2;

/// The passes in the order in which they run. Sums may be taken in another order, of dequantised bytes in integers, and
/// without products with the zeros between strides; otherwise values are unchanged.
pub const PASSES: [NamedPass; 18] = [
    NamedPass { name: "key_sorting", of_gpus: None, of_processors: Some(sort_keys) },
    NamedPass { name: "phase_splitting", of_gpus: Some(phases_of_gpus), of_processors: Some(phases_of_processors) },
    NamedPass { name: "view_inlining", of_gpus: Some(inline_views), of_processors: Some(inline_lines) },
    both("common_reductions", share_reductions),
    both("quantized_products", quantized_products),
    NamedPass { name: "reduction_slicing", of_gpus: Some(sliced), of_processors: None },
    both("sibling_merging", merge_siblings),
    NamedPass { name: "slice_inlining", of_gpus: Some(inline_views), of_processors: Some(inline_lines) },
    both("invariant_hoisting", hoist_invariants),
    both("reduction_ordering", order_reductions),
    NamedPass { name: "factor_transposing", of_gpus: Some(transpose_factors), of_processors: None },
    NamedPass { name: "product_joining", of_gpus: Some(join_products), of_processors: None },
    NamedPass { name: "axis_splitting", of_gpus: Some(split_divided_axes), of_processors: None },
    both("constant_scalars", fold_constant_scalars),
    NamedPass { name: "window_sums", of_gpus: None, of_processors: Some(sum_windows_in_singles) },
    NamedPass { name: "factor_widening", of_gpus: None, of_processors: Some(widen_in_products) },
    NamedPass { name: "channels_last", of_gpus: Some(channels_last), of_processors: None },
    both(CONCAT_PLACEMENT, concat_placement),
];

/// Products per result from which splitting a sum into phases pays on a GPU. Phases are written to memory and read again in
/// the order of positions, which takes about as long as so many products.
const PRODUCTS_PER_PHASE_RESULT: usize = 8;

fn phases_of_gpus(program: &TensorProgram) -> TensorProgram {
    split_phases(program, PRODUCTS_PER_PHASE_RESULT)
}

/// Splitting always pays on a processor: its vectors compute the products with zero, too.
fn phases_of_processors(program: &TensorProgram) -> TensorProgram {
    split_phases(program, 1)
}

/// Most bytes of constants that are read again for every step of a sequence. With as much again for the recurrence
/// itself, this is what the multiprocessors of a large device keep on chip.
const SLICED_BYTES: usize = 12 << 20;

fn sliced(program: &TensorProgram) -> TensorProgram {
    slice_reductions(program, SLICED_BYTES)
}
