//! Vectors of singles.

mod extremes;
mod integers;
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "instructions of some processors only")]
mod x86;

pub(super) use extremes::{maximum, minimum};
pub(super) use integers::PortablePairs;
#[cfg(target_arch = "x86_64")]
pub(super) use integers::x86::{
    AddedPairs256, FusedPairs256, FusedPairs512, LoadedSign256, LoadedSign512, SplatSign256, SplatSign512,
};

/// Most lanes of a vector.
pub(super) const MOST_LANES: usize = 16;

/// One register of sums of 32 bits each, and of what is multiplied: singles, or pairs of integers of 16 bits.
///
/// What a type's functions do is an instruction of a processor that has them: only code for such a processor calls them.
pub(super) trait SumVector: Copy {
    /// Sums of a register.
    const LANES: usize;
    /// One factor, or pair of factors, in all lanes.
    fn splat(value: f32) -> Self;
    /// The first lanes of a slice.
    fn load(values: &[f32]) -> Self;
    /// Writes the first lanes of a slice.
    fn store(self, values: &mut [f32]);
    /// The sum of sums.
    fn add(self, other: Self) -> Self;
    /// `self · factor + sum`, of pairs with both products; of singles rounded once where the processor does it at once.
    fn multiply_add(self, factor: Self, sum: Self) -> Self;
    /// Asks for the line of an address, which need not be valid.
    #[inline(always)]
    fn fetch(_address: *const f32) {}
}

/// Singles that one register holds.
///
/// What a type's functions do is an instruction of a processor that has them: only code for such a processor calls them.
pub(super) trait Vector: SumVector {
    /// The product.
    fn multiply(self, other: Self) -> Self;
    /// The larger of each lane and a bound that is no NaN; NaN where the lane is. The negative zero is the smaller.
    fn at_least(self, bound: Self) -> Self;
    /// The smaller of them, the bound being no negative zero either.
    fn at_most(self, bound: Self) -> Self;
    /// The larger of both lanes; NaN if either is. The negative zero is the smaller.
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
    /// Copies the first of every two values to one slice, and the second to another.
    #[inline(always)]
    fn split(values: &[f32], first: &mut [f32], second: &mut [f32]) {
        assert_eq!(first.len() + second.len(), values.len(), "as many values as are copied");
        first_of::<2>(values, first);
        first_of::<2>(values.get(1..).unwrap_or_default(), second);
    }
    /// Copies values by their places to a slice that is as long as all places in whole vectors. What follows the last means nothing.
    #[inline(always)]
    fn gather(values: &[f32], places: &Places, fill: f32, out: &mut [f32]) {
        let all = places.all[..places.vectors].iter().flatten().zip(out);
        all.for_each(|(place, out)| *out = usize::try_from(*place).map_or(fill, |place| values[place]));
    }
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

impl SumVector for [f32; 4] {
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
    fn multiply_add(self, factor: Self, sum: Self) -> Self {
        std::array::from_fn(|lane| match cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
            true => self[lane].mul_add(factor[lane], sum[lane]),
            false => self[lane] * factor[lane] + sum[lane],
        })
    }
}

impl Vector for [f32; 4] {
    #[inline(always)]
    fn multiply(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] * other[lane])
    }

    #[inline(always)]
    fn at_least(self, bound: Self) -> Self {
        std::array::from_fn(|lane| maximum(self[lane], bound[lane]))
    }

    #[inline(always)]
    fn at_most(self, bound: Self) -> Self {
        std::array::from_fn(|lane| minimum(self[lane], bound[lane]))
    }

    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        std::array::from_fn(|lane| maximum(self[lane], other[lane]))
    }

    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        std::array::from_fn(|lane| minimum(self[lane], other[lane]))
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        (self[0] + self[2]) + (self[1] + self[3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::vector::processor::{Processor, of_vectors};
    use warpweave_graph::arithmetic::float_binary;
    use warpweave_graph::expr::BinaryOp;

    of_vectors! {
    fn check_extremes<V>(processor) {
        let values = [0.0, -0.0, 1.0, -2.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE];
        for one in values {
            let row: [f32; MOST_LANES] = std::array::from_fn(|lane| values[lane % values.len()]);
            let mut out = [0.0; MOST_LANES];
            let same = |out: &[f32], of: &dyn Fn(f32) -> f32| {
                (0..V::LANES).all(|lane| match of(row[lane]) {
                    wanted if wanted.is_nan() => out[lane].is_nan(),
                    wanted => out[lane].to_bits() == wanted.to_bits(),
                })
            };
            V::splat(one).larger(V::load(&row)).store(&mut out);
            assert!(same(&out, &|other| maximum(one, other)), "the larger of {one} and {row:?}: {out:?}");
            V::splat(one).smaller(V::load(&row)).store(&mut out);
            assert!(same(&out, &|other| minimum(one, other)), "the smaller of {one} and {row:?}: {out:?}");
            if !one.is_nan() {
                V::load(&row).at_least(V::splat(one)).store(&mut out);
                assert!(same(&out, &|other| maximum(other, one)), "{row:?} at least {one}: {out:?}");
            }
            if !one.is_nan() && one.to_bits() != (-0f32).to_bits() {
                V::load(&row).at_most(V::splat(one)).store(&mut out);
                assert!(same(&out, &|other| minimum(other, one)), "{row:?} at most {one}: {out:?}");
            }
        }
    }
    }

    #[test]
    fn extremes_are_those_of_single_values() {
        Processor::all().into_iter().for_each(check_extremes);
        for (x, y) in [(0.0, -0.0), (-0.0, 0.0), (-0.0, -0.0), (0.0, 0.0), (-0.0, 1.0), (-0.0, -1.0), (f32::NAN, 0.0)] {
            for (op, found) in [(BinaryOp::Minimum, minimum(x, y)), (BinaryOp::Maximum, maximum(x, y))] {
                let wanted = float_binary(op, x.into(), y.into());
                assert_eq!(found.is_nan(), wanted.is_nan());
                assert!(
                    found.is_nan() || found.to_bits() == (wanted as f32).to_bits(),
                    "{op:?} of {x} and {y}: {found}"
                );
            }
        }
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
        for count in [0usize, 1, 2, 15, 16, 17, 31, 32, 33, 65] {
            let (mut first, mut second) = ([-1.0; 40], [-1.0; 40]);
            let (firsts, seconds) = (count.div_ceil(2), count / 2);
            V::split(&values[..count], &mut first[..firsts], &mut second[..seconds]);
            assert!((0..firsts).all(|at| first[at] == (2 * at) as f32) && first[firsts] == -1.0, "{count} split");
            assert!((0..seconds).all(|at| second[at] == (2 * at + 1) as f32) && second[seconds] == -1.0, "{count} split");
        }
        for all in [5usize, 16, 20, 32, 50, 64, 150] {
            let mut places = Places::none(40);
            (0..40usize).filter(|at| !at.is_multiple_of(3)).for_each(|at| places.set(at, at * 7 % all));
            let mut out = [f32::NAN; 48];
            V::gather(&values, &places, -2.0, &mut out);
            let place = |at: usize| if at.is_multiple_of(3) { -2.0 } else { (at * 7 % all) as f32 };
            assert!((0..40).all(|at| out[at] == place(at)), "gathered of {all}");
        }
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
        Processor::all().into_iter().for_each(check_copies);
    }

    #[test]
    fn parts_of_vectors_are_loaded_and_stored() {
        Processor::all().into_iter().for_each(check_parts);
    }
}
