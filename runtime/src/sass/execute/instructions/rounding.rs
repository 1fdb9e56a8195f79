//! Arithmetic of singles and doubles as the instructions define it: rounding, flushing, saturation and NaN.

use super::super::super::instruction::Code;
use super::super::super::operation::Modifier;

/// The NaN that operations on singles give.
pub const SINGLE_NAN: u32 = 0x7fff_ffff;
/// The NaN that operations on doubles give.
pub const DOUBLE_NAN: u64 = 0xfff8_0000_0000_0000;

/// Towards what a result is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounding {
    /// The nearest value, of two the even one.
    Nearest,
    /// Negative infinity.
    Down,
    /// Positive infinity.
    Up,
    /// Zero, whatever the sign.
    Zero,
}

impl Rounding {
    /// That of an instruction.
    pub fn of(code: &Code) -> Self {
        match () {
            () if code.has(Modifier::Rm) => Self::Down,
            () if code.has(Modifier::Rp) => Self::Up,
            () if code.has(Modifier::Rz) => Self::Zero,
            () => Self::Nearest,
        }
    }
}

/// What is done with results of singles, and with subnormal numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SingleMode {
    /// Towards what results are rounded.
    pub rounding: Rounding,
    /// Whether subnormal operands and results are zeros.
    pub flushes: bool,
    /// Whether results are clamped to 0 and 1.
    pub saturates: bool,
}

impl SingleMode {
    /// That of an instruction.
    pub fn of(code: &Code) -> Self {
        Self { rounding: Rounding::of(code), flushes: code.has(Modifier::Ftz), saturates: code.has(Modifier::Sat) }
    }

    /// Whether nothing but rounding to the nearest is asked for.
    pub fn is_plain(self) -> bool {
        self == Self { rounding: Rounding::Nearest, flushes: false, saturates: false }
    }

    /// An operand as the operation sees it.
    pub fn operand(self, word: u32) -> f32 {
        f32::from_bits(if self.flushes { flushed(word) } else { word })
    }

    /// A result as it is stored.
    pub fn result(self, value: f32) -> u32 {
        let value = match self.saturates {
            true if value > 0.0 => value.min(1.0),
            true => 0.0,
            false => value,
        };
        let word = canonical(value);
        if self.flushes { flushed(word) } else { word }
    }

    /// A product plus a number, rounded once.
    pub fn multiply_add(self, [left, right, addend]: [u32; 3]) -> u32 {
        let [left, right, addend] = [left, right, addend].map(|word| self.operand(word));
        self.result(fused(left, right, addend, self.rounding))
    }

    /// A sum.
    pub fn add(self, [left, right]: [u32; 2]) -> u32 {
        let [left, right] = [left, right].map(|word| self.operand(word));
        match self.rounding {
            Rounding::Nearest => self.result(left + right),
            rounding => self.result(directed(left + right, left.into(), right.into(), rounding)),
        }
    }

    /// A product.
    pub fn multiply(self, [left, right]: [u32; 2]) -> u32 {
        let [left, right] = [left, right].map(|word| self.operand(word));
        let product = f64::from(left) * f64::from(right);
        match self.rounding {
            Rounding::Nearest => self.result(left * right),
            rounding => self.result(directed(left * right, product, 0.0, rounding)),
        }
    }
}

/// A single's bits, those of a NaN always the same.
#[inline(always)]
pub fn canonical(value: f32) -> u32 {
    if value.is_nan() { SINGLE_NAN } else { value.to_bits() }
}

/// A double's bits, those of a NaN always the same.
pub fn canonical_double(value: f64) -> u64 {
    if value.is_nan() { DOUBLE_NAN } else { value.to_bits() }
}

/// Zero of the same sign in place of a subnormal number.
pub fn flushed(word: u32) -> u32 {
    if word & 0x7f80_0000 == 0 { word & 0x8000_0000 } else { word }
}

fn fused(left: f32, right: f32, addend: f32, rounding: Rounding) -> f32 {
    let nearest = left.mul_add(right, addend);
    match rounding {
        Rounding::Nearest => nearest,
        rounding => directed(nearest, f64::from(left) * f64::from(right), addend.into(), rounding),
    }
}

