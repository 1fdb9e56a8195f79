//! Numbers that are rounded once, in any direction, to any format.

use super::rounding::Rounding;

/// A format of floating-point numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Bits of a normal number's significand, the first of which is not stored.
    pub significand: u32,
    /// Bits of the exponent.
    pub exponent: u32,
}

impl Layout {
    /// IEEE 754 binary16.
    pub const HALF: Self = Self { significand: 11, exponent: 5 };
    /// The upper half of binary32.
    pub const BFLOAT: Self = Self { significand: 8, exponent: 8 };
    /// IEEE 754 binary32.
    pub const SINGLE: Self = Self { significand: 24, exponent: 8 };
    /// IEEE 754 binary64.
    pub const DOUBLE: Self = Self { significand: 53, exponent: 11 };

    fn sign(self) -> u64 {
        1 << (self.significand - 1 + self.exponent)
    }

    fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << (self.significand - 1)
    }

    /// The power of two of the last bit of a subnormal number.
    fn least(self) -> i32 {
        3 - (1 << (self.exponent - 1)) - self.significand as i32
    }
}

/// A number: its sign, and a power of two times a whole number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exact {
    /// Whether it is below zero, or a negative zero.
    pub negative: bool,
    /// The whole number, without its sign.
    pub magnitude: u128,
    /// The exponent of that power of two.
    pub power: i32,
}

impl Exact {
    /// A whole number.
    pub fn of_integer(value: i128) -> Self {
        Self { negative: value < 0, magnitude: value.unsigned_abs(), power: 0 }
    }

