//! Halves, two in a register: their arithmetic here, and a file for each other kind of instructions.

mod comparison;
pub mod format;
mod packing;

use super::super::super::error::CodeError;
use super::super::super::instruction::Code;
use super::super::super::operand::{Operand, Part, ZERO};
use super::super::super::operation::{Modifier, Operation};
use super::super::super::parts::Parts;
use super::super::operands::{Sign, Target, Word};
use super::action::{Action, Pointwise};
use super::rounding::canonical;
use format::{HalfFormat, HalfMode, each_half, sum_to_odd};

/// An instruction of this family.
pub fn decode(code: &Code) -> Result<Option<Action>, CodeError> {
    use Operation as O;
    let mode = HalfMode::of(code);
    match code.operation {
        O::Hfma2 if is_move(code) => {
            let target = Target::new(code, Parts::of(code)?.destination)?;
            Pointwise::of(target, [Word::new(code, &Operand::Encoded, Sign::Single)?], |[word]: [u32; 1]| word)
        }
        O::Hadd2 if code.has(Modifier::F32) => widening(code),
        O::Hadd2 => pairwise(code, move |[left, right]| mode.result(sum_to_odd(mode.value(left), mode.value(right)))),
        O::Hmul2 => pairwise(code, move |[left, right]| mode.result(mode.value(left) * mode.value(right))),
        O::Hfma2 => pairwise(code, move |[left, right, addend]| {
            mode.result(sum_to_odd(mode.value(left) * mode.value(right), mode.value(addend)))
        }),
        _ => return Ok(comparison::decode(code)?.or(packing::decode(code)?)),
    }
    .map(Some)
}

/// An instruction that does the same with both halves of its sources.
fn pairwise<const N: usize>(
    code: &Code,
    function: impl Fn([u16; N]) -> u16 + Send + Sync + 'static,
) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let target = Target::new(code, parts.destination)?;
    Pointwise::of(target, sources(code, &parts)?, move |words: [u32; N]| each_half(words, &function))
}

/// The sources of an instruction on pairs of halves. A pair that is a constant is printed as two numbers.
pub fn sources<const N: usize>(code: &Code, parts: &Parts<'_>) -> Result<[Word; N], CodeError> {
    let unknown = || CodeError::Form(code.text.clone());
    let mut operands = parts.sources.iter();
    let mut words = [Word::zero(); N];
    for word in &mut words {
        let operand = operands.next().ok_or_else(unknown)?;
        if *operand == Operand::Encoded && operands.next() != Some(&Operand::Encoded) {
            return Err(unknown());
        }
        *word = Word::new(code, operand, Sign::Halves)?;
    }
    if operands.next().is_some() { Err(unknown()) } else { Ok(words) }
}

fn is_zero(operand: &Operand) -> bool {
    matches!(operand, Operand::Register(register, _) if *register == ZERO)
}

/// Constants are also moved as `-0 * 0 + (high, low)`.
fn is_move(code: &Code) -> bool {
    let is_plain = code.modifiers.iter().all(|modifier| *modifier == Modifier::Mma);
    is_plain
        && matches!(&code.operands[..], [_, first, second, rest @ ..] if is_zero(first) && is_zero(second)
            && rest.iter().all(|operand| matches!(operand, Operand::Encoded | Operand::Integer(_))))
}

/// The sum of two halves as a single. Which half is meant must be written.
fn widening(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let is_half = |operand: &Operand| {
        let chosen =
            matches!(operand, Operand::Register(_, adjustment) if matches!(adjustment.part, Some(Part::Half(_))));
        chosen || is_zero(operand)
    };
    if code.modifiers != [Modifier::F32] || !parts.sources.iter().all(is_half) {
        return Err(CodeError::Form(code.text.clone()));
    }
    let words = sources(code, &parts)?;
    Pointwise::of(Target::new(code, parts.destination)?, words, move |[left, right]: [u32; 2]| {
        let value = |word: u32| HalfFormat::Half.decode(word as u16);
        // The sum of two halves is exact in a double.
        canonical((value(left) + value(right)) as f32)
    })
}
