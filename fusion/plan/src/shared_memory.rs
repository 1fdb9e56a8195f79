//! Banks of shared memory: how many wavefronts a load of a warp takes.

use warpweave_graph::ElementType;
use warpweave_graph::numerics::WORD_BYTES;

/// Lanes of a warp, and banks of shared memory.
pub const WARP: usize = 32;

/// The width of a load from shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedWidth {
    /// One word of 32 bits.
    Word,
    /// Two neighbouring words, aligned; served half a warp at a time.
    TwoWords,
    /// Four neighbouring words, aligned; served a quarter warp at a time.
    FourWords,
}

impl SharedWidth {
    /// The width of 1, 2 or 4 words.
    pub fn of(words: usize) -> Self {
        match words {
            1 => Self::Word,
            2 => Self::TwoWords,
            _ => Self::FourWords,
        }
    }

    /// The width of so many neighbouring elements.
    pub fn of_elements(elements: usize, element: ElementType) -> Self {
        Self::of((elements * element.bytes()).div_ceil(WORD_BYTES))
    }

    /// Words of a lane.
    pub fn words(self) -> usize {
        match self {
            Self::Word => 1,
            Self::TwoWords => 2,
            Self::FourWords => 4,
        }
    }
}

/// Wavefronts of one load of a warp against the ideal, from the index of the first word that each lane loads. Lanes
/// that load the same word share it, different words of one bank are served one after another. The result is less than
/// 1 where groups of lanes are served together.
pub fn conflict_degree(first_words: &[u64], width: SharedWidth) -> f64 {
    let words = width.words();
    let ideal = first_words.len().div_ceil(WARP / words).max(1);
    let lanes: Vec<Option<u64>> = first_words.iter().copied().map(Some).collect();
    let groups = first_words.chunks(lanes_together(&lanes, width));
    let wavefronts: usize = groups.map(|lanes| wavefronts(lanes, words as u64)).sum();
    wavefronts as f64 / ideal as f64
}

/// Lanes of a warp whose load is served together, from where each lane loads; a lane that loads nothing has no place.
///
/// As many lanes as have 128 bytes. Two such groups of wide loads are served together if each lane loads what lane
/// n ^ 1 does, or each what lane n ^ 2 does. The vendor's forum (thread 77228) states this of compute capability 7.x,
/// and counters of an H100 posted there agree.
pub fn lanes_together<P: PartialEq>(places: &[Option<P>], width: SharedWidth) -> usize {
    let together = WARP / width.words();
    let shared = |distance: usize| {
        let pair = |(lane, place): (usize, &Option<P>)| match (place, places.get(lane ^ distance)) {
            (Some(place), Some(Some(other))) => place == other,
            _ => true,
        };
        places.iter().enumerate().all(pair)
    };
    if width != SharedWidth::Word && (shared(1) || shared(2)) { 2 * together } else { together }
}

fn wavefronts(lanes: &[u64], words: u64) -> usize {
    let mut touched = [0; 2 * WARP];
    let count = lanes.len() * words as usize;
    let places = touched.iter_mut().zip(lanes.iter().flat_map(|&first| first..first + words));
    places.for_each(|(place, word)| *place = word);
    let touched = &mut touched[..count];
    touched.sort_unstable();
    let mut banks = [0usize; WARP];
    for (at, word) in touched.iter().enumerate() {
        if at == 0 || touched[at - 1] != *word {
            banks[(word % WARP as u64) as usize] += 1;
        }
    }
    banks.into_iter().max().unwrap_or(0).max(1)
}
