//! Dot products as tensor cores compute them, bit by bit.
//!
//! Products are exact. They and the earlier sum are aligned to the largest exponent among them, truncated to as many fraction bits
//! as the generation keeps, and added exactly. The model is MMA-Sim's (PyPI `mmasim` 2.1.1, function `t_fdpa`), which was
//! compared with devices.

/// How a generation of tensor cores adds up products.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TensorCore {
    /// Compute capabilities 8.0 to 8.9: 16 bytes of each factor at once, 24 fraction bits.
    Ampere,
    /// Compute capability 9.0: 32 bytes of each factor at once, 25 fraction bits.
    Hopper,
}

/// The type of the elements of both factors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FactorFormat {
    /// IEEE 754 binary16.
    Half,
    /// A single's upper half.
    BFloat16,
    /// A single whose lower 13 bits are ignored.
    TensorFloat32,
}

/// The type in which a tensor core keeps sums, and how it rounds them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SumFormat {
    /// IEEE 754 binary16, rounded to the nearest value, ties to even.
    Half,
    /// IEEE 754 binary32, rounded towards zero.
    Single,
}

/// The most elements of each factor that one fused sum takes.
const MOST_FUSED: usize = 16;
/// The NaN of sums that are singles.
const SINGLE_NAN: u32 = 0x7fff_ffff;
/// The NaN of sums that are halves.
const HALF_NAN: u32 = 0x7fff;

/// How the bits of a floating-point type are divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Layout {
    exponent_bits: u32,
    fraction_bits: u32,
}

const HALF: Layout = Layout { exponent_bits: 5, fraction_bits: 10 };
const BFLOAT16: Layout = Layout { exponent_bits: 8, fraction_bits: 7 };
const TENSOR_FLOAT32: Layout = Layout { exponent_bits: 8, fraction_bits: 10 };
const SINGLE: Layout = Layout { exponent_bits: 8, fraction_bits: 23 };

/// A number that tensor cores multiply or add: `significand` × 2^(`exponent` − fraction bits) if it is finite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Term {
    /// A finite number. Subnormal numbers are not normalized, and neither are products.
    Finite {
        /// The significand with its sign, as an integer.
        significand: i64,
        /// The exponent of the significand's integral bit.
        exponent: i32,
    },
    /// An infinity, perhaps negative.
    Infinite {
        /// Whether it is negative.
        negative: bool,
    },
    /// No number.
    Nan,
}

impl Term {
    /// Zero, which changes no sum.
    pub const ZERO: Self = Self::Finite { significand: 0, exponent: 0 };
}

impl Layout {
    /// The exponent of the smallest normal number and of all subnormal numbers.
    fn least_exponent(self) -> i32 {
        2 - (1 << (self.exponent_bits - 1))
    }

    /// The largest biased exponent, that of infinities and NaN.
    fn special(self) -> u32 {
        (1 << self.exponent_bits) - 1
    }

    fn decode(self, bits: u32) -> Term {
        let fraction = bits & ((1 << self.fraction_bits) - 1);
        let biased = bits >> self.fraction_bits & self.special();
        let negative = bits >> (self.fraction_bits + self.exponent_bits) & 1 == 1;
        if biased == self.special() {
            return if fraction == 0 { Term::Infinite { negative } } else { Term::Nan };
        }
        let magnitude = i64::from(if biased == 0 { fraction } else { fraction | 1 << self.fraction_bits });
        let significand = if negative { -magnitude } else { magnitude };
        Term::Finite { significand, exponent: self.least_exponent() + biased.max(1) as i32 - 1 }
    }
}

impl FactorFormat {
    /// Elements that a register of a lane holds, the first in the lowest bits.
    pub fn elements_of_register(self) -> usize {
        match self {
            Self::Half | Self::BFloat16 => 2,
            Self::TensorFloat32 => 1,
        }
    }

    fn layout(self) -> Layout {
        match self {
            Self::Half => HALF,
            Self::BFloat16 => BFLOAT16,
            Self::TensorFloat32 => TENSOR_FLOAT32,
        }
    }

    /// An element as a term. Of a [`FactorFormat::TensorFloat32`] the upper 19 bits of the register count, of the others the lower 16.
    pub fn decode(self, bits: u32) -> Term {
        match self {
            Self::Half | Self::BFloat16 => self.layout().decode(bits & 0xffff),
            Self::TensorFloat32 => self.layout().decode(bits >> 13),
        }
    }
}

