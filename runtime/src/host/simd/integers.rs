//! Registers of pairs of integers of 16 bits, and of four of 8 bits, which are multiplied into sums of 32 bits. Lanes are handled as the
//! bits of singles. Sums wrap. Factors in pairs are no less than −32767, so that no sum of two products leaves 32 bits. Of four bytes each
//! those of one factor have a sign, and those of the other have none.

use super::SumVector;

/// Four lanes on any processor.
#[derive(Clone, Copy)]
pub(in crate::host) struct PortablePairs([u32; 4]);

/// The sum of a lane: both products of a pair, and what was there.
#[inline(always)]
fn sum_of(one: u32, other: u32, sum: u32) -> u32 {
    let product = |shift: u32| i32::from((one >> shift) as i16) * i32::from((other >> shift) as i16);
    sum.wrapping_add_signed(product(0)).wrapping_add_signed(product(16))
}

impl SumVector for PortablePairs {
    const LANES: usize = 4;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([value.to_bits(); 4])
    }

    #[inline(always)]
    fn load(values: &[f32]) -> Self {
        Self(std::array::from_fn(|lane| values[lane].to_bits()))
    }

    #[inline(always)]
    fn store(self, values: &mut [f32]) {
        values[..4].copy_from_slice(&self.0.map(f32::from_bits));
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane].wrapping_add(other.0[lane])))
    }

    #[inline(always)]
    fn multiply_add(self, factor: Self, sum: Self) -> Self {
        Self(std::array::from_fn(|lane| sum_of(self.0[lane], factor.0[lane], sum.0[lane])))
    }
}

/// The same for vectors of x86-64.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "instructions of some processors only")]
pub(in crate::host) mod x86 {
    use std::arch::x86_64::*;

    use crate::host::simd::SumVector;

    macro_rules! integers {
        ($(#[$attribute:meta])* 256, $name:ident, |$one:ident, $factor:ident, $sum:ident| $multiply_add:expr) => {
            integers!(
                $(#[$attribute])* $name, __m256i, 8, _mm256_set1_epi32, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_add_epi32,
                |$one, $factor, $sum| $multiply_add
            );
        };
        ($(#[$attribute:meta])* 512, $name:ident, |$one:ident, $factor:ident, $sum:ident| $multiply_add:expr) => {
            integers!(
                $(#[$attribute])* $name, __m512i, 16, _mm512_set1_epi32, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_add_epi32,
                |$one, $factor, $sum| $multiply_add
            );
        };
        ($(#[$attribute:meta])* $name:ident, $vector:ident, $lanes:expr, $splat:ident, $load:ident, $store:ident, $add:ident,
         |$one:ident, $factor:ident, $sum:ident| $multiply_add:expr) => {
            $(#[$attribute])*
            #[derive(Clone, Copy)]
            pub(in crate::host) struct $name($vector);

            // SAFETY: only code for a processor that has the instructions calls these functions, and slices are as long as what is
            // read or written of them.
            impl SumVector for $name {
                const LANES: usize = $lanes;

                #[inline(always)]
                fn splat(value: f32) -> Self {
                    Self(unsafe { $splat(value.to_bits() as i32) })
                }

                #[inline(always)]
                fn load(values: &[f32]) -> Self {
                    Self(unsafe { $load(values[..$lanes].as_ptr().cast()) })
                }

                #[inline(always)]
                fn store(self, values: &mut [f32]) {
                    unsafe { $store(values[..$lanes].as_mut_ptr().cast(), self.0) }
                }

                #[inline(always)]
                fn add(self, other: Self) -> Self {
                    Self(unsafe { $add(self.0, other.0) })
                }

                #[inline(always)]
                fn multiply_add(self, factor: Self, sum: Self) -> Self {
                    let ($one, $factor, $sum) = (self.0, factor.0, sum.0);
                    Self(unsafe { $multiply_add })
                }

                #[inline(always)]
                fn fetch(address: *const f32) {
                    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
                }
            }
        };
    }

    integers!(
        /// Of AVX2: products of pairs, and a sum.
        256, AddedPairs256, |one, factor, sum| _mm256_add_epi32(sum, _mm256_madd_epi16(one, factor))
    );
    integers!(
        /// Of AVX-VNNI, which does both at once.
        256, FusedPairs256, |one, factor, sum| _mm256_dpwssd_avx_epi32(sum, one, factor)
    );
    integers!(
        /// Of AVX-512-VNNI.
        512, FusedPairs512, |one, factor, sum| _mm512_dpwssd_epi32(sum, one, factor)
    );
    integers!(
        /// Four bytes, with a sign in what is loaded, of AVX-VNNI.
        256, LoadedSign256, |one, factor, sum| _mm256_dpbusd_avx_epi32(sum, one, factor)
    );
    integers!(
        /// Four bytes, with a sign in what is the same in all lanes, of AVX-VNNI.
        256, SplatSign256, |one, factor, sum| _mm256_dpbusd_avx_epi32(sum, factor, one)
    );
    integers!(
        /// Four bytes, with a sign in what is loaded, of AVX-512-VNNI.
        512, LoadedSign512, |one, factor, sum| _mm512_dpbusd_epi32(sum, one, factor)
    );
    integers!(
        /// Four bytes, with a sign in what is the same in all lanes, of AVX-512-VNNI.
        512, SplatSign512, |one, factor, sum| _mm512_dpbusd_epi32(sum, factor, one)
    );
}
