//! Rewrites of programs: what they change, and that values stay.

mod channels_last;
mod common_reductions;
mod divided_axes;
mod phases;
mod quantized_products;
mod sorted_keys;
mod widened_factors;
mod window_sums;
