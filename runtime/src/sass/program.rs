//! The instructions of a disassembled cubin: functions, labels and where jumps go.

use std::collections::HashMap;

use super::error::CodeError;
use super::instruction::Code;
use super::operand::Operand;
use super::operation::Operation;

/// Bytes of an instruction.
pub const INSTRUCTION_BYTES: u64 = 16;

/// The address of the first instruction. It has an upper half, as addresses on a device do.
pub const CODE_BASE: u64 = 0x7f << 32;

/// A function: a run of instructions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its symbol.
    pub name: String,
    /// The place of its first instruction.
    pub start: usize,
    /// The place behind its last instruction.
    pub end: usize,
}

/// All functions of a cubin, one after another.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct MachineCode {
    /// The instructions of all functions.
    pub code: Vec<Code>,
    /// The functions, in order.
    pub functions: Vec<Function>,
    labels: HashMap<String, usize>,
    unknown: HashMap<usize, CodeError>,
}

impl MachineCode {
    /// Reads nvdisasm's listing with encodings.
    pub fn parse(listing: &str) -> Result<Self, CodeError> {
        let mut machine = Self::default();
        let mut section: Option<(String, usize)> = None;
        let mut pending: Option<(&str, u64)> = None;
        for line in listing.lines() {
            let trimmed = line.trim();
            if let (Some((text, lower)), Some(upper)) = (pending, encoding(trimmed)) {
                machine.push(text, [lower, upper])?;
                pending = None;
            } else if let Some((text, lower)) = instruction(trimmed) {
                pending = Some((text, lower));
            } else if let Some(label) = trimmed.strip_suffix(':') {
                let place = machine.code.len();
                machine.labels.insert(label.to_owned(), place);
                if let Some(name) = label.strip_prefix(".text.") {
                    machine.close(section.take());
                    section = Some((name.to_owned(), place));
                }
            }
        }
        machine.close(section);
        machine.resolve()?;
        Ok(machine)
    }

    /// Adds an instruction. One that is not known matters only where it is executed.
    fn push(&mut self, text: &str, encoding: [u64; 2]) -> Result<(), CodeError> {
        let code = match Code::parse(text, encoding) {
            Ok(code) => code,
            Err(error) => {
                self.unknown.insert(self.code.len(), error);
                Code::parse("NOP", encoding)?.named(text)
            }
        };
        self.code.push(code);
        Ok(())
    }

    /// The instruction at a place.
    pub fn at(&self, place: usize) -> Result<&Code, CodeError> {
        if let Some(error) = self.unknown.get(&place) {
            return Err(error.clone());
        }
        self.code.get(place).ok_or_else(|| CodeError::Outside(place.to_string()))
    }

    fn close(&mut self, section: Option<(String, usize)>) {
        if let Some((name, start)) = section {
            self.functions.push(Function { name, start, end: self.code.len() });
        }
    }

    fn resolve(&mut self) -> Result<(), CodeError> {
        for place in 0..self.code.len() {
            for operand in 0..self.code[place].operands.len() {
                if let Operand::CodeAddress(label, upper) = &self.code[place].operands[operand] {
                    let target = self.place(label).ok_or_else(|| CodeError::Label(label.clone()))?;
                    let address = CODE_BASE + target as u64 * INSTRUCTION_BYTES;
                    let half = if *upper { address >> 32 } else { address & u64::from(u32::MAX) };
                    self.code[place].operands[operand] = Operand::Integer(half as i64);
                }
            }
            let code = &self.code[place];
            let jumps = matches!(
                code.operation,
                Operation::Bra
                    | Operation::Jmp
                    | Operation::Call
                    | Operation::Bssy
                    | Operation::Ret
                    | Operation::Warpsync
            );
            let label = code.operands.iter().find_map(|operand| match operand {
                Operand::Label(label) if jumps => Some(label.clone()),
                _ => None,
            });
            if let Some(label) = label {
                let target = self.place(&label).ok_or(CodeError::Label(label))?;
                self.code[place].target = Some(target);
            }
        }
        Ok(())
    }

    /// The place of a label or a function.
    pub fn place(&self, label: &str) -> Option<usize> {
        self.labels.get(label).copied().or_else(|| self.labels.get(&format!(".text.{label}")).copied())
    }

    /// The function of this name.
    pub fn function(&self, name: &str) -> Result<&Function, CodeError> {
        self.functions.iter().find(|function| function.name == name).ok_or_else(|| CodeError::Function(name.to_owned()))
    }

    /// The function that holds a place.
    pub fn function_at(&self, place: usize) -> Option<&Function> {
        self.functions.iter().find(|function| (function.start..function.end).contains(&place))
    }
}

/// `/*0010*/ MOV R1, R2 ; /* 0x... */`: the text and the lower word.
fn instruction(line: &str) -> Option<(&str, u64)> {
    let rest = line.strip_prefix("/*")?;
    let (address, rest) = rest.split_once("*/")?;
    if address.is_empty() || !address.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let (text, rest) = rest.split_once("/* 0x")?;
    let word = rest.split_once(" */")?.0;
    Some((text.trim(), u64::from_str_radix(word, 16).ok()?))
}

/// `/* 0x000e220000000800 */`: the upper word.
fn encoding(line: &str) -> Option<u64> {
    u64::from_str_radix(line.strip_prefix("/* 0x")?.split_once(" */")?.0, 16).ok()
}
