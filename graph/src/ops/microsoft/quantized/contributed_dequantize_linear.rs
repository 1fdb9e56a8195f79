//! `com.microsoft.DequantizeLinear`: integers of a scale as numbers, of 16 bits too.

use crate::ops::dequantize_linear::DequantizeLinear;
use crate::ops::microsoft::delegate::delegate;

delegate!(
    /// As [`DequantizeLinear`].
    ContributedDequantizeLinear,
    "DequantizeLinear",
    DequantizeLinear
);