impl SumFormat {
    fn layout(self) -> Layout {
        match self {
            Self::Half => HALF,
            Self::Single => SINGLE,
        }
    }

    fn nan(self) -> u32 {
        match self {
            Self::Half => HALF_NAN,
            Self::Single => SINGLE_NAN,
        }
    }

    fn infinity(self, negative: bool) -> u32 {
        let layout = self.layout();
        (u32::from(negative) << layout.exponent_bits | layout.special()) << layout.fraction_bits
    }

    /// The sum `value` × 2^`scale` in this format. Zero is positive. A sum beyond the largest number is an infinity.
    fn encode(self, value: i64, scale: i32) -> u32 {
        let layout = self.layout();
        let (negative, magnitude) = (value < 0, value.unsigned_abs());
        if magnitude == 0 {
            return 0;
        }
        let leading = 63 - magnitude.leading_zeros() as i32;
        let exponent = (leading + scale).max(layout.least_exponent());
        // The number of units in the last place of the result, before it is rounded.
        let dropped = exponent - layout.fraction_bits as i32 - scale;
        let units = match (dropped, self) {
            (..=0, _) => magnitude << -dropped,
            (64.., _) => 0,
            (_, Self::Single) => magnitude >> dropped,
            (_, Self::Half) => nearest(magnitude, dropped as u32),
        };
        // A fraction that is rounded up to the next power of two carries into the exponent.
        let biased = i64::from(exponent - layout.least_exponent()) << layout.fraction_bits;
        let bits = biased + units as i64;
        let infinity = self.infinity(false);
        let bits = u32::try_from(bits).map_or(infinity, |bits| bits.min(infinity));
        let sign = u32::from(negative) << (layout.exponent_bits + layout.fraction_bits);
        // What is rounded to zero is positive, too.
        if bits == 0 { 0 } else { bits | sign }
    }
}

/// A magnitude without its `dropped` lowest bits, 1 to 63, rounded to the nearest integer, ties to even.
fn nearest(magnitude: u64, dropped: u32) -> u64 {
    let (kept, rest, half) = (magnitude >> dropped, magnitude & ((1 << dropped) - 1), 1 << (dropped - 1));
    kept + u64::from(rest > half || rest == half && kept & 1 == 1)
}

/// The exact product of two terms of one format, not normalized: its significand has twice the fraction bits.
fn product(left: Term, right: Term) -> Term {
    let negative = |term| match term {
        Term::Finite { significand, .. } => significand < 0,
        Term::Infinite { negative } => negative,
        Term::Nan => false,
    };
    let is_zero = |term| matches!(term, Term::Finite { significand: 0, .. });
    match (left, right) {
        (Term::Nan, _) | (_, Term::Nan) => Term::Nan,
        (Term::Finite { significand: a, exponent: e }, Term::Finite { significand: b, exponent: f }) => {
            Term::Finite { significand: a * b, exponent: e + f }
        }
        _ if is_zero(left) || is_zero(right) => Term::Nan,
        _ => Term::Infinite { negative: negative(left) != negative(right) },
    }
}

impl TensorCore {
    /// The elements of each factor that one fused sum takes.
    pub fn fused_elements(self, factors: FactorFormat) -> usize {
        let registers = match self {
            Self::Ampere => 4,
            Self::Hopper => 8,
        };
        registers * factors.elements_of_register()
    }

    /// Fraction bits that aligned terms keep.
    fn fraction_bits(self) -> i32 {
        match self {
            Self::Ampere => 24,
            Self::Hopper => 25,
        }
    }

    /// The exponent to which terms are aligned at least.
    fn least_alignment(self, sums: SumFormat) -> i32 {
        match (self, sums) {
            (Self::Ampere, SumFormat::Half) => -20,
            (Self::Hopper, SumFormat::Half) => -21,
            (Self::Ampere, SumFormat::Single) => -132,
            (Self::Hopper, SumFormat::Single) => -133,
        }
    }

    /// The sum of `old` and the products of elements of equal index, as one element of the result of PTX's `mma` (PTX ISA,
    /// Warp Level Matrix Multiply-Accumulate Instructions). `old` and the result are the bits of a sum.
    ///
    /// Factors longer than [`TensorCore::fused_elements`] are summed in parts, and the sum of each part is rounded.
    pub fn dot(self, factors: FactorFormat, sums: SumFormat, left: &[Term], right: &[Term], old: u32) -> u32 {
        let length = self.fused_elements(factors);
        let parts = left.chunks(length).zip(right.chunks(length));
        parts.fold(old, |sum, (left, right)| self.fused(factors, sums, left, right, sum))
    }

