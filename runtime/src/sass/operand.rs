//! Operands as the disassembler prints them, as typed values.

use super::error::CodeError;

/// A general register; 255 is `RZ`, which reads as zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Register(pub u8);

/// A uniform register; 63 is `URZ`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UniformRegister(pub u8);

/// A predicate; 7 is `PT`, which is always true.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Predicate {
    /// Of the lanes.
    Lane(u8),
    /// Of the warp.
    Uniform(u8),
}

/// The register that reads as zero.
pub const ZERO: Register = Register(255);
/// The uniform register that reads as zero.
pub const UNIFORM_ZERO: UniformRegister = UniformRegister(63);
/// The number of the predicate that is always true.
pub const TRUE: u8 = 7;

/// What is done with a value before the operation sees it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Adjustment {
    /// `-`: the negative, of the operation's type.
    pub negative: bool,
    /// `|x|`: the magnitude.
    pub absolute: bool,
    /// `~`: the complement of the bits.
    pub inverted: bool,
    /// `.H0_H0`, `.H1_H1`, `.B1`: a part of the register.
    pub part: Option<Part>,
}

/// A part of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The half of this number, for both halves.
    Half(u8),
    /// The byte of this number.
    Byte(u8),
}

/// An address: registers plus an offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// A register of each lane.
    pub base: Option<Register>,
    /// Whether base has 64 bits.
    pub wide: bool,
    /// What base is multiplied with.
    pub scale: u8,
    /// A uniform register.
    pub uniform: Option<UniformRegister>,
    /// Bytes.
    pub offset: i64,
}

/// A value that the multiprocessor provides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// The thread in its block, by axis.
    Thread(u8),
    /// The block in its grid, by axis.
    Block(u8),
    /// The block in its cluster.
    BlockOfCluster,
    /// The lane in its warp.
    Lane,
    /// The multiprocessor.
    Multiprocessor,
    /// A clock of any kind.
    Clock,
    /// A mask of lanes: those before this one.
    LanesBefore,
    /// Nothing: zero.
    Zero,
}

/// An operand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A register.
    Register(Register, Adjustment),
    /// A uniform register.
    Uniform(UniformRegister, Adjustment),
    /// A predicate, perhaps negated.
    Predicate(Predicate, bool),
    /// A word of a constant bank.
    Constant(u8, Address, Adjustment),
    /// A place in memory.
    Memory(Address),
    /// A value that the multiprocessor provides.
    Special(Special),
    /// A convergence barrier.
    Barrier(u8),
    /// A scoreboard.
    Scoreboard(u8),
    /// A place in the code, by the name that the listing gives it.
    Label(String),
    /// Half of the address of a place in the code; the upper one or the lower one.
    CodeAddress(String, bool),
    /// A number that is written as an integer.
    Integer(i64),
    /// A number that is written in another way; its bits are in the encoding.
    Encoded,
    /// The registers that predicates are moved to or from as one mask.
    AllPredicates,
}

impl Operand {
    /// Reads one operand.
    pub fn parse(text: &str) -> Result<Self, CodeError> {
        let unknown = || CodeError::Operand(text.to_owned());
        let text = text.trim();
        if let Some(label) = text.strip_prefix("`(") {
            return Ok(Self::Label(label.trim_end_matches(')').to_owned()));
        }
        if let Some(relocation) = text.strip_prefix("32@") {
            let label =
                relocation.split_once(" + ").and_then(|(_, label)| label.split('@').next()).ok_or_else(unknown)?;
            return Ok(Self::CodeAddress(label.to_owned(), relocation.starts_with("hi")));
        }
        if text == "PR" || text == "UPR" {
            return Ok(Self::AllPredicates);
        }
        if let Some(value) = integer(text) {
            return Ok(Self::Integer(value));
        }
        let (adjustment, core) = adjusted(text);
        if let Some(place) = core.strip_prefix("c[") {
            let (bank, rest) = place.split_once(']').ok_or_else(unknown)?;
            let bank = integer(bank).and_then(|bank| u8::try_from(bank).ok()).ok_or_else(unknown)?;
            return Ok(Self::Constant(bank, address(rest).ok_or_else(unknown)?, adjustment));
        }
        if let Some(place) = core.strip_prefix("desc[") {
            let place = place.split_once(']').ok_or_else(unknown)?.1;
            return Ok(Self::Memory(address(place).ok_or_else(unknown)?));
        }
        if core.starts_with('[') {
            return Ok(Self::Memory(address(core).ok_or_else(unknown)?));
        }
        if core.starts_with("SR") {
            return Special::parse(core).map(Self::Special).ok_or_else(unknown);
        }
        named(core, adjustment, text.starts_with('!')).ok_or_else(unknown)
    }
}

/// A register, a predicate, a barrier, a scoreboard, or a number.
fn named(core: &str, mut adjustment: Adjustment, negated: bool) -> Option<Operand> {
    let mut words = core.split('.');
    let name = words.next()?;
    for suffix in words {
        match suffix {
            "H0_H0" | "H0" => adjustment.part = Some(Part::Half(0)),
            "H1_H1" | "H1" => adjustment.part = Some(Part::Half(1)),
            "B0" => adjustment.part = Some(Part::Byte(0)),
            "B1" => adjustment.part = Some(Part::Byte(1)),
            "B2" => adjustment.part = Some(Part::Byte(2)),
            "B3" => adjustment.part = Some(Part::Byte(3)),
            // A single where others are pairs of halves.
            "F32" => return None,
            _ => {}
        }
    }
    if let Some(register) = register(name) {
        return Some(Operand::Register(register, adjustment));
    }
    if let Some(register) = uniform(name) {
        return Some(Operand::Uniform(register, adjustment));
    }
    if let Some(predicate) = predicate(name) {
        return Some(Operand::Predicate(predicate, negated));
    }
    let numbered = |prefix: &str| name.strip_prefix(prefix).and_then(|number| number.parse::<u8>().ok());
    if let Some(number) = numbered("SB") {
        return Some(Operand::Scoreboard(number));
    }
    if let Some(number) = numbered("B") {
        return Some(Operand::Barrier(number));
    }
    is_float(core).then_some(Operand::Encoded)
}

