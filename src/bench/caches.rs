//! The processor's caches.

use std::fs;
use std::path::Path;

/// The buffer is at least so large, whatever the system says about caches.
const LEAST_BYTES: usize = 64 << 20;
/// And at most so large: some systems report the caches of a whole machine.
const MOST_BYTES: usize = 1 << 30;
const LINE_BYTES: usize = 64;

/// Memory larger than the processor's caches: touching it whole leaves nothing else in them.
pub struct ProcessorCaches {
    buffer: Vec<u8>,
}

impl ProcessorCaches {
    /// A buffer of twice the largest cache that the system reports.
    pub fn new() -> Self {
        let largest = largest_cache(Path::new("/sys/devices/system/cpu/cpu0/cache")).unwrap_or(0);
        Self { buffer: vec![0; largest.saturating_mul(2).clamp(LEAST_BYTES, MOST_BYTES)] }
    }

    /// Bytes that are touched.
    pub fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Writes to every cache line of the buffer.
    pub fn empty(&mut self) {
        for byte in self.buffer.iter_mut().step_by(LINE_BYTES) {
            *byte = byte.wrapping_add(1);
        }
        std::hint::black_box(&self.buffer);
    }
}

impl Default for ProcessorCaches {
    fn default() -> Self {
        Self::new()
    }
}

/// Bytes of the largest cache that a folder such as Linux's `cache` lists.
fn largest_cache(folder: &Path) -> Option<usize> {
    let entries = fs::read_dir(folder).ok()?;
    let sizes = entries.flatten().filter_map(|entry| fs::read_to_string(entry.path().join("size")).ok());
    sizes.filter_map(|text| bytes(text.trim())).max()
}

/// `32K` as 32,768.
fn bytes(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|character: char| !character.is_ascii_digit());
    let scale: usize = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(bytes("32K"), Some(32768));
        assert_eq!(bytes("2M"), Some(2 << 20));
        assert_eq!(bytes("64"), Some(64));
        assert_eq!(bytes("many"), None);
        assert_eq!(bytes("1X"), None);
        assert_eq!(largest_cache(Path::new("absent")), None);
    }
}
