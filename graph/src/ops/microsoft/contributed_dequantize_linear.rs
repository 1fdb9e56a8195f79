//! `com.microsoft.DequantizeLinear`: integers of a scale as numbers, of 16 bits too.

use super::delegate::delegate;
use crate::ops::dequantize_linear::DequantizeLinear;

delegate!(
    /// As [`DequantizeLinear`].
    ContributedDequantizeLinear,
    "DequantizeLinear",
    DequantizeLinear
);
