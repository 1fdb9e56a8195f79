//! `com.microsoft.QuantizeLinear`: numbers as integers of a scale, of 4 and 16 bits too.

use crate::ops::microsoft::delegate::delegate;
use crate::ops::quantize_linear::QuantizeLinear;
use crate::types::ElementType;

delegate!(
    /// As [`QuantizeLinear`].
    ContributedQuantizeLinear,
    "QuantizeLinear",
    QuantizeLinear,
    &[ElementType::I4, ElementType::U4]
);
