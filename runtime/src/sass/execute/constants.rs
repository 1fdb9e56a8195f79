//! Constant banks of a launch.

use super::fault::{Access, FaultKind, Space};

/// Banks that code can name.
const BANKS: usize = 8;

/// Constant banks by number.
#[derive(Clone, Default, Debug)]
pub struct Constants {
    banks: [Vec<u8>; BANKS],
}

impl Constants {
    /// Makes a bank hold these bytes.
    pub fn set_bank(&mut self, bank: u8, bytes: Vec<u8>) {
        if let Some(own) = self.banks.get_mut(usize::from(bank)) {
            *own = bytes;
        }
    }

    /// Sets bytes of a bank, which are inside of it.
    pub fn write(&mut self, bank: u8, offset: usize, bytes: &[u8]) {
        let own = self.banks.get_mut(usize::from(bank));
        if let Some(place) = own.and_then(|own| own.get_mut(offset..offset.checked_add(bytes.len())?)) {
            place.copy_from_slice(bytes);
        }
    }

    /// The word at a byte of a bank.
    #[inline]
    pub fn word(&self, bank: u8, offset: u32) -> Result<u32, FaultKind> {
        let own = self.banks.get(usize::from(bank));
        let start = offset as usize;
        let bytes = own.and_then(|bytes| bytes.get(start..start.checked_add(4)?));
        let outside = || {
            let access = Access { lane: 0, address: offset.into(), bytes: 4 };
            let inside = own.map(|bytes| ("the bank", bytes.len() as u64));
            FaultKind::Outside(access, Space::Constant(bank), inside)
        };
        let bytes = bytes.ok_or_else(outside)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}
