//! What storage in 16 bits does to a model's numbers, on inputs that are given: which tensors leave the range, which go wrong first,
//! and which precision is the fastest whose error is small.

mod bisect;
mod fastest;
mod fit;
mod values;

pub use bisect::{Bisection, Deviation, bisect};
pub use fastest::{Candidate, Choice, fastest};
pub use fit::{Fit, largest};
pub use values::beyond_range;
