//! Global memory: buffers at addresses that nothing else has, with a note of every byte that was written.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use super::super::fault::{Access, FaultKind, Space};
use super::check_aligned;

/// Buffers begin at multiples of this address, the first at it.
const SPACING_BITS: u32 = 36;

/// What a launch may do with a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Permission {
    /// Loads, stores and atomic operations.
    ReadWrite,
    /// Loads alone.
    ReadOnly,
}

#[derive(Debug)]
struct Buffer {
    name: &'static str,
    permission: Permission,
    bytes: u64,
    /// What an access of at most eight bytes finds at once.
    words: Vec<AtomicU64>,
    /// A bit for each byte of a word that was written.
    written: Vec<AtomicU8>,
}

/// A buffer's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferId(usize);

/// Global memory of a device. Blocks on several threads access it at once.
#[derive(Default, Debug)]
pub struct GlobalMemory {
    buffers: Vec<Buffer>,
    /// Stores and atomic operations that changed a word.
    changes: AtomicU64,
}

/// Bytes of a buffer that an access may touch.
#[derive(Clone, Copy)]
struct Place<'m> {
    buffer: &'m Buffer,
    offset: u64,
}

/// Bytes of a word.
const WORD: u64 = 8;

impl GlobalMemory {
    /// Adds a buffer with these contents, all of them written.
    pub fn add(&mut self, name: &'static str, permission: Permission, contents: &[u8]) -> BufferId {
        let id = self.add_unwritten(name, permission, contents);
        self.note_written(id, 0..contents.len());
        id
    }

    /// Adds a buffer of which nothing counts as written; what is read there regardless is its contents.
    pub fn add_unwritten(&mut self, name: &'static str, permission: Permission, contents: &[u8]) -> BufferId {
        let words = contents.chunks(WORD as usize).map(|chunk| {
            let mut bytes = [0; WORD as usize];
            bytes[..chunk.len()].copy_from_slice(chunk);
            AtomicU64::new(u64::from_le_bytes(bytes))
        });
        let words: Vec<AtomicU64> = words.collect();
        let written = words.iter().map(|_| AtomicU8::new(0)).collect();
        self.buffers.push(Buffer { name, permission, bytes: contents.len() as u64, words, written });
        BufferId(self.buffers.len() - 1)
    }

    /// The address of a buffer's first byte.
    pub fn address(&self, id: BufferId) -> u64 {
        (id.0 as u64 + 1) << SPACING_BITS
    }

    /// Makes bytes of a buffer count as written.
    pub fn note_written(&mut self, id: BufferId, bytes: Range<usize>) {
        let written = &mut self.buffers[id.0].written;
        let mut byte = bytes.start;
        while byte < bytes.end {
            let end = bytes.end.min((byte / WORD as usize + 1) * WORD as usize);
            if let Some(own) = written.get_mut(byte / WORD as usize) {
                *own.get_mut() |= byte_mask(byte as u64, (end - byte) as u32);
            }
            byte = end;
        }
    }

    /// Replaces bytes of a buffer, which are inside of it and then count as written.
    pub fn write(&mut self, id: BufferId, start: usize, bytes: &[u8]) {
        let words = &mut self.buffers[id.0].words;
        for (place, byte) in (start..).zip(bytes) {
            if let Some(word) = words.get_mut(place / WORD as usize) {
                let shift = 8 * (place % WORD as usize);
                let own = word.get_mut();
                *own = *own & !(0xff << shift) | u64::from(*byte) << shift;
            }
        }
        self.note_written(id, start..start + bytes.len());
    }

