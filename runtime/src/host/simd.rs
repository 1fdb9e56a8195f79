//! Vectors of singles.

/// Most lanes of a vector.
pub(super) const MOST_LANES: usize = 16;

/// Singles that one register holds.
///
/// What a type's functions do is an instruction of a processor that has them: only code for such a processor calls them.
pub(super) trait Vector: Copy {
    /// How many.
    const LANES: usize;
    /// One value in all lanes.
    fn splat(value: f32) -> Self;
    /// The first values of a slice.
    fn load(values: &[f32]) -> Self;
    /// Writes the first values of a slice.
    fn store(self, values: &mut [f32]);
    /// The sum.
    fn add(self, other: Self) -> Self;
    /// `self · factor + sum`; rounded once where the processor does it at once.
    fn multiply_add(self, factor: Self, sum: Self) -> Self;
    /// The sum of the lanes, halves of them at a time.
    fn sum(self) -> f32;
    /// Writes the lanes whose bits are set side by side to the start of a slice, which is as long as a vector. What follows them
    /// means nothing.
    #[inline(always)]
    fn store_some(self, lanes: u32, values: &mut [f32]) {
        let mut all = [0.0; MOST_LANES];
        self.store(&mut all);
        let some = (0..Self::LANES).filter(|lane| lanes >> lane & 1 == 1);
        values.iter_mut().zip(some).for_each(|(value, lane)| *value = all[lane]);
    }
    /// Copies a slice to one of the same length.
    #[inline(always)]
    fn copy(values: &[f32], out: &mut [f32]) {
        out.copy_from_slice(values);
    }
    /// Asks for the line of an address, which need not be valid.
    #[inline(always)]
    fn fetch(_address: *const f32) {}
}

impl Vector for [f32; 4] {
    const LANES: usize = 4;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        [value; 4]
    }

    #[inline(always)]
    fn load(values: &[f32]) -> Self {
        std::array::from_fn(|lane| values[lane])
    }

    #[inline(always)]
    fn store(self, values: &mut [f32]) {
        values[..4].copy_from_slice(&self);
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] + other[lane])
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        (self[0] + self[2]) + (self[1] + self[3])
    }

    #[inline(always)]
    fn multiply_add(self, factor: Self, sum: Self) -> Self {
        std::array::from_fn(|lane| match cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
            true => self[lane].mul_add(factor[lane], sum[lane]),
            false => self[lane] * factor[lane] + sum[lane],
        })
    }
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "instructions of some processors only")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Vector;

    // SAFETY, of all below: by the trait's contract the processor has the instruction; loads and stores are unaligned and
    // inside of slices whose length is checked, of some lanes by their mask, and a prefetch of any address is a hint.
    macro_rules! vector {
        ($vector:ty, $lanes:literal, $splat:ident, $load:ident, $store:ident, $add:ident, $multiply_add:ident, $sum:ident $(, $own:item)*) => {
            impl Vector for $vector {
                const LANES: usize = $lanes;

                #[inline(always)]
                fn splat(value: f32) -> Self {
                    unsafe { $splat(value) }
                }

                #[inline(always)]
                fn load(values: &[f32]) -> Self {
                    unsafe { $load(values[..$lanes].as_ptr()) }
                }

                #[inline(always)]
                fn store(self, values: &mut [f32]) {
                    unsafe { $store(values[..$lanes].as_mut_ptr(), self) }
                }

                #[inline(always)]
                fn add(self, other: Self) -> Self {
                    unsafe { $add(self, other) }
                }

                #[inline(always)]
                fn multiply_add(self, factor: Self, sum: Self) -> Self {
                    unsafe { $multiply_add(self, factor, sum) }
                }

                #[inline(always)]
                fn sum(self) -> f32 {
                    unsafe { $sum(self) }
                }

                #[inline(always)]
                fn fetch(address: *const f32) {
                    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
                }

                $($own)*
            }
        };
    }

    #[inline(always)]
    unsafe fn sum(vector: __m256) -> f32 {
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(vector), _mm256_extractf128_ps::<1>(vector));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    vector!(__m256, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_fmadd_ps, sum);
    vector!(
        __m512,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_fmadd_ps,
        _mm512_reduce_add_ps,
        #[inline(always)]
        fn store_some(self, lanes: u32, values: &mut [f32]) {
            unsafe { _mm512_storeu_ps(values[..16].as_mut_ptr(), _mm512_maskz_compress_ps(lanes as __mmask16, self)) }
        },
        #[inline(always)]
        fn copy(values: &[f32], out: &mut [f32]) {
            assert_eq!(values.len(), out.len(), "slices of the same length");
            let mut at = 0;
            while values.len() - at >= 16 {
                Self::load(&values[at..]).store(&mut out[at..]);
                at += 16;
            }
            let rest = (1u32 << (values.len() - at)) - 1;
            // Lanes outside of the mask are neither read nor written.
            unsafe {
                let last = _mm512_maskz_loadu_ps(rest as __mmask16, values.as_ptr().add(at));
                _mm512_mask_storeu_ps(out.as_mut_ptr().add(at), rest as __mmask16, last);
            }
        }
    );
}
