//! Comparisons, truth values, and choices by them.

pub mod and;
pub mod equal;
pub mod greater;
pub mod greater_or_equal;
pub mod less;
pub mod less_or_equal;
pub mod not;
pub mod or;
pub mod where_;
pub mod xor;
