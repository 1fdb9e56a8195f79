//! What a cubin says about itself: architecture, per entry registers, shared memory and stack, per other function its frame.
//!
//! The file is untrusted: every offset is checked, and a malformed one is an error, never a panic.

mod elf;

use warpweave_graph::legible::legible;

use crate::target::Target;
use elf::{Elf, Section};

/// A cubin that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CubinError {
    /// The bytes are no 64-bit little-endian ELF file for a CUDA device.
    #[error("not a cubin: {0}")]
    NotACubin(&'static str),
    /// A structure points outside the file or contradicts itself.
    #[error("the cubin is damaged: {0}")]
    Damaged(&'static str),
    /// A section, or a table in it, points outside the file.
    #[error("the cubin is damaged: section `{0}` points outside the file")]
    Section(String),
    /// The loader is to put an address where its section has no bytes.
    #[error(
        "the cubin is damaged: the address of `{symbol}` goes to byte {offset} of section `{section}`, which has {bytes} bytes"
    )]
    Relocation {
        /// Its name, such as `.nv.constant3`.
        section: String,
        /// The symbol whose address it is.
        symbol: String,
        /// Where it should go.
        offset: u64,
        /// How many bytes the section has in the file.
        bytes: usize,
    },
    /// An entry is not described as a launch needs it.
    #[error("the cubin is damaged: entry `{entry}` {reason}")]
    Entry {
        /// The entry's symbol.
        entry: String,
        /// What is missing or wrong.
        reason: &'static str,
    },
}

impl CubinError {
    fn entry(entry: &str, reason: &'static str) -> Self {
        Self::Entry { entry: legible(entry).into_owned(), reason }
    }
}

/// The resources of one entry function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryInfo {
    /// The symbol's name.
    pub name: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of static shared memory, without what the system reserves.
    pub static_shared_bytes: u64,
    /// Bytes of a thread's stack frame. Not 0 where registers are spilled or arrays live in local memory.
    pub frame_bytes: u32,
    /// Bytes of stack that a thread needs at least, called functions included.
    pub stack_bytes: u32,
}

/// A function that entries call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionInfo {
    /// The symbol's name.
    pub name: String,
    /// Registers of a thread that it uses, functions that it calls included; `None` if the file does not say.
    pub registers: Option<u32>,
    /// Bytes of its own stack frame. Not 0 where registers are spilled or arrays live in local memory.
    pub frame_bytes: u32,
}

/// What a cubin holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CubinInfo {
    /// The architecture's number: 90 for `sm_90` and `sm_90a`.
    pub architecture: u32,
    /// The target that the assembler noted, where it is one we know. It alone tells `sm_90a` from `sm_90`.
    pub target: Option<Target>,
    /// Entry functions by name.
    pub entries: Vec<EntryInfo>,
    /// Other functions by name; those of other units that a relocatable cubin calls are not among them.
    pub functions: Vec<FunctionInfo>,
}

/// From this architecture on, an entry that uses shared memory counts the system's part as its own.
const FIRST_COUNTING_RESERVED_SHARED: u32 = 90;
const RESERVED_SHARED_BYTES: u64 = 1024;

const ABI_WITH_ARCHITECTURE_IN_SECOND_BYTE: u8 = 8;
const SYMBOL_IS_ENTRY: u8 = 0x10;

const FORMAT_SIZED: u8 = 4;
const ATTRIBUTE_PARAMETERS: u8 = 0x0a;
const ATTRIBUTE_FRAME_SIZE: u8 = 0x11;
const ATTRIBUTE_MIN_STACK_SIZE: u8 = 0x12;
const ATTRIBUTE_REGISTER_COUNT: u8 = 0x2f;

impl CubinInfo {
    /// Reads `bytes`.
    pub fn read(bytes: &[u8]) -> Result<Self, CubinError> {
        let elf = Elf::read(bytes)?;
        if !elf.is_for_cuda() {
            return Err(CubinError::NotACubin("it is for another machine"));
        }
        let architecture = if elf.abi_version() >= ABI_WITH_ARCHITECTURE_IN_SECOND_BYTE {
            elf.flags() >> 8 & 0xff
        } else {
            elf.flags() & 0xff
        };
        let reserved = if architecture >= FIRST_COUNTING_RESERVED_SHARED { RESERVED_SHARED_BYTES } else { 0 };
        let attributes = elf.section(".nv.info")?.map_or(Ok(Vec::new()), attributes)?;
        let value = |kind: u8, symbol: usize| {
            attributes
                .iter()
                .find(|attribute| attribute.kind == kind && attribute.symbol as usize == symbol)
                .map(|attribute| attribute.value)
        };
        let (mut entries, mut functions) = (Vec::new(), Vec::new());
        for (index, symbol) in elf.symbols()?.into_iter().enumerate() {
            if !symbol.is_function {
                continue;
            }
            let frame_bytes = value(ATTRIBUTE_FRAME_SIZE, index);
            if symbol.other & SYMBOL_IS_ENTRY == 0 {
                let registers = value(ATTRIBUTE_REGISTER_COUNT, index);
                let function = |frame_bytes| FunctionInfo { name: symbol.name, registers, frame_bytes };
                functions.extend(frame_bytes.map(function));
                continue;
            }
            let registers = value(ATTRIBUTE_REGISTER_COUNT, index)
                .ok_or_else(|| CubinError::entry(&symbol.name, "has no register count"))?;
            let shared = elf.section(&format!(".nv.shared.{}", symbol.name))?.map_or(0, |section| section.size);
            entries.push(EntryInfo {
                registers,
                static_shared_bytes: shared.saturating_sub(reserved),
                frame_bytes: frame_bytes.unwrap_or(0),
                stack_bytes: value(ATTRIBUTE_MIN_STACK_SIZE, index).unwrap_or(0),
                name: symbol.name,
            });
        }
        entries.sort_by(|left, right| left.name.cmp(&right.name));
        functions.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(Self { architecture, target: noted_target(&elf), entries, functions })
    }

