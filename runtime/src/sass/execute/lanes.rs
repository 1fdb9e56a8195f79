//! A word in each lane of a warp.

/// Lanes of a warp.
pub const LANES: usize = 32;
/// All lanes.
pub const ALL: u32 = u32::MAX;

/// A word of each lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(64))]
pub struct Lanes(pub [u32; LANES]);

impl Lanes {
    /// Zero in every lane.
    pub const ZERO: Self = Self([0; LANES]);

    /// The same word in every lane.
    pub fn splat(word: u32) -> Self {
        Self([word; LANES])
    }

    /// A word of each lane.
    pub fn of(word: impl FnMut(usize) -> u32) -> Self {
        Self(std::array::from_fn(word))
    }

    /// A function of each word.
    #[inline(always)]
    pub fn map(&self, function: impl Fn(u32) -> u32) -> Self {
        Self(std::array::from_fn(|lane| function(self.0[lane])))
    }

    /// The lanes whose word a test holds of.
    #[inline(always)]
    pub fn mask(&self, holds: impl Fn(u32) -> bool) -> u32 {
        (0..LANES).fold(0, |mask, lane| mask | u32::from(holds(self.0[lane])) << lane)
    }

    /// Replaces the words in the lanes of `mask`.
    #[inline(always)]
    pub fn merge(&mut self, mask: u32, other: &Self) {
        if mask == ALL {
            *self = *other;
        } else {
            for lane in 0..LANES {
                let chosen = 0u32.wrapping_sub(mask >> lane & 1);
                self.0[lane] = self.0[lane] & !chosen | other.0[lane] & chosen;
            }
        }
    }
}

/// The lanes of a mask, lowest first.
pub fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
        rest &= rest - 1;
        Some(lane)
    })
}

/// The lanes that a test holds of.
#[inline(always)]
pub fn lanes_where(holds: impl Fn(usize) -> bool) -> u32 {
    (0..LANES).fold(0, |mask, lane| mask | u32::from(holds(lane)) << lane)
}
