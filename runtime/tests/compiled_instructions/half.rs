//! Sums and products of halves.

use crate::exact::{Format, add, flushed, halves, multiply, multiply_add, rectified, saturated};
use crate::harness::{Case, Numbers, check};

type Ternary = fn(Format, [u16; 3]) -> u16;

fn sum(format: Format, [a, b, _]: [u16; 3]) -> u16 {
    format.nearest(add(format.decode(a), format.decode(b)))
}

fn difference(format: Format, [a, b, _]: [u16; 3]) -> u16 {
    format.nearest(add(format.decode(a), format.decode(b ^ 0x8000)))
}

fn product(format: Format, [a, b, _]: [u16; 3]) -> u16 {
    format.nearest(multiply(format.decode(a), format.decode(b)))
}

fn fused(format: Format, [a, b, c]: [u16; 3]) -> u16 {
    format.nearest(multiply_add(format.decode(a), format.decode(b), format.decode(c)))
}

fn case(format: Format, text: &'static str, opcodes: [Option<&'static str>; 2], function: Ternary) -> Case {
    Case { text, opcodes, expected: Box::new(move |words| halves(words, |sources| function(format, sources))) }
}

/// Rows of numbers at the edges of a format with one another, and of numbers without a pattern, other ones in both halves.
pub fn rows(format: Format) -> Vec<[u32; 3]> {
    let edges: &[u16] = match format {
        Format::Half => &[
            0, 1, 2, 0x3ff, 0x400, 0x401, 0x3bff, 0x3c00, 0x3c01, 0x3555, 0x4248, 0x6400, 0x6401, 0x7bff, 0x7c00,
            0x7c01, 0x7e00,
        ],
        Format::Bfloat => {
            &[0, 0x3080, 0x34ff, 0x3b81, 0x3f7f, 0x3f80, 0x3f81, 0x4049, 0x4300, 0x477f, 0x7f80, 0x7f81, 0x7fc0]
        }
    };
    let signed: Vec<u16> = edges.iter().flat_map(|bits| [*bits, bits | 0x8000]).collect();
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    let mut one = || loop {
        let bits = numbers.next() as u16;
        if format.takes(bits) {
            return u32::from(bits);
        }
    };
    let count = signed.len();
    let at = |index: usize| u32::from(signed[index % count]);
    let mut rows = Vec::new();
    for first in 0..count {
        for second in 0..count {
            // The other half and the addend run through the edges, too.
            let third = 7 * first + 3 * second;
            rows.push([
                at(first) << 16 | at(second),
                at(second) << 16 | at(third + 1),
                at(third) << 16 | at(third + second),
            ]);
        }
    }
    for _ in 0..600 {
        rows.push([0; 3].map(|_| one() << 16 | one()));
    }
    // Equal exponents, so that sums round and cancel.
    for _ in 0..600 {
        let mantissa = if format == Format::Half { 0x83ff } else { 0x807f };
        let one = if format == Format::Half { 0x3c00 } else { 0x3f80 };
        rows.push([0; 3].map(|_| numbers_pair(&mut numbers, mantissa, one)));
    }
    rows
}

fn numbers_pair(numbers: &mut Numbers, mantissa: u32, one: u32) -> u32 {
    let half = |word: u32| word & mantissa | one;
    half(numbers.next()) << 16 | half(numbers.next())
}

#[test]
fn halves_are_added_and_multiplied() {
    let format = Format::Half;
    check(
        &[
            case(format, "add.rn.f16x2 %0, %1, %2;", [Some("HADD2"), Some("HFMA2.MMA")], sum),
            case(format, "sub.rn.f16x2 %0, %1, %2;", [Some("HADD2"), Some("HFMA2.MMA")], difference),
            case(format, "mul.rn.f16x2 %0, %1, %2;", [Some("HMUL2"), Some("HFMA2.MMA")], product),
            case(format, "fma.rn.f16x2 %0, %1, %2, %3;", [Some("HFMA2.MMA"); 2], fused),
            case(
                format,
                "add.rn.sat.f16x2 %0, %1, %2;",
                [Some("HADD2.SAT"), Some("HFMA2.MMA.SAT")],
                |format, sources| saturated(format, sum(format, sources)),
            ),
            case(
                format,
                "mul.rn.sat.f16x2 %0, %1, %2;",
                [Some("HMUL2.SAT"), Some("HFMA2.MMA.SAT")],
                |format, sources| saturated(format, product(format, sources)),
            ),
            case(format, "fma.rn.sat.f16x2 %0, %1, %2, %3;", [Some("HFMA2.MMA.SAT"); 2], |format, sources| {
                saturated(format, fused(format, sources))
            }),
            case(format, "fma.rn.relu.f16x2 %0, %1, %2, %3;", [Some("HFMA2.MMA.RELU"); 2], |format, sources| {
                rectified(fused(format, sources))
            }),
        ],
        &rows(format),
    );
}

#[test]
fn subnormal_halves_are_flushed_where_asked() {
    let format = Format::Half;
    check(
        &[
            case(
                format,
                "add.rn.ftz.f16x2 %0, %1, %2;",
                [Some("HADD2.FTZ"), Some("HFMA2.MMA.FTZ")],
                |format, sources| flushed(format, sum(format, sources.map(|bits| flushed(format, bits)))),
            ),
            case(
                format,
                "mul.rn.ftz.f16x2 %0, %1, %2;",
                [Some("HMUL2.FTZ"), Some("HFMA2.MMA.FTZ")],
                |format, sources| flushed(format, product(format, sources.map(|bits| flushed(format, bits)))),
            ),
            case(format, "fma.rn.ftz.f16x2 %0, %1, %2, %3;", [Some("HFMA2.MMA.FTZ"); 2], |format, sources| {
                flushed(format, fused(format, sources.map(|bits| flushed(format, bits))))
            }),
        ],
        &rows(format),
    );
}

