//! The least that the memory model promises to a block, by chance from a seed.
//!
//! A first-level cache holds what the block has loaded until the code itself empties it. Stores leave in any order until a fence,
//! and those to one address in theirs. Copies land at the last moment that waits allow. The model is that of PTX's memory
//! consistency model for `.weak` accesses, narrowed to one block: its own threads see its stores at once.

use std::collections::{HashMap, VecDeque};

use super::super::fault::{Access, FaultKind};
use super::global::GlobalMemory;
use super::view::{Copy, Order};

/// Bytes that a load brings into a cache: what lies beside it gets old with it.
const LINE_BYTES: u64 = 128;
/// Stores that wait at most; the oldest leaves for another.
const MOST_PENDING: usize = 4096;

/// What a block sees of global memory that others do not, and the reverse.
#[derive(Clone, Debug)]
pub struct WeakState {
    random: u64,
    cache: HashMap<u64, u64>,
    constants: HashMap<u64, u64>,
    pending: VecDeque<Store>,
    copies: HashMap<usize, Copies>,
}

/// A store that has not left.
#[derive(Clone, Copy, Debug)]
struct Store {
    access: Access,
    words: [u32; 4],
}

/// The copies of a warp.
#[derive(Clone, Default, Debug)]
struct Copies {
    open: Vec<Copy>,
    groups: VecDeque<Vec<Copy>>,
}

impl Store {
    fn overlaps(&self, other: Access) -> bool {
        let end = |access: Access| access.address + u64::from(access.bytes);
        self.access.address < end(other) && other.address < end(self.access)
    }

    /// Puts its bytes over those of eight at an address.
    fn overlay(&self, address: u64, word: u64) -> u64 {
        let Access { address: first, bytes: count, .. } = self.access;
        let mut bytes = word.to_le_bytes();
        for (at, byte) in (address..).zip(&mut bytes) {
            if let Some(own) = at.checked_sub(first).filter(|own| *own < count.into()) {
                *byte = (self.words[(own / 4) as usize] >> (8 * (own % 4))) as u8;
            }
        }
        u64::from_le_bytes(bytes)
    }
}

impl WeakState {
    /// Of a block that has done nothing.
    pub fn new(seed: u64) -> Self {
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let (cache, constants) = (HashMap::new(), HashMap::new());
        Self { random, cache, constants, pending: VecDeque::new(), copies: HashMap::new() }
    }

