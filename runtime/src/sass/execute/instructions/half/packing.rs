//! Conversions of singles that put their results into halves of a register, and of singles to tensor floats.

use super::super::super::super::error::CodeError;
use super::super::super::super::instruction::Code;
use super::super::super::super::operand::{Operand, ZERO};
use super::super::super::super::operation::{Modifier, Operation};
use super::super::super::super::parts::Parts;
use super::super::super::operands::{Sign, Target, Word};
use super::super::action::{Action, Pointwise};
use super::super::rounding::{Rounding, SINGLE_NAN};
use super::format::{HalfFormat, rectified};

/// An instruction of this family.
pub fn decode(code: &Code) -> Result<Option<Action>, CodeError> {
    if code.operation != Operation::F2fp {
        return Ok(None);
    }
    match () {
        () if code.has(Modifier::Tf32) && code.has(Modifier::PackB) => to_tensor_float(code),
        () if code.has(Modifier::Tf32) || code.has(Modifier::PackB) => return Err(CodeError::Form(code.text.clone())),
        () if code.has(Modifier::PackAb) => pack(code),
        () if code.has(Modifier::Merge) => merge(code),
        () => return Ok(None),
    }
    .map(Some)
}

/// The half that a single is rounded to. The format that is not named is that of IEEE 754.
fn narrowing(code: &Code) -> impl Fn(u32) -> u32 + Send + Sync + 'static {
    let (format, rounding, rectifies) = (HalfFormat::of(code), Rounding::of(code), code.has(Modifier::Relu));
    move |word| {
        let value = f64::from(f32::from_bits(word));
        format.encode(if rectifies { rectified(value) } else { value }, rounding).into()
    }
}

/// Two singles as halves, the first in the upper half.
fn pack(code: &Code) -> Result<Action, CodeError> {
    let narrow = narrowing(code);
    Pointwise::action(code, Sign::Single, move |[high, low]: [u32; 2]| narrow(high) << 16 | narrow(low))
}

/// A single as a half in the lower half; the upper half is that of the second source. Another one than zero is not met.
fn merge(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    match parts.sources {
        [source, Operand::Register(ZERO, _)] => {
            let word = Word::new(code, source, Sign::Single)?;
            let narrow = narrowing(code);
            Pointwise::of(Target::new(code, parts.destination)?, [word], move |[word]: [u32; 1]| narrow(word))
        }
        _ => Err(CodeError::Form(code.text.clone())),
    }
}

/// The bits of a single that a tensor float has not.
const DROPPED: u32 = 0x1fff;

/// A single whose lower bits are zero, rounded to nearest even or towards zero.
fn to_tensor_float(code: &Code) -> Result<Action, CodeError> {
    let parts = Parts::of(code)?;
    let truncates = match Rounding::of(code) {
        Rounding::Nearest => false,
        Rounding::Zero => true,
        Rounding::Down | Rounding::Up => return Err(CodeError::Form(code.text.clone())),
    };
    let [source] = parts.sources else {
        return Err(CodeError::Form(code.text.clone()));
    };
    let rectifies = code.has(Modifier::Relu);
    let word = Word::new(code, source, Sign::Single)?;
    Pointwise::of(Target::new(code, parts.destination)?, [word], move |[word]: [u32; 1]| {
        let value = f32::from_bits(word);
        match () {
            () if value.is_nan() => SINGLE_NAN,
            () if rectifies && value.is_sign_negative() => 0,
            () if truncates => word & !DROPPED,
            // Rounding up carries into the exponent.
            () => (word + DROPPED / 2 + (word >> 13 & 1)) & !DROPPED,
        }
    })
}
