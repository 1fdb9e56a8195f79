//! What the interpreter knows of a predicate: a bit of each lane, or that it depends on data.

use super::value::{ALL, LANES, Value};

/// A predicate of a warp: a bit a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    /// Lanes where it is true, as far as known.
    pub set: u32,
    /// Lanes where it is known.
    pub known: u32,
    /// Lanes where it is not known because it depends on what was polled.
    pub polled: u32,
    /// What it is for ordinary data, in the lanes where it is not known.
    pub ordinary: Option<bool>,
}

impl Bits {
    /// True everywhere.
    pub const TRUE: Self = Self { set: ALL, known: ALL, ..Self::UNKNOWN };
    /// False everywhere.
    pub const FALSE: Self = Self { known: ALL, ..Self::UNKNOWN };
    /// Known nowhere.
    pub const UNKNOWN: Self = Self { set: 0, known: 0, polled: 0, ordinary: None };

    /// What holds where `known` says so, and else for ordinary data as `holds` says of what each source is there.
    fn of<const N: usize>(sources: [Self; N], set: u32, known: u32, holds: impl Fn([bool; N]) -> bool) -> Self {
        let polled = sources.iter().fold(0, |polled, source| polled | source.polled) & !known;
        let ordinary = first_unknown(known).and_then(|lane| {
            let mut each = [false; N];
            for (bit, source) in each.iter_mut().zip(&sources) {
                *bit = source.ordinary_bit(lane)?;
            }
            Some(holds(each))
        });
        Self { set: set & known, known, polled, ordinary }
    }

    /// A lane's bit, that of ordinary data where it is not known.
    pub fn ordinary_bit(self, lane: usize) -> Option<bool> {
        if self.known >> lane & 1 == 1 { Some(self.set >> lane & 1 == 1) } else { self.ordinary }
    }

    /// The contrary.
    pub fn not(self) -> Self {
        Self { set: !self.set & self.known, ordinary: self.ordinary.map(|bit| !bit), ..self }
    }

    /// Both. False where one is known to be false.
    pub fn and(self, other: Self) -> Self {
        let both = self.known & other.known;
        let known = both | self.known & !self.set | other.known & !other.set;
        Self::of([self, other], self.set & other.set & both, known, |[left, right]| left && right)
    }

    /// One or both. True where one is known to be true.
    pub fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    /// One of both.
    pub fn xor(self, other: Self) -> Self {
        Self::of([self, other], self.set ^ other.set, self.known & other.known, |[left, right]| left != right)
    }

    /// A table's entry in each lane: known if all entries that remain possible agree.
    pub fn looked_up(table: u32, inputs: [Self; 3]) -> Self {
        let (mut can_be_true, mut can_be_false) = (0, 0);
        for entry in 0..8u32 {
            let possible = (0..3).fold(ALL, |lanes, place| {
                let bits = inputs[2 - place];
                let wanted = if entry >> place & 1 == 1 { bits.set } else { !bits.set };
                lanes & (wanted | !bits.known)
            });
            if table >> entry & 1 == 1 { can_be_true |= possible } else { can_be_false |= possible }
        }
        Self::of(inputs, can_be_true, can_be_true ^ can_be_false, |bits| {
            table >> bits.into_iter().fold(0, |entry, bit| entry << 1 | u32::from(bit)) & 1 == 1
        })
    }

    /// Replaces the lanes of `mask`.
    pub fn merge(&mut self, mask: u32, new: Self) {
        self.set = self.set & !mask | new.set & mask;
        self.known = self.known & !mask | new.known & mask;
        self.polled = self.polled & !mask | new.polled & mask;
        if !new.known & mask != 0 {
            self.ordinary = new.ordinary;
        }
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
        Self { set, known, polled, ordinary: Value::ordinary_words(sources, known).map(holds) }
    }
}

/// A lane that is not known.
pub fn first_unknown(known: u32) -> Option<usize> {
    (known != ALL).then_some((!known).trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_data_decides_where_nothing_is_known() {
        let data = Bits { ordinary: Some(true), ..Bits::UNKNOWN };
        let lanes = Bits { set: 1, ..Bits::FALSE };
        assert_eq!(data.and(Bits::FALSE), Bits::FALSE);
        assert_eq!(data.or(Bits::TRUE).set, ALL);
        assert_eq!((data.and(lanes).known, data.and(lanes).ordinary), (ALL - 1, Some(true)));
        assert_eq!(data.xor(lanes).ordinary, Some(false));
        assert_eq!(Bits::looked_up(0x80, [data, lanes, Bits::TRUE]), data.and(lanes));
        assert_eq!(Bits::UNKNOWN.and(data).ordinary, None);
    }
}
