//! What a launch gives to a block: its place in the grid, constants and memory.

use std::collections::HashMap;

use super::memory::GlobalMemory;
use super::value::{ALL, LANES, Value};

/// Where the parameters of an entry begin in constant bank 0 of sm_90.
pub const PARAMETERS: u32 = 0x210;
const DESCRIPTOR: u32 = 0x208;
const STACK: u32 = 0x28;
const BLOCK_DIMENSIONS: u32 = 0x0;
const GRID_DIMENSIONS: u32 = 0xc;

/// A block of a launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Threads of a block.
    pub threads: u32,
    /// The block.
    pub block: u32,
    /// Global memory.
    pub memory: GlobalMemory,
    banks: HashMap<u8, Vec<Option<u8>>>,
}

impl Launch {
    /// A block of a grid of `blocks` blocks, with these words as parameters.
    pub fn new(threads: u32, block: u32, blocks: u32, parameters: &[u32]) -> Self {
        let mut launch = Self { threads, block, memory: GlobalMemory::default(), banks: HashMap::new() };
        for (offset, word) in [(BLOCK_DIMENSIONS, threads), (GRID_DIMENSIONS, blocks), (STACK, 0)] {
            launch.set(0, offset, word);
        }
        for axis in 1..3 {
            launch.set(0, BLOCK_DIMENSIONS + 4 * axis, 1);
            launch.set(0, GRID_DIMENSIONS + 4 * axis, 1);
        }
        for half in 0..2 {
            launch.set(0, DESCRIPTOR + 4 * half, 0);
        }
        for (place, word) in (PARAMETERS..).step_by(4).zip(parameters) {
            launch.set(0, place, *word);
        }
        launch
    }

    /// Sets a word of a constant bank.
    pub fn set(&mut self, bank: u8, offset: u32, word: u32) {
        let bytes = word.to_le_bytes();
        self.set_bytes(bank, offset, &bytes);
    }

    /// Sets bytes of a constant bank.
    pub fn set_bytes(&mut self, bank: u8, offset: u32, bytes: &[u8]) {
        let words = self.banks.entry(bank).or_default();
        let end = offset as usize + bytes.len();
        if words.len() < end {
            words.resize(end, None);
        }
        for (place, byte) in words[offset as usize..end].iter_mut().zip(bytes) {
            *place = Some(*byte);
        }
    }

    /// The word of a constant bank at an offset, if it is known.
    fn constant(&self, bank: u8, offset: u32) -> Option<u32> {
        let start = offset as usize;
        let bytes = self.banks.get(&bank)?.get(start..start.checked_add(4)?)?;
        let mut word = [0; 4];
        for (byte, known) in word.iter_mut().zip(bytes) {
            *byte = (*known)?;
        }
        Some(u32::from_le_bytes(word))
    }

    /// The words of a constant bank at these offsets plus `distance`.
    pub fn constants(&self, bank: u8, offsets: &Value, distance: u32) -> Value {
        let mut value = Value::UNKNOWN;
        if let Some(offset) = offsets.uniform(ALL) {
            return self.constant(bank, offset.wrapping_add(distance)).map_or(value, Value::splat);
        }
        for lane in (0..LANES).filter(|lane| offsets.known >> lane & 1 == 1) {
            if let Some(word) = self.constant(bank, offsets.lanes[lane].wrapping_add(distance)) {
                value.lanes[lane] = word;
                value.known |= 1 << lane;
            }
        }
        value
    }
}
