//! Conversions of halves to and from singles, doubles and integers.

use crate::exact::{Format, NAN, Value, rectified};
use crate::harness::{Case, Kernels, Numbers, TARGETS, check};

/// What a single is, for rounding to halves: it is a multiple of 2^-72 and not too large.
fn value(bits: u32) -> Value {
    let negative = bits >> 31 == 1;
    let (biased, fraction) = ((bits >> 23 & 0xff) as i32, i128::from(bits & 0x7f_ffff));
    match biased {
        0xff if fraction != 0 => Value::Nan,
        0xff => Value::Infinite { negative },
        0 => Value::Number { units: 0, negative },
        _ => {
            let magnitude = (fraction | 1 << 23) << (biased - 150 + 72);
            Value::Number { units: if negative { -magnitude } else { magnitude }, negative }
        }
    }
}

/// The half next to a single towards zero.
fn truncated(format: Format, bits: u32) -> u16 {
    let nearest = format.nearest(value(bits));
    let Value::Number { units, .. } = value(bits) else {
        return nearest;
    };
    // A nearest half is larger only where it was rounded up.
    match magnitude_of(format, nearest & 0x7fff) {
        Some(found) if found <= units.abs() => nearest,
        _ => nearest - 1,
    }
}

/// A half's magnitude in units of 2^-72; none of an infinity.
fn magnitude_of(format: Format, bits: u16) -> Option<i128> {
    let single = match format {
        Format::Half => half::f16::from_bits(bits).to_f32(),
        Format::Bfloat => half::bf16::from_bits(bits).to_f32(),
    };
    match value(single.to_bits()) {
        Value::Number { units, .. } => Some(units),
        Value::Nan | Value::Infinite { .. } => None,
    }
}

/// Singles: edges of both formats and what lies beside them, and singles without a pattern.
fn singles() -> Vec<[u32; 3]> {
    let edges = [
        0.0f32,
        1.0,
        1.0 + 2f32.powi(-11),
        1.0 + 3.0 * 2f32.powi(-11),
        1.0 + 2f32.powi(-8),
        1.0 + 3.0 * 2f32.powi(-8),
        2f32.powi(-14),
        2f32.powi(-24),
        2f32.powi(-25),
        3.0 * 2f32.powi(-26),
        65_504.0,
        65_519.996,
        65_520.0,
        1e8,
        f32::INFINITY,
        f32::NAN,
    ];
    let beside = |value: f32| if value.is_finite() { [value, value.next_up(), value.next_down()] } else { [value; 3] };
    let ordinary = |value: &f32| value.abs() > 2f32.powi(-40) || *value == 0.0;
    let near: Vec<u32> = edges.into_iter().flat_map(beside).filter(ordinary).map(f32::to_bits).collect();
    let near: Vec<u32> = near.into_iter().chain([0x7f80_0001]).flat_map(|bits| [bits, bits ^ 1 << 31]).collect();
    let mut numbers = Numbers(77);
    let mut rows: Vec<[u32; 3]> = near.iter().zip(near.iter().rev()).map(|(a, b)| [*a, *b, 0]).collect();
    for _ in 0..2000 {
        // Exponents from 2^-30 to 2^20.
        rows.push([0; 3].map(|_| numbers.next() & 0x807f_ffff | (97 + numbers.next() % 50) << 23));
    }
    rows
}

