//! The device's memory.

use std::collections::BTreeMap;

use super::super::error::CudaError;
use super::error::failure;

/// The first address that is given out.
const FIRST_ADDRESS: u64 = 0x7000_0000_0000;
/// Allocations begin at multiples of it, as the driver's do.
const ALIGNMENT: u64 = 256;

pub(super) struct Memory {
    allocations: BTreeMap<u64, Allocation>,
    next: u64,
}

/// Bytes that were allocated together.
pub(super) struct Allocation {
    pub(super) bytes: Vec<u8>,
    /// Goes up whenever the bytes become others.
    pub(super) version: u64,
}

impl Memory {
    pub(super) fn new() -> Self {
        Self { allocations: BTreeMap::new(), next: FIRST_ADDRESS }
    }

    pub(super) fn allocated_bytes(&self) -> u64 {
        self.allocations.values().map(|allocation| allocation.bytes.len() as u64).sum()
    }

    /// Memory with bytes that no program should rely on.
    pub(super) fn allocate(&mut self, bytes: usize) -> u64 {
        let address = self.next;
        // A gap, so that no address belongs to two allocations, its end included.
        self.next += (bytes as u64 + 1).next_multiple_of(ALIGNMENT);
        self.allocations.insert(address, Allocation { bytes: vec![0xa5; bytes], version: 0 });
        address
    }

    pub(super) fn free(&mut self, address: u64) {
        self.allocations.remove(&address);
    }

    /// The first address of the allocation that holds `address`, its bytes, and the byte's position in it.
    pub(super) fn at(&self, address: u64) -> Result<(u64, &Allocation, usize), CudaError> {
        let found = self.allocations.range(..=address).next_back();
        let (first, allocation) = found.ok_or_else(|| outside(address))?;
        let offset = (address - first) as usize;
        if offset < allocation.bytes.len() { Ok((*first, allocation, offset)) } else { Err(outside(address)) }
    }

    /// The bytes from `address` to the end of its allocation.
    pub(super) fn rest(&self, address: u64) -> Result<&[u8], CudaError> {
        let (_, allocation, offset) = self.at(address)?;
        Ok(&allocation.bytes[offset..])
    }

    /// The words from `address` to the end of its allocation.
    pub(super) fn words(&self, address: u64) -> Result<Vec<i32>, CudaError> {
        let words = self.rest(address)?.chunks_exact(size_of::<i32>());
        Ok(words.map(|word| i32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
    }

    pub(super) fn read(&self, address: u64, out: &mut [u8]) -> Result<(), CudaError> {
        let bytes = self.rest(address)?;
        out.copy_from_slice(bytes.get(..out.len()).ok_or_else(|| outside(address))?);
        Ok(())
    }

    /// Writes bytes; those that are there already leave the version as it is.
    pub(super) fn write(&mut self, address: u64, data: &[u8]) -> Result<(), CudaError> {
        let (first, _, offset) = self.at(address)?;
        let allocation = self.allocations.get_mut(&first).ok_or_else(|| outside(address))?;
        let place = allocation.bytes.get_mut(offset..offset + data.len()).ok_or_else(|| outside(address))?;
        if place != data {
            place.copy_from_slice(data);
            allocation.version += 1;
        }
        Ok(())
    }

    pub(super) fn write_words(&mut self, address: u64, words: &[i32]) -> Result<(), CudaError> {
        self.write(address, bytemuck::cast_slice(words))
    }
}

fn outside(address: u64) -> CudaError {
    failure("an access of device memory", format!("CUDA_ERROR_ILLEGAL_ADDRESS: {address:#x}"))
}
