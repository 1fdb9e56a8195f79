//! Bytes that are aligned to the elements of any tensor.

use std::mem::size_of;

use bytes::Bytes;

/// Bytes whose address is a multiple of 8.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AlignedBytes {
    words: Box<[u64]>,
    bytes: usize,
}

impl AlignedBytes {
    /// A buffer of one value.
    pub fn filled(bytes: usize, byte: u8) -> Self {
        let word = u64::from_ne_bytes([byte; size_of::<u64>()]);
        Self { words: vec![word; bytes.div_ceil(size_of::<u64>())].into(), bytes }
    }

    /// Copies what may lie at any address.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut copy = Self::filled(bytes.len(), 0);
        copy.as_mut().copy_from_slice(bytes);
        copy
    }

    /// The same to be shared, where they lie.
    pub fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for AlignedBytes {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }
}

impl AsMut<[u8]> for AlignedBytes {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.bytes]
    }
}
