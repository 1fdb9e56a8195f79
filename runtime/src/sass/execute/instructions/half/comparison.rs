//! Comparisons of halves, two in a register, and the smaller and larger of them.

use super::super::super::super::error::CodeError;
use super::super::super::super::instruction::Code;
use super::super::super::super::operand::{Adjustment, Predicate};
use super::super::super::super::operation::{Modifier, Operation};
use super::super::super::super::parts::Parts;
use super::super::super::fault::FaultKind;
use super::super::super::lanes::{Lanes, lanes_where};
use super::super::super::operands::{Condition, Target, Word, output_at};
use super::super::super::warp::Warp;
use super::super::action::{Action, Context, Execute, Extremum};
use super::super::predicate::Combination;
use super::super::single::Accepted;
use super::format::{HALF_NAN, HalfMode, each_half};
use super::sources;

/// An instruction of this family.
pub fn decode(code: &Code) -> Result<Option<Action>, CodeError> {
    use Operation as O;
    Ok(Some(match code.operation {
        O::Hset2 => compare_to_word(code)?,
        O::Hsetp2 => compare(code)?,
        O::Hmnmx2 => extremum(code)?,
        _ => return Ok(None),
    }))
}

/// A test of both halves, combined with a predicate.
struct Test {
    words: [Word; 2],
    mode: HalfMode,
    accepted: Accepted,
    combination: Combination,
    other: Condition,
}

impl Test {
    fn new(code: &Code, parts: &Parts<'_>) -> Result<Self, CodeError> {
        Ok(Self {
            words: sources(code, parts)?,
            mode: HalfMode::of(code),
            accepted: Accepted::of(code)?,
            combination: Combination::of(code),
            other: Condition::at(parts.inputs, 0, Condition::TRUE),
        })
    }

    /// The lanes in which the test of the lower half holds, and those of the upper one, not yet combined.
    fn lanes(&self, warp: &Warp, context: &Context<'_>) -> Result<[u32; 2], FaultKind> {
        let left = self.words[0].read(warp, context.constants)?;
        let right = self.words[1].read(warp, context.constants)?;
        Ok([0, 16].map(|shift| {
            let value = |words: &Lanes, lane: usize| self.mode.value((words.0[lane] >> shift) as u16);
            lanes_where(|lane| self.accepted.holds(value(&left, lane).partial_cmp(&value(&right, lane))))
        }))
    }

    fn combined(&self, warp: &Warp, holds: u32) -> u32 {
        self.combination.combine(holds, self.other.lanes(warp))
    }
}

/// A predicate for each half.
struct Comparison {
    test: Test,
    outputs: [Option<Predicate>; 2],
}

fn compare(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of_test(code);
    let outputs = [0, 1].map(|index| output_at(parts.outputs, index));
    Ok(Box::new(Comparison { test: Test::new(code, &parts)?, outputs }))
}

impl Execute for Comparison {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        // The predicate that is read may be one that is written.
        let results = self.test.lanes(warp, context)?.map(|holds| self.test.combined(warp, holds));
        for (output, holds) in self.outputs.into_iter().zip(results) {
            if let Some(output) = output {
                warp.write_predicate(output, mask, holds);
            }
        }
        Ok(())
    }
}

/// A comparison whose results are halves: all bits, or the number one.
struct ComparisonWord {
    target: Target,
    test: Test,
    yes: u16,
}

fn compare_to_word(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let (target, test) = (Target::new(code, parts.destination)?, Test::new(code, &parts)?);
    let yes = if code.has(Modifier::Boolean) { test.mode.format.one() } else { u16::MAX };
    Ok(Box::new(ComparisonWord { target, test, yes }))
}

impl Execute for ComparisonWord {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let [low, high] = self.test.lanes(warp, context)?.map(|holds| self.test.combined(warp, holds));
        let half = |holds: u32, lane: usize| (holds >> lane & 1) * u32::from(self.yes);
        self.target.write(warp, mask, &Lanes::of(|lane| half(high, lane) << 16 | half(low, lane)));
        Ok(())
    }
}

/// With the sign of both operands, that of their product, where asked for (PTX ISA, Half Precision Floating Point Instructions:
/// min, max).
fn extremum(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let (mode, propagates, takes_signs) = (HalfMode::of(code), code.has(Modifier::Nan), code.has(Modifier::XorSign));
    let mut words: [Word; 2] = sources(code, &parts)?;
    if takes_signs {
        let magnitude = |adjustment: Adjustment| adjustment.absolute && !adjustment.negative;
        if !words.iter().all(|word| magnitude(word.adjustment)) {
            return Err(CodeError::Form(code.text.clone()));
        }
        words = words.map(|word| word.adjusted(Adjustment { absolute: false, ..word.adjustment }));
    }
    let both = move |halves: [u16; 2]| {
        let sign = (halves[0] ^ halves[1]) & SIGN;
        let [left, right] = halves.map(|half| mode.operand(if takes_signs { half & !SIGN } else { half }));
        let signed = |half: u16| if takes_signs && half != HALF_NAN { half | sign } else { half };
        extremes(mode, left, right, propagates).map(signed)
    };
    Ok(Box::new(Extremum {
        target: Target::new(code, parts.destination)?,
        sources: words,
        smaller: Condition::at(parts.inputs, 0, Condition::TRUE),
        function: move |words: [u32; 2]| [0, 1].map(|index| each_half(words, |halves| both(halves)[index])),
    }))
}

const SIGN: u16 = 1 << 15;

/// The smaller and the larger of two halves: negative zero is below positive zero, and a NaN is left out where the other is a
/// number, or taken where `propagates`.
fn extremes(mode: HalfMode, left: u16, right: u16, propagates: bool) -> [u16; 2] {
    let [a, b] = [left, right].map(|bits| mode.format.decode(bits));
    match (a.is_nan(), b.is_nan()) {
        (true, true) => [HALF_NAN; 2],
        (true, false) | (false, true) if propagates => [HALF_NAN; 2],
        (true, false) => [right; 2],
        (false, true) => [left; 2],
        (false, false) if a < b || a == b && a.is_sign_negative() => [left, right],
        (false, false) => [right, left],
    }
}