    fn fused(self, factors: FactorFormat, sums: SumFormat, left: &[Term], right: &[Term], old: u32) -> u32 {
        let old = sums.layout().decode(old);
        let mut products = [Term::ZERO; MOST_FUSED];
        let pairs = left.iter().zip(right);
        products.iter_mut().zip(pairs).for_each(|(term, (left, right))| *term = product(*left, *right));
        let (mut negative, mut positive) = (false, false);
        let mut alignment = self.least_alignment(sums);
        for term in products.into_iter().chain([old]) {
            match term {
                Term::Nan => return sums.nan(),
                Term::Infinite { negative: true } => negative = true,
                Term::Infinite { negative: false } => positive = true,
                Term::Finite { significand: 0, .. } => {}
                Term::Finite { exponent, .. } => alignment = alignment.max(exponent),
            }
        }
        match (negative, positive) {
            (true, true) => return sums.nan(),
            (true, false) | (false, true) => return sums.infinity(negative),
            (false, false) => {}
        }
        let kept = self.fraction_bits();
        let aligned = |term, fraction_bits: u32| match term {
            Term::Finite { significand, exponent } => {
                truncated(significand, kept - fraction_bits as i32 + exponent - alignment)
            }
            Term::Infinite { .. } | Term::Nan => 0,
        };
        let sum: i64 = products.iter().map(|term| aligned(*term, 2 * factors.layout().fraction_bits)).sum();
        sums.encode(sum + aligned(old, sums.layout().fraction_bits), alignment - kept)
    }
}

/// A significand times a power of two, without what lies below one.
fn truncated(significand: i64, shift: i32) -> i64 {
    match shift {
        0.. => significand << shift.min(32),
        _ => significand.signum() * (significand.abs() >> (-shift).min(62)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: u32 = 0x3c00;

    fn halves(core: TensorCore, left: &[u32], right: &[u32], old: u32) -> u32 {
        let terms = |bits: &[u32]| bits.iter().map(|bits| FactorFormat::Half.decode(*bits)).collect::<Vec<_>>();
        core.dot(FactorFormat::Half, SumFormat::Single, &terms(left), &terms(right), old)
    }

    #[test]
    fn bits_below_those_that_are_kept_are_dropped() {
        // 1 + 2^-24 + 2^-24: Ampere keeps both small terms, and neither generation rounds up.
        let tiny = 2f32.powi(-24).to_bits();
        let small = 0x0c00; // 2^-12
        let both = |core| halves(core, &[ONE, small, small], &[ONE, small, small], 0);
        assert_eq!([both(TensorCore::Ampere), both(TensorCore::Hopper)], [1f32.to_bits() + 1; 2]);
        assert_eq!(halves(TensorCore::Hopper, &[ONE], &[ONE], tiny), 1f32.to_bits());
        // Of four terms of 2^-25 Hopper alone keeps each.
        let four = |core| halves(core, &[ONE, small, small, small, small], &[ONE, 0x0800, 0x0800, 0x0800, 0x0800], 0);
        assert_eq!([four(TensorCore::Ampere), four(TensorCore::Hopper)], [0, 1].map(|units| 1f32.to_bits() + units));
    }

    #[test]
    fn zero_is_positive_and_nan_has_one_form() {
        let minus_zero = 0x8000;
        assert_eq!(halves(TensorCore::Hopper, &[minus_zero], &[ONE], 1 << 31), 0);
        let [infinity, minus_infinity] = [0x7c00, 0xfc00];
        assert_eq!(halves(TensorCore::Hopper, &[infinity, minus_infinity], &[ONE, ONE], 0), SINGLE_NAN);
        assert_eq!(halves(TensorCore::Hopper, &[infinity], &[0], 0), SINGLE_NAN);
        assert_eq!(halves(TensorCore::Hopper, &[minus_infinity], &[ONE], 0), f32::NEG_INFINITY.to_bits());
        assert_eq!(halves(TensorCore::Hopper, &[ONE], &[ONE], 0xffc0_0000), SINGLE_NAN);
    }
}
