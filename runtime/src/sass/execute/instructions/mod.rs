//! Instructions that lanes execute where they are: a file a family, and a line each in [`decode`].

mod access;
pub mod action;
mod atomic;
mod conversion;
mod double;
mod exact;
mod exchange;
mod fused;
mod half;
mod integer;
mod matrix;
mod modifiers;
mod predicate;
mod rounding;
mod single;
mod special_function;

use super::super::error::CodeError;
use super::super::instruction::Code;
use action::Action;
pub use modifiers::check as check_modifiers;

/// An instruction that lanes execute where they are; an error if none of the families knows it.
pub fn decode(code: &Code) -> Result<Action, CodeError> {
    let families = [
        integer::decode,
        predicate::decode,
        single::decode,
        double::decode,
        half::decode,
        matrix::decode,
        conversion::decode,
        special_function::decode,
        exchange::decode,
        access::decode,
        atomic::decode,
    ];
    for decode in families {
        if let Some(action) = decode(code)? {
            return Ok(action);
        }
    }
    Err(CodeError::Operation(code.operation.name().to_owned()))
}
