//! What the interpreter knows of a register: a word of each lane, or that it is data.

use super::bits::first_unknown;
use super::term::{Name, Term};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// All lanes.
pub const ALL: u32 = u32::MAX;

/// The bits of a word's lower half.
const LOWER_HALF: u32 = 0xffff;

/// A half, as a single.
const HALF: u32 = 0x3f00_0000;

/// A 32-bit register of a warp. What is not known is data of the tensors, or was read where others may write meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Value {
    /// The words; where a lane's word has a name, its distance from there.
    pub lanes: [u32; LANES],
    /// What words are relative to that are not known.
    pub names: [Name; LANES],
    /// A bit for each lane whose word is known.
    pub known: u32,
    /// A bit for each lane whose lower half is known: those whose word is, and those of which bytes were replaced.
    pub lower: u32,
    /// A bit for each lane whose word is not known because it was polled.
    pub polled: u32,
    /// The word where it is not known, if elements of tensors are ordinary: neither zero nor large.
    pub ordinary: Option<u32>,
}

impl Value {
    /// Data.
    pub const UNKNOWN: Self =
        Self { lanes: [0; LANES], names: [Name::NONE; LANES], known: 0, lower: 0, polled: 0, ordinary: None };

    /// The same word in each lane.
    pub fn splat(word: u32) -> Self {
        Self { lanes: [word; LANES], known: ALL, lower: ALL, ..Self::UNKNOWN }
    }

    /// A word a lane.
    pub fn of(word: impl FnMut(usize) -> u32) -> Self {
        Self { lanes: std::array::from_fn(word), known: ALL, lower: ALL, ..Self::UNKNOWN }
    }

    /// Words of which single bits are known: a word and the mask of its known bits for each lane. `polled` says in which
    /// lanes what is not known was polled.
    pub fn of_bits(polled: u32, mut word: impl FnMut(usize) -> (u32, u32)) -> Self {
        let mut value = Self::UNKNOWN;
        for lane in 0..LANES {
            let (bits, known) = word(lane);
            value.lanes[lane] = bits & known;
            value.known |= u32::from(known == u32::MAX) << lane;
            value.lower |= u32::from(known & LOWER_HALF == LOWER_HALF) << lane;
        }
        value.polled = polled & !value.known;
        value
    }

    /// A lane's word, as far as known.
    pub fn word(&self, lane: usize) -> u32 {
        self.lanes[lane]
    }

    /// The bits of a lane's word that are known.
    pub fn known_bits(&self, lane: usize) -> u32 {
        match (self.known >> lane & 1 == 1, self.lower >> lane & 1 == 1) {
            (true, _) => u32::MAX,
            (false, true) => LOWER_HALF,
            (false, false) => 0,
        }
    }

    /// A function of each lane's words; what depends on data is data.
    pub fn map<const N: usize>(sources: [&Self; N], function: impl Fn([u32; N]) -> u32) -> Self {
        let known = sources.iter().fold(ALL, |known, source| known & source.known);
        let polled = sources.iter().fold(0, |polled, source| polled | source.polled) & !known;
        let ordinary = Self::ordinary_words(sources, known).map(&function);
        if known == 0 {
            return Self { polled, ordinary, ..Self::UNKNOWN };
        }
        let lanes = std::array::from_fn(|lane| function(std::array::from_fn(|source| sources[source].lanes[lane])));
        Self { lanes, known, lower: known, polled, ordinary, ..Self::UNKNOWN }
    }

    /// Replaces the lanes of `mask`.
    pub fn merge(&mut self, mask: u32, new: &Self) {
        if mask == ALL {
            *self = *new;
            return;
        }
        if !new.known & mask != 0 {
            self.ordinary = new.ordinary;
        }
        for lane in 0..LANES {
            if mask >> lane & 1 == 1 {
                self.lanes[lane] = new.lanes[lane];
                self.names[lane] = new.names[lane];
            }
        }
        self.known = self.known & !mask | new.known & mask;
        self.lower = self.lower & !mask | new.lower & mask;
        self.polled = self.polled & !mask | new.polled & mask;
    }

    /// Lanes whose words have names.
    pub fn named(&self) -> u32 {
        (0..LANES).filter(|lane| self.names[*lane].is_some()).fold(0, |named, lane| named | 1 << lane)
    }

    /// A lane's word, known or relative to a name.
    pub fn term(&self, lane: usize) -> Option<Term> {
        let name = self.names[lane];
        let known = self.known >> lane & 1 == 1;
        (known || name.is_some()).then_some(Term { name, offset: self.lanes[lane] })
    }

    /// Names a lane's word if it is neither known nor named.
    pub fn name(&mut self, lane: usize, Term { name, offset }: Term) {
        if self.known_bits(lane) == 0 && !self.names[lane].is_some() && name.is_some() {
            self.lanes[lane] = offset;
            self.names[lane] = name;
        }
    }

    /// A lane's word in all lanes.
    pub fn spread(&self, lane: usize) -> Self {
        let unknown = Self { polled: self.polled, ordinary: self.ordinary, ..Self::UNKNOWN };
        match self.term(lane) {
            Some(Term { name, offset }) if name.is_some() => {
                Self { lanes: [offset; LANES], names: [name; LANES], ..unknown }
            }
            Some(Term { offset, .. }) => Self::splat(offset),
            None => unknown,
        }
    }

    /// What an access finds where tensors are: a single between a half and one.
    pub fn element(access: u32) -> Option<u32> {
        Some(HALF | access.wrapping_mul(0x9e37_79b9) >> 9)
    }

    /// The words of all sources in the first lane in which not all are known, those of ordinary data where they are not.
    pub fn ordinary_words<const N: usize>(sources: [&Self; N], known: u32) -> Option<[u32; N]> {
        let lane = first_unknown(known)?;
        let mut words = [0; N];
        for (word, source) in words.iter_mut().zip(sources) {
            *word = if source.known >> lane & 1 == 1 { source.lanes[lane] } else { source.ordinary? };
        }
        Some(words)
    }

    /// The word that all of `mask` have, if it is known and the same.
    pub fn uniform(&self, mask: u32) -> Option<u32> {
        let first = self.lanes[mask.trailing_zeros() as usize % LANES];
        let same = (0..LANES).all(|lane| mask >> lane & 1 == 0 || self.lanes[lane] == first);
        (mask != 0 && self.known & mask == mask && same).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knowledge_follows_operations() {
        let data = Value::UNKNOWN;
        let seven = Value::splat(7);
        assert_eq!(Value::map([&seven, &data], |[a, b]| a + b).known, 0);
        assert_eq!(Value::map([&seven, &seven], |[a, b]| a + b).uniform(ALL), Some(14));
    }
}