#[test]
fn singles_become_pairs_of_halves() {
    let (f16, bf16) = (Format::Half, Format::Bfloat);
    let pair = |text, opcodes: [&'static str; 2], narrow: Box<dyn Fn(u32) -> u16>| Case {
        text,
        opcodes: opcodes.map(Some),
        expected: Box::new(move |[a, b, _]| u32::from(narrow(a)) << 16 | u32::from(narrow(b))),
    };
    let lone = |text, opcodes: [&'static str; 2], narrow: Box<dyn Fn(u32) -> u16>| Case {
        text,
        opcodes: opcodes.map(Some),
        expected: Box::new(move |[a, ..]| u32::from(narrow(a))),
    };
    let nearest = move |format: Format| move |bits| format.nearest(value(bits));
    let cases = [
        pair(
            "{.reg .f32 a,b; mov.b32 a,%1; mov.b32 b,%2; cvt.rn.f16x2.f32 %0,a,b;}",
            ["F2FP.PACK_AB", "F2FP.F16.F32.PACK_AB"],
            Box::new(nearest(f16)),
        ),
        pair(
            "{.reg .f32 a,b; mov.b32 a,%1; mov.b32 b,%2; cvt.rn.bf16x2.f32 %0,a,b;}",
            ["F2FP.BF16.PACK_AB", "F2FP.BF16.F32.PACK_AB"],
            Box::new(nearest(bf16)),
        ),
        pair(
            "{.reg .f32 a,b; mov.b32 a,%1; mov.b32 b,%2; cvt.rz.f16x2.f32 %0,a,b;}",
            ["F2FP.PACK_AB.RZ", "F2FP.F16.F32.PACK_AB.RZ"],
            Box::new(move |bits| truncated(f16, bits)),
        ),
        pair(
            "{.reg .f32 a,b; mov.b32 a,%1; mov.b32 b,%2; cvt.rz.bf16x2.f32 %0,a,b;}",
            ["F2FP.BF16.PACK_AB.RZ", "F2FP.BF16.F32.PACK_AB.RZ"],
            Box::new(move |bits| truncated(bf16, bits)),
        ),
        pair(
            "{.reg .f32 a,b; mov.b32 a,%1; mov.b32 b,%2; cvt.rn.relu.f16x2.f32 %0,a,b;}",
            ["F2FP.RELU.PACK_AB", "F2FP.RELU.F16.F32.PACK_AB"],
            Box::new(move |bits| rectified(f16.nearest(value(bits)))),
        ),
        pair(
            "{.reg .f32 a,b; mov.b32 a,%1; mov.b32 b,%2; cvt.rz.relu.bf16x2.f32 %0,a,b;}",
            ["F2FP.RELU.BF16.PACK_AB.RZ", "F2FP.RELU.BF16.F32.PACK_AB.RZ"],
            Box::new(move |bits| rectified(truncated(bf16, bits))),
        ),
        lone(
            "{.reg .b16 h; .reg .f32 a; mov.b32 a,%1; cvt.rn.relu.bf16.f32 h,a; cvt.u32.u16 %0,h;}",
            ["F2FP.RELU.BF16.MERGE_C", "F2FP.RELU.BF16.F32.MERGE_C"],
            Box::new(move |bits| rectified(bf16.nearest(value(bits)))),
        ),
        lone(
            "{.reg .b16 h; .reg .f32 a; mov.b32 a,%1; cvt.rz.relu.f16.f32 h,a; cvt.u32.u16 %0,h;}",
            ["F2FP.RELU.MERGE_C.RZ", "F2FP.RELU.F16.F32.MERGE_C.RZ"],
            Box::new(move |bits| rectified(truncated(f16, bits))),
        ),
        lone(
            "{.reg .b16 h; .reg .f32 a; mov.b32 a,%1; cvt.rm.f16.f32 h,a; cvt.u32.u16 %0,h;}",
            ["F2F.F16.F32.RM"; 2],
            Box::new(move |bits| downwards(f16, bits)),
        ),
        lone(
            "{.reg .b16 h; .reg .f32 a; mov.b32 a,%1; cvt.rp.bf16.f32 h,a; cvt.u32.u16 %0,h;}",
            ["F2F.BF16.F32.RP"; 2],
            Box::new(move |bits| match downwards(bf16, bits ^ 1 << 31) {
                NAN => NAN,
                found => found ^ 0x8000,
            }),
        ),
    ];
    check(&cases, &singles());
}

/// The half next to a single towards negative infinity.
fn downwards(format: Format, bits: u32) -> u16 {
    let Value::Number { units, .. } = value(bits) else {
        return format.nearest(value(bits));
    };
    let towards_zero = truncated(format, bits);
    let is_exact = magnitude_of(format, towards_zero & 0x7fff) == Some(units.abs());
    if is_exact || units >= 0 { towards_zero } else { towards_zero + 1 }
}

#[test]
fn tensor_floats_have_ten_bits() {
    let rounded =
        |bits: u32, add: u32| if f32::from_bits(bits).is_nan() { 0x7fff_ffff } else { (bits + add) & !0x1fff };
    let case = |text, opcode, expected| Case { text, opcodes: [None, Some(opcode)], expected };
    let cases = [
        case(
            "{.reg .f32 a; mov.b32 a,%1; cvt.rn.tf32.f32 %0,a;}",
            "F2FP.TF32.F32.PACK_B",
            Box::new(move |[bits, ..]: [u32; 3]| rounded(bits, 0xfff + (bits >> 13 & 1)))
                as Box<dyn Fn([u32; 3]) -> u32>,
        ),
        case(
            "{.reg .f32 a; mov.b32 a,%1; cvt.rz.tf32.f32 %0,a;}",
            "F2FP.TF32.F32.PACK_B.RZ",
            Box::new(move |[bits, ..]| rounded(bits, 0)),
        ),
    ];
    check(&cases, &singles());
}

