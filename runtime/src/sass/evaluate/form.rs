//! The parts of an arithmetic instruction, read from a warp and written to it.

use super::super::error::CodeError;
use super::super::instruction::Code;
use super::super::operand::Operand;
use super::super::parts::{Destination, Parts};
use super::bits::Bits;
use super::launch::Launch;
use super::value::{ALL, Value};
use super::warp::Warp;

/// The parts of an instruction in a launch.
pub struct Form<'a> {
    code: &'a Code,
    launch: &'a Launch,
    parts: Parts<'a>,
}

impl<'a> std::ops::Deref for Form<'a> {
    type Target = Parts<'a>;

    fn deref(&self) -> &Parts<'a> {
        &self.parts
    }
}

impl<'a> Form<'a> {
    /// The parts of an instruction with a word as its result.
    pub fn new(code: &'a Code, launch: &'a Launch) -> Result<Self, CodeError> {
        Ok(Self { code, launch, parts: Parts::of(code)? })
    }

    /// The parts of an instruction with truth values as its results.
    pub fn of_test(code: &'a Code, launch: &'a Launch) -> Self {
        Self { code, launch, parts: Parts::of_test(code) }
    }

    /// A source as an integer.
    pub fn integer(&self, warp: &Warp, index: usize) -> Result<Value, CodeError> {
        warp.integer(self.code, self.source(index)?, self.launch)
    }

    /// The upper word of a source of 64 bits.
    pub fn upper(&self, warp: &Warp, index: usize) -> Result<Value, CodeError> {
        warp.upper(self.code, self.source(index)?, self.launch)
    }

    /// A source as a single.
    pub fn single(&self, warp: &Warp, index: usize) -> Result<Value, CodeError> {
        warp.single(self.code, self.source(index)?, self.launch)
    }

    /// A predicate that it reads; false if it is not written.
    pub fn input(&self, warp: &Warp, index: usize) -> Bits {
        match self.inputs.get(index) {
            Some(Operand::Predicate(predicate, negated)) => warp.predicate(*predicate, *negated),
            _ => Bits::FALSE,
        }
    }

    /// Writes a truth value.
    pub fn output(&self, warp: &mut Warp, index: usize, mask: u32, bits: Bits) {
        if let Some(Operand::Predicate(predicate, _)) = self.outputs.get(index) {
            warp.write_predicate(*predicate, mask, bits);
        }
    }

    /// Writes a word.
    pub fn write(&self, warp: &mut Warp, distance: u8, mask: u32, value: &Value) {
        write(warp, self.destination, distance, mask, value);
    }
}

/// Writes a word; a uniform register has one for the whole warp.
pub fn write(warp: &mut Warp, destination: Option<Destination>, distance: u8, mask: u32, value: &Value) {
    match destination {
        Some(Destination::Register(register)) => warp.write(register, distance, mask, value),
        Some(Destination::Uniform(register)) => {
            let index = usize::from(register.0) + usize::from(distance);
            if let Some(place) = warp.uniform.get_mut(index) {
                place.merge(ALL, value);
            }
        }
        None => {}
    }
}
