//! Floating point of 8 bits and fewer: the values that codes stand for, and the codes that are nearest to values.
//!
//! The formats are those of ONNX, which takes them from three sources:
//! - E4M3FN and E5M2 from "FP8 Formats for Deep Learning" (arXiv 2209.05433);
//! - those that end in FNUZ from "8-bit Numerical Formats for Deep Neural Networks" (arXiv 2206.02915);
//! - E8M0 and E2M1 from OCP's microscaling formats.

use crate::numerics::{Class, FloatFormat};
use crate::types::ElementType;

/// How codes of a type with a sign, mantissa and exponent stand for values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    mantissa_bits: u32,
    bias: i32,
    /// The code without its sign of the largest finite value.
    largest: u8,
    /// The bit of the sign.
    sign: u8,
    overflow: Overflow,
}

/// What a value becomes that is larger than the largest finite one, or no number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overflow {
    /// An infinity; NaN is another code.
    Infinity,
    /// NaN, the largest code of either sign.
    SignedNan,
    /// NaN, the code that would be −0.
    NegativeZeroIsNan,
    /// The largest finite value; NaN becomes a zero of the other sign.
    Largest,
}

/// The format of a type with a sign, mantissa and exponent; none of [`ElementType::F8E8M0`] and of all other types.
pub fn format(element: ElementType) -> Option<Format> {
    match element.class() {
        Class::Float(FloatFormat::Minifloat(format)) => Some(format),
        Class::Float(_) | Class::Boolean | Class::Signed | Class::Unsigned => None,
    }
}

/// The code that is nearest to a value, halves to even. What is larger than the largest finite value becomes an infinity where the
/// type has one, else NaN, else the largest finite value.
///
/// A power of two of type [`ElementType::F8E8M0`] is the largest that is not larger than the value. A value that is
/// negative, less than the smallest or at least twice the largest becomes NaN.
pub fn encode(element: ElementType, value: f64) -> u8 {
    let Some(format) = format(element) else { return encode_exponent(value) };
    let sign = if value.is_sign_negative() { format.sign } else { 0 };
    let code = if value.is_nan() { None } else { Some(format.nearest(value.abs())) };
    match (code.filter(|&code| code <= u32::from(format.largest)), format.overflow) {
        (Some(0), Overflow::NegativeZeroIsNan) => 0,
        (Some(code), _) => code as u8 | sign,
        (None, Overflow::NegativeZeroIsNan) => format.sign,
        (None, Overflow::SignedNan) => 0x7f | sign,
        (None, Overflow::Infinity) if value.is_nan() => 0x7e | sign,
        (None, Overflow::Infinity) => 0x7c | sign,
        (None, Overflow::Largest) if value.is_nan() => sign ^ format.sign,
        (None, Overflow::Largest) => format.largest | sign,
    }
}

/// The value that a code stands for.
pub fn decode(element: ElementType, code: u8) -> f64 {
    let Some(format) = format(element) else { return decode_exponent(code) };
    let (sign, magnitude) = (code & format.sign, code & (format.sign - 1));
    let value = if magnitude <= format.largest { format.value(magnitude) } else { f64::NAN };
    let value = match format.overflow {
        Overflow::NegativeZeroIsNan if magnitude == 0 && sign != 0 => f64::NAN,
        Overflow::Infinity if magnitude == format.largest + 1 => f64::INFINITY,
        Overflow::NegativeZeroIsNan | Overflow::Infinity | Overflow::SignedNan | Overflow::Largest => value,
    };
    if sign == 0 { value } else { -value }
}

/// The largest finite value of a type.
pub fn largest(element: ElementType) -> f64 {
    format(element).map_or_else(|| decode_exponent(0xfe), |format| format.value(format.largest))
}

/// The least positive value of a type.
pub fn least(element: ElementType) -> f64 {
    format(element).map_or_else(|| decode_exponent(0), |format| format.value(1))
}

impl Format {
    /// A format whose largest finite value has this code; a code of more than three bits has its sign in the eighth.
    pub(crate) const fn new(mantissa_bits: u32, bias: i32, largest: u8, overflow: Overflow) -> Self {
        Self { mantissa_bits, bias, largest, sign: if largest < 8 { 8 } else { 128 }, overflow }
    }

    /// The bits of the mantissa.
    pub fn mantissa_bits(self) -> i32 {
        self.mantissa_bits as i32
    }

    /// What an exponent is more than the power of two that it stands for.
    pub fn bias(self) -> i32 {
        self.bias
    }

    /// The code without its sign of the largest finite value.
    pub fn largest_code(self) -> i32 {
        self.largest.into()
    }

    /// The bit of the sign.
    pub fn sign_code(self) -> i32 {
        self.sign.into()
    }

    /// What a value becomes that is larger than the largest finite one.
    pub fn overflow(self) -> Overflow {
        self.overflow
    }

    /// The number in the order of values of the nearest to one that is not negative, as if codes went on without end.
    fn nearest(self, value: f64) -> u32 {
        let least_normal = 1 - self.bias;
        let exponent = exponent(value).max(least_normal);
        let steps = value / power_of_two(exponent - self.mantissa_bits as i32);
        let binade = (exponent - least_normal) as u32;
        (binade << self.mantissa_bits).saturating_add(steps.round_ties_even() as u32)
    }

    /// The value of a code without its sign, as if all codes were finite.
    fn value(self, code: u8) -> f64 {
        let (binade, mantissa) = (i32::from(code >> self.mantissa_bits), u32::from(code) % (1 << self.mantissa_bits));
        let hidden = if binade == 0 { 0 } else { 1 << self.mantissa_bits };
        f64::from(hidden + mantissa) * power_of_two(binade.max(1) - self.bias - self.mantissa_bits as i32)
    }
}

fn encode_exponent(value: f64) -> u8 {
    let exponent = exponent(value) + 127;
    if value > 0.0 { u8::try_from(exponent).unwrap_or(0xff) } else { 0xff }
}

fn decode_exponent(code: u8) -> f64 {
    if code == 0xff { f64::NAN } else { power_of_two(i32::from(code) - 127) }
}

/// The exponent of a double, which is 1024 where it is not finite; of one that is less than all normal ones too large.
fn exponent(value: f64) -> i32 {
    (value.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

/// 2ⁿ for exponents of normal doubles.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}