/// Rows of one source: every eleventh half, and what lies beside powers of two.
fn many_halves() -> Vec<[u32; 3]> {
    let edges = (0..=u16::MAX).filter(|bits| matches!(bits & 0x3ff, 0..=1 | 0x200 | 0x3ff));
    (0..=u16::MAX).step_by(11).chain(edges).map(|bits| [bits.into(), 0, 0]).collect()
}

/// A half as a double, by the definition of its format.
fn number(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

#[test]
fn halves_become_singles() {
    let single = |value: f64| if value.is_nan() { 0x7fff_ffff } else { (value as f32).to_bits() };
    let cases = [
        Case {
            text: "{.reg .b16 h; cvt.u16.u32 h,%1; cvt.f32.f16 %0,h;}",
            opcodes: [Some("HADD2.F32"); 2],
            expected: Box::new(move |[bits, ..]| single(number(bits as u16))),
        },
        Case {
            text: "{.reg .b16 h; cvt.u16.u32 h,%1; neg.f16 h,h; cvt.f32.f16 %0,h;}",
            opcodes: [Some("HADD2.F32"); 2],
            expected: Box::new(move |[bits, ..]| single(-number(bits as u16))),
        },
    ];
    check(&cases, &many_halves());
}

#[test]
fn halves_become_integers() {
    let saturated = |value: f64, least: f64, most: f64| {
        if value.is_nan() { 0 } else { value.clamp(least, most) as i64 as u32 }
    };
    let (least, most) = (f64::from(i32::MIN), f64::from(i32::MAX));
    let case = |text, opcode, expected: Box<dyn Fn(f64) -> u32>| Case {
        text,
        opcodes: [Some(opcode); 2],
        expected: Box::new(move |[bits, ..]| expected(number(bits as u16))),
    };
    let cases = [
        case(
            "{.reg .b16 h; cvt.u16.u32 h,%1; cvt.rni.s32.f16 %0,h;}",
            "F2I.F16.NTZ",
            Box::new(move |value| saturated(value.round_ties_even(), least, most)),
        ),
        case(
            "{.reg .b16 h; cvt.u16.u32 h,%1; cvt.rzi.u32.f16 %0,h;}",
            "F2I.U32.F16.TRUNC.NTZ",
            Box::new(move |value| saturated(value.trunc(), 0.0, f64::from(u32::MAX))),
        ),
        case(
            "{.reg .b16 h; cvt.u16.u32 h,%1; abs.f16 h,h; cvt.rmi.s32.f16 %0,h;}",
            "F2I.F16.FLOOR.NTZ",
            Box::new(move |value| saturated(value.abs().floor(), least, most)),
        ),
        case(
            "{.reg .b16 h,i; cvt.u16.u32 h,%1; cvt.rzi.s16.f16 i,h; cvt.s32.s16 %0,i;}",
            "F2I.S16.F16.TRUNC.NTZ",
            Box::new(move |value| saturated(value.trunc(), f64::from(i16::MIN), f64::from(i16::MAX))),
        ),
        case(
            "{.reg .b16 h; cvt.u16.u32 h,%1; cvt.rni.f16.f16 h,h; cvt.u32.u16 %0,h;}",
            "FRND.F16",
            Box::new(|value| {
                let bits = Format::Half.nearest(value_of_double(value.round_ties_even()));
                u32::from(bits)
            }),
        ),
    ];
    check(&cases, &many_halves());
}

/// A double that is a half.
fn value_of_double(value: f64) -> Value {
    self::value((value as f32).to_bits())
}

#[test]
fn integers_become_halves() {
    let mut numbers = Numbers(5);
    let mut rows: Vec<[u32; 3]> = [0, 1, 2047, 2048, 2049, 2051, 65_503, 65_519, 65_520, 1 << 31, u32::MAX, 255, 257]
        .into_iter()
        .map(|word| [word, 0, 0])
        .collect();
    rows.extend((0..500).map(|_| [numbers.next() >> (numbers.next() % 32), 0, 0]));
    let number = |value: i64| Value::Number { units: i128::from(value) << 72, negative: false };
    let case = |text, opcodes: [Option<&'static str>; 2], expected: Box<dyn Fn(u32) -> u16>| Case {
        text,
        opcodes,
        expected: Box::new(move |[word, ..]| expected(word).into()),
    };
    let cases = [
        case(
            "{.reg .b16 h; cvt.rn.f16.s32 h,%1; cvt.u32.u16 %0,h;}",
            [Some("I2F.F16"); 2],
            Box::new(move |word| Format::Half.nearest(number(i64::from(word as i32)))),
        ),
        case(
            "{.reg .b16 h; cvt.rn.f16.u32 h,%1; cvt.u32.u16 %0,h;}",
            [Some("I2F.F16.U32"); 2],
            Box::new(move |word| Format::Half.nearest(number(word.into()))),
        ),
        case(
            "{.reg .b16 h; cvt.rn.bf16.s32 h,%1; cvt.u32.u16 %0,h;}",
            [None, Some("I2F.BF16")],
            Box::new(move |word| Format::Bfloat.nearest(number(i64::from(word as i32)))),
        ),
    ];
    check(&cases, &rows);
}

#[test]
fn integers_of_64_bits_are_rounded_once() {
    // 2^63 + 2^55 is a tie. One more is not, but a double has no bit for it.
    let rows = [[0, 0x8080_0000, 0], [1, 0x8080_0000, 0], [u32::MAX, 0x807f_ffff, 0]];
    let expected = |[low, ..]: [u32; 3]| if low == 1 { 0x5f01 } else { 0x5f00 };
    let text = "{.reg .b16 h; .reg .b64 d; mov.b64 d,{%1,%2}; cvt.rn.bf16.u64 h,d; cvt.u32.u16 %0,h;}";
    check(&[Case { text, opcodes: [None, Some("I2F.BF16.U64")], expected: Box::new(expected) }], &rows);
}

#[test]
fn bfloats_become_integers_and_halves() {
    let single = |bits: u32| f32::from_bits(bits << 16);
    let cases = [
        Case {
            text: "{.reg .b16 h; cvt.u16.u32 h,%1; cvt.rzi.s32.bf16 %0,h;}",
            opcodes: [None, Some("F2I.BF16.TRUNC.NTZ")],
            // The cast truncates, saturates and makes 0 of NaN.
            expected: Box::new(move |[bits, ..]| single(bits) as i32 as u32),
        },
        Case {
            text: "{.reg .b16 h; cvt.u16.u32 h,%1; cvt.rn.f16.bf16 h,h; cvt.u32.u16 %0,h;}",
            opcodes: [None, Some("F2F.F16.BF16")],
            expected: Box::new(move |[bits, ..]| match single(bits) {
                // What is less than half the smallest number is zero, and what is large is an infinity.
                value if value.abs() < 2f32.powi(-26) => bits & 0x8000,
                value if value.abs() > 1e6 => bits & 0x8000 | 0x7c00,
                value => Format::Half.nearest(self::value(value.to_bits())).into(),
            }),
        },
    ];
    check(&cases, &many_halves());
}

#[test]
fn doubles_become_halves() {
    // 1 + 2^-11 is a tie; with 2^-40 more it is not. A way over singles would round twice.
    let rows = [(1.0 + 2f64.powi(-11), 0x3c00), (1.0 + 2f64.powi(-11) + 2f64.powi(-40), 0x3c01), (-1e9, 0xfc00)];
    let body = "double d; asm volatile(\"mov.b64 %0, {%1, %2};\" : \"=d\"(d) : \"r\"(in[2 * lane]), \"r\"(in[2 * lane + 1])); \
                unsigned short h; asm volatile(\"cvt.rn.f16.f64 %0, %1;\" : \"=h\"(h) : \"d\"(d)); if (lane < 3) out[lane] = h;";
    let mut input: Vec<u32> =
        rows.iter().flat_map(|(value, _)| [value.to_bits() as u32, (value.to_bits() >> 32) as u32]).collect();
    input.resize(64, 0);
    for target in TARGETS {
        let kernels = Kernels::compile(target, &[body.to_owned()]);
        assert!(kernels.opcodes(0).contains(&"F2F.F16.F64".to_owned()), "{target}");
        assert_eq!(kernels.run(0, &input, 3), rows.map(|(_, bits)| bits), "{target}");
    }
}
