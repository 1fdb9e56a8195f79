//! Memory whose every access is checked: global memory that blocks share, shared memory of a block, and what a block sees of both.

pub mod global;
pub mod shared;
pub mod view;
pub mod weak;

use super::fault::{Access, FaultKind, Space};

/// Whether the address of an access is a multiple of its bytes.
pub(super) fn check_aligned(access: Access, space: Space) -> Result<(), FaultKind> {
    if access.address.is_multiple_of(access.bytes.into()) { Ok(()) } else { Err(FaultKind::Misaligned(access, space)) }
}

/// The bytes of a word that an access of up to four bytes touches, a bit each.
pub(super) fn byte_mask(address: u64, bytes: u32) -> u8 {
    let all = if bytes >= 4 { 0xf } else { (1u8 << bytes) - 1 };
    all << (address & 3)
}

/// A word with bytes of a mask replaced by those of another one.
pub(super) fn with_bytes(word: u32, new: u32, mask: u8) -> u32 {
    let bits = (0..4).filter(|byte| mask >> byte & 1 == 1).fold(0, |bits, byte| bits | 0xff << (8 * byte));
    word & !bits | new & bits
}
