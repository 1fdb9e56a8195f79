//! The parts of an instruction: results, sources and predicates, wherever the syntax puts them.

use super::error::CodeError;
use super::instruction::Code;
use super::operand::{Operand, Predicate, Register, UniformRegister};

/// Where a word goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// A general register.
    Register(Register),
    /// A uniform register.
    Uniform(UniformRegister),
}

/// The operands of an instruction by what they are for.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    code: &'a Code,
    /// Where the word goes.
    pub destination: Option<Destination>,
    /// Where truth values go.
    pub outputs: &'a [Operand],
    /// What it reads.
    pub sources: &'a [Operand],
    /// The predicates that it reads.
    pub inputs: &'a [Operand],
}

impl<'a> Parts<'a> {
    /// The parts of an instruction with a word as its result, `P0` or `R0, P0`, sources, `P1`.
    pub fn of(code: &'a Code) -> Result<Self, CodeError> {
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
        Ok(Self::with(code, Some(destination), outputs, &rest[following..]))
    }

    /// The parts of an instruction with truth values as its results, `P0, PT`, sources, `P1`.
    pub fn of_test(code: &'a Code) -> Self {
        let outputs = count_predicates(&code.operands).min(2);
        Self::with(code, None, &code.operands[..outputs], &code.operands[outputs..])
    }

    fn with(code: &'a Code, destination: Option<Destination>, outputs: &'a [Operand], rest: &'a [Operand]) -> Self {
        let sources = rest.iter().take_while(|operand| !matches!(operand, Operand::Predicate(..))).count();
        Self { code, destination, outputs, sources: &rest[..sources], inputs: &rest[sources..] }
    }

    /// The source at a position; an error if there are fewer.
    pub fn source(&self, index: usize) -> Result<&'a Operand, CodeError> {
        self.sources.get(index).ok_or_else(|| CodeError::Form(self.code.text.clone()))
    }

    /// A source that is written as a number.
    pub fn number(&self, index: usize) -> Result<u32, CodeError> {
        match self.source(index)? {
            Operand::Integer(value) => Ok(*value as u32),
            _ => Err(CodeError::Form(self.code.text.clone())),
        }
    }
}

fn count_predicates(operands: &[Operand]) -> usize {
    operands.iter().take_while(|operand| matches!(operand, Operand::Predicate(..))).count()
}

/// The predicate of an operand, and whether it is negated.
pub fn predicate_of(operand: &Operand) -> Option<(Predicate, bool)> {
    match operand {
        Operand::Predicate(predicate, negated) => Some((*predicate, *negated)),
        _ => None,
    }
}