#[test]
fn bfloats_are_added_and_multiplied() {
    let format = Format::Bfloat;
    let hopper = |opcode| [None, Some(opcode)];
    let fused_opcodes = [Some("HFMA2.BF16_V2"), Some("HFMA2.MMA.BF16_V2")];
    let rectified_opcodes = [Some("HFMA2.BF16_V2.RELU"), Some("HFMA2.MMA.BF16_V2.RELU")];
    check(
        &[
            case(format, "add.rn.bf16x2 %0, %1, %2;", hopper("HFMA2.MMA.BF16_V2"), sum),
            case(format, "sub.rn.bf16x2 %0, %1, %2;", hopper("HFMA2.MMA.BF16_V2"), difference),
            case(format, "mul.rn.bf16x2 %0, %1, %2;", hopper("HFMA2.MMA.BF16_V2"), product),
            case(format, "fma.rn.bf16x2 %0, %1, %2, %3;", fused_opcodes, fused),
            case(format, "fma.rn.relu.bf16x2 %0, %1, %2, %3;", rectified_opcodes, |format, sources| {
                rectified(fused(format, sources))
            }),
        ],
        &rows(format),
    );
}

#[test]
fn bfloats_keep_subnormal_numbers_and_overflow() {
    let expected = |words: [u32; 3]| match words {
        // The smallest subnormal number times one, halves of it to even, and the largest number times two.
        [0x0001_0003, ..] => 0x0001_0003,
        [0x0001_8003, ..] => 0x0000_8002,
        [0x7f7f_ff7f, ..] => 0x7f80_ff80,
        _ => unreachable!("a row that is not there"),
    };
    let rows = [
        [0x0001_0003, 0x3f80_3f80, 0x8000_8000],
        [0x0001_8003, 0x3f00_3f00, 0x8000_8000],
        [0x7f7f_ff7f, 0x4000_4000, 0],
    ];
    let opcodes = [Some("HFMA2.BF16_V2"), Some("HFMA2.MMA.BF16_V2")];
    let case = Case { text: "fma.rn.bf16x2 %0, %1, %2, %3;", opcodes, expected: Box::new(expected) };
    check(&[case], &rows);
}

#[test]
fn one_half_of_a_register_is_chosen() {
    let format = Format::Half;
    let scalar = |function: Ternary| -> Box<dyn Fn([u32; 3]) -> u32> {
        Box::new(move |[a, b, c]| u32::from(function(format, [a as u16, (b >> 16) as u16, c as u16])))
    };
    let one =
        |text, opcode: &'static str, function| Case { text, opcodes: [Some(opcode); 2], expected: scalar(function) };
    check(
        &[
            one(
                "{.reg .b16 a,b,c,d,e; mov.b32 {a,b},%1; mov.b32 {c,d},%2; add.f16 e,a,d; cvt.u32.u16 %0,e;}",
                "HADD2",
                sum,
            ),
            one(
                "{.reg .b16 a,b,c,d,e; mov.b32 {a,b},%1; mov.b32 {c,d},%2; mul.f16 e,a,d; cvt.u32.u16 %0,e;}",
                "HMUL2",
                product,
            ),
            one(
                "{.reg .b16 a,b,c,d,e,f,g; mov.b32 {a,b},%1; mov.b32 {c,d},%2; mov.b32 {e,f},%3; fma.rn.f16 g,a,d,e; \
                 cvt.u32.u16 %0,g;}",
                "HFMA2",
                fused,
            ),
        ],
        &rows(format),
    );
}

#[test]
fn signs_are_changed_and_constants_are_pairs() {
    let format = Format::Half;
    let lone = |text, opcode: &'static str, function: fn([u16; 3]) -> u16| Case {
        text,
        opcodes: [Some(opcode); 2],
        expected: Box::new(move |words| halves(words, function)),
    };
    check(
        &[
            lone("neg.f16x2 %0, %1;", "HADD2", |[a, ..]| if a & 0x7fff > 0x7c00 { 0x7fff } else { a ^ 0x8000 }),
            lone("abs.f16x2 %0, %1;", "HADD2", |[a, ..]| if a & 0x7fff > 0x7c00 { 0x7fff } else { a & 0x7fff }),
            Case {
                text: "{.reg .b32 c; mov.b32 c, 0x3c014000; fma.rn.f16x2 %0, %1, c, %2;}",
                opcodes: [Some("HFMA2.MMA"), Some("HFMA2.MMA")],
                expected: Box::new(move |[a, b, _]| halves([a, 0x3c01_4000, b], |sources| fused(format, sources))),
            },
            Case {
                text: "{.reg .b32 c; mov.b32 c, 0x3c014000; fma.rn.f16x2 %0, %1, %2, c;}",
                opcodes: [Some("HFMA2.MMA"), Some("HFMA2.MMA")],
                expected: Box::new(move |[a, b, _]| halves([a, b, 0x3c01_4000], |sources| fused(format, sources))),
            },
        ],
        &rows(format),
    );
}
