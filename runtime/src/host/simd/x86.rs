//! The vectors of x86 processors.

use std::arch::x86_64::*;

use super::{Places, SumVector, Vector, copy_every, first_of};

// SAFETY, of all below: by the trait's contract the processor has the instruction. Loads and stores are unaligned
// and inside of slices whose length is checked, of some lanes by their mask. A prefetch of any address is a hint.
macro_rules! vector {
    ($vector:ty, $lanes:literal, $splat:ident, $load:ident, $store:ident, $add:ident, $multiply:ident, $maximum:ident, $minimum:ident, $sign:ident, $larger:ident, $smaller:ident, $multiply_add:ident, $sum:ident $(, $own:item)*) => {
        impl SumVector for $vector {
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
            fn fetch(address: *const f32) {
                unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
            }
        }

        impl Vector for $vector {
            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                unsafe { $multiply(self, other) }
            }

            // Of a NaN and another value the instructions give the second, and of two zeros. A zero of the bound's sign makes
            // the negative one positive where the bound is the other one, and changes nothing else.
            #[inline(always)]
            fn at_least(self, bound: Self) -> Self {
                unsafe { $add($maximum(bound, self), $sign(bound)) }
            }

            #[inline(always)]
            fn at_most(self, bound: Self) -> Self {
                unsafe { $minimum(bound, self) }
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                unsafe { $larger(self, other) }
            }

            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                unsafe { $smaller(self, other) }
            }

            #[inline(always)]
            fn sum(self) -> f32 {
                unsafe { $sum(self) }
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

/// Values of which vectors hold all at once.
const FEW_PLACES: usize = 64;

/// Copies some of a few values by their places.
#[inline(always)]
fn gather_few(values: &[f32], places: &Places, fill: __m512, out: &mut [f32]) {
    assert!(values.len() <= FEW_PLACES, "few values");
    let mut parts = [fill; FEW_PLACES / 16];
    let (mut part, mut rest) = (0, values);
    while !rest.is_empty() {
        let (first, beyond) = rest.split_at(rest.len().min(16));
        (parts[part], rest) = (__m512::load_part(first), beyond);
        part += 1;
    }
    let mut vector = 0;
    while vector < places.vectors {
        let found = unsafe {
            let places = _mm512_loadu_si512(places.all[vector].as_ptr().cast());
            let are_places = _mm512_cmpge_epi32_mask(places, _mm512_setzero_si512());
            let low = _mm512_permutex2var_ps(parts[0], places, parts[1]);
            let high = _mm512_permutex2var_ps(parts[2], places, parts[3]);
            let are_high = _mm512_test_epi32_mask(places, _mm512_set1_epi32(32));
            _mm512_mask_mov_ps(fill, are_places, _mm512_mask_mov_ps(low, are_high, high))
        };
        found.store(&mut out[vector * 16..]);
        vector += 1;
    }
}

/// Every second lane of two vectors, from a lane on.
#[inline(always)]
unsafe fn every_second<const FIRST: i32>(low: __m512, high: __m512) -> __m512 {
    unsafe {
        let evens = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
        let lanes = _mm512_add_epi32(evens, _mm512_set1_epi32(FIRST));
        _mm512_permutex2var_ps(low, lanes, high)
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

/// Zeros of the signs of lanes.
#[inline(always)]
unsafe fn sign(of: __m256) -> __m256 {
    unsafe { _mm256_and_ps(of, _mm256_set1_ps(-0.0)) }
}

// Of a NaN and another value, and of two zeros, an instruction gives the second: both orders give both. NaN has all bits of an
// exponent, and some others; bits of the other value leave it one.

#[inline(always)]
unsafe fn larger(one: __m256, other: __m256) -> __m256 {
    unsafe {
        let found = _mm256_and_ps(_mm256_max_ps(one, other), _mm256_max_ps(other, one));
        _mm256_or_ps(found, _mm256_cmp_ps::<_CMP_UNORD_Q>(one, other))
    }
}

#[inline(always)]
unsafe fn smaller(one: __m256, other: __m256) -> __m256 {
    unsafe { _mm256_or_ps(_mm256_min_ps(one, other), _mm256_min_ps(other, one)) }
}

// The same of 16 lanes.

#[inline(always)]
unsafe fn sign_512(of: __m512) -> __m512 {
    unsafe { _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(of), _mm512_set1_epi32(i32::MIN))) }
}

#[inline(always)]
unsafe fn larger_512(one: __m512, other: __m512) -> __m512 {
    // The sign where both have it, and other bits where one has them.
    const BITS: i32 = 0b1101_0100;
    unsafe {
        let first = _mm512_castps_si512(_mm512_max_ps(one, other));
        let second = _mm512_castps_si512(_mm512_max_ps(other, one));
        _mm512_castsi512_ps(_mm512_ternarylogic_epi32::<BITS>(first, second, _mm512_set1_epi32(i32::MIN)))
    }
}

#[inline(always)]
unsafe fn smaller_512(one: __m512, other: __m512) -> __m512 {
    unsafe {
        let first = _mm512_castps_si512(_mm512_min_ps(one, other));
        let second = _mm512_castps_si512(_mm512_min_ps(other, one));
        _mm512_castsi512_ps(_mm512_or_si512(first, second))
    }
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
    sign,
    larger,
    smaller,
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
    fn split(values: &[f32], first: &mut [f32], second: &mut [f32]) {
        assert_eq!(first.len() + second.len(), values.len(), "as many values as are copied");
        let whole = second.len() / 8 * 8;
        let mut at = 0;
        while at < whole {
            let values = &values[2 * at..][..16];
            let (low, high) = (Self::load(values), Self::load(&values[8..]));
            unsafe {
                // Pairs of values of each half of both vectors, in the order of the vectors.
                let ordered = |pairs: __m256| _mm256_permute4x64_pd::<0b11_01_10_00>(_mm256_castps_pd(pairs));
                let evens = ordered(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
                let odds = ordered(_mm256_shuffle_ps::<0b11_01_11_01>(low, high));
                _mm256_castpd_ps(evens).store(&mut first[at..]);
                _mm256_castpd_ps(odds).store(&mut second[at..]);
            }
            at += 8;
        }
        first_of::<2>(&values[2 * whole..], &mut first[whole..]);
        first_of::<2>(values.get(2 * whole + 1..).unwrap_or_default(), &mut second[whole..]);
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
    sign_512,
    larger_512,
    smaller_512,
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
        if values.len() <= FEW_PLACES {
            return gather_few(values, places, fill, out);
        }
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
    fn split(values: &[f32], first: &mut [f32], second: &mut [f32]) {
        assert_eq!(first.len() + second.len(), values.len(), "as many values as are copied");
        let mut at = 0;
        while at + 16 <= second.len() {
            let values = &values[2 * at..][..32];
            let (low, high) = (Self::load(values), Self::load(&values[16..]));
            unsafe {
                every_second::<0>(low, high).store(&mut first[at..]);
                every_second::<1>(low, high).store(&mut second[at..]);
            }
            at += 16;
        }
        if at < first.len() {
            let (low, high) = values[2 * at..].split_at((values.len() - 2 * at).min(16));
            let (low, high) = (Self::load_part(low), Self::load_part(high));
            unsafe {
                every_second::<0>(low, high).store_part(&mut first[at..]);
                every_second::<1>(low, high).store_part(&mut second[at..]);
            }
        }
    },
    #[inline(always)]
    fn copy_every(values: &[f32], step: usize, out: &mut [f32]) {
        match step {
            2 => {}
            4 => return copy_every_fourth(values, out),
            _ => return copy_every(values, step, out),
        }
        let mut at = 0;
        while at < out.len() {
            let count = (out.len() - at).min(16);
            let values = &values[2 * at..][..2 * count - 1];
            let (low, high) = values.split_at(values.len().min(16));
            let (low, high) = (Self::load_part(low), Self::load_part(high));
            unsafe { every_second::<0>(low, high).store_part(&mut out[at..][..count]) };
            at += count;
        }
    }
);
