//! Literals that read back to the same bits.

use crate::kernel_ir::Constant;

/// A literal of the type in which registers hold it: integers are unsigned, floats exact.
pub(super) fn literal(constant: Constant) -> String {
    match constant {
        Constant::Bool(value) => value.to_string(),
        Constant::I32(value) if value < 0 => format!("-{}u", value.unsigned_abs()),
        Constant::I32(value) => format!("{value}u"),
        Constant::I64(value) if value < 0 => format!("-{}ull", value.unsigned_abs()),
        Constant::I64(value) => format!("{value}ull"),
        Constant::F32(bits) => single(bits),
    }
}

/// A literal of the signed integer type, for comparisons.
pub(super) fn signed_literal(constant: Constant) -> Option<String> {
    match constant {
        Constant::I32(i32::MIN) => Some("(-2147483647 - 1)".to_owned()),
        Constant::I32(value) => Some(value.to_string()),
        Constant::I64(i64::MIN) => Some("(-9223372036854775807ll - 1)".to_owned()),
        Constant::I64(value) => Some(format!("{value}ll")),
        Constant::Bool(_) | Constant::F32(_) => None,
    }
}

/// Small whole numbers in decimal, other finite values in hexadecimal, the rest by their bits.
fn single(bits: u32) -> String {
    let value = f32::from_bits(bits);
    if !value.is_finite() {
        return format!("ww_f32_of_bits({bits:#010x}u)");
    }
    if value.fract() == 0.0 && value.abs() < 16_777_216.0 {
        return format!("{value:.1}f");
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let biased = (bits >> 23) & 0xff;
    let (whole, exponent) = if biased == 0 { (0, -126) } else { (1, biased as i32 - 127) };
    let fraction = format!("{:06x}", (bits & 0x7f_ffff) << 1);
    let digits = fraction.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}0x{whole}{point}{digits}p{exponent:+}f")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: f32, expected: &str) {
        assert_eq!(single(value.to_bits()), expected);
    }

    #[test]
    fn floats_are_exact() {
        check(0.0, "0.0f");
        check(-0.0, "-0.0f");
        check(3.0, "3.0f");
        check(-1.5, "-0x1.8p+0f");
        check(0.1, "0x1.99999ap-4f");
        check(f32::MAX, "0x1.fffffep+127f");
        check(f32::from_bits(1), "0x0.000002p-126f");
        check(f32::MIN_POSITIVE, "0x1p-126f");
        check(f32::INFINITY, "ww_f32_of_bits(0x7f800000u)");
    }

    #[test]
    fn integers_keep_their_sign() {
        assert_eq!(literal(Constant::I32(i32::MIN)), "-2147483648u");
        assert_eq!(literal(Constant::I64(-1)), "-1ull");
        assert_eq!(signed_literal(Constant::I32(-7)).as_deref(), Some("-7"));
    }
}
