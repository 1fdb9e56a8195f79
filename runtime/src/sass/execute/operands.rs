//! Operands, resolved: where a word is read and what is done with it before the operation sees it.

use super::super::error::CodeError;
use super::super::instruction::Code;
use super::super::operand::{Address, Adjustment, Operand, Part, Predicate, TRUE};
use super::super::parts::{Destination, predicate_of};
use super::constants::Constants;
use super::fault::FaultKind;
use super::lanes::{LANES, Lanes};
use super::warp::{Warp, ZERO_REGISTER, ZERO_UNIFORM};

/// Where a word is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// A general register.
    Register(usize),
    /// A uniform register.
    Uniform(usize),
    /// A number.
    Immediate(u32),
    /// A word of a constant bank.
    Constant(ConstantPlace),
}

/// A word of a constant bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConstantPlace {
    bank: u8,
    base: Option<usize>,
    uniform: Option<usize>,
    offset: u32,
}

/// What the sign of a word is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// Of two's complement.
    Integer,
    /// The upper bit.
    Single,
    /// The upper bit of each half. A part that is chosen stands for both halves.
    Halves,
}

/// A word as an operation sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    /// Where it is read.
    pub source: Source,
    /// What is done with it.
    pub adjustment: Adjustment,
    sign: Sign,
    is_plain: bool,
}

impl Word {
    /// An operand as a word.
    pub fn new(code: &Code, operand: &Operand, sign: Sign) -> Result<Self, CodeError> {
        Self::at(code, operand, 0, sign)
    }

    /// The word of this distance behind the first one of an operand.
    pub fn at(code: &Code, operand: &Operand, distance: usize, sign: Sign) -> Result<Self, CodeError> {
        let plain = Adjustment::default();
        let (source, adjustment) = match operand {
            Operand::Register(register, adjustment) => {
                let number = usize::from(register.0);
                (Source::Register(behind(number, distance, ZERO_REGISTER)), *adjustment)
            }
            Operand::Uniform(register, adjustment) => {
                let number = usize::from(register.0);
                (Source::Uniform(behind(number, distance, ZERO_UNIFORM)), *adjustment)
            }
            Operand::Constant(bank, address, adjustment) => {
                (Source::Constant(constant(*bank, *address, distance)), *adjustment)
            }
            Operand::Integer(value) => (Source::Immediate((*value >> (32 * distance.min(1))) as u32), plain),
            Operand::Encoded => (Source::Immediate(code.immediate), plain),
            _ => return Err(CodeError::Form(code.text.clone())),
        };
        Ok(Self { source, adjustment, sign, is_plain: adjustment == plain })
    }

    /// A zero that no register holds.
    pub fn zero() -> Self {
        let adjustment = Adjustment::default();
        Self { source: Source::Immediate(0), adjustment, sign: Sign::Integer, is_plain: true }
    }

    /// The same word without adjustments.
    pub fn unadjusted(self) -> Self {
        Self { adjustment: Adjustment::default(), is_plain: true, ..self }
    }

    /// The same word under other adjustments.
    pub fn adjusted(self, adjustment: Adjustment) -> Self {
        Self { adjustment, is_plain: adjustment == Adjustment::default(), ..self }
    }

    /// The word in each lane.
    #[inline(always)]
    pub fn read(&self, warp: &Warp, constants: &Constants) -> Result<Lanes, FaultKind> {
        let words = match self.source {
            Source::Register(register) => *warp.register(register),
            Source::Uniform(register) => Lanes::splat(warp.uniform(register)),
            Source::Immediate(word) => Lanes::splat(word),
            Source::Constant(place) => place.read(warp, constants)?,
        };
        Ok(if self.is_plain { words } else { self.adjust(words) })
    }

    fn adjust(&self, words: Lanes) -> Lanes {
        let Adjustment { negative, absolute, inverted, part } = self.adjustment;
        let mut words = words;
        if let Some(part) = part {
            words = words.map(|word| match part {
                Part::Half(half) if self.sign == Sign::Halves => (word >> (16 * half) & 0xffff) * BOTH_HALVES,
                Part::Half(half) => word >> (16 * half) & 0xffff,
                Part::Byte(byte) => word >> (8 * byte) & 0xff,
            });
        }
        if inverted {
            words = words.map(|word| !word);
        }
        if absolute {
            words = match self.sign {
                Sign::Single => words.map(|word| word & !SIGN_BIT),
                Sign::Halves => words.map(|word| word & !HALF_SIGN_BITS),
                Sign::Integer => words.map(|word| (word as i32).unsigned_abs()),
            };
        }
        if negative {
            words = match self.sign {
                Sign::Single => words.map(|word| word ^ SIGN_BIT),
                Sign::Halves => words.map(|word| word ^ HALF_SIGN_BITS),
                Sign::Integer => words.map(u32::wrapping_neg),
            };
        }
        words
    }
}

