//! What the memory system of a GPU would do for one access of a warp.

/// Distinct 32-byte sectors; lanes that do not take part have a negative address.
pub fn sectors(addresses: &[i64; 32], size: i64) -> u64 {
    let mut touched: Vec<i64> = Vec::with_capacity(64);
    for &address in addresses.iter().filter(|address| **address >= 0) {
        touched.extend(address / 32..=(address + size - 1) / 32);
    }
    touched.sort_unstable();
    touched.dedup();
    touched.len() as u64
}

/// Wavefronts of a shared access of `size` bytes a lane at element `indices`, negative for lanes that do not take part:
/// a wavefront serves 32 banks of four bytes, one word of each.
pub fn wavefronts(indices: &[i64; 32], size: u32, element: u32, base: u32) -> u64 {
    let together = 32 / size.div_ceil(4).max(1) as usize;
    let mut total = 0;
    for lanes in indices.chunks(together.max(1)) {
        let mut words: Vec<i64> = Vec::with_capacity(64);
        for &index in lanes.iter().filter(|index| **index >= 0) {
            let first = i64::from(base) + index * i64::from(element);
            words.extend(first / 4..=(first + i64::from(size) - 1) / 4);
        }
        words.sort_unstable();
        words.dedup();
        let mut banks = [0u64; 32];
        for word in words {
            banks[(word % 32) as usize] += 1;
        }
        total += banks.into_iter().max().unwrap_or(0);
    }
    total
}
