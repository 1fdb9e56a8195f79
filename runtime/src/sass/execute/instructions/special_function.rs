//! Approximate functions: reciprocals, roots, exponentials, logarithms, sine, cosine and hyperbolic tangent.

use super::super::super::error::CodeError;
use super::super::super::instruction::Code;
use super::super::super::operation::{Modifier, Operation};
use super::super::super::parts::Parts;
use super::super::fault::FaultKind;
use super::super::operands::{Sign, Target, Word};
use super::super::warp::Warp;
use super::action::{Action, Context, Execute};
use super::rounding::{canonical, flushed};

/// An instruction of this family.
pub fn decode(code: &Code) -> Result<Option<Action>, CodeError> {
    if code.operation != Operation::Mufu {
        return Ok(None);
    }
    let parts = Parts::of(code)?;
    let (target, word) = (Target::new(code, parts.destination)?, Word::new(code, parts.source(0)?, Sign::Single)?);
    let function = match () {
        () if code.has(Modifier::Rcp) => f64::recip,
        () if code.has(Modifier::Rsq) => |value: f64| 1.0 / value.sqrt(),
        () if code.has(Modifier::Sqrt) => f64::sqrt,
        () if code.has(Modifier::Ex2) => f64::exp2,
        () if code.has(Modifier::Lg2) => f64::log2,
        () if code.has(Modifier::Sin) => |turns: f64| (turns * std::f64::consts::TAU).sin(),
        () if code.has(Modifier::Cos) => |turns: f64| (turns * std::f64::consts::TAU).cos(),
        () if code.has(Modifier::Tanh) => f64::tanh,
        () if code.has(Modifier::Rcp64h) => {
            return Ok(Some(Box::new(UpperWord { target, word, function: f64::recip })));
        }
        () if code.has(Modifier::Rsq64h) => {
            return Ok(Some(Box::new(UpperWord { target, word, function: |value| 1.0 / value.sqrt() })));
        }
        () => return Err(CodeError::Form(code.text.clone())),
    };
    Ok(Some(Box::new(Approximation { target, word, function })))
}

/// Units in the last place by which results may be off. The CUDA C++ programming guide bounds the functions made of these
/// instructions by one or two.
const MOST_UNITS: u64 = 2;

/// A function of singles. Subnormal operands and results are zeros: code for subnormal numbers scales around it.
struct Approximation {
    target: Target,
    word: Word,
    function: fn(f64) -> f64,
}

impl Execute for Approximation {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let words = self.word.read(warp, context.constants)?;
        let result = words.map(|word| {
            let value = f64::from(f32::from_bits(flushed(word)));
            let exact = canonical((self.function)(value) as f32);
            flushed(context.nudge.map_or(exact, |seed| nudged(exact, word, seed)))
        });
        self.target.write(warp, mask, &result);
        Ok(())
    }
}

/// A result moved by up to [`MOST_UNITS`], by its operand and a seed: the same operand has one result.
fn nudged(result: u32, operand: u32, seed: u64) -> u32 {
    let value = f32::from_bits(result);
    if value == 0.0 || !value.is_normal() || value.abs() == 1.0 {
        return result;
    }
    let mixed = (u64::from(operand) ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    let moved = (i64::from(result) + (mixed % (2 * MOST_UNITS + 1)) as i64 - MOST_UNITS as i64) as u32;
    if f32::from_bits(moved).is_normal() { moved } else { result }
}

/// The upper word of a function of the double whose upper word is given.
struct UpperWord {
    target: Target,
    word: Word,
    function: fn(f64) -> f64,
}

impl Execute for UpperWord {
    fn execute(&self, warp: &mut Warp, mask: u32, context: &mut Context<'_>) -> Result<(), FaultKind> {
        let words = self.word.read(warp, context.constants)?;
        let upper = |word: u32| ((self.function)(f64::from_bits(u64::from(word) << 32)).to_bits() >> 32) as u32;
        self.target.write(warp, mask, &words.map(upper));
        Ok(())
    }
}