/// The single next to the sum of two doubles in the direction asked for, given the nearest one. The sign of the difference is
/// exact: the sum's own error is known (Knuth, The Art of Computer Programming 2, 4.2.2, theorem B).
fn directed(nearest: f32, left: f64, right: f64, rounding: Rounding) -> f32 {
    let sum = left + right;
    if !sum.is_finite() {
        return nearest;
    }
    if sum == 0.0 {
        // Of opposite zeros, and of numbers that cancel, the sum is negative towards negative infinity alone.
        let is_cancelled = left != 0.0 || left.is_sign_negative() != right.is_sign_negative();
        return if is_cancelled && rounding == Rounding::Down { -0.0 } else { nearest };
    }
    let back = sum - left;
    let error = (left - (sum - back)) + (right - back);
    let difference = match sum - f64::from(nearest) {
        0.0 => error,
        difference => difference,
    };
    match rounding {
        Rounding::Down if difference < 0.0 => nearest.next_down(),
        Rounding::Up if difference > 0.0 => nearest.next_up(),
        Rounding::Zero if nearest > 0.0 && difference < 0.0 => nearest.next_down(),
        Rounding::Zero if nearest < 0.0 && difference > 0.0 => nearest.next_up(),
        _ => nearest,
    }
}

/// The single next to a double in the direction asked for.
pub fn narrowed(value: f64, rounding: Rounding) -> f32 {
    directed(value as f32, value, 0.0, rounding)
}

/// The smaller and the larger of two singles: negative zero is below positive zero, and a NaN is left out where the other is a
/// number, or taken where `propagates`.
pub fn extremes(left: u32, right: u32, propagates: bool) -> [u32; 2] {
    let [a, b] = [left, right].map(f32::from_bits);
    match (a.is_nan(), b.is_nan()) {
        (true, true) => [SINGLE_NAN; 2],
        (true, false) | (false, true) if propagates => [SINGLE_NAN; 2],
        (true, false) => [right; 2],
        (false, true) => [left; 2],
        (false, false) if a < b || a == b && a.is_sign_negative() => [left, right],
        (false, false) => [right, left],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(rounding: Rounding) -> SingleMode {
        SingleMode { rounding, flushes: false, saturates: false }
    }

    #[test]
    fn directed_results_enclose_the_exact_one() {
        // 1 + 2^-30 lies between 1 and its neighbour.
        let [one, tiny] = [1.0f32, 2f32.powi(-30)].map(f32::to_bits);
        let add = |rounding| f32::from_bits(mode(rounding).add([one, tiny]));
        assert_eq!(add(Rounding::Nearest), 1.0);
        assert_eq!([add(Rounding::Down), add(Rounding::Zero)], [1.0; 2]);
        assert_eq!(add(Rounding::Up), 1f32.next_up());
        // (1 + 2^-23)^2 has bits that no single has.
        let factor = 1f32.next_up().to_bits();
        let product = |rounding| f32::from_bits(mode(rounding).multiply([factor, factor]));
        assert_eq!(product(Rounding::Down), 1.0 + 2f32.powi(-22));
        assert_eq!(product(Rounding::Up), (1.0 + 2f32.powi(-22)).next_up());
        let negative = |rounding| f32::from_bits(mode(rounding).add([one ^ 1 << 31, tiny ^ 1 << 31]));
        assert_eq!(negative(Rounding::Down), -1f32.next_up());
        assert_eq!(negative(Rounding::Zero), -1.0);
        // Beyond the largest single.
        let most = f32::MAX.to_bits();
        assert_eq!(f32::from_bits(mode(Rounding::Down).add([most, most])), f32::MAX);
        assert_eq!(f32::from_bits(mode(Rounding::Up).add([most, most])), f32::INFINITY);
    }

    #[test]
    fn numbers_win_over_nan_unless_it_propagates() {
        let [one, nan] = [1.0f32.to_bits(), f32::NAN.to_bits()];
        assert_eq!(extremes(one, nan, false), [one; 2]);
        assert_eq!(extremes(nan, one, true), [SINGLE_NAN; 2]);
        let [zero, negative] = [0f32.to_bits(), (-0f32).to_bits()];
        assert_eq!(extremes(zero, negative, false), [negative, zero]);
        assert_eq!(extremes(negative, zero, false), [negative, zero]);
    }

    #[test]
    fn saturation_and_flushing_follow_the_modifiers() {
        let saturating = SingleMode { saturates: true, ..mode(Rounding::Nearest) };
        let [two, negative, nan] = [2.0f32, -1.0, f32::NAN].map(|value| saturating.result(value));
        assert_eq!([two, negative, nan], [1f32.to_bits(), 0, 0]);
        let flushing = SingleMode { flushes: true, ..mode(Rounding::Nearest) };
        assert_eq!(flushing.result(-f32::MIN_POSITIVE / 2.0), (-0f32).to_bits());
    }
}
