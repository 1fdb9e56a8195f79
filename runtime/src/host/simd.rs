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
    /// The product.
    fn multiply(self, other: Self) -> Self;
    /// The larger of each lane and a bound that is no NaN; NaN where the lane is.
    fn at_least(self, bound: Self) -> Self;
    /// The smaller of them.
    fn at_most(self, bound: Self) -> Self;
    /// The larger of both lanes, the other one of equals; NaN if either is.
    fn larger(self, other: Self) -> Self;
    /// The smaller of them.
    fn smaller(self, other: Self) -> Self;
    /// The values of a slice of no more than a vector, and zeros.
    #[inline(always)]
    fn load_part(values: &[f32]) -> Self {
        let mut all = [0.0; MOST_LANES];
        all[..values.len()].copy_from_slice(values);
        Self::load(&all)
    }
    /// Writes as many values as a slice has, which is no longer than a vector.
    #[inline(always)]
    fn store_part(self, values: &mut [f32]) {
        let mut all = [0.0; MOST_LANES];
        self.store(&mut all);
        values.copy_from_slice(&all[..values.len()]);
    }
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
    /// Copies the first of every so many values until a slice is full. The last one may be the last value.
    #[inline(always)]
    fn copy_every(values: &[f32], step: usize, out: &mut [f32]) {
        copy_every(values, step, out);
    }
    /// Copies values by their places to a slice that is as long as all places in whole vectors. What follows the last means nothing.
    #[inline(always)]
    fn gather(values: &[f32], places: &Places, fill: f32, out: &mut [f32]) {
        let all = places.all[..places.vectors].iter().flatten().zip(out);
        all.for_each(|(place, out)| *out = usize::try_from(*place).map_or(fill, |place| values[place]));
    }
    /// Asks for the line of an address, which need not be valid.
    #[inline(always)]
    fn fetch(_address: *const f32) {}
}

#[inline(always)]
fn copy_every(values: &[f32], step: usize, out: &mut [f32]) {
    match step {
        2 => first_of::<2>(values, out),
        3 => first_of::<3>(values, out),
        4 => first_of::<4>(values, out),
        _ => out.iter_mut().enumerate().for_each(|(at, out)| *out = values[at * step]),
    }
}

#[inline(always)]
fn first_of<const STEP: usize>(values: &[f32], out: &mut [f32]) {
    let (groups, rest) = values.as_chunks::<STEP>();
    let (most, last) = out.split_at_mut(out.len().min(groups.len()));
    most.iter_mut().zip(groups).for_each(|(out, group)| *out = group[0]);
    last.iter_mut().zip(rest).for_each(|(out, value)| *out = *value);
}

/// Where values are taken from, one place after another in vectors of the most lanes.
pub(super) struct Places {
    /// Negative where there is none.
    all: [[i32; MOST_LANES]; Self::MOST / MOST_LANES],
    /// Vectors of places.
    vectors: usize,
    /// Beyond the greatest.
    end: usize,
}

impl Places {
    /// The most places.
    pub(super) const MOST: usize = 256;

    /// None of so many, at most [`Self::MOST`].
    pub(super) fn none(count: usize) -> Self {
        let vectors = count.div_ceil(MOST_LANES);
        assert!(vectors <= Self::MOST / MOST_LANES, "so many places");
        Self { all: [[-1; MOST_LANES]; Self::MOST / MOST_LANES], vectors, end: 0 }
    }

