//! Shared memory of a block.

use super::super::fault::{Access, FaultKind, Space};
use super::{byte_mask, check_aligned, with_bytes};

/// Bytes at the start of a block's window that belong to the system.
pub const RESERVED_BYTES: u32 = 1024;

/// Shared memory of a block, with a note of every byte that was written.
#[derive(Clone, Debug)]
pub struct SharedMemory {
    first: u32,
    words: Vec<u32>,
    written: Vec<u8>,
}

/// The window of a block's own shared memory; what is above names a block of the cluster.
const WINDOW_MASK: u64 = 0x00ff_ffff;

impl SharedMemory {
    /// Memory of so many bytes behind those of the system.
    pub fn new(reserved: u32, bytes: u32) -> Self {
        let words = bytes.div_ceil(4) as usize;
        Self { first: reserved, words: vec![0; words], written: vec![0; words] }
    }

    #[inline]
    fn place(&self, access: Access) -> Result<usize, FaultKind> {
        check_aligned(access, Space::Shared)?;
        let offset = access.address.wrapping_sub(self.first.into());
        let size = 4 * self.words.len() as u64;
        if offset.checked_add(access.bytes.into()).is_some_and(|end| end <= size) {
            Ok((offset / 4) as usize)
        } else {
            Err(FaultKind::Outside(access, Space::Shared, Some(("the block's memory", size))))
        }
    }

    /// Loads up to 16 bytes, the first in the lowest; above fewer than four stands what follows them.
    #[inline]
    pub fn load(&self, access: Access) -> Result<[u32; 4], FaultKind> {
        let access = in_window(access);
        let word = self.place(access)?;
        let mask = byte_mask(access.address, access.bytes);
        let mut words = [0; 4];
        for (distance, loaded) in words.iter_mut().enumerate().take(access.bytes.div_ceil(4) as usize) {
            if self.written[word + distance] & mask != mask {
                return Err(FaultKind::Unwritten(access, Space::Shared, None));
            }
            *loaded = self.words[word + distance];
        }
        if access.bytes < 4 {
            words[0] >>= 8 * (access.address & 3);
        }
        Ok(words)
    }

    /// Stores up to 16 bytes, the first in the lowest.
    #[inline]
    pub fn store(&mut self, access: Access, words: [u32; 4]) -> Result<(), FaultKind> {
        let access = in_window(access);
        let word = self.place(access)?;
        let mask = byte_mask(access.address, access.bytes);
        for (distance, new) in words.into_iter().enumerate().take(access.bytes.div_ceil(4) as usize) {
            let shifted = if mask == 0xf { new } else { new << (8 * (access.address & 3)) };
            let own = &mut self.words[word + distance];
            *own = with_bytes(*own, shifted, mask);
            self.written[word + distance] |= mask;
        }
        Ok(())
    }
}

/// The same access within the block's own window.
fn in_window(access: Access) -> Access {
    Access { address: access.address & WINDOW_MASK, ..access }
}
