//! Floating-point arithmetic. Singles are computed where they are known, since integer division goes through them;
//! everything else is data.

use super::super::error::CodeError;
use super::super::instruction::Code;
use super::super::operand::{Operand, ZERO};
use super::super::operation::{Modifier, Operation};
use super::arithmetic::{select, write_test};
use super::bits::Bits;
use super::form::Form;
use super::launch::Launch;
use super::value::Value;
use super::warp::Warp;

/// Executes an instruction in the lanes of `mask`; false if it is of another kind.
pub fn execute(warp: &mut Warp, code: &Code, mask: u32, launch: &Launch) -> Result<bool, CodeError> {
    use Operation as O;
    let form = || Form::new(code, launch);
    match code.operation {
        O::Fadd => singles(warp, mask, &form()?, |[left, right]| left + right)?,
        O::Fmul => singles(warp, mask, &form()?, |[left, right]| left * right)?,
        O::Ffma => singles(warp, mask, &form()?, |[left, right, addend]| left.mul_add(right, addend))?,
        O::Fmnmx => {
            let form = form()?;
            let (left, right) = (form.single(warp, 0)?, form.single(warp, 1)?);
            let minimum =
                Value::map([&left, &right], |[left, right]| f32::from_bits(left).min(f32::from_bits(right)).to_bits());
            let maximum =
                Value::map([&left, &right], |[left, right]| f32::from_bits(left).max(f32::from_bits(right)).to_bits());
            let value = select(form.input(warp, 0), &minimum, &maximum);
            form.write(warp, 0, mask, &value);
        }
        O::Fsetp => compare(warp, code, mask, &Form::of_test(code, launch))?,
        O::Mufu => transcendental(warp, code, mask, &form()?)?,
        O::I2f | O::I2fp if !code.has(Modifier::F64) && !is_wide(code) => from_integer(warp, code, mask, &form()?)?,
        O::F2i if !code.has(Modifier::F64) && !is_wide(code) => to_integer(warp, code, mask, &form()?)?,
        O::Hfma2 if is_move(code) => form()?.write(warp, 0, mask, &Value::splat(code.immediate)),
        O::Dadd | O::Dmul | O::Dfma => data(warp, mask, &form()?, 2),
        O::F2f | O::I2f | O::F2i | O::Frnd if has_wide_result(code) => data(warp, mask, &form()?, 2),
        O::Hfma2
        | O::Hadd2
        | O::Hmul2
        | O::Hmnmx2
        | O::Hset2
        | O::Fset
        | O::Fswzadd
        | O::F2fp
        | O::F2f
        | O::Frnd
        | O::I2f
        | O::I2fp
        | O::F2i
        | O::Uf2fp
        | O::IntegerDot => data(warp, mask, &form()?, 1),
        O::Hmma | O::Imma => data(warp, mask, &form()?, 4),
        O::Fchk | O::Dsetp | O::Hsetp2 => {
            let form = Form::of_test(code, launch);
            for index in 0..form.outputs.len() {
                form.output(warp, index, mask, Bits::UNKNOWN);
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn is_wide(code: &Code) -> bool {
    code.has(Modifier::S64) || code.has(Modifier::U64) || code.has(Modifier::Bits64)
}

/// The first type that a conversion names is that of its result.
fn has_wide_result(code: &Code) -> bool {
    match code.operation {
        Operation::F2i => code.has(Modifier::S64) || code.has(Modifier::U64),
        _ => code.modifiers.first() == Some(&Modifier::F64),
    }
}

/// Constants are also moved as `-0 * 0 + (high, low)`.
fn is_move(code: &Code) -> bool {
    let zero = |operand: &Operand| matches!(operand, Operand::Register(register, _) if *register == ZERO);
    matches!(&code.operands[..], [_, first, second, rest @ ..] if zero(first) && zero(second)
        && rest.iter().all(|operand| matches!(operand, Operand::Encoded | Operand::Integer(_))))
}

fn data(warp: &mut Warp, mask: u32, form: &Form<'_>, registers: u8) {
    for register in 0..registers {
        form.write(warp, register, mask, &Value::UNKNOWN);
    }
}

fn singles<const N: usize>(
    warp: &mut Warp,
    mask: u32,
    form: &Form<'_>,
    function: impl Fn([f32; N]) -> f32,
) -> Result<(), CodeError> {
    let mut sources = [Value::UNKNOWN; N];
    for (index, source) in sources.iter_mut().enumerate() {
        *source = form.single(warp, index)?;
    }
    let references: [&Value; N] = std::array::from_fn(|index| &sources[index]);
    let value = Value::map(references, |words| function(words.map(f32::from_bits)).to_bits());
    // No loop polls what was computed.
    let value = Value { polled: 0, ..value };
    form.write(warp, 0, mask, &value);
    Ok(())
}

fn compare(warp: &mut Warp, code: &Code, mask: u32, form: &Form<'_>) -> Result<(), CodeError> {
    let (left, right) = (form.single(warp, 0)?, form.single(warp, 1)?);
    let holds = |order: Option<std::cmp::Ordering>| {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let has = |ordered: Modifier, unordered: Modifier| code.has(ordered) || code.has(unordered);
        let unordered = [Modifier::Equ, Modifier::Neu, Modifier::Ltu, Modifier::Leu, Modifier::Gtu, Modifier::Geu];
        match order {
            None => unordered.into_iter().any(|modifier| code.has(modifier)) || code.has(Modifier::Nan),
            Some(_) if code.has(Modifier::Num) => true,
            Some(order) if has(Modifier::Eq, Modifier::Equ) => order == Equal,
            Some(order) if has(Modifier::Ne, Modifier::Neu) => order != Equal,
            Some(order) if has(Modifier::Lt, Modifier::Ltu) => order == Less,
            Some(order) if has(Modifier::Le, Modifier::Leu) => order != Greater,
            Some(order) if has(Modifier::Gt, Modifier::Gtu) => order == Greater,
            Some(order) if has(Modifier::Ge, Modifier::Geu) => order != Less,
            Some(_) => false,
        }
    };
    let result =
        Bits::test([&left, &right], |[left, right]| holds(f32::from_bits(left).partial_cmp(&f32::from_bits(right))));
    write_test(warp, code, mask, form, result);
    Ok(())
}

/// The reciprocal is what integer division needs; others are data.
fn transcendental(warp: &mut Warp, code: &Code, mask: u32, form: &Form<'_>) -> Result<(), CodeError> {
    let source = form.single(warp, 0)?;
    let computed = |function: fn(f32) -> f32| Value::map([&source], |[word]| function(f32::from_bits(word)).to_bits());
    let value = match () {
        () if code.has(Modifier::Rcp) => computed(f32::recip),
        () if code.has(Modifier::Rsq) => computed(|single| 1.0 / single.sqrt()),
        () if code.has(Modifier::Ex2) => computed(f32::exp2),
        () if code.has(Modifier::Lg2) => computed(f32::log2),
        () => Value::UNKNOWN,
    };
    form.write(warp, 0, mask, &value);
    Ok(())
}

fn from_integer(warp: &mut Warp, code: &Code, mask: u32, form: &Form<'_>) -> Result<(), CodeError> {
    let unsigned = code.has(Modifier::U32) || code.has(Modifier::U16) || code.has(Modifier::U8);
    let upward = code.has(Modifier::Rp);
    let source = form.integer(warp, 0)?;
    let value = Value::map([&source], |[word]| {
        let exact = if unsigned { f64::from(word) } else { f64::from(word as i32) };
        let nearest = exact as f32;
        let single = if upward && f64::from(nearest) < exact { nearest.next_up() } else { nearest };
        single.to_bits()
    });
    form.write(warp, 0, mask, &value);
    Ok(())
}

fn to_integer(warp: &mut Warp, code: &Code, mask: u32, form: &Form<'_>) -> Result<(), CodeError> {
    let unsigned = code.has(Modifier::U32);
    let source = form.single(warp, 0)?;
    let value = Value::map([&source], |[word]| {
        let single = f32::from_bits(word);
        let rounded = if code.has(Modifier::Floor) {
            single.floor()
        } else if code.has(Modifier::Ceil) {
            single.ceil()
        } else if code.has(Modifier::Trunc) {
            single.trunc()
        } else {
            single.round_ties_even()
        };
        if unsigned { rounded as u32 } else { rounded as i32 as u32 }
    });
    form.write(warp, 0, mask, &value);
    Ok(())
}