    /// Sets a place; one beyond those that fit is none.
    pub(super) fn set(&mut self, at: usize, place: usize) {
        if let Ok(short) = i32::try_from(place) {
            self.all[at / MOST_LANES][at % MOST_LANES] = short;
            self.end = self.end.max(place + 1);
        }
    }
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
    fn multiply(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] * other[lane])
    }

    #[inline(always)]
    fn at_least(self, bound: Self) -> Self {
        std::array::from_fn(|lane| if bound[lane] > self[lane] { bound[lane] } else { self[lane] })
    }

    #[inline(always)]
    fn at_most(self, bound: Self) -> Self {
        std::array::from_fn(|lane| if bound[lane] < self[lane] { bound[lane] } else { self[lane] })
    }

    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        std::array::from_fn(
            |lane| if self[lane].is_nan() || self[lane] > other[lane] { self[lane] } else { other[lane] },
        )
    }

    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        std::array::from_fn(
            |lane| if self[lane].is_nan() || self[lane] < other[lane] { self[lane] } else { other[lane] },
        )
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

    use super::{Places, Vector};

    // SAFETY, of all below: by the trait's contract the processor has the instruction. Loads and stores are unaligned
    // and inside of slices whose length is checked, of some lanes by their mask. A prefetch of any address is a hint.
    macro_rules! vector {
        ($vector:ty, $lanes:literal, $splat:ident, $load:ident, $store:ident, $add:ident, $multiply:ident, $maximum:ident, $minimum:ident, $or_nan:ident, $multiply_add:ident, $sum:ident $(, $own:item)*) => {
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
                fn multiply(self, other: Self) -> Self {
                    unsafe { $multiply(self, other) }
                }

                // Of a NaN and another value the instructions give the second.
                #[inline(always)]
                fn at_least(self, bound: Self) -> Self {
                    unsafe { $maximum(bound, self) }
                }

                #[inline(always)]
                fn at_most(self, bound: Self) -> Self {
                    unsafe { $minimum(bound, self) }
                }

                #[inline(always)]
                fn larger(self, other: Self) -> Self {
                    unsafe { $or_nan(self, $maximum(self, other)) }
                }

                #[inline(always)]
                fn smaller(self, other: Self) -> Self {
                    unsafe { $or_nan(self, $minimum(self, other)) }
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

    /// The first lanes, so many of 16. Others are neither read nor written.
    #[inline(always)]
    fn first_lanes(count: usize) -> __mmask16 {
        assert!(count <= 16, "no more lanes than a vector has");
        ((1u32 << count) - 1) as __mmask16
    }

    /// The distance of one value that is copied from the next.
    const APART: usize = 4;

    /// Copies the first of every four values.
    #[inline(always)]
    fn copy_every_fourth(values: &[f32], out: &mut [f32]) {
        let mut at = 0;
        while at < out.len() {
            let count = (out.len() - at).min(16);
            let values = &values[APART * at..][..APART * (count - 1) + 1];
            let part = |number: usize| {
                let (from, to) = ((16 * number).min(values.len()), (16 * number + 16).min(values.len()));
                __m512::load_part(&values[from..to])
            };
            let (first, second, third, fourth) = (part(0), part(1), part(2), part(3));
            unsafe {
                let fourths = _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 28, 24, 20, 16, 12, 8, 4, 0);
                let low = _mm512_permutex2var_ps(first, fourths, second);
                let high = _mm512_permutex2var_ps(third, fourths, fourth);
                _mm512_shuffle_f32x4::<0b01_00_01_00>(low, high).store_part(&mut out[at..][..count]);
            }
            at += count;
        }
    }

    /// The lanes of each set of them, side by side.
    static PLACES_OF_LANES: [[u8; 8]; 256] = {
        let mut places = [[0; 8]; 256];
        let mut lanes = 0;
        while lanes < 256 {
            let (mut lane, mut count) = (0, 0);
            while lane < 8 {
                if lanes >> lane & 1 == 1 {
                    places[lanes][count] = lane;
                    count += 1;
                }
                lane += 1;
            }
            lanes += 1;
        }
        places
    };

    #[inline(always)]
    unsafe fn sum(vector: __m256) -> f32 {
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(vector), _mm256_extractf128_ps::<1>(vector));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    /// The lanes of `one` that are NaN, and those of `other` elsewhere.
    #[inline(always)]
    unsafe fn or_nan(one: __m256, other: __m256) -> __m256 {
        unsafe { _mm256_blendv_ps(other, one, _mm256_cmp_ps::<_CMP_UNORD_Q>(one, one)) }
    }

    /// The same of 16 lanes.
    #[inline(always)]
    unsafe fn or_nan_512(one: __m512, other: __m512) -> __m512 {
        unsafe { _mm512_mask_mov_ps(other, _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(one, one), one) }
    }

    vector!(
        __m256,
        8,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_add_ps,
        _mm256_mul_ps,
        _mm256_max_ps,
        _mm256_min_ps,
        or_nan,
        _mm256_fmadd_ps,
        sum,
        #[inline(always)]
        fn load_part(values: &[f32]) -> Self {
            assert!(values.len() <= 8, "no more than a vector");
            // Lanes behind the last are not read.
            unsafe {
                let lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
                let first = _mm256_cmpgt_epi32(_mm256_set1_epi32(values.len() as i32), lanes);
                _mm256_maskload_ps(values.as_ptr(), first)
            }
        },
        #[inline(always)]
        fn store_part(self, values: &mut [f32]) {
            assert!(values.len() <= 8, "no more than a vector");
            let (fours, rest) = values.as_chunks_mut::<4>();
            let (mut half, mut at) = (unsafe { _mm256_castps256_ps128(self) }, 0);
            while at < fours.len() {
                unsafe { _mm_storeu_ps(fours[at].as_mut_ptr(), half) };
                half = unsafe { _mm256_extractf128_ps::<1>(self) };
                at += 1;
            }
            let (twos, rest) = rest.as_chunks_mut::<2>();
            if let [two] = twos {
                unsafe { _mm_storel_epi64(two.as_mut_ptr().cast(), _mm_castps_si128(half)) };
                half = unsafe { _mm_movehl_ps(half, half) };
            }
            if let [one] = rest {
                *one = unsafe { _mm_cvtss_f32(half) };
            }
        },
        #[inline(always)]
        fn store_some(self, lanes: u32, values: &mut [f32]) {
            let places = &PLACES_OF_LANES[lanes as usize];
            let found = unsafe {
                let places = _mm256_cvtepu8_epi32(_mm_loadl_epi64(places.as_ptr().cast()));
                _mm256_permutevar8x32_ps(self, places)
            };
            found.store(values);
        },
        #[inline(always)]
        fn copy(values: &[f32], out: &mut [f32]) {
            let count = values.len();
            assert_eq!(count, out.len(), "slices of the same length");
            if count < 8 {
                return Self::load_part(values).store_part(out);
            }
            let mut at = 0;
            while at + 8 <= count {
                Self::load(&values[at..]).store(&mut out[at..]);
                at += 8;
            }
            // The last vector overlaps the one before it.
            Self::load(&values[count - 8..]).store(&mut out[count - 8..]);
        },
        #[inline(always)]
        fn gather(values: &[f32], places: &Places, fill: f32, out: &mut [f32]) {
            let (values, fill) = (&values[..places.end], Self::splat(fill));
            let (halves, _) = places.all[..places.vectors].as_flattened().as_chunks::<8>();
            let mut half = 0;
            while half < halves.len() {
                // Every place that is not negative is inside, and no others are read.
                let found = unsafe {
                    let places = _mm256_loadu_si256(halves[half].as_ptr().cast());
                    let are_places = _mm256_cmpgt_epi32(places, _mm256_set1_epi32(-1));
                    let are_places = _mm256_castsi256_ps(are_places);
                    _mm256_mask_i32gather_ps::<4>(fill, values.as_ptr(), places, are_places)
                };
                found.store(&mut out[half * 8..]);
                half += 1;
            }
        }
    );
    vector!(
        __m512,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_mul_ps,
        _mm512_max_ps,
        _mm512_min_ps,
        or_nan_512,
        _mm512_fmadd_ps,
        _mm512_reduce_add_ps,
        #[inline(always)]
        fn load_part(values: &[f32]) -> Self {
            unsafe { _mm512_maskz_loadu_ps(first_lanes(values.len()), values.as_ptr()) }
        },
        #[inline(always)]
        fn store_part(self, values: &mut [f32]) {
            unsafe { _mm512_mask_storeu_ps(values.as_mut_ptr(), first_lanes(values.len()), self) }
        },
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
            if at < values.len() {
                Self::load_part(&values[at..]).store_part(&mut out[at..]);
            }
        },
        #[inline(always)]
        fn gather(values: &[f32], places: &Places, fill: f32, out: &mut [f32]) {
            let (values, fill) = (&values[..places.end], Self::splat(fill));
            let mut vector = 0;
            while vector < places.vectors {
                let places = &places.all[vector];
                // Every place that is not negative is inside, and no others are read.
                let found = unsafe {
                    let places = _mm512_loadu_si512(places.as_ptr().cast());
                    let are_places = _mm512_cmpge_epi32_mask(places, _mm512_setzero_si512());
                    _mm512_mask_i32gather_ps::<4>(fill, are_places, places, values.as_ptr().cast())
                };
                found.store(&mut out[vector * 16..]);
                vector += 1;
            }
        },
        #[inline(always)]
        fn copy_every(values: &[f32], step: usize, out: &mut [f32]) {
            match step {
                2 => {}
                4 => return copy_every_fourth(values, out),
                _ => return super::copy_every(values, step, out),
            }
            let mut at = 0;
            while at < out.len() {
                let count = (out.len() - at).min(16);
                let values = &values[2 * at..][..2 * count - 1];
                let (low, high) = values.split_at(values.len().min(16));
                let (low, high) = (Self::load_part(low), Self::load_part(high));
                unsafe {
                    let evens = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
                    let found = _mm512_permutex2var_ps(low, evens, high);
                    found.store_part(&mut out[at..][..count]);
                }
                at += count;
            }
        }
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::vector::processor::{Processor, of_vectors};

    of_vectors! {
    fn check_extremes<V>(processor) {
        let values = [0.0, -0.0, 1.0, -2.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE];
        for one in values {
            let row: [f32; MOST_LANES] = std::array::from_fn(|lane| values[lane % values.len()]);
            let larger = |x: f32, y: f32| if x.is_nan() || x > y { x } else { y };
            let smaller = |x: f32, y: f32| if x.is_nan() || x < y { x } else { y };
            let mut out = [0.0; MOST_LANES];
            let same = |out: &[f32], of: &dyn Fn(f32) -> f32| {
                (0..V::LANES).all(|lane| out[lane].to_bits() == of(row[lane]).to_bits())
            };
            V::splat(one).larger(V::load(&row)).store(&mut out);
            assert!(same(&out, &|other| larger(one, other)), "the larger of {one} and {row:?}: {out:?}");
            V::splat(one).smaller(V::load(&row)).store(&mut out);
            assert!(same(&out, &|other| smaller(one, other)), "the smaller of {one} and {row:?}: {out:?}");
        }
    }
    }

    #[test]
    fn extremes_are_those_of_single_values() {
        check_extremes(Processor::detect());
        check_extremes(Processor::default());
    }

    of_vectors! {
    fn check_copies<V>(processor) {
        let values: Vec<f32> = (0..200).map(|at| at as f32).collect();
        for count in [0, 1, 7, 16, 17, 33, 64] {
            let mut out = vec![-1.0; count + 1];
            V::copy(&values[..count], &mut out[..count]);
            assert!(out[..count] == values[..count] && out[count] == -1.0, "{count} copied");
            for step in [2, 3, 4, 5] {
                let few = count.min(199 / step);
                V::copy_every(&values[..(few * step).saturating_sub(step - 1)], step, &mut out[..few]);
                assert!((0..few).all(|at| out[at] == (at * step) as f32), "{few} copied, one of {step}");
            }
        }
        let mut places = Places::none(40);
        (0..40).filter(|at| at % 3 != 0).for_each(|at| places.set(at, at * 7 % 50));
        let mut out = [f32::NAN; 48];
        V::gather(&values, &places, -2.0, &mut out);
        assert!((0..40).all(|at| out[at] == if at % 3 == 0 { -2.0 } else { (at * 7 % 50) as f32 }), "gathered");
    }
    }

    of_vectors! {
    fn check_parts<V>(processor) {
        let values: Vec<f32> = (1..=20).map(|at| at as f32).collect();
        for count in 0..=V::LANES {
            let mut out = [0.0; MOST_LANES];
            V::load_part(&values[..count]).store(&mut out);
            assert!(out[..count] == values[..count] && out[count..].iter().all(|value| *value == 0.0), "{count} loaded");
            let mut out = [-1.0; MOST_LANES];
            V::load(&values).store_part(&mut out[..count]);
            assert!(out[..count] == values[..count] && out[count..].iter().all(|value| *value == -1.0), "{count} stored");
        }
        let mut out = [0.0; MOST_LANES];
        V::load(&values).store_some(0b1010, &mut out);
        assert_eq!(out[..2], [2.0, 4.0]);
        V::splat(f32::NAN).at_least(V::splat(0.0)).store(&mut out);
        assert!(out[0].is_nan(), "a bound leaves NaN");
        V::splat(f32::NAN).at_most(V::splat(0.0)).store(&mut out);
        assert!(out[0].is_nan(), "a bound leaves NaN");
        V::splat(-3.0).at_least(V::splat(-1.0)).multiply(V::splat(2.0)).at_most(V::splat(-4.0)).store(&mut out);
        assert_eq!(out[0], -4.0);
    }
    }

    #[test]
    fn slices_are_copied_in_vectors() {
        [Processor::default(), Processor::detect()].into_iter().for_each(check_copies);
    }

    #[test]
    fn parts_of_vectors_are_loaded_and_stored() {
        [Processor::default(), Processor::detect()].into_iter().for_each(check_parts);
    }
}
