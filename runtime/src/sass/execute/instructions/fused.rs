//! Products plus sums of all lanes, by the processor's own instruction where it has one.

#![expect(unsafe_code, reason = "a function for processors that have an instruction is called where it was found")]

use super::super::lanes::Lanes;
use super::rounding::canonical;

/// A product plus a number in each lane, rounded once.
pub fn multiply_add(left: &Lanes, right: &Lanes, addend: &Lanes) -> Lanes {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has both features.
        return unsafe { by_vectors(left, right, addend) };
    }
    each(left, right, addend)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn by_vectors(left: &Lanes, right: &Lanes, addend: &Lanes) -> Lanes {
    each(left, right, addend)
}

#[inline(always)]
fn each(left: &Lanes, right: &Lanes, addend: &Lanes) -> Lanes {
    Lanes::of(|lane| {
        let [left, right, addend] = [left, right, addend].map(|words| f32::from_bits(words.0[lane]));
        canonical(left.mul_add(right, addend))
    })
}
