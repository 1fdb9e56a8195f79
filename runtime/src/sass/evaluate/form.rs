//! The parts of an arithmetic instruction: results, sources and predicates, wherever the syntax puts them.

use super::super::error::CodeError;
use super::super::instruction::Code;
use super::super::operand::{Operand, Predicate, Register, UniformRegister};
use super::bits::Bits;
use super::launch::Launch;
use super::value::{ALL, Value};
use super::warp::Warp;

/// Where a word goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// A general register.
    Register(Register),
    /// A uniform register.
    Uniform(UniformRegister),
}

/// The parts of an instruction.
pub struct Form<'a> {
    code: &'a Code,
    launch: &'a Launch,
    /// Where the word goes.
    pub destination: Option<Destination>,
    /// Where truth values go.
    pub outputs: &'a [Operand],
    /// What it reads.
    pub sources: &'a [Operand],
    /// The predicates that it reads.
    pub inputs: &'a [Operand],
}

impl<'a> Form<'a> {
    /// The parts of an instruction with a word as its result, `P0` or `R0, P0`, sources, `P1`.
    pub fn new(code: &'a Code, launch: &'a Launch) -> Result<Self, CodeError> {
        let operands = &code.operands[..];
        let leading = count_predicates(operands);
        let destination = match operands.get(leading) {
            Some(Operand::Register(register, _)) => Destination::Register(*register),
            Some(Operand::Uniform(register, _)) => Destination::Uniform(*register),
            _ => return Err(CodeError::Form(code.text.clone())),
        };
        let rest = &operands[leading + 1..];
        let following = count_predicates(rest);
        let outputs = if leading > 0 { &operands[..leading] } else { &rest[..following] };
        Ok(Self::with(code, launch, Some(destination), outputs, &rest[following..]))
    }

    /// The parts of an instruction with truth values as its results, `P0, PT`, sources, `P1`.
    pub fn of_test(code: &'a Code, launch: &'a Launch) -> Self {
        let outputs = count_predicates(&code.operands).min(2);
        Self::with(code, launch, None, &code.operands[..outputs], &code.operands[outputs..])
    }

    fn with(
        code: &'a Code,
        launch: &'a Launch,
        destination: Option<Destination>,
        outputs: &'a [Operand],
        rest: &'a [Operand],
    ) -> Self {
        let sources = rest.iter().take_while(|operand| !matches!(operand, Operand::Predicate(..))).count();
        Self { code, launch, destination, outputs, sources: &rest[..sources], inputs: &rest[sources..] }
    }

    /// A source.
    pub fn source(&self, index: usize) -> Result<&'a Operand, CodeError> {
        self.sources.get(index).ok_or_else(|| CodeError::Form(self.code.text.clone()))
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

    /// A source that is written as a number.
    pub fn number(&self, index: usize) -> Result<u32, CodeError> {
        match self.source(index)? {
            Operand::Integer(value) => Ok(*value as u32),
            _ => Err(CodeError::Form(self.code.text.clone())),
        }
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

fn count_predicates(operands: &[Operand]) -> usize {
    operands.iter().take_while(|operand| matches!(operand, Operand::Predicate(..))).count()
}

/// The predicate of an operand.
pub fn predicate_of(operand: &Operand) -> Option<(Predicate, bool)> {
    match operand {
        Operand::Predicate(predicate, negated) => Some((*predicate, *negated)),
        _ => None,
    }
}
