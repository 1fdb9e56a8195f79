//! One instruction, decoded.

use super::control::Control;
use super::error::CodeError;
use super::operand::{Adjustment, Operand, Predicate, Register, TRUE, ZERO, predicate};
use super::operation::{Modifier, Operation, modifiers};

/// The predicate under which lanes execute an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// The predicate.
    pub predicate: Predicate,
    /// Whether lanes execute where it is false.
    pub negated: bool,
}

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Code {
    /// The predicate under which lanes execute it.
    pub guard: Guard,
    /// The operation.
    pub operation: Operation,
    /// What narrows the operation down.
    pub modifiers: Vec<Modifier>,
    /// The operands, results first.
    pub operands: Vec<Operand>,
    /// Where a jump goes: a place in the program.
    pub target: Option<usize>,
    /// The 32 bits of the encoding that hold an immediate operand.
    pub immediate: u32,
    /// What the compiler tells the scheduler.
    pub control: Control,
    /// The instruction as printed.
    pub text: String,
}

impl Code {
    /// Reads an instruction as printed, `@!P0 LDG.E R2, desc[UR4][R2.64]`, and both words of its encoding.
    pub fn parse(text: &str, encoding: [u64; 2]) -> Result<Self, CodeError> {
        let line = || CodeError::Line(text.to_owned());
        let mut rest = text.trim().trim_start_matches('{').trim_end_matches('}').trim().trim_end_matches(';').trim();
        let mut guard = Guard { predicate: Predicate::Lane(TRUE), negated: false };
        if let Some(after) = rest.strip_prefix('@') {
            let (name, after) = after.split_once(char::is_whitespace).ok_or_else(line)?;
            let negated = name.starts_with('!');
            guard = Guard { predicate: predicate(name.trim_start_matches('!')).ok_or_else(line)?, negated };
            rest = after.trim();
        }
        let rest = rest.split("(*").next().unwrap_or(rest).trim();
        let (opcode, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let mut words = opcode.split('.');
        let name = words.next().ok_or_else(line)?;
        let names: Vec<&str> = words.collect();
        let operands = operands.split(',').map(str::trim).filter(|operand| !operand.is_empty());
        let mut operands: Vec<Operand> =
            operands.flat_map(split_spaces).map(Operand::parse).collect::<Result<_, _>>()?;
        let (operation, modifiers) = (Operation::parse(name)?, modifiers(name, &names)?);
        if operation == Operation::Atomg && modifiers.contains(&Modifier::E) && !rest.contains(".U32") {
            operands.iter_mut().for_each(widen);
        }
        Ok(Self {
            guard,
            operation,
            modifiers,
            operands,
            target: None,
            immediate: (encoding[0] >> 32) as u32,
            control: Control::decode(encoding[1]),
            text: rest_with_guard(text),
        })
    }

    /// The same with another text.
    pub fn named(self, text: &str) -> Self {
        Self { text: rest_with_guard(text), ..self }
    }

    /// Whether it carries a modifier.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// Bytes of each lane that a memory operation moves.
    pub fn bytes(&self) -> u32 {
        self.modifiers.iter().find_map(|modifier| width(*modifier)).unwrap_or(4)
    }

    /// Matrices that a load of matrices brings, a register of each lane each.
    pub fn matrices(&self) -> u32 {
        match (self.has(Modifier::Four), self.has(Modifier::Two)) {
            (true, _) => 4,
            (false, true) => 2,
            (false, false) => 1,
        }
    }

    /// The general registers that it reads as operands of an arithmetic pipe, with the place of each among its sources and whether it stays in
    /// the operand cache.
    pub fn sources(&self) -> impl Iterator<Item = (usize, Register, bool)> {
        let registers = self.operands.iter().skip_while(|operand| matches!(operand, Operand::Predicate(..)));
        let reuse = self.control.reuse;
        registers.skip(1).filter(|operand| !matches!(operand, Operand::Predicate(..))).enumerate().filter_map(
            move |(place, operand)| match operand {
                Operand::Register(register, _) if *register != ZERO => {
                    Some((place, *register, reuse >> place & 1 == 1))
                }
                _ => None,
            },
        )
    }
}

/// Makes 64 bits of an address's base. Of atomic operations with a result the listing does not say it.
fn widen(operand: &mut Operand) {
    if let Operand::Memory(address) = operand {
        address.wide = true;
    }
}

fn width(modifier: Modifier) -> Option<u32> {
    match modifier {
        Modifier::U8 | Modifier::S8 => Some(1),
        Modifier::U16 | Modifier::S16 => Some(2),
        Modifier::Bits64 => Some(8),
        Modifier::Bits128 => Some(16),
        _ => None,
    }
}

fn rest_with_guard(text: &str) -> String {
    let text = text.split("(*").next().unwrap_or(text);
    text.trim().trim_end_matches(';').trim().to_owned()
}

/// Some operands stand without a comma between: `BRA P3, ...` does not, `LDG.E P0, R2` does.
fn split_spaces(text: &str) -> impl Iterator<Item = &str> {
    let whole = text.starts_with('`') || text.contains('[') || text.contains('@');
    let (first, second) = if whole { (Some(text), None) } else { (None, Some(text.split_whitespace())) };
    first.into_iter().chain(second.into_iter().flatten())
}

/// An operand without adjustments.
pub fn plain(register: Register) -> Operand {
    Operand::Register(register, Adjustment::default())
}
