//! Functions of singles without branches, so that loops over them become vector instructions.
//!
//! Each is within two units in the last place. Polynomials are those of Cephes (S. Moshier) for the exponential, the logarithm
//! and the hyperbolic tangent, and of N. Juffa for the error function.

use super::processor::Instructions;

/// `a · b + c`, rounded once where the processor does so.
#[inline(always)]
pub(crate) fn multiply_add<I: Instructions>(a: f32, b: f32, c: f32) -> f32 {
    if I::IS_FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// The value of a polynomial by Horner's rule, the highest coefficient first.
#[inline(always)]
fn polynomial<I: Instructions, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut value = coefficients[0];
    for coefficient in &coefficients[1..] {
        value = multiply_add::<I>(value, x, *coefficient);
    }
    value
}

/// The bits of 1.5 · 2²³, which rounds to an integer whatever is added to it.
const ROUNDING: f32 = 12_582_912.0;
/// ln 2, its upper bits and what they leave.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];

/// The integer part of a single, or the nearer of these bounds, whose magnitudes are below 2²²; 0 of what is no number. Unlike a cast it
/// becomes vector instructions.
#[inline(always)]
pub(crate) fn truncated_between(x: f32, least: f32, most: f32) -> i32 {
    let x = if x.is_nan() { 0.0 } else { x };
    let x = if x < least { least } else { x };
    let x = if x > most { most } else { x };
    (x.trunc() + ROUNDING).to_bits() as i32 - ROUNDING.to_bits() as i32
}

/// Magnitudes below which [`truncated_between`] truncates.
const MOST_TRUNCATED: f32 = 4_194_303.0;

/// The integer part of a single of a magnitude that [`are_small`] finds.
#[inline(always)]
pub(crate) fn truncated(x: f32) -> i32 {
    truncated_between(x, -MOST_TRUNCATED, MOST_TRUNCATED)
}

/// Whether all are numbers that [`truncated`] truncates.
#[inline(always)]
pub(crate) fn are_small(values: &[f32]) -> bool {
    let mut beyond = 0u32;
    for value in values {
        beyond |= u32::from(value.is_nan() || value.abs() > MOST_TRUNCATED);
    }
    beyond == 0
}

/// 2ⁿ of an integer from −126 to 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) << 23) as u32)
}

/// eˣ.
#[inline(always)]
pub(crate) fn exponential<I: Instructions>(x: f32) -> f32 {
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let shifted = multiply_add::<I>(x, std::f32::consts::LOG2_E, ROUNDING);
    let n = shifted.to_bits() as i32 - ROUNDING.to_bits() as i32;
    let whole = shifted - ROUNDING;
    let rest = multiply_add::<I>(whole, -LN_2[0], x);
    let rest = multiply_add::<I>(whole, -LN_2[1], rest);
    let inner =
        polynomial::<I, 6>(rest, [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 5e-1]);
    let value = multiply_add::<I>(inner, rest * rest, rest) + 1.0;
    // Two factors, because the result may be a number without a leading one.
    let half = n >> 1;
    value * power_of_two(half) * power_of_two(n - half)
}

/// Natural logarithm.
#[inline(always)]
pub(crate) fn logarithm<I: Instructions>(x: f32) -> f32 {
    let is_small = x < f32::MIN_POSITIVE;
    let scaled = if is_small { x * 8_388_608.0 } else { x };
    let bits = scaled.to_bits() as i32;
    // The mantissa in √½ … √2.
    let offset = bits.wrapping_sub(std::f32::consts::FRAC_1_SQRT_2.to_bits() as i32);
    let exponent = offset >> 23;
    let mantissa = f32::from_bits(bits.wrapping_sub(exponent << 23) as u32);
    let exponent = exponent as f32 - if is_small { 23.0 } else { 0.0 };
    let y = mantissa - 1.0;
    let square = y * y;
    let inner = polynomial::<I, 9>(
        y,
        [
            7.037_683_6e-2,
            -1.151_461e-1,
            1.167_699_9e-1,
            -1.242_014_1e-1,
            1.424_932_3e-1,
            -1.666_805_8e-1,
            2.000_071_5e-1,
            -2.499_999_4e-1,
            3.333_333e-1,
        ],
    );
    let value = inner * y * square;
    let value = multiply_add::<I>(exponent, LN_2[1], value);
    let value = multiply_add::<I>(square, -0.5, value);
    let value = multiply_add::<I>(exponent, LN_2[0], y + value);
    let value = if x == f32::INFINITY { x } else { value };
    let value = if x == 0.0 { f32::NEG_INFINITY } else { value };
    if x < 0.0 || x.is_nan() { f32::NAN } else { value }
}

#[inline(always)]
pub(crate) fn hyperbolic_tangent<I: Instructions>(x: f32) -> f32 {
    let size = x.abs();
    let square = x * x;
    let inner =
        polynomial::<I, 5>(square, [-5.704_988_7e-3, 2.063_909e-2, -5.373_971_5e-2, 1.333_144_2e-1, -3.333_328e-1]);
    let near = multiply_add::<I>(inner * square, x, x);
    let far = 1.0 - 2.0 / (exponential::<I>(2.0 * size) + 1.0);
    (if size < 0.625 { near } else { far }).copysign(x)
}

