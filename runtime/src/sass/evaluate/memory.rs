//! Memory whose contents are known in part.

use std::collections::HashMap;

/// Global memory: regions with known contents, and what the block itself has stored.
#[derive(Clone, Default, Debug)]
pub struct GlobalMemory {
    regions: Vec<Region>,
    stored: HashMap<u64, Option<u32>>,
}

#[derive(Clone, Debug)]
struct Region {
    start: u64,
    words: Vec<u32>,
}

impl GlobalMemory {
    /// Makes the words from `start` on known.
    pub fn add(&mut self, start: u64, words: Vec<u32>) {
        self.regions.push(Region { start, words });
    }

    /// The word at an address, a multiple of four, if it is known.
    pub fn load(&self, address: u64) -> Option<u32> {
        if let Some(stored) = self.stored.get(&address) {
            return *stored;
        }
        let inside =
            |region: &&Region| address >= region.start && (address - region.start) / 4 < region.words.len() as u64;
        let region = self.regions.iter().find(inside)?;
        Some(region.words[((address - region.start) / 4) as usize])
    }

    /// Stores a word, or data. What was never known need not be remembered.
    pub fn store(&mut self, address: u64, word: Option<u32>) {
        if word.is_some() || self.load(address).is_some() {
            self.stored.insert(address, word);
        }
    }
}

/// Shared memory of a block.
#[derive(Clone, Default, Debug)]
pub struct SharedMemory {
    words: Vec<Option<u32>>,
}

impl SharedMemory {
    /// The word at a byte address, if it is known.
    pub fn load(&self, address: u32) -> Option<u32> {
        self.words.get(address as usize / 4).copied().flatten()
    }

    /// Stores a word, or data.
    pub fn store(&mut self, address: u32, word: Option<u32>) {
        let index = address as usize / 4;
        if index >= self.words.len() {
            if word.is_none() || index > LIMIT_WORDS {
                return;
            }
            self.words.resize(index + 1, None);
        }
        self.words[index] = word;
    }
}

/// Beyond the shared memory of any multiprocessor.
const LIMIT_WORDS: usize = 1 << 17;
