//! Halves as exact numbers: integers times a small power of two. Rounding looks for the nearest of all numbers of a format.

/// A format of 16 bits, by the bits of its fraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Half = 10,
    Bfloat = 7,
}

/// The NaN that every operation gives.
pub const NAN: u16 = 0x7fff;
const SIGN: u16 = 0x8000;
/// Factors and addends are multiples of 2^-30, and results are compared in units of 2^-72.
const SOURCE_UNIT: i32 = 30;
const RESULT_UNIT: i32 = 72;

/// An operand or a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    Nan,
    Infinite {
        negative: bool,
    },
    /// So many units, and the sign of a zero.
    Number {
        units: i128,
        negative: bool,
    },
}

impl Format {
    fn infinity(self) -> u16 {
        0x7fff >> (self as u16) << (self as u16)
    }

    /// The positive number with these bits in units of 2^-`unit`, if it is a multiple and not too large.
    fn units(self, bits: u16, unit: i32) -> Option<i128> {
        let fraction_bits = self as i32;
        let (biased, fraction) = (i32::from(bits >> fraction_bits), i128::from(bits & ((1 << fraction_bits) - 1)));
        let bias = if self == Self::Half { 15 } else { 127 };
        let significand = if biased == 0 { fraction } else { fraction | 1 << fraction_bits };
        let shift = biased.max(1) - bias - fraction_bits + unit;
        match shift {
            0..=110 => Some(significand << shift),
            ..0 => (significand % (1 << (-shift).min(100)) == 0).then(|| significand >> (-shift).min(100)),
            _ => None,
        }
    }

    /// The value of a source.
    pub fn decode(self, bits: u16) -> Value {
        let (negative, magnitude) = (bits & SIGN != 0, bits & !SIGN);
        if magnitude > self.infinity() {
            return Value::Nan;
        }
        if magnitude == self.infinity() {
            return Value::Infinite { negative };
        }
        let units = self.units(magnitude, SOURCE_UNIT).expect("sources are multiples of the unit");
        Value::Number { units: if negative { -units } else { units }, negative }
    }

    /// Whether [`Format::decode`] takes a source.
    pub fn takes(self, bits: u16) -> bool {
        let magnitude = bits & !SIGN;
        magnitude >= self.infinity() || self.units(magnitude, SOURCE_UNIT).is_some_and(|units| units < 1 << 47)
    }

    /// The number that is nearest to units of 2^-72, of two the one whose last bit is zero.
    pub fn nearest(self, value: Value) -> u16 {
        let (units, negative) = match value {
            Value::Nan => return NAN,
            Value::Infinite { negative } => return self.infinity() | if negative { SIGN } else { 0 },
            Value::Number { units, negative } => (units, if units == 0 { negative } else { units < 0 }),
        };
        if units == 0 {
            return if negative { SIGN } else { 0 };
        }
        let magnitude = units.abs();
        // Numbers too small for the unit are skipped by the search: no result comes near them but zero.
        let least = if self == Self::Half { 1 } else { ((127 + 7 - RESULT_UNIT) as u16) << 7 };
        let at = |bits: u16| match bits {
            bits if bits < least => Some(0),
            bits => self.units(bits, RESULT_UNIT),
        };
        // Bits of positive numbers are in the order of the numbers; those that are too large are above.
        let (mut low, mut high) = (0, self.infinity());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match at(middle) {
                Some(found) if found <= magnitude => low = middle,
                _ => high = middle,
            }
        }
        let below = magnitude - at(low).expect("it is not larger than the magnitude");
        let above = at(high).map_or(i128::MAX, |found| found - magnitude);
        let bits = if above < below || above == below && low & 1 == 1 { high } else { low };
        bits | if negative { SIGN } else { 0 }
    }
}

/// A product plus a sum, in units of the result.
pub fn multiply_add(left: Value, right: Value, addend: Value) -> Value {
    add_units(multiply(left, right), scaled(addend, RESULT_UNIT - SOURCE_UNIT))
}

/// A product, in units of the result.
pub fn multiply(left: Value, right: Value) -> Value {
    let negative = |value| matches!(value, Value::Infinite { negative: true } | Value::Number { negative: true, .. });
    let sign = negative(left) != negative(right);
    match (left, right) {
        (Value::Nan, _) | (_, Value::Nan) => Value::Nan,
        (Value::Number { units: a, .. }, Value::Number { units: b, .. }) => {
            Value::Number { units: (a * b) << (RESULT_UNIT - 2 * SOURCE_UNIT), negative: sign }
        }
        (Value::Number { units: 0, .. }, _) | (_, Value::Number { units: 0, .. }) => Value::Nan,
        _ => Value::Infinite { negative: sign },
    }
}

/// A sum, in units of the result.
pub fn add(left: Value, right: Value) -> Value {
    add_units(scaled(left, RESULT_UNIT - SOURCE_UNIT), scaled(right, RESULT_UNIT - SOURCE_UNIT))
}

fn scaled(value: Value, shift: i32) -> Value {
    match value {
        Value::Number { units, negative } => Value::Number { units: units << shift, negative },
        other => other,
    }
}

fn add_units(left: Value, right: Value) -> Value {
    match (left, right) {
        (Value::Nan, _) | (_, Value::Nan) => Value::Nan,
        (Value::Infinite { negative: a }, Value::Infinite { negative: b }) if a != b => Value::Nan,
        (infinite @ Value::Infinite { .. }, _) | (_, infinite @ Value::Infinite { .. }) => infinite,
        (Value::Number { units: a, negative: x }, Value::Number { units: b, negative: y }) => {
            Value::Number { units: a + b, negative: x && y }
        }
    }
}

/// Clamped to 0 and 1; NaN is zero.
pub fn saturated(format: Format, bits: u16) -> u16 {
    let one = if format == Format::Half { 0x3c00 } else { 0x3f80 };
    let is_nan = bits & !SIGN > format.infinity();
    if is_nan || bits & SIGN != 0 { 0 } else { bits.min(one) }
}

/// Zero in place of what is negative; NaN stays.
pub fn rectified(bits: u16) -> u16 {
    if bits != NAN && bits & SIGN != 0 { 0 } else { bits }
}

/// Zero of the same sign in place of a subnormal number.
pub fn flushed(format: Format, bits: u16) -> u16 {
    if bits & format.infinity() == 0 { bits & SIGN } else { bits }
}

/// A function of each half of words.
pub fn halves(words: [u32; 3], function: impl Fn([u16; 3]) -> u16) -> u32 {
    let half = |shift: u32| u32::from(function(words.map(|word| (word >> shift) as u16)));
    half(16) << 16 | half(0)
}