/// Gauss error function.
#[inline(always)]
pub(crate) fn error_function<I: Instructions>(x: f32) -> f32 {
    let (size, square) = (x.abs(), x * x);
    let high = multiply_add::<I>(-1.728_534_7e-5, size, 3.831_971_3e-4);
    let low = multiply_add::<I>(-3.883_964_4e-3, size, 2.425_462_2e-2);
    let exponent = multiply_add::<I>(high, square, low);
    let exponent = multiply_add::<I>(exponent, size, -1.067_778_8e-1);
    let exponent = multiply_add::<I>(exponent, size, -6.348_467e-1);
    let exponent = multiply_add::<I>(exponent, size, -1.287_175_1e-1);
    let exponent = multiply_add::<I>(exponent, size, -size);
    // The exponent falls by more than the square beyond every bound; from 10 on nothing is left of it.
    let exponent = if size > 10.0 { -104.0 } else { exponent };
    let far = (1.0 - exponential::<I>(exponent)).copysign(x);
    let inner = polynomial::<I, 6>(
        square,
        [-5.967_617e-4, 4.991_194_2e-3, -2.676_813_5e-2, 1.128_199_3e-1, -3.761_253_4e-1, 1.283_791_7e-1],
    );
    let near = multiply_add::<I>(inner, x, x);
    if x.is_nan() {
        x
    } else if size > 0.927_734_4 {
        far
    } else {
        near
    }
}

/// The single that the bits of a half hold.
#[inline(always)]
pub(crate) fn single_of_half(half: u16) -> f32 {
    let magnitude = u32::from(half & 0x7fff) << 13;
    // 2¹¹² moves the exponent's bias; it makes numbers of those without a leading one, too.
    let value = f32::from_bits(magnitude) * f32::from_bits(0x7780_0000);
    let bits = value.to_bits() | if value >= 65_536.0 { 0x7f80_0000 } else { 0 };
    f32::from_bits(bits | u32::from(half & 0x8000) << 16)
}

/// The bits of the half nearest to a single, ties to even.
#[inline(always)]
pub(crate) fn half_of_single(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = bits & 0x8000_0000;
    let magnitude = bits ^ sign;
    let special = if magnitude > 0x7f80_0000 { 0x7e00 | (magnitude >> 13 & 0x3ff) } else { 0x7c00 };
    // Adding ½ rounds what has no leading one in a half to its last place.
    let tiny = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let usual = magnitude.wrapping_add(0xc800_0fff).wrapping_add(magnitude >> 13 & 1) >> 13;
    let found = if magnitude < 0x3880_0000 { tiny } else { usual };
    let found = if magnitude >= 0x4780_0000 { special } else { found };
    (found | sign >> 16) as u16
}

/// The upper half of the bits of the single nearest to a value among those whose other bits are 0, ties to even.
#[inline(always)]
pub(crate) fn bfloat_of_single(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    (if value.is_nan() { bits >> 16 | 0x40 } else { rounded }) as u16
}

/// The single that the bits of a 16-bit brain floating-point number hold.
#[inline(always)]
pub(crate) fn single_of_bfloat(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweave_graph::ElementType;
    use warpweave_graph::arithmetic::round;

    struct Plain;
    impl Instructions for Plain {
        const IS_FUSED: bool = false;
    }
    struct Fused;
    impl Instructions for Fused {
        const IS_FUSED: bool = true;
    }

    /// Every 4,099th single is within two units in the last place, or both are NaN or zero.
    fn check(name: &str, function: fn(f32) -> f32, exact: fn(f64) -> f64) {
        for x in (0..=u32::MAX).step_by(4099).map(f32::from_bits) {
            let (found, wanted) = (function(x), exact(f64::from(x)) as f32);
            let alike = found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan();
            let place = |value: f32| {
                let bits = value.to_bits() as i32;
                if bits < 0 { i64::from(i32::MIN) - i64::from(bits) } else { i64::from(bits) }
            };
            assert!(alike || (place(found) - place(wanted)).abs() <= 2, "{name}({x:e}) = {found:e}, not {wanted:e}");
        }
    }

    #[test]
    fn functions_are_within_two_units_in_the_last_place() {
        check("exp", exponential::<Plain>, f64::exp);
        check("exp", exponential::<Fused>, f64::exp);
        check("log", logarithm::<Plain>, f64::ln);
        check("log", logarithm::<Fused>, f64::ln);
        check("tanh", hyperbolic_tangent::<Plain>, f64::tanh);
        check("tanh", hyperbolic_tangent::<Fused>, f64::tanh);
        check("erf", error_function::<Plain>, libm::erf);
        check("erf", error_function::<Fused>, libm::erf);
    }

    #[test]
    fn numbers_of_16_bits_are_converted_as_arithmetic_says() {
        for bits in 0..=u16::MAX {
            let (half, bfloat) = (single_of_half(bits), single_of_bfloat(bits));
            assert!(half.is_nan() || half_of_single(half) == bits);
            assert!(bfloat.is_nan() || bfloat_of_single(bfloat) == bits);
        }
        for value in (0..=u32::MAX).step_by(997).map(f32::from_bits) {
            let same = |found: f32, element| {
                let wanted = round(element, f64::from(value)) as f32;
                assert!(
                    found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(),
                    "{value:e}: {found:e}"
                );
            };
            same(single_of_half(half_of_single(value)), ElementType::F16);
            same(single_of_bfloat(bfloat_of_single(value)), ElementType::BF16);
        }
    }
}
