//! The smaller and the larger of two singles, as every device has them.

/// The smaller; NaN if either is. Of two zeros the negative one is the smaller.
#[inline(always)]
pub(in crate::host) fn minimum(x: f32, y: f32) -> f32 {
    let smaller = if x.is_nan() || x < y { x } else { y };
    if x == y { f32::from_bits(x.to_bits() | y.to_bits()) } else { smaller }
}

/// The larger; NaN if either is. Of two zeros the negative one is the smaller.
#[inline(always)]
pub(in crate::host) fn maximum(x: f32, y: f32) -> f32 {
    let larger = if x.is_nan() || x > y { x } else { y };
    if x == y { f32::from_bits(x.to_bits() & y.to_bits()) } else { larger }
}