fn is_float(text: &str) -> bool {
    text.parse::<f64>().is_ok() || ["INF", "QNAN", "SNAN"].iter().any(|name| text.trim_start_matches('+') == *name)
}

/// `0x10`, `-0x10`, `16`.
pub fn integer(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hexadecimal) => i64::from_str_radix(hexadecimal, 16).ok()?,
        None => return None,
    };
    Some(sign * value)
}

/// `R12`, `RZ`.
pub fn register(name: &str) -> Option<Register> {
    match name.strip_prefix('R')? {
        "Z" => Some(ZERO),
        number => number.parse().ok().map(Register),
    }
}

fn uniform(name: &str) -> Option<UniformRegister> {
    match name.strip_prefix("UR")? {
        "Z" => Some(UNIFORM_ZERO),
        number => number.parse().ok().map(UniformRegister),
    }
}

/// `P0`, `PT`, `UP0`, `UPT`.
pub fn predicate(name: &str) -> Option<Predicate> {
    let number = |text: &str| if text == "T" { Some(TRUE) } else { text.parse().ok().filter(|number| *number < TRUE) };
    if let Some(rest) = name.strip_prefix("UP") {
        return number(rest).map(Predicate::Uniform);
    }
    name.strip_prefix('P').and_then(number).map(Predicate::Lane)
}

fn adjusted(text: &str) -> (Adjustment, &str) {
    let mut adjustment = Adjustment::default();
    let mut core = text;
    loop {
        core = match core.as_bytes().first() {
            Some(b'-') => {
                adjustment.negative = true;
                &core[1..]
            }
            Some(b'~') => {
                adjustment.inverted = true;
                &core[1..]
            }
            Some(b'!') => &core[1..],
            Some(b'|') => {
                adjustment.absolute = true;
                let inner = &core[1..];
                inner.split('|').next().unwrap_or(inner)
            }
            _ => return (adjustment, core),
        };
    }
}

/// `[R2.64+0x10]`, `[R8+UR4]`, `[0x28]`.
fn address(text: &str) -> Option<Address> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let mut address = Address { base: None, wide: false, scale: 1, uniform: None, offset: 0 };
    for term in inner.split('+') {
        let mut words = term.split('.');
        let name = words.next()?;
        if let Some(value) = integer(term) {
            address.offset += value;
        } else if let Some(register) = register(name) {
            address.base = Some(register);
            for suffix in words {
                match suffix {
                    "64" => address.wide = true,
                    "X4" => address.scale = 4,
                    "X8" => address.scale = 8,
                    "X16" => address.scale = 16,
                    "U32" => {}
                    _ => return None,
                }
            }
        } else {
            address.uniform = Some(uniform(name)?);
        }
    }
    Some(address)
}

impl Special {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "SR_TID.X" => Self::Thread(0),
            "SR_TID.Y" => Self::Thread(1),
            "SR_TID.Z" => Self::Thread(2),
            "SR_CTAID.X" => Self::Block(0),
            "SR_CTAID.Y" => Self::Block(1),
            "SR_CTAID.Z" => Self::Block(2),
            "SR_CgaCtaId" => Self::BlockOfCluster,
            "SR_LANEID" => Self::Lane,
            "SR_VIRTUALSMID" | "SR_VIRTID" => Self::Multiprocessor,
            "SR_LTMASK" => Self::LanesBefore,
            "SR_CLOCKLO" | "SR_CLOCKHI" | "SR_GLOBALTIMERLO" | "SR_GLOBALTIMERHI" => Self::Clock,
            "SRZ" => Self::Zero,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_typed() {
        let plain = Adjustment::default();
        assert_eq!(Operand::parse("R12.reuse"), Ok(Operand::Register(Register(12), plain)));
        assert_eq!(Operand::parse("-RZ"), Ok(Operand::Register(ZERO, Adjustment { negative: true, ..plain })));
        assert_eq!(Operand::parse("!PT"), Ok(Operand::Predicate(Predicate::Lane(TRUE), true)));
        assert_eq!(Operand::parse("9.9999997473787516356e-05"), Ok(Operand::Encoded));
        assert_eq!(Operand::parse("-0x4"), Ok(Operand::Integer(-4)));
        let address = Address {
            base: Some(Register(83)),
            wide: false,
            scale: 1,
            uniform: Some(UniformRegister(4)),
            offset: -1024,
        };
        assert_eq!(Operand::parse("[R83+UR4+-0x400]"), Ok(Operand::Memory(address)));
        let global = Address { wide: true, uniform: None, offset: 512, base: Some(Register(2)), ..address };
        assert_eq!(Operand::parse("desc[UR4][R2.64+0x200]"), Ok(Operand::Memory(global)));
        assert!(Operand::parse("SR_NEW").is_err());
    }
}
