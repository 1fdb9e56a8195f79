//! Comparisons of halves, and the smaller and larger of them.

use std::cmp::Ordering;

use crate::exact::{Format, NAN, flushed, halves};
use crate::half::rows;
use crate::harness::{Case, check};

/// A number that compares as the half does; `None` of NaN.
fn key(format: Format, bits: u16) -> Option<i32> {
    let infinity = 0x7fff >> (format as u16) << (format as u16);
    let magnitude = bits & 0x7fff;
    (magnitude <= infinity).then(|| if bits & 0x8000 == 0 { magnitude.into() } else { -i32::from(magnitude) })
}

fn order(format: Format, [a, b, _]: [u16; 3]) -> Option<Ordering> {
    Some(key(format, a)?.cmp(&key(format, b)?))
}

/// Whether a result of a comparison counts; `None` where there is no order.
type Accepts = fn(Option<Ordering>) -> bool;

/// What comparisons of PTX accept, by name (PTX ISA, Comparison and Selection Instructions).
const ACCEPTED: [(&str, Accepts); 14] = [
    ("eq", |order| order == Some(Ordering::Equal)),
    ("ne", |order| order.is_some_and(Ordering::is_ne)),
    ("lt", |order| order == Some(Ordering::Less)),
    ("le", |order| order.is_some_and(Ordering::is_le)),
    ("gt", |order| order == Some(Ordering::Greater)),
    ("ge", |order| order.is_some_and(Ordering::is_ge)),
    ("equ", |order| order.is_none_or(Ordering::is_eq)),
    ("neu", |order| order.is_none_or(Ordering::is_ne)),
    ("ltu", |order| order.is_none_or(Ordering::is_lt)),
    ("leu", |order| order.is_none_or(Ordering::is_le)),
    ("gtu", |order| order.is_none_or(Ordering::is_gt)),
    ("geu", |order| order.is_none_or(Ordering::is_ge)),
    ("num", |order| order.is_some()),
    ("nan", |order| order.is_none()),
];

fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// Cases of one comparison: as halves, as masks, and as predicates of both halves.
fn cases(format: Format, name: &str, accepts: Accepts) -> [Case; 3] {
    let (kind, infix, is_half) = match format {
        Format::Half => ("f16x2", "", true),
        Format::Bfloat => ("bf16x2", ".BF16_V2", false),
    };
    let upper = name.to_uppercase();
    let opcodes = |opcode: String| {
        let opcode = leaked(opcode);
        [is_half.then_some(opcode), Some(opcode)]
    };
    let one: u16 = if is_half { 0x3c00 } else { 0x3f80 };
    let each = move |words, yes: u16| halves(words, |sources| if accepts(order(format, sources)) { yes } else { 0 });
    [
        Case {
            text: leaked(format!("set.{name}.{kind}.{kind} %0, %1, %2;")),
            opcodes: opcodes(format!("HSET2{infix}.BF.{upper}.AND")),
            expected: Box::new(move |words| each(words, one)),
        },
        Case {
            text: leaked(format!("set.{name}.u32.{kind} %0, %1, %2;")),
            opcodes: opcodes(format!("HSET2{infix}.{upper}.AND")),
            expected: Box::new(move |words| each(words, u16::MAX)),
        },
        Case {
            text: leaked(format!(
                "{{.reg .pred p,q; setp.{name}.{kind} p|q, %1, %2; selp.u32 %0, 1, 2, p; @q add.u32 %0, %0, 4;}}"
            )),
            opcodes: opcodes(format!("HSETP2{infix}.{upper}.AND")),
            expected: Box::new(move |words| {
                let both = each(words, 1);
                (2 - (both & 1)) + 4 * (both >> 16)
            }),
        },
    ]
}

#[test]
fn halves_are_compared() {
    for format in [Format::Half, Format::Bfloat] {
        let cases: Vec<Case> = ACCEPTED.iter().flat_map(|(name, accepts)| cases(format, name, *accepts)).collect();
        check(&cases, &rows(format));
    }
}

