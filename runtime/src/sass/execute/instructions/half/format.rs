//! The two formats of 16 bits, and how their values are rounded, flushed and clamped.

use half::{bf16, f16};
use warpweave_graph::arithmetic;

use super::super::super::super::instruction::Code;
use super::super::super::super::operation::Modifier;
use super::super::rounding::Rounding;

/// The NaN that operations on halves give (PTX ISA, Half Precision Floating Point Instructions).
pub const HALF_NAN: u16 = 0x7fff;

/// A format of 16 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HalfFormat {
    /// IEEE 754 binary16.
    Half,
    /// A single's upper half.
    Bfloat,
}

impl HalfFormat {
    /// That of an instruction on pairs of halves.
    pub fn of(code: &Code) -> Self {
        if code.has(Modifier::Bf16V2) || code.has(Modifier::Bf16) { Self::Bfloat } else { Self::Half }
    }

    /// The value that bits stand for.
    pub fn decode(self, bits: u16) -> f64 {
        match self {
            Self::Half => f16::from_bits(bits).into(),
            Self::Bfloat => bf16::from_bits(bits).into(),
        }
    }

    /// The bits of the value next to another in the direction asked for, those of a NaN always the same.
    pub fn encode(self, value: f64, rounding: Rounding) -> u16 {
        if value.is_nan() {
            return HALF_NAN;
        }
        let nearest = match self {
            Self::Half => arithmetic::half(value).to_bits(),
            Self::Bfloat => arithmetic::bfloat(value).to_bits(),
        };
        let found = self.decode(nearest);
        let towards_zero = match rounding {
            Rounding::Nearest => return nearest,
            Rounding::Zero => true,
            Rounding::Down => value > 0.0,
            Rounding::Up => value < 0.0,
        };
        // Codes of one sign follow each other as their magnitudes do.
        match (towards_zero, found.abs() > value.abs(), found.abs() < value.abs()) {
            (true, true, _) => nearest - 1,
            (false, _, true) => nearest + 1,
            _ => nearest,
        }
    }

    /// The number one.
    pub fn one(self) -> u16 {
        match self {
            Self::Half => 0x3c00,
            Self::Bfloat => 0x3f80,
        }
    }

    /// Zero of the same sign in place of a subnormal number.
    pub fn flushed(self, bits: u16) -> u16 {
        let exponent = match self {
            Self::Half => 0x7c00,
            Self::Bfloat => 0x7f80,
        };
        if bits & exponent == 0 { bits & 0x8000 } else { bits }
    }
}

/// What is done with operands and results of operations on halves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HalfMode {
    /// The format of both.
    pub format: HalfFormat,
    /// Whether subnormal operands and results are zeros.
    pub flushes: bool,
    saturates: bool,
    rectifies: bool,
}

impl HalfMode {
    /// That of an instruction.
    pub fn of(code: &Code) -> Self {
        Self {
            format: HalfFormat::of(code),
            flushes: code.has(Modifier::Ftz),
            saturates: code.has(Modifier::Sat),
            rectifies: code.has(Modifier::Relu),
        }
    }

    /// An operand's bits as the operation sees them.
    pub fn operand(self, bits: u16) -> u16 {
        if self.flushes { self.format.flushed(bits) } else { bits }
    }

    /// An operand's value as the operation sees it.
    pub fn value(self, bits: u16) -> f64 {
        self.format.decode(self.operand(bits))
    }

    /// The bits of a result: rounded to the nearest value, flushed, and clamped to 0 and 1 or from below to 0. Clamping to 0 and
    /// 1 makes a zero of NaN.
    pub fn result(self, value: f64) -> u16 {
        let value = match (self.saturates, self.rectifies) {
            (true, _) if value > 0.0 => value.min(1.0),
            (true, _) => 0.0,
            (false, true) => rectified(value),
            (false, false) => value,
        };
        self.operand(self.format.encode(value, Rounding::Nearest))
    }
}

/// Zero in place of what has a negative sign; NaN stays NaN.
pub fn rectified(value: f64) -> f64 {
    if value.is_sign_negative() && !value.is_nan() { 0.0 } else { value }
}

/// The sum of two doubles, rounded to odd: towards zero, with its last bit set unless the sum is exact. Rounding it to a format
/// with at least two bits less gives what rounding the exact sum gives.
pub fn sum_to_odd(left: f64, right: f64) -> f64 {
    let sum = left + right;
    if !sum.is_finite() {
        return sum;
    }
    // The sum's own error is exact (Knuth, The Art of Computer Programming 2, 4.2.2, theorem B).
    let back = sum - left;
    let error = (left - (sum - back)) + (right - back);
    if error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let is_beyond = (error > 0.0) != (sum > 0.0);
    f64::from_bits(if is_beyond { sum.to_bits() - 1 } else { sum.to_bits() + 1 })
}

/// A function of each half of words.
pub fn each_half<const N: usize>(words: [u32; N], function: impl Fn([u16; N]) -> u16) -> u32 {
    let [low, high] = [0, 16].map(|shift| u32::from(function(words.map(|word| (word >> shift) as u16))));
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directed_values_enclose_the_exact_one() {
        let all = [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up];
        let half = |value| all.map(|rounding| HalfFormat::Half.encode(value, rounding));
        assert_eq!(half(1.0 + 2f64.powi(-12)), [0x3c00, 0x3c00, 0x3c00, 0x3c01]);
        assert_eq!(half(-1.0 - 2f64.powi(-12)), [0xbc00, 0xbc00, 0xbc01, 0xbc00]);
        assert_eq!(half(1e-9), [0, 0, 0, 1]);
        assert_eq!(half(-1e-9), [0x8000, 0x8000, 0x8001, 0x8000]);
        assert_eq!(half(1e6), [0x7c00, 0x7bff, 0x7bff, 0x7c00]);
        assert_eq!(half(f64::NEG_INFINITY), [0xfc00; 4]);
    }

    #[test]
    fn sums_that_are_rounded_to_odd_round_once() {
        // 1 + 2^-8 lies between two numbers of eight bits, and a tiny term decides.
        let bfloat = |small| HalfFormat::Bfloat.encode(sum_to_odd(1.0 + 2f64.powi(-8), small), Rounding::Nearest);
        assert_eq!([bfloat(0.0), bfloat(2f64.powi(-90)), bfloat(-2f64.powi(-90))], [0x3f80, 0x3f81, 0x3f80]);
        let above = |small| HalfFormat::Bfloat.encode(sum_to_odd(1.0 + 3.0 * 2f64.powi(-8), small), Rounding::Nearest);
        assert_eq!([above(0.0), above(2f64.powi(-90)), above(-2f64.powi(-90))], [0x3f82, 0x3f82, 0x3f81]);
    }
}
