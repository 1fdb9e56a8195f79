//! The processor's caches.

use crate::processor_caches::Caches;

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
        let largest = Caches::of_system().largest().unwrap_or(0);
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
