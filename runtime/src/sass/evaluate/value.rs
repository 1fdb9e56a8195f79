//! What the interpreter knows of a register: a word of each lane, or that it is data.

/// Lanes of a warp.
pub const LANES: usize = 32;

/// All lanes.
pub const ALL: u32 = u32::MAX;

/// The bits of a word's lower half.
const LOWER_HALF: u32 = 0xffff;

/// A 32-bit register of a warp. What is not known is data of the tensors, or was read where others may write meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Value {
    /// The words.
    pub lanes: [u32; LANES],
    /// A bit for each lane whose word is known.
    pub known: u32,
    /// A bit for each lane whose lower half is known: those whose word is, and those of which bytes were replaced.
    pub lower: u32,
    /// A bit for each lane whose word is not known because it was polled.
    pub polled: u32,
}

impl Value {
    /// Data.
    pub const UNKNOWN: Self = Self { lanes: [0; LANES], known: 0, lower: 0, polled: 0 };

    /// The same word in each lane.
    pub fn splat(word: u32) -> Self {
        Self { lanes: [word; LANES], known: ALL, lower: ALL, polled: 0 }
    }

    /// A word a lane.
    pub fn of(word: impl FnMut(usize) -> u32) -> Self {
        Self { lanes: std::array::from_fn(word), known: ALL, lower: ALL, polled: 0 }
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
        if known == 0 {
            return Self { polled, ..Self::UNKNOWN };
        }
        let lanes = std::array::from_fn(|lane| function(std::array::from_fn(|source| sources[source].lanes[lane])));
        Self { lanes, known, lower: known, polled }
    }

    /// Replaces the lanes of `mask`.
    pub fn merge(&mut self, mask: u32, new: &Self) {
        if mask == ALL {
            *self = *new;
            return;
        }
        for lane in 0..LANES {
            if mask >> lane & 1 == 1 {
                self.lanes[lane] = new.lanes[lane];
            }
        }
        self.known = self.known & !mask | new.known & mask;
        self.lower = self.lower & !mask | new.lower & mask;
        self.polled = self.polled & !mask | new.polled & mask;
    }

    /// The word that all of `mask` have, if it is known and the same.
    pub fn uniform(&self, mask: u32) -> Option<u32> {
        let first = self.lanes[mask.trailing_zeros() as usize % LANES];
        let same = (0..LANES).all(|lane| mask >> lane & 1 == 0 || self.lanes[lane] == first);
        (mask != 0 && self.known & mask == mask && same).then_some(first)
    }
}

/// A predicate of a warp: a bit a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    /// Lanes where it is true, as far as known.
    pub set: u32,
    /// Lanes where it is known.
    pub known: u32,
    /// Lanes where it is not known because it depends on what was polled.
    pub polled: u32,
}

impl Bits {
    /// True everywhere.
    pub const TRUE: Self = Self { set: ALL, known: ALL, polled: 0 };
    /// False everywhere.
    pub const FALSE: Self = Self { set: 0, known: ALL, polled: 0 };

    /// The contrary.
    pub fn not(self) -> Self {
        Self { set: !self.set, ..self }
    }

    /// Both. False where one is known to be false.
    pub fn and(self, other: Self) -> Self {
        let both = self.known & other.known;
        let known = both | self.known & !self.set | other.known & !other.set;
        Self { set: self.set & other.set & both, known, polled: (self.polled | other.polled) & !known }
    }

    /// One or both. True where one is known to be true.
    pub fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not().canonical()
    }

    /// One of both.
    pub fn xor(self, other: Self) -> Self {
        let known = self.known & other.known;
        Self { set: (self.set ^ other.set) & known, known, polled: (self.polled | other.polled) & !known }
    }

    fn canonical(self) -> Self {
        Self { set: self.set & self.known, ..self }
    }

    /// Replaces the lanes of `mask`.
    pub fn merge(&mut self, mask: u32, new: Self) {
        self.set = self.set & !mask | new.set & mask;
        self.known = self.known & !mask | new.known & mask;
        self.polled = self.polled & !mask | new.polled & mask;
    }

    /// Where a function of values is true.
    pub fn test<const N: usize>(sources: [&Value; N], holds: impl Fn([u32; N]) -> bool) -> Self {
        let known = sources.iter().fold(ALL, |known, source| known & source.known);
        let polled = sources.iter().fold(0, |polled, source| polled | source.polled) & !known;
        let mut set = 0;
        for lane in 0..LANES {
            if known >> lane & 1 == 1 && holds(std::array::from_fn(|source| sources[source].lanes[lane])) {
                set |= 1 << lane;
            }
        }
        Self { set, known, polled }
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
        let unknown = Bits { set: 0, known: 0, polled: ALL };
        assert_eq!(unknown.and(Bits::FALSE), Bits::FALSE);
        assert_eq!(unknown.or(Bits::TRUE).set, ALL);
        assert_eq!(unknown.and(Bits::TRUE).polled, ALL);
    }
}
