//! Sums of products of integers.

mod quantized_products;
mod widened_factors;
mod window_sums;

pub use quantized_products::quantized_products;
pub use widened_factors::widen_in_products;
pub use window_sums::sum_windows_in_singles;