#[test]
fn comparisons_are_combined_with_a_predicate() {
    let less =
        |words: [u32; 3]| halves(words, |sources| u16::from(order(Format::Half, sources) == Some(Ordering::Less)));
    let both = |opcode| [Some(opcode); 2];
    let even = |word: u32| word & 1 == 0;
    let cases = [
        Case {
            text: "{.reg .pred p,q,r; .reg .b32 x; and.b32 x, %3, 1; setp.eq.u32 r, x, 0; setp.lt.or.f16x2 p|q, %1, %2, r; \
                   selp.u32 %0, 1, 2, p; @q add.u32 %0, %0, 4;}",
            opcodes: both("HSETP2.LT.OR"),
            expected: Box::new(move |words| {
                let [low, high] = [0, 16].map(|shift| less(words) >> shift & 1 | u32::from(even(words[2])));
                2 - low + 4 * high
            }),
        },
        Case {
            text: "{.reg .pred r; .reg .b32 x; and.b32 x, %3, 1; setp.eq.u32 r, x, 0; set.lt.xor.f16x2.f16x2 %0, %1, %2, r;}",
            opcodes: both("HSET2.BF.LT.XOR"),
            expected: Box::new(move |words| (less(words) ^ if even(words[2]) { 0x1_0001 } else { 0 }) * 0x3c00),
        },
        Case {
            text: "{.reg .b32 c; mov.b32 c, 0x3c014000; set.lt.f16x2.f16x2 %0, %1, c;}",
            opcodes: both("HSET2.BF.LT.AND"),
            expected: Box::new(move |[a, ..]| less([a, 0x3c01_4000, 0]) * 0x3c00),
        },
        Case {
            text: "{.reg .pred p; .reg .b16 a,b; mov.b32 {a,b},%1; setp.lt.f16 p,a,b; selp.u32 %0,1,2,p;}",
            opcodes: both("HSETP2.GEU.AND"),
            expected: Box::new(move |[a, ..]| 2 - (less([a, a >> 16, 0]) & 1)),
        },
        Case {
            text: "set.lt.ftz.f16x2.f16x2 %0, %1, %2;",
            opcodes: both("HSET2.BF.LT.FTZ.AND"),
            expected: Box::new(move |words| {
                let flush = |word: u32| halves([word, 0, 0], |[half, ..]| flushed(Format::Half, half));
                less(words.map(flush)) * 0x3c00
            }),
        },
    ];
    check(&cases, &rows(Format::Half));
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Extreme {
    Smaller,
    Larger,
}

/// The smaller or larger of two halves (PTX ISA, Half Precision Floating Point Instructions: min, max).
fn extreme(format: Format, [a, b]: [u16; 2], which: Extreme, propagates: bool) -> u16 {
    // Negative zero is less than positive zero.
    let total = |bits| key(format, bits).map(|key| 2 * key + i32::from(bits & 0x8000 == 0));
    match (total(a), total(b)) {
        (None, None) => NAN,
        (None, Some(_)) | (Some(_), None) if propagates => NAN,
        (None, Some(_)) => b,
        (Some(_), None) => a,
        (Some(x), Some(y)) if (x < y) == (which == Extreme::Smaller) => a,
        _ => b,
    }
}

fn extreme_case(text: &'static str, opcodes: [Option<&'static str>; 2], function: fn([u16; 2]) -> u16) -> Case {
    Case { text, opcodes, expected: Box::new(move |words| halves(words, |[a, b, _]| function([a, b]))) }
}

#[test]
fn the_smaller_and_larger_half_is_taken() {
    const HALF: Format = Format::Half;
    fn flush(halves: [u16; 2]) -> [u16; 2] {
        halves.map(|half| flushed(HALF, half))
    }
    fn of_signs(halves: [u16; 2], which: Extreme, propagates: bool) -> u16 {
        match extreme(HALF, halves.map(|half| half & 0x7fff), which, propagates) {
            NAN => NAN,
            magnitude => magnitude | (halves[0] ^ halves[1]) & 0x8000,
        }
    }
    let both = |opcode| [Some(opcode); 2];
    let hopper = |opcode| [None, Some(opcode)];
    let cases = [
        extreme_case("min.f16x2 %0, %1, %2;", both("HMNMX2"), |halves| extreme(HALF, halves, Extreme::Smaller, false)),
        extreme_case("max.f16x2 %0, %1, %2;", both("HMNMX2"), |halves| extreme(HALF, halves, Extreme::Larger, false)),
        extreme_case("min.NaN.f16x2 %0, %1, %2;", both("HMNMX2.NAN"), |halves| {
            extreme(HALF, halves, Extreme::Smaller, true)
        }),
        extreme_case("max.NaN.f16x2 %0, %1, %2;", both("HMNMX2.NAN"), |halves| {
            extreme(HALF, halves, Extreme::Larger, true)
        }),
        extreme_case("min.ftz.f16x2 %0, %1, %2;", both("HMNMX2.FTZ"), |halves| {
            extreme(HALF, flush(halves), Extreme::Smaller, false)
        }),
        extreme_case("max.ftz.NaN.f16x2 %0, %1, %2;", both("HMNMX2.FTZ.NAN"), |halves| {
            extreme(HALF, flush(halves), Extreme::Larger, true)
        }),
        extreme_case("min.xorsign.abs.f16x2 %0, %1, %2;", hopper("HMNMX2.XORSIGN"), |halves| {
            of_signs(halves, Extreme::Smaller, false)
        }),
        extreme_case("max.NaN.xorsign.abs.f16x2 %0, %1, %2;", hopper("HMNMX2.NAN.XORSIGN"), |halves| {
            of_signs(halves, Extreme::Larger, true)
        }),
    ];
    check(&cases, &rows(HALF));
}

#[test]
fn the_smaller_and_larger_bfloat_is_taken() {
    const BFLOAT: Format = Format::Bfloat;
    let both = |opcode| [Some(opcode); 2];
    let cases = [
        extreme_case("min.bf16x2 %0, %1, %2;", both("HMNMX2.BF16_V2"), |halves| {
            extreme(BFLOAT, halves, Extreme::Smaller, false)
        }),
        extreme_case("max.NaN.bf16x2 %0, %1, %2;", both("HMNMX2.BF16_V2.NAN"), |halves| {
            extreme(BFLOAT, halves, Extreme::Larger, true)
        }),
    ];
    check(&cases, &rows(BFLOAT));
}