    /// The contents of a buffer.
    pub fn read(&self, id: BufferId) -> Vec<u8> {
        let buffer = &self.buffers[id.0];
        let words = buffer.words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes());
        words.take(buffer.bytes as usize).collect()
    }

    /// Bytes of a buffer, which are inside of it.
    pub fn read_range(&self, id: BufferId, bytes: Range<usize>) -> Vec<u8> {
        let words = &self.buffers[id.0].words;
        let first = bytes.start / WORD as usize;
        let end = bytes.end.div_ceil(WORD as usize).min(words.len());
        let all = words[first.min(end)..end].iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes());
        all.skip(bytes.start - first * WORD as usize).take(bytes.len()).collect()
    }

    /// Makes nothing of a buffer count as written.
    pub fn forget(&mut self, id: BufferId) {
        self.buffers[id.0].written.iter_mut().for_each(|written| *written.get_mut() = 0);
    }

    /// How often a word was changed so far.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    fn find(&self, address: u64) -> Option<(&Buffer, u64)> {
        let number = (address >> SPACING_BITS).checked_sub(1)?;
        let buffer = self.buffers.get(usize::try_from(number).ok()?)?;
        Some((buffer, address & ((1 << SPACING_BITS) - 1)))
    }

    #[inline]
    fn place(&self, access: Access) -> Result<Place<'_>, FaultKind> {
        check_aligned(access, Space::Global)?;
        match self.find(access.address) {
            Some((buffer, offset)) if offset + u64::from(access.bytes) <= buffer.bytes => Ok(Place { buffer, offset }),
            found => {
                let inside = found.map(|(buffer, _)| (buffer.name, buffer.bytes));
                Err(FaultKind::Outside(access, Space::Global, inside))
            }
        }
    }

    #[inline]
    fn writable(&self, access: Access) -> Result<Place<'_>, FaultKind> {
        let place = self.place(access)?;
        match place.buffer.permission {
            Permission::ReadWrite => Ok(place),
            Permission::ReadOnly => {
                Err(FaultKind::ReadOnly(access, Space::Global, Some((place.buffer.name, place.offset))))
            }
        }
    }

    /// Loads up to 16 bytes, the first in the lowest; up to eight are loaded at once.
    #[inline]
    pub fn load(&self, access: Access) -> Result<[u32; 4], FaultKind> {
        let place = self.place(access)?;
        let first = place.load(access, access.bytes.min(8))?;
        let second = if access.bytes > 8 { place.behind(8).load(access, 8)? } else { 0 };
        Ok([first as u32, (first >> 32) as u32, second as u32, (second >> 32) as u32])
    }

    /// The eight bytes at a multiple of eight, whatever was written; zero outside of all buffers.
    pub fn peek(&self, address: u64) -> u64 {
        let word = self.find(address).and_then(|(buffer, offset)| buffer.words.get((offset / WORD) as usize));
        word.map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Whether a store would fault.
    pub fn check_writable(&self, access: Access) -> Result<(), FaultKind> {
        self.writable(access).map(drop)
    }

    /// Stores up to 16 bytes, the first in the lowest; up to eight are stored at once.
    #[inline]
    pub fn store(&self, access: Access, words: [u32; 4]) -> Result<(), FaultKind> {
        let place = self.writable(access)?;
        let both = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        place.store(access.bytes.min(8), both(words[0], words[1]));
        if access.bytes > 8 {
            place.behind(8).store(8, both(words[2], words[3]));
        }
        self.changes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Replaces four or eight bytes by a function of them at once; gives what they were.
    pub fn update(&self, access: Access, function: impl Fn(u64) -> u64) -> Result<u64, FaultKind> {
        let place = self.writable(access)?;
        place.load(access, access.bytes)?;
        let old = place.update(access.bytes, function);
        self.changes.fetch_add(1, Ordering::Relaxed);
        Ok(old)
    }
}

impl Place<'_> {
    fn behind(self, bytes: u64) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }

    fn shift(self) -> u32 {
        8 * (self.offset % WORD) as u32
    }

    /// Loads up to eight bytes of a word, for an access of these and perhaps more.
    #[inline]
    fn load(self, access: Access, bytes: u32) -> Result<u64, FaultKind> {
        let Self { buffer, offset } = self;
        let (index, wanted) = ((offset / WORD) as usize, byte_mask(offset, bytes));
        if buffer.written[index].load(Ordering::Relaxed) & wanted != wanted {
            return Err(FaultKind::Unwritten(access, Space::Global, Some((buffer.name, offset))));
        }
        Ok(buffer.words[index].load(Ordering::Acquire) >> self.shift() & lowest(bytes))
    }

    /// Stores up to eight bytes of a word.
    #[inline]
    fn store(self, bytes: u32, value: u64) {
        let index = (self.offset / WORD) as usize;
        if bytes == 8 {
            self.buffer.words[index].store(value, Ordering::Release);
        } else {
            self.update(bytes, |_| value);
        }
        let (mask, written) = (byte_mask(self.offset, bytes), &self.buffer.written[index]);
        if written.load(Ordering::Relaxed) & mask != mask {
            written.fetch_or(mask, Ordering::Relaxed);
        }
    }

    fn update(self, bytes: u32, function: impl Fn(u64) -> u64) -> u64 {
        let (shift, bits) = (self.shift(), lowest(bytes));
        let replaced = |word: u64| {
            let new = function(word >> shift & bits) & bits;
            Some(word & !(bits << shift) | new << shift)
        };
        let word = &self.buffer.words[(self.offset / WORD) as usize];
        let old = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, replaced);
        old.unwrap_or_else(|old| old) >> shift & bits
    }
}

/// The bytes of a word that an access touches, a bit each.
fn byte_mask(offset: u64, bytes: u32) -> u8 {
    let all = ((1u16 << bytes.min(8)) - 1) as u8;
    all << (offset % WORD)
}

/// The bits of so many bytes.
fn lowest(bytes: u32) -> u64 {
    if bytes >= 8 { u64::MAX } else { (1 << (8 * bytes)) - 1 }
}
