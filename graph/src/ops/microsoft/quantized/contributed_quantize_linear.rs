//! `com.microsoft.QuantizeLinear`: numbers as integers of a scale, of 16 bits too.

use crate::ops::microsoft::delegate::delegate;
use crate::ops::quantize_linear::QuantizeLinear;

delegate!(
    /// As [`QuantizeLinear`].
    ContributedQuantizeLinear,
    "QuantizeLinear",
    QuantizeLinear
);