    /// How many instructions the next turn of a warp has: none, some or many, so that warps drift apart.
    pub fn turn(&mut self) -> u64 {
        const TURNS: [u64; 6] = [0, 0, 4, 32, 256, 2048];
        TURNS[self.below(TURNS.len())]
    }

    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % bound.max(1)
    }

    /// Loads up to 16 bytes.
    pub fn load(&mut self, global: &GlobalMemory, access: Access, order: Order) -> Result<[u32; 4], FaultKind> {
        // What is wrong with the access is said of memory itself; a store that is on its way has written, too.
        let is_pending = self.pending.iter().any(|store| store.overlaps(access));
        match global.load(access) {
            Err(FaultKind::Unwritten(..)) if is_pending => {}
            Err(fault) => return Err(fault),
            Ok(_) => {}
        }
        let Access { address, bytes, .. } = access;
        let mut words = [0; 4];
        let first = address & !7;
        for at in (first..address + u64::from(bytes)).step_by(8) {
            let value = self.word(global, at, order);
            for half in 0..2 {
                let place = (at + 4 * half).wrapping_sub(address & !3) / 4;
                if let Some(own) = words.get_mut(place as usize) {
                    *own = (value >> (32 * half)) as u32;
                }
            }
        }
        if bytes < 4 {
            words[0] = words[0] >> (8 * (address & 3)) & ((1 << (8 * bytes)) - 1);
        }
        Ok(words)
    }

    /// The eight bytes at an address as the block sees them.
    fn word(&mut self, global: &GlobalMemory, at: u64, order: Order) -> u64 {
        let cached = match order {
            Order::Weak => self.cache.get(&at),
            Order::NonCoherent => self.constants.get(&at),
            Order::Strong => None,
        };
        if let Some(cached) = cached {
            return *cached;
        }
        if order == Order::Strong {
            return self.seen(global, at);
        }
        let line = at & !(LINE_BYTES - 1);
        for word in (line..line + LINE_BYTES).step_by(8) {
            let value = self.seen(global, word);
            let cache = if order == Order::Weak { &mut self.cache } else { &mut self.constants };
            // What of a line is there already stays as old as it is.
            cache.entry(word).or_insert(value);
        }
        self.seen(global, at)
    }

    /// The eight bytes at an address in memory, under the block's own stores that have not left.
    fn seen(&self, global: &GlobalMemory, at: u64) -> u64 {
        let word = Access { lane: 0, address: at, bytes: 8 };
        let overlapping = self.pending.iter().filter(|store| store.overlaps(word));
        overlapping.fold(global.peek(at), |word, store| store.overlay(at, word))
    }

    /// Stores up to 16 bytes: at once where the store is strong, some time later otherwise.
    pub fn store(
        &mut self,
        global: &GlobalMemory,
        access: Access,
        words: [u32; 4],
        order: Order,
    ) -> Result<(), FaultKind> {
        global.check_writable(access)?;
        let store = Store { access, words };
        for at in (access.address & !7..access.address + u64::from(access.bytes)).step_by(8) {
            if let Some(cached) = self.cache.get_mut(&at) {
                *cached = store.overlay(at, *cached);
            }
        }
        if order == Order::Strong {
            self.drain_at(global, access);
            return global.store(access, words);
        }
        self.pending.push_back(store);
        if self.pending.len() > MOST_PENDING {
            self.leave(global, 0);
        }
        Ok(())
    }

    /// Lets a store leave, and before it those to its address that came before it.
    fn leave(&mut self, global: &GlobalMemory, position: usize) {
        let Some(chosen) = self.pending.get(position).copied() else { return };
        let mut kept = VecDeque::with_capacity(self.pending.len());
        for (index, store) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            let goes = index <= position && store.overlaps(chosen.access);
            // It was checked when it was issued.
            if !goes || global.store(store.access, store.words).is_err() {
                kept.push_back(store);
            }
        }
        self.pending = kept;
    }

    /// Whether every store has left.
    pub fn is_drained(&self) -> bool {
        self.pending.is_empty()
    }

    /// Lets some stores leave by chance.
    pub fn shake(&mut self, global: &GlobalMemory) {
        for _ in 0..self.below(3) {
            let position = self.below(self.pending.len());
            self.leave(global, position);
        }
    }

    /// Lets the stores leave that an access must not overtake.
    pub fn drain_at(&mut self, global: &GlobalMemory, access: Access) {
        while let Some(position) = self.pending.iter().position(|store| store.overlaps(access)) {
            self.leave(global, position);
        }
    }

    /// Lets all stores leave, in any order.
    pub fn drain(&mut self, global: &GlobalMemory) {
        while !self.pending.is_empty() {
            let position = self.below(self.pending.len());
            self.leave(global, position);
        }
    }

    /// Empties the first-level cache.
    pub fn invalidate(&mut self) {
        self.cache.clear();
    }

    /// Notes a copy that a warp has begun.
    pub fn begin_copy(&mut self, warp: usize, copy: Copy) {
        self.copies.entry(warp).or_default().open.push(copy);
    }

    /// Makes one group of a warp's copies so far.
    pub fn commit_copies(&mut self, warp: usize) {
        let copies = self.copies.entry(warp).or_default();
        let group = std::mem::take(&mut copies.open);
        copies.groups.push_back(group);
    }

    /// The copies that must land so that at most so many groups of a warp are left.
    pub fn landing(&mut self, warp: usize, left: usize) -> Vec<Copy> {
        let copies = self.copies.entry(warp).or_default();
        let over = copies.groups.len().saturating_sub(left);
        copies.groups.drain(..over).flatten().collect()
    }
}