    /// A finite double.
    pub fn of_double(value: f64) -> Self {
        let bits = value.to_bits();
        let (biased, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let magnitude = if biased == 0 { fraction } else { fraction | 1 << 52 };
        Self { negative: value.is_sign_negative(), magnitude: magnitude.into(), power: biased.max(1) - 1075 }
    }

    /// The bits of the number of a format that it is rounded to.
    pub fn rounded(self, layout: Layout, rounding: Rounding) -> u64 {
        let Self { negative, magnitude, power } = self;
        let sign = if negative { layout.sign() } else { 0 };
        if magnitude == 0 {
            return sign;
        }
        let bits = (u128::BITS - magnitude.leading_zeros()) as i32;
        let unit = (power + bits - layout.significand as i32).max(layout.least());
        let dropped = unit - power;
        let (kept, rest) = match u32::try_from(dropped) {
            Err(_) | Ok(0) => (magnitude << -dropped, std::cmp::Ordering::Less),
            Ok(dropped) => {
                let kept = magnitude.checked_shr(dropped).unwrap_or(0);
                let rest = magnitude & 1u128.checked_shl(dropped).map_or(u128::MAX, |unit| unit - 1);
                let half = 1u128.checked_shl(dropped - 1);
                (kept, half.map_or(std::cmp::Ordering::Less, |half| rest.cmp(&half)))
            }
        };
        let is_exact = dropped <= 0 || magnitude.trailing_zeros() as i32 >= dropped;
        let goes_up = !is_exact
            && match rounding {
                Rounding::Nearest => rest.is_gt() || rest.is_eq() && kept & 1 == 1,
                Rounding::Up => !negative,
                Rounding::Down => negative,
                Rounding::Zero => false,
            };
        // A significand that becomes too long by rounding carries into the exponent.
        let significand = kept as u64 + u64::from(goes_up);
        let hidden = 1u64 << (layout.significand - 1);
        let steps = (unit - layout.least()) as u64;
        let found = if significand < hidden { significand } else { (steps << (layout.significand - 1)) + significand };
        let infinity = layout.infinity();
        let is_away = match rounding {
            Rounding::Nearest => true,
            Rounding::Up => !negative,
            Rounding::Down => negative,
            Rounding::Zero => false,
        };
        sign | if found < infinity { found } else { infinity - u64::from(!is_away) }
    }

    /// The power of two above its first bit.
    fn end(self) -> i32 {
        self.power + (u128::BITS - self.magnitude.leading_zeros()) as i32
    }

    /// Moves its first bit to bit 125, or the place that it has beside a number with its first bit there; gives whether bits
    /// are lost.
    fn aligned(self, power: i32) -> (u128, bool) {
        match u32::try_from(power - self.power) {
            Err(_) => (self.magnitude << (self.power - power), false),
            Ok(distance) => {
                let moved = self.magnitude.checked_shr(distance).unwrap_or(0);
                (moved, self.magnitude.trailing_zeros() < distance)
            }
        }
    }

    /// The sum of two numbers of at most 106 bits that are not zero, with its last bit set where it has more bits than are kept;
    /// `None` if it is zero.
    fn plus(self, other: Self) -> Option<Self> {
        let (larger, smaller) = if self.end() >= other.end() { (self, other) } else { (other, self) };
        let power = larger.end() - 126;
        let ((first, _), (second, is_cut)) = (larger.aligned(power), smaller.aligned(power));
        let (negative, magnitude) = match (self.negative == other.negative, first >= second) {
            (true, _) => (larger.negative, first + second),
            (false, true) => (larger.negative, first - second - u128::from(is_cut)),
            (false, false) => (smaller.negative, second - first),
        };
        let magnitude = magnitude << 1 | u128::from(is_cut);
        (magnitude != 0).then_some(Self { negative, magnitude, power: power - 1 })
    }
}

/// A product plus a number, rounded once.
pub fn multiply_add([left, right, addend]: [f64; 3], rounding: Rounding) -> f64 {
    let nearest = left.mul_add(right, addend);
    if rounding == Rounding::Nearest || ![left, right, addend].iter().all(|value| value.is_finite()) {
        return nearest;
    }
    let (a, b, c) = (Exact::of_double(left), Exact::of_double(right), Exact::of_double(addend));
    let negative = a.negative != b.negative;
    let product = Exact { negative, magnitude: a.magnitude * b.magnitude, power: a.power + b.power };
    let sum = match (product.magnitude, c.magnitude) {
        (0, 0) if negative == c.negative => return addend,
        (0, 0) => None,
        (0, _) => Some(c),
        (_, 0) => Some(product),
        _ => product.plus(c),
    };
    match sum {
        Some(sum) => f64::from_bits(sum.rounded(Layout::DOUBLE, rounding)),
        // Of numbers that cancel the sum is negative towards negative infinity alone.
        None if rounding == Rounding::Down => -0.0,
        None => 0.0,
    }
}

/// The sum of two doubles, rounded once in a direction.
pub fn add([left, right]: [f64; 2], rounding: Rounding) -> f64 {
    if rounding == Rounding::Nearest { left + right } else { multiply_add([left, 1.0, right], rounding) }
}

/// The product of two doubles, rounded once in a direction.
pub fn multiply([left, right]: [f64; 2], rounding: Rounding) -> f64 {
    let product = left * right;
    let zero = if left.is_sign_negative() == right.is_sign_negative() { 0.0 } else { -0.0 };
    if rounding == Rounding::Nearest { product } else { multiply_add([left, right, zero], rounding) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Rounding; 4] = [Rounding::Nearest, Rounding::Down, Rounding::Up, Rounding::Zero];

    #[test]
    fn numbers_that_a_format_has_stay_what_they_are() {
        for bits in [0u32, 1, 0x7f_ffff, 0x80_0000, 0x3f80_0001, 0x7f7f_ffff, 0x8000_0000, 0xbf80_0000] {
            let value = f64::from(f32::from_bits(bits));
            for rounding in ALL {
                assert_eq!(Exact::of_double(value).rounded(Layout::SINGLE, rounding), u64::from(bits), "{rounding:?}");
            }
        }
        for value in [0.0, -0.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, -1.5] {
            assert_eq!(Exact::of_double(value).rounded(Layout::DOUBLE, Rounding::Nearest), value.to_bits());
        }
    }

    #[test]
    fn halves_are_rounded_once() {
        let half = |bits: u64, rounding| Exact::of_double(f64::from_bits(bits)).rounded(Layout::HALF, rounding);
        // A single would round these up to a number in the middle.
        assert_eq!(half(0x40ef_fdff_ffff_ffff, Rounding::Nearest), 0x7bff);
        assert_eq!(half(0x3e60_0000_0000_0001, Rounding::Nearest), 1);
        assert_eq!(half(0x40ef_fe00_0000_0000, Rounding::Nearest), 0x7c00);
        assert_eq!([Rounding::Down, Rounding::Zero].map(|way| half(0x40ef_fe00_0000_0000, way)), [0x7bff; 2]);
        assert_eq!(half(0xc0f0_0000_0000_0000, Rounding::Up), 0xfbff);
        assert_eq!(half(0x0000_0000_0000_0001, Rounding::Up), 1);
        assert_eq!(half(0x8000_0000_0000_0001, Rounding::Down), 0x8001);
    }

    #[test]
    fn integers_are_rounded_in_each_direction() {
        let single =
            |value: i128| ALL.map(|way| f32::from_bits(Exact::of_integer(value).rounded(Layout::SINGLE, way) as u32));
        assert_eq!(single(16_777_217), [16_777_216.0, 16_777_216.0, 16_777_218.0, 16_777_216.0]);
        assert_eq!(single(-16_777_219), [-16_777_220.0, -16_777_220.0, -16_777_218.0, -16_777_218.0]);
        assert_eq!(single(0), [0.0; 4]);
    }

    #[test]
    fn sums_and_products_enclose_the_exact_one() {
        let ways = |operands: [f64; 3]| ALL.map(|way| multiply_add(operands, way));
        let one = 1f64.next_up();
        assert_eq!(ways([1.0, 1.0, 1e-300]), [1.0, 1.0, one, 1.0]);
        assert_eq!(ways([1.0, 1.0, -1e-300]), [1.0, 1f64.next_down(), 1.0, 1f64.next_down()]);
        let exact = 1.0 + 2f64.powi(-51);
        assert_eq!(ways([one, one, 0.0]), [exact, exact, exact.next_up(), exact]);
        assert_eq!(ways([one, one, -exact]), [2f64.powi(-104); 4]);
        assert_eq!(ways([f64::MAX, 2.0, 0.0])[1..], [f64::MAX, f64::INFINITY, f64::MAX]);
        let tiny = f64::from_bits(1);
        assert_eq!(ways([-tiny, tiny, 0.0])[1..], [-tiny, -0.0, -0.0]);
        assert!(
            add([1.5, -1.5], Rounding::Down).is_sign_negative() && add([1.5, -1.5], Rounding::Zero).is_sign_positive()
        );
        assert!(multiply([-0.0, 3.0], Rounding::Up).is_sign_negative());
        assert_eq!(ways([1e300, 1e-300, -1.0])[1], multiply_add([1e300, 1e-300, -1.0], Rounding::Nearest));
    }
}
