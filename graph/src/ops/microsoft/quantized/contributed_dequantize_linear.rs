//! `com.microsoft.DequantizeLinear`: integers of a scale as numbers, of 4 and 16 bits too.

use crate::ops::dequantize_linear::DequantizeLinear;
use crate::ops::microsoft::delegate::delegate;
use crate::types::ElementType;

delegate!(
    /// As [`DequantizeLinear`].
    ContributedDequantizeLinear,
    "DequantizeLinear",
    DequantizeLinear,
    &[ElementType::I4, ElementType::U4]
);
