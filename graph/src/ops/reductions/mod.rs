//! Reductions along axes, prefixes of them, and orders.

pub(in crate::ops) mod extreme_place;
pub mod ordering;
pub(in crate::ops) mod prefix;
pub(in crate::ops) mod reduction;

pub mod arg_max;
pub mod arg_min;
pub mod cum_prod;
pub mod cum_sum;
pub mod reduce_l1;
pub mod reduce_l2;
pub mod reduce_log_sum;
pub mod reduce_log_sum_exp;
pub mod reduce_max;
pub mod reduce_mean;
pub mod reduce_min;
pub mod reduce_prod;
pub mod reduce_sum;
pub mod reduce_sum_square;
pub mod top_k;
pub mod unique;