    /// Bytes of local memory that a thread uses at most: an entry's stack, called functions included.
    pub fn local_bytes(&self) -> u32 {
        let bytes = |entry: &EntryInfo| entry.stack_bytes.max(entry.frame_bytes);
        self.entries.iter().map(bytes).max().unwrap_or(0)
    }

    /// Bytes of the stack frame of the function of this name, entry or not; `None` if there is none.
    pub fn frame_bytes(&self, name: &str) -> Option<u32> {
        let function = || self.functions.iter().find(|function| function.name == name);
        self.entry(name).map(|entry| entry.frame_bytes).or_else(|| Some(function()?.frame_bytes))
    }

    /// Registers of a thread in the function of this name, entry or not; `None` if there is none, or the file does not say.
    pub fn registers(&self, name: &str) -> Option<u32> {
        let function = || self.functions.iter().find(|function| function.name == name);
        self.entry(name).map(|entry| entry.registers).or_else(|| function()?.registers)
    }

    /// The entry of this name.
    pub fn entry(&self, name: &str) -> Option<&EntryInfo> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}

/// Fails unless the file holds instructions of an entry.
pub fn check_code(cubin: &[u8], entry: &str) -> Result<(), CubinError> {
    let code = Elf::read(cubin)?.section(&format!(".text.{entry}"))?;
    match code {
        Some(section) if !section.bytes.is_empty() => Ok(()),
        _ => Err(CubinError::entry(entry, "has no instructions")),
    }
}

/// The bytes of an entry's constant bank 2, where the compiler keeps tables of jumps; none where it has no table.
pub fn jump_tables<'a>(cubin: &'a [u8], entry: &str) -> Result<&'a [u8], CubinError> {
    let elf = Elf::read(cubin)?;
    Ok(elf.section(&format!(".nv.constant2.{entry}"))?.map_or(&[], |section| section.bytes))
}

/// Where the launch of an entry puts its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParameterLayout {
    /// Bytes of constant bank 0.
    pub bank_bytes: usize,
    /// The byte of it at which parameters begin.
    pub offset: usize,
    /// Bytes of all parameters.
    pub bytes: usize,
}

/// Where the launch of an entry puts its parameters.
pub fn parameter_layout(cubin: &[u8], entry: &str) -> Result<ParameterLayout, CubinError> {
    let elf = Elf::read(cubin)?;
    let missing = || CubinError::entry(entry, "does not say where its parameters are");
    let own = elf.section(&format!(".nv.info.{entry}"))?.ok_or_else(missing)?;
    let bank = elf.section(&format!(".nv.constant0.{entry}"))?.ok_or_else(missing)?;
    let place = attributes(own)?.into_iter().find(|attribute| attribute.kind == ATTRIBUTE_PARAMETERS);
    let value = place.ok_or_else(missing)?.value;
    let (offset, bytes) = ((value & 0xffff) as usize, (value >> 16) as usize);
    if offset + bytes > bank.bytes.len() {
        return Err(CubinError::entry(entry, "has parameters that end beyond their constant bank"));
    }
    Ok(ParameterLayout { bank_bytes: bank.bytes.len(), offset, bytes })
}

/// The bytes of constant bank 3, which all functions share; none where there is no table.
pub fn shared_constants(cubin: &[u8]) -> Result<&[u8], CubinError> {
    let elf = Elf::read(cubin)?;
    Ok(elf.section(".nv.constant3")?.map_or(&[], |section| section.bytes))
}

/// The tables of functions in constant bank 3: the byte at which an address stands, and the function's symbol.
pub fn function_tables(cubin: &[u8]) -> Result<Vec<(u32, String)>, CubinError> {
    Elf::read(cubin)?.relocations(".nv.constant3")
}

/// The assembler notes its command line; `-arch` is followed by the target.
fn noted_target(elf: &Elf<'_>) -> Option<Target> {
    let note = elf.section(".note.nv.tkinfo").ok()??.bytes;
    let text = String::from_utf8_lossy(note);
    let (_, after) = text.split_once("-arch ")?;
    after.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next()?.parse().ok()
}

/// An attribute of a function: which, of what symbol, its value.
struct Attribute {
    kind: u8,
    symbol: u32,
    value: u32,
}

/// The attributes of two words in an information section; others are skipped.
fn attributes(section: Section<'_>) -> Result<Vec<Attribute>, CubinError> {
    let mut attributes = Vec::new();
    let mut rest = section.bytes;
    while let Some((&[format, kind, low, high], after)) = rest.split_first_chunk() {
        rest = after;
        if format != FORMAT_SIZED {
            continue;
        }
        let size = usize::from(u16::from_le_bytes([low, high]));
        let (payload, after) =
            rest.split_at_checked(size).ok_or(CubinError::Damaged("an attribute ends beyond its section"))?;
        rest = after;
        if let &[a, b, c, d, e, f, g, h] = payload {
            let (symbol, value) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
            attributes.push(Attribute { kind, symbol, value });
        }
    }
    Ok(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_refused() {
        assert!(CubinInfo::read(&[]).is_err());
        assert!(CubinInfo::read(b"\x7fELF").is_err());
        assert!(CubinInfo::read(&[0xff; 4096]).is_err());
        assert!(function_tables(&[0xff; 4096]).is_err());
    }
}
