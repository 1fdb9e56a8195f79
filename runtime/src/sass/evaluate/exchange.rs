//! What reads special registers and constants, and what lanes of a warp exchange.

use super::super::error::CodeError;
use super::super::instruction::Code;
use super::super::operand::Operand;
use super::super::operation::{Modifier, Operation};
use super::super::parts::{Destination, predicate_of};
use super::super::trace::Effect;
use super::bits::Bits;
use super::form::{Form, write};
use super::launch::Launch;
use super::value::{ALL, LANES, Value};
use super::warp::Warp;

/// Executes an instruction in the lanes of `mask`; nothing if it is of another kind.
pub fn execute(warp: &mut Warp, code: &Code, mask: u32, launch: &Launch) -> Result<Option<Effect>, CodeError> {
    use Operation as O;
    match code.operation {
        O::S2r | O::S2ur | O::Cs2r => special(warp, code, mask, launch)?,
        O::Ldc | O::Uldc => constant(warp, code, mask, launch)?,
        O::R2ur => {
            let form = Form::new(code, launch)?;
            let value = form.integer(warp, 0)?;
            let first = mask.trailing_zeros() as usize % LANES;
            form.write(warp, 0, ALL, &value.spread(first));
        }
        O::Shfl => {
            shuffle(warp, code, mask, launch)?;
            return Ok(Some(Effect::Shared { wavefronts: 1 }));
        }
        O::Vote | O::Voteu => vote(warp, code, mask)?,
        O::B2r => {
            for operand in code.operands.iter().skip(1) {
                if let Some((name, _)) = predicate_of(operand) {
                    warp.write_predicate(name, mask, warp.reduced);
                }
            }
            if let Some(Operand::Register(register, _)) = code.operands.first() {
                warp.write(*register, 0, mask, &Value::UNKNOWN);
            }
        }
        O::Redux | O::Match => Form::new(code, launch)?.write(warp, 0, mask, &Value::UNKNOWN),
        O::Lepc => return Err(CodeError::Form(code.text.clone())),
        _ => return Ok(None),
    }
    Ok(Some(Effect::None))
}

fn special(warp: &mut Warp, code: &Code, mask: u32, launch: &Launch) -> Result<(), CodeError> {
    let unknown = || CodeError::Form(code.text.clone());
    let [destination, Operand::Special(special)] = &code.operands[..] else {
        return Err(unknown());
    };
    let destination = match destination {
        Operand::Register(register, _) => Destination::Register(*register),
        Operand::Uniform(register, _) => Destination::Uniform(*register),
        _ => return Err(unknown()),
    };
    let value = warp.special(*special, launch);
    write(warp, Some(destination), 0, mask, &value);
    if code.operation == Operation::Cs2r && !code.has(Modifier::Bits32) {
        write(warp, Some(destination), 1, mask, &value);
    }
    Ok(())
}

fn constant(warp: &mut Warp, code: &Code, mask: u32, launch: &Launch) -> Result<(), CodeError> {
    let form = Form::new(code, launch)?;
    let operand = form.source(0)?;
    let mut words = Vec::new();
    for word in 0..code.bytes().div_ceil(4) as u8 {
        let (value, _) = warp.word(code, operand, word, launch)?;
        words.push(if code.bytes() < 4 { narrowed(&value, code) } else { value });
    }
    for (distance, word) in words.iter().enumerate() {
        form.write(warp, distance as u8, mask, word);
    }
    Ok(())
}

/// The lower part of a word, with its sign where it has one.
pub fn narrowed(value: &Value, code: &Code) -> Value {
    let bits = 8 * code.bytes();
    let signed = code.has(Modifier::S8) || code.has(Modifier::S16);
    Value::map([value], |[word]| {
        let up = word << (32 - bits);
        if signed { (up as i32 >> (32 - bits)) as u32 } else { up >> (32 - bits) }
    })
}

fn shuffle(warp: &mut Warp, code: &Code, mask: u32, launch: &Launch) -> Result<(), CodeError> {
    let form = Form::new(code, launch)?;
    let (source, lane, bound) = (form.integer(warp, 0)?, form.integer(warp, 1)?, form.integer(warp, 2)?);
    let mut result = Value { ordinary: source.ordinary, ..Value::UNKNOWN };
    let mut inside = Bits::UNKNOWN;
    for own in 0..LANES {
        if (lane.known & bound.known) >> own & 1 == 0 {
            continue;
        }
        let segment = bound.lanes[own] >> 8 & 0x1f;
        let limit = bound.lanes[own] & 0x1f;
        let (first, wanted) = (own as u32 & segment, lane.lanes[own] & 0x1f);
        let last = first | limit & !segment;
        let (from, within) = match () {
            () if code.has(Modifier::Idx) => (first | wanted & !segment, (first | wanted & !segment) <= last),
            () if code.has(Modifier::Bfly) => (own as u32 ^ wanted, (own as u32 ^ wanted) <= last),
            () if code.has(Modifier::Down) => (own as u32 + wanted, own as u32 + wanted <= last),
            () if code.has(Modifier::Up) => {
                ((own as u32).wrapping_sub(wanted), own as u32 >= wanted && own as u32 - wanted >= last)
            }
            () => return Err(CodeError::Form(code.text.clone())),
        };
        let from = if within { from as usize % LANES } else { own };
        result.lanes[own] = source.lanes[from];
        result.names[own] = source.names[from];
        result.known |= (source.known >> from & 1) << own;
        result.polled |= (source.polled >> from & 1) << own;
        inside.known |= 1 << own;
        inside.set |= u32::from(within) << own;
    }
    form.write(warp, 0, mask, &result);
    form.output(warp, 0, mask, inside);
    Ok(())
}

fn vote(warp: &mut Warp, code: &Code, mask: u32) -> Result<(), CodeError> {
    let unknown = || CodeError::Form(code.text.clone());
    let (destination, rest) = match code.operands.first() {
        Some(Operand::Register(register, _)) => (Some(Destination::Register(*register)), &code.operands[1..]),
        Some(Operand::Uniform(register, _)) => (Some(Destination::Uniform(*register)), &code.operands[1..]),
        _ => (None, &code.operands[..]),
    };
    let (name, negated) = rest.last().and_then(predicate_of).ok_or_else(unknown)?;
    let bits = warp.predicate(name, negated);
    let known = bits.known & mask == mask;
    let ballot = if known { Value::splat(bits.set & mask) } else { Value { polled: bits.polled, ..Value::UNKNOWN } };
    write(warp, destination, 0, mask, &ballot);
    let answer = match (code.has(Modifier::All), code.has(Modifier::Any)) {
        _ if !known && bits.set & bits.known & mask == 0 => {
            Bits { polled: bits.polled, ordinary: bits.ordinary, ..Bits::UNKNOWN }
        }
        (true, _) if !known => Bits { polled: bits.polled, ordinary: bits.ordinary, ..Bits::UNKNOWN },
        (true, _) => {
            if bits.set & mask == mask {
                Bits::TRUE
            } else {
                Bits::FALSE
            }
        }
        (_, true) => {
            if bits.set & bits.known & mask != 0 {
                Bits::TRUE
            } else {
                Bits::FALSE
            }
        }
        _ => return Err(unknown()),
    };
    if rest.len() > 1 {
        let (output, _) = predicate_of(&rest[0]).ok_or_else(unknown)?;
        warp.write_predicate(output, mask, answer);
    }
    Ok(())
}
