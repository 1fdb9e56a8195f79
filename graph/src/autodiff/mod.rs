//! Reverse-mode differentiation of programs.
//!
//! Every statement is a tensor expression, so its gradients are derived: the scalar is differentiated symbolically, and
//! each read `x[A·q + c]` is transposed. Element `j` of the gradient of `x` is the sum, over the points `q` that read
//! it, of the adjoint of the output times the partial derivative there. [`system`] finds those points. An axis that the
//! read determines is replaced by what it is. One that the read does not name, or that overlaps with another, is summed
//! over. A read through an index becomes a sum over the points whose index names the element. For large tables this is
//! done by sorting ([`lookup`]). No two of these sums write the same place, and all of them have one order.
//!
//! At kinks and ties the choice is PyTorch's; [`crate::program::Ties`] says it of extremes.

mod backward;
mod chain;
mod closed_forms;
mod extremes;
mod factors;
mod lookup;
mod normal_form;
mod partial;
mod parts;
mod points;
mod stacked;
mod system;

pub use backward::{AutodiffError, append_gradients};
