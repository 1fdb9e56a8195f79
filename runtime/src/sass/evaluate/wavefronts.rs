//! How often an access passes through the data path of shared memory and the first-level cache.

/// Bytes that pass at once: 32 banks of four bytes.
const WAVEFRONT_BYTES: u64 = 128;
const BANKS: usize = 32;
const SECTOR_BYTES: u64 = 32;

/// Passes of an access to shared memory at these addresses, `None` where a lane takes no part, each of `bytes` bytes.
///
/// Words of up to four bytes go through together; wider ones go in groups of 16 or 8 lanes, as many as have 128 bytes.
/// Two groups go through together if each lane reads what its neighbour reads, lane n and n ^ 1 or lane n and n ^ 2.
/// The vendor's forum (thread 77228) states this rule for compute capability 7.x, and counters of an H100 posted there
/// agree. In each pass a bank gives one word; the same word goes to any number of lanes.
pub fn shared(addresses: &[Option<u64>; 32], bytes: u32) -> u16 {
    let lanes_together = (WAVEFRONT_BYTES / u64::from(bytes.max(4))) as usize;
    let doubled = if bytes > 4 && (paired(addresses, 1) || paired(addresses, 2)) { 2 } else { 1 };
    let mut passes = 0;
    for group in addresses.chunks((lanes_together * doubled).min(32)) {
        passes += conflicts(group, bytes);
    }
    passes
}

fn paired(addresses: &[Option<u64>; 32], distance: usize) -> bool {
    (0..32).all(|lane| match (addresses[lane], addresses[lane ^ distance]) {
        (Some(address), Some(other)) => address == other,
        _ => true,
    })
}

/// The most distinct words of one bank.
fn conflicts(group: &[Option<u64>], bytes: u32) -> u16 {
    let mut words: [Vec<u64>; BANKS] = std::array::from_fn(|_| Vec::new());
    for address in group.iter().flatten() {
        for word in address / 4..(address + u64::from(bytes)).div_ceil(4) {
            let bank = &mut words[word as usize % BANKS];
            if !bank.contains(&word) {
                bank.push(word);
            }
        }
    }
    words.iter().map(Vec::len).max().unwrap_or(0) as u16
}

/// Passes of a load of matrices whose rows of 16 bytes lie at these addresses, eight a matrix.
pub fn matrices(rows: &[Option<u64>; 32]) -> u16 {
    rows.chunks(8).map(|matrix| conflicts(matrix, 16)).sum()
}

/// The sectors of an access to global memory.
pub fn sectors(addresses: &[Option<u64>; 32], bytes: u32) -> Vec<u64> {
    let touched = |address: &u64| address / SECTOR_BYTES..(address + u64::from(bytes)).div_ceil(SECTOR_BYTES);
    let mut sectors: Vec<u64> = addresses.iter().flatten().flat_map(touched).collect();
    sectors.sort_unstable();
    sectors.dedup();
    sectors
}

/// Passes of an access to global memory through the first-level cache: a line of 128 bytes each, and no more than 128 bytes to
/// registers in each.
pub fn global(sectors: &[u64], lanes: u32, bytes: u32) -> u16 {
    let line = |sector: &u64| sector * SECTOR_BYTES / WAVEFRONT_BYTES;
    let lines = sectors.chunk_by(|left, right| line(left) == line(right)).count();
    let returned = (u64::from(lanes) * u64::from(bytes.max(4))).div_ceil(WAVEFRONT_BYTES);
    (lines as u64).max(returned) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: impl Fn(u64) -> u64) -> [Option<u64>; 32] {
        std::array::from_fn(|lane| Some(address(lane as u64)))
    }

    #[test]
    fn known_patterns_take_known_passes() {
        assert_eq!(shared(&at(|lane| 4 * lane), 4), 1);
        assert_eq!(shared(&at(|_| 64), 4), 1, "one word for all");
        assert_eq!(shared(&at(|lane| 8 * lane), 4), 2);
        assert_eq!(shared(&at(|lane| 128 * lane), 4), 32);
        assert_eq!(shared(&at(|lane| 132 * lane), 4), 1, "a padded column");
        assert_eq!(shared(&at(|lane| 8 * lane), 8), 2);
        assert_eq!(shared(&at(|lane| 16 * lane), 16), 4);
        assert_eq!(shared(&at(|lane| 16 * (lane / 16)), 16), 2, "two rows in a warp");
        assert_eq!(shared(&at(|_| 0), 16), 2);
        assert_eq!(shared(&at(|lane| 4096 + 16 * (lane / 2)), 16), 2, "neighbours share");
        assert_eq!(shared(&[None; 32], 4), 0);
        assert_eq!(matrices(&at(|lane| 528 * lane)), 4, "rows apart by a line and a row");
        assert_eq!(matrices(&at(|lane| 512 * lane)), 32, "rows in the same banks");
    }

    #[test]
    fn sectors_are_shared_by_neighbours() {
        let dense = sectors(&at(|lane| 4 * lane), 4);
        assert_eq!((dense.len(), global(&dense, 32, 4)), (4, 1));
        let strided = sectors(&at(|lane| 256 * lane), 4);
        assert_eq!((strided.len(), global(&strided, 32, 4)), (32, 32));
        let wide = sectors(&at(|lane| 16 * lane), 16);
        assert_eq!((wide.len(), global(&wide, 32, 16)), (16, 4));
    }
}
