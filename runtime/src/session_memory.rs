//! The memory of a session that launches change: arena, control block, counters and status buffer.

use warpweave_fusion::schedule::tables::{CONTROL_WORDS, COUNTER_STRIDE_WORDS, STATUS_WORDS};

/// Host copy of a session's memory, in the layout that a persistent program reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionMemory {
    /// Inputs, activations and outputs.
    pub arena: Vec<u8>,
    /// Epoch, left and abort in the first words.
    pub control: Vec<i32>,
    /// A counter every [`COUNTER_STRIDE_WORDS`] words.
    pub counters: Vec<i32>,
    /// What the first wait that timed out has written.
    pub status: Vec<i32>,
}

/// A wait that gave up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the wait of vEU {veu} at instruction {position} timed out: counter {counter} holds {seen}, wanted {wanted}")]
pub struct TimedOutWait {
    /// The vEU that waited.
    pub veu: i32,
    /// The index of the wait in the instruction table.
    pub position: i32,
    /// The counter's index.
    pub counter: i32,
    /// What the counter held at last.
    pub seen: i32,
    /// What it should have reached.
    pub wanted: i32,
}

impl SessionMemory {
    /// A session's memory before its first launch.
    pub fn new(arena: Vec<u8>, counters: usize) -> Self {
        let mut memory = Self {
            arena,
            control: vec![0; CONTROL_WORDS],
            counters: vec![0; counters * COUNTER_STRIDE_WORDS],
            status: vec![0; STATUS_WORDS],
        };
        memory.control[0] = 1;
        memory
    }

    /// The same memory as if launch number `epoch` came next. `arrivals` holds each counter's arrivals per launch,
    /// `grid` the number of blocks. Numbers wrap.
    pub fn at_epoch(mut self, epoch: i32, arrivals: &[i32], grid: i32) -> Self {
        let launches = epoch.wrapping_sub(1);
        self.control[0] = epoch;
        self.control[1] = launches.wrapping_mul(grid);
        for (counter, arrivals) in arrivals.iter().enumerate() {
            self.counters[counter * COUNTER_STRIDE_WORDS] = launches.wrapping_mul(*arrivals);
        }
        self
    }

    /// The number of the next launch.
    pub fn epoch(&self) -> i32 {
        self.control[0]
    }

    /// What a counter holds.
    pub fn counter(&self, index: usize) -> i32 {
        self.counters[index * COUNTER_STRIDE_WORDS]
    }

    /// The wait that timed out, if one did; the session is then of no more use.
    pub fn timed_out_wait(&self) -> Option<TimedOutWait> {
        let &[claimed, veu, position, counter, seen, wanted, ..] = self.status.as_slice() else { return None };
        (claimed != 0).then_some(TimedOutWait { veu, position, counter, seen, wanted })
    }
}