/// The sign of a single.
pub const SIGN_BIT: u32 = 1 << 31;
/// What a half is multiplied with to stand in both halves of a word.
const BOTH_HALVES: u32 = 0x1_0001;
/// The signs of both halves of a word.
const HALF_SIGN_BITS: u32 = 0x8000 * BOTH_HALVES;

fn behind(number: usize, distance: usize, zero: usize) -> usize {
    if number == zero { zero } else { (number + distance).min(zero) }
}

fn constant(bank: u8, address: Address, distance: usize) -> ConstantPlace {
    ConstantPlace {
        bank,
        base: address.base.map(|base| usize::from(base.0)).filter(|base| *base != ZERO_REGISTER),
        uniform: address.uniform.map(|uniform| usize::from(uniform.0)).filter(|uniform| *uniform != ZERO_UNIFORM),
        offset: (address.offset as u32).wrapping_add(4 * distance as u32),
    }
}

impl ConstantPlace {
    fn read(&self, warp: &Warp, constants: &Constants) -> Result<Lanes, FaultKind> {
        let uniform = self.uniform.map_or(0, |register| warp.uniform(register));
        let offset = self.offset.wrapping_add(uniform);
        let Some(base) = self.base else {
            return constants.word(self.bank, offset).map(Lanes::splat);
        };
        let base = warp.register(base);
        let mut words = Lanes::ZERO;
        for lane in 0..LANES {
            if warp.group.mask >> lane & 1 == 1 {
                words.0[lane] = constants.word(self.bank, offset.wrapping_add(base.0[lane]))?;
            }
        }
        Ok(words)
    }
}

/// A predicate that is read, perhaps negated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Condition {
    predicate: Predicate,
    negated: bool,
}

impl Condition {
    /// What always holds.
    pub const TRUE: Self = Self { predicate: Predicate::Lane(TRUE), negated: false };
    /// What never holds.
    pub const FALSE: Self = Self { predicate: Predicate::Lane(TRUE), negated: true };

    /// A predicate, perhaps negated.
    pub fn new(predicate: Predicate, negated: bool) -> Self {
        Self { predicate, negated }
    }

    /// The predicate at a position, or `otherwise` where none is written.
    pub fn at(operands: &[Operand], index: usize, otherwise: Self) -> Self {
        let written = operands.get(index).and_then(predicate_of);
        written.map_or(otherwise, |(predicate, negated)| Self { predicate, negated })
    }

    /// The lanes in which it holds.
    #[inline(always)]
    pub fn lanes(&self, warp: &Warp) -> u32 {
        warp.predicate(self.predicate, self.negated)
    }
}

/// The predicate at a position that is written, if one is.
pub fn output_at(operands: &[Operand], index: usize) -> Option<Predicate> {
    operands.get(index).and_then(predicate_of).map(|(predicate, _)| predicate)
}

/// Where a word goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A general register.
    Register(usize),
    /// A uniform register.
    Uniform(usize),
}

impl Target {
    /// That of an instruction with a word as its result.
    pub fn new(code: &Code, destination: Option<Destination>) -> Result<Self, CodeError> {
        match destination {
            Some(Destination::Register(register)) => Ok(Self::Register(register.0.into())),
            Some(Destination::Uniform(register)) => Ok(Self::Uniform(register.0.into())),
            None => Err(CodeError::Form(code.text.clone())),
        }
    }

    /// Writes a word; a uniform register has one for the whole warp.
    #[inline(always)]
    pub fn write(self, warp: &mut Warp, mask: u32, words: &Lanes) {
        self.write_at(warp, 0, mask, words);
    }

    /// Writes the word of this distance behind the first.
    #[inline(always)]
    pub fn write_at(self, warp: &mut Warp, distance: usize, mask: u32, words: &Lanes) {
        match self {
            Self::Register(ZERO_REGISTER) | Self::Uniform(ZERO_UNIFORM) => {}
            Self::Register(register) => warp.write(register + distance, mask, words),
            Self::Uniform(register) => {
                let first = warp.first_lane(mask);
                warp.write_uniform(register + distance, words.0[first]);
            }
        }
    }
}
