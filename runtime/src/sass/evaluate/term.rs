//! Words that depend on data, as far as lanes can be compared: a known offset beyond a word that is not known but has a name.
//!
//! The same operation on the same words has the same name. So lanes that read one element of a tensor agree about it, and
//! the addresses that they compute of it lie as far apart as their offsets say.

use super::super::instruction::Code;
use super::super::operand::Adjustment;
use super::super::operation::{Modifier, Operation};

/// The name of a word that is not known, with the power of two that divides it. Names are drawn by a hash: that two words
/// share one by chance makes an access a little cheaper.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Name(u32);

const DIVISOR_BITS: u32 = 5;

impl Name {
    /// No word that a name stands for.
    pub const NONE: Self = Self(0);

    /// Whether it stands for a word.
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }

    /// The name of what these words make, a multiple of 2 to the power of `divisor`.
    fn of(words: &[u32], divisor: u32) -> Self {
        let hash = words.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, word| {
            let mixed = (hash ^ u64::from(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ mixed >> 29
        });
        let hash = (hash >> 32) as u32 >> DIVISOR_BITS;
        Self(hash.max(1) << DIVISOR_BITS | divisor.min(31))
    }

    fn divisor(self) -> u32 {
        self.0 & ((1 << DIVISOR_BITS) - 1)
    }
}

/// A word: its offset beyond what the name stands for, or the word itself where there is no name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term {
    /// What it is relative to.
    pub name: Name,
    /// The distance from there, modulo 2³².
    pub offset: u32,
}

/// Where addresses relative to names lie: apart from each other, and from all that are known.
const NAMED_ADDRESSES: u64 = 1 << 62;
const NAMED_BYTES_LOG: u32 = 33;
const LINE_BYTES: u64 = 128;

impl Term {
    /// A known word.
    pub fn known(word: u32) -> Self {
        Self { name: Name::NONE, offset: word }
    }

    /// What the `distance`-th word is that an operation makes of others.
    pub fn made(operation: u32, distance: u32, sources: &[Self]) -> Self {
        let mut words = vec![operation, distance];
        words.extend(sources.iter().flat_map(|source| [source.name.0, source.offset]));
        Self { name: Name::of(&words, 0), offset: 0 }
    }

    /// What an access finds at an address: the same for all its lanes there.
    pub fn loaded(access: u32, address: u64) -> Self {
        Self { name: Name::of(&[access, address as u32, (address >> 32) as u32], 0), offset: 0 }
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Self {
        let name = match (self.name.is_some(), other.name.is_some()) {
            (true, true) => {
                let (less, more) = (self.name.min(other.name), self.name.max(other.name));
                Name::of(&[SUM, less.0, more.0], less.divisor().min(more.divisor()))
            }
            (true, false) => self.name,
            (false, _) => other.name,
        };
        Self { name, offset: self.offset.wrapping_add(other.offset) }
    }

    /// The product with a known word.
    pub fn times(self, factor: u32) -> Self {
        let name = match factor {
            0 => Name::NONE,
            1 => self.name,
            _ if self.name.is_some() => {
                Name::of(&[PRODUCT, self.name.0, factor], self.name.divisor() + factor.trailing_zeros())
            }
            _ => Name::NONE,
        };
        Self { name, offset: self.offset.wrapping_mul(factor) }
    }

    fn product(self, other: Self) -> Self {
        match (self.name.is_some(), other.name.is_some()) {
            (_, false) => self.times(other.offset),
            (false, true) => other.times(self.offset),
            (true, true) => Self::made(PRODUCT, 0, &[self, other]),
        }
    }

    fn adjusted(self, adjustment: Adjustment) -> Self {
        match (adjustment.negative, adjustment.inverted) {
            (true, _) => self.times(u32::MAX),
            (false, true) => self.times(u32::MAX).plus(Self::known(u32::MAX)),
            (false, false) => self,
        }
    }

    /// An address of this lower word; its name decides, whatever the upper word is. What is known of a name's alignment is
    /// all that its addresses have.
    pub fn address(self) -> u64 {
        let start = NAMED_ADDRESSES + (u64::from(self.name.0 >> DIVISOR_BITS) << NAMED_BYTES_LOG);
        let apart = 1 << self.name.divisor();
        let start = if apart < LINE_BYTES { start + apart } else { start };
        start.wrapping_add(i64::from(self.offset as i32) as u64)
    }
}

/// Operations that names are made of beside those of the machine.
const SUM: u32 = u32::MAX;
const PRODUCT: u32 = u32::MAX - 1;

/// The first word of what an integer instruction makes of its sources: sums, and products with known words, keep their offset.
pub fn result(code: &Code, sources: &[(Term, Adjustment)]) -> Term {
    use Operation as O;
    let adjusted = |index: usize| sources[index].0.adjusted(sources[index].1);
    let carries = code.has(Modifier::X);
    let high = code.has(Modifier::Hi);
    match (code.operation, sources.len()) {
        (O::Iadd3 | O::Uiadd3 | O::Viadd, 1..) if !carries => {
            (1..sources.len()).fold(adjusted(0), |sum, index| sum.plus(adjusted(index)))
        }
        (O::Imad | O::Uimad, 3) if !carries && !high => adjusted(0).product(adjusted(1)).plus(adjusted(2)),
        (O::Lea | O::Ulea, 3..) if !carries && !high => {
            let shift = sources[sources.len() - 1].0.offset.min(31);
            adjusted(0).times(1 << shift).plus(adjusted(1))
        }
        (O::Shf | O::Ushf, 3) if code.has(Modifier::Left) && !high && !sources[1].0.name.is_some() => {
            adjusted(0).times(1u32.checked_shl(sources[1].0.offset).unwrap_or(0))
        }
        _ => made(code, 0, sources),
    }
}

/// A word of which nothing is known but what an instruction makes it of.
pub fn made(code: &Code, distance: u32, sources: &[(Term, Adjustment)]) -> Term {
    let terms: Vec<Term> = sources.iter().map(|(term, adjustment)| term.adjusted(*adjustment)).collect();
    Term::made(code.operation as u32, distance, &terms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_follow_sums_and_products() {
        let row = Term::loaded(7, 4096);
        let at = |lane: u32| row.times(256).plus(Term::known(4 * lane));
        assert_eq!(at(3).address() - at(0).address(), 12, "lanes of one row");
        assert_eq!(at(0).address() % 128, 0, "rows of 256 bytes are aligned");
        assert_eq!(row.times(12).address() % 128, 4, "rows of 12 bytes are aligned to words");
        let other = Term::loaded(7, 4100).times(256);
        assert!(other.address().abs_diff(at(0).address()) >= 1 << 32, "rows of other elements");
        assert_eq!(row.adjusted(Adjustment { negative: true, ..Adjustment::default() }).offset, 0);
        assert_eq!(row.plus(Term::known(5)).times(0), Term::known(0));
    }
}
