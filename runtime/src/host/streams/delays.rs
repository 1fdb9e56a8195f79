//! Pauses between instructions, to try other orders of the threads.

use std::time::Duration;

/// One instruction in this many is paused before.
const ONE_IN: u64 = 4;

/// Pauses of pseudo-random length before some instructions of every stream. Another seed pauses elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delays {
    /// What the pauses follow from.
    pub seed: u64,
    /// No pause is meant to be longer; the system may make it so.
    pub longest: Duration,
}

impl Delays {
    /// Pauses as the instruction at a position of a stream says.
    pub(in crate::host) fn pause(&self, stream: usize, position: usize) {
        let number = mixed(self.seed ^ mixed(stream as u64 ^ mixed(position as u64)));
        if number.is_multiple_of(ONE_IN) {
            let share = (number >> 32) as f64 / f64::from(u32::MAX);
            std::thread::sleep(self.longest.mul_f64(share));
        }
    }
}

/// SplitMix64's finaliser.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
