//! Memory as a block sees it.

use super::super::fault::{Access, FaultKind};
use super::global::GlobalMemory;
use super::shared::SharedMemory;
use super::weak::WeakState;

/// How a load or store of global memory is ordered and cached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Not at all: the first-level cache may hold an earlier value, and a store may leave late.
    Weak,
    /// Where all blocks meet, with no other access before or behind it.
    Strong,
    /// A load of what no launch writes.
    NonCoherent,
}

/// Bytes that are copied from global to shared memory while the lane goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copy {
    /// What is copied of global memory.
    pub from: Access,
    /// How that is ordered and cached.
    pub order: Order,
    /// The address in shared memory.
    pub to: u64,
    /// How many of the bytes are read. Zeros stand for the others.
    pub read: u32,
}

/// Memory as a block sees it.
pub struct MemoryView<'a> {
    /// What all blocks share.
    pub global: &'a GlobalMemory,
    /// What the threads of the block share.
    pub shared: &'a mut SharedMemory,
    /// What makes the block see as little as the model allows, if asked for.
    pub weak: Option<&'a mut WeakState>,
}

impl MemoryView<'_> {
    /// Loads up to 16 bytes of global memory.
    #[inline]
    pub fn load(&mut self, access: Access, order: Order) -> Result<[u32; 4], FaultKind> {
        match &mut self.weak {
            None => self.global.load(access),
            Some(weak) => weak.load(self.global, access, order),
        }
    }

    /// Stores up to 16 bytes to global memory.
    #[inline]
    pub fn store(&mut self, access: Access, words: [u32; 4], order: Order) -> Result<(), FaultKind> {
        match &mut self.weak {
            None => self.global.store(access, words),
            Some(weak) => weak.store(self.global, access, words, order),
        }
    }

    /// Replaces four or eight bytes of global memory by a function of them; gives what they were.
    pub fn update(&mut self, access: Access, function: impl Fn(u64) -> u64) -> Result<u64, FaultKind> {
        if let Some(weak) = &mut self.weak {
            weak.drain_at(self.global, access);
        }
        self.global.update(access, function)
    }

    /// Makes all blocks see what this one has stored.
    pub fn fence(&mut self) {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        if let Some(weak) = &mut self.weak {
            weak.drain(self.global);
        }
    }

    /// Empties the first-level cache.
    pub fn invalidate(&mut self) {
        if let Some(weak) = &mut self.weak {
            weak.invalidate();
        }
    }

    /// Copies from global to shared memory: at once, or as late as waits of the warp allow.
    pub fn copy(&mut self, warp: usize, copy: Copy) -> Result<(), FaultKind> {
        match &mut self.weak {
            None => self.land(copy),
            Some(weak) => {
                weak.begin_copy(warp, copy);
                Ok(())
            }
        }
    }

    /// Makes one group of a warp's copies so far.
    pub fn commit_copies(&mut self, warp: usize) {
        if let Some(weak) = &mut self.weak {
            weak.commit_copies(warp);
        }
    }

    /// Lands copies of a warp until at most so many groups are left.
    pub fn await_copies(&mut self, warp: usize, left: usize) -> Result<(), FaultKind> {
        let landing = self.weak.as_mut().map_or_else(Vec::new, |weak| weak.landing(warp, left));
        landing.into_iter().try_for_each(|copy| self.land(copy))
    }

    fn land(&mut self, copy: Copy) -> Result<(), FaultKind> {
        let Copy { from, order, to, read } = copy;
        let words = if read == from.bytes { self.load(from, order)? } else { self.load_first(copy)? };
        self.shared.store(Access { address: to, ..from }, words)
    }

    /// Loads the bytes of a copy that are read, one by one, and zeros for the others.
    fn load_first(&mut self, Copy { from, order, read, .. }: Copy) -> Result<[u32; 4], FaultKind> {
        let mut words = [0; 4];
        for offset in 0..read {
            let access = Access { address: from.address + u64::from(offset), bytes: 1, ..from };
            let [byte, ..] = self.load(access, order)?;
            words[(offset / 4) as usize] |= (byte & 0xff) << (8 * (offset % 4));
        }
        Ok(words)
    }
}
