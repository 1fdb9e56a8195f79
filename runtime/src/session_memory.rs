//! The memory of a session that launches change: arena, control block, counters and status buffer.

use std::ops::Range;

use warpweave_plan::plan::{Buffer, EdgeKind, TAGGED_BYTES, tag_of};
use warpweave_plan::plan::{ExecutionPlan, MemoryPlan};
use warpweave_plan::tables::{Awaited, CLAIMED_BY_POLL, CONTROL_WORDS, COUNTER_STRIDE_WORDS, STATUS_WORDS};

/// Host copy of a session's memory, in the layout that a persistent program reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionMemory {
    /// Inputs, activations and outputs.
    pub arena: Vec<u8>,
    /// [`CONTROL_WORDS`] a persistent segment: epoch, left and abort in the first.
    pub control: Vec<i32>,
    /// A counter every [`COUNTER_STRIDE_WORDS`] words.
    pub counters: Vec<i32>,
    /// What the first wait or poll that timed out has written.
    pub status: Vec<i32>,
}

/// A wait or a poll that gave up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("vEU {veu} waited too long: {awaited} holds {}, wanted {}", word(awaited, *seen), word(awaited, *wanted))]
pub struct TimedOutWait {
    /// The vEU that waited.
    pub veu: i32,
    /// What it waited for.
    pub awaited: Awaited,
    /// What that held at last.
    pub seen: i32,
    /// What it should have reached.
    pub wanted: i32,
}

/// A counter's number, or the bits of a tag.
fn word(awaited: &Awaited, word: i32) -> String {
    match awaited {
        Awaited::Counter { .. } => word.to_string(),
        Awaited::Tagged { .. } => format!("{word:#010x}"),
    }
}

impl SessionMemory {
    /// A session's memory before its first launch, with one control block.
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

    /// The memory of a session of `plan` whose next launch is number `epoch`.
    pub fn of_plan(plan: &ExecutionPlan, epoch: i32) -> Self {
        let arrivals = plan.arrivals();
        let arena = vec![0; plan.memory.arena_bytes as usize];
        Self::new(arena, arrivals.len()).at_epoch(epoch, &arrivals, &plan.grids()).tagged(&plan.memory)
    }

    /// The same memory as if launch number `epoch` came next. `arrivals` holds each counter's arrivals per launch,
    /// `grids` the blocks of each persistent segment, which has a control block of its own. Numbers wrap.
    pub fn at_epoch(mut self, epoch: i32, arrivals: &[i32], grids: &[u32]) -> Self {
        let launches = epoch.wrapping_sub(1);
        self.control = vec![0; CONTROL_WORDS * grids.len().max(1)];
        self.control[0] = epoch;
        for (control, grid) in self.control.chunks_exact_mut(CONTROL_WORDS).zip(grids) {
            control[0] = epoch;
            control[1] = launches.wrapping_mul(grid.cast_signed());
        }
        for (counter, arrivals) in arrivals.iter().enumerate() {
            self.counters[counter * COUNTER_STRIDE_WORDS] = launches.wrapping_mul(*arrivals);
        }
        self
    }

    /// The same memory with the tags that the launch before would have left. `memory` describes the arena.
    pub fn tagged(mut self, memory: &MemoryPlan) -> Self {
        let epoch = self.epoch();
        for (range, tag) in tagged_values(memory) {
            let element = tagged_element(epoch, tag);
            self.arena[range].chunks_exact_mut(TAGGED_BYTES).for_each(|bytes| bytes.copy_from_slice(&element));
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

    /// The wait or poll that timed out, if one did; the session is then of no more use.
    pub fn timed_out_wait(&self) -> Option<TimedOutWait> {
        let &[claimed, veu, first, second, seen, wanted, ..] = self.status.as_slice() else { return None };
        let awaited = match claimed {
            CLAIMED_BY_POLL => Awaited::Tagged { element: first },
            _ => Awaited::Counter { position: first, counter: second },
        };
        (claimed != 0).then_some(TimedOutWait { veu, awaited, seen, wanted })
    }
}

/// The bytes of the arena in which values carry their own validity, with their tags, earlier ones first.
pub fn tagged_values(memory: &MemoryPlan) -> Vec<(Range<usize>, u32)> {
    let tagged = memory.tensors.values().filter(|tensor| tensor.edge == EdgeKind::Tagged);
    let placed = tagged.filter_map(|tensor| Some((tensor.buffer?, tensor.tag)));
    let range = |buffer: Buffer| buffer.offset as usize..(buffer.offset + buffer.bytes) as usize;
    let mut found: Vec<(Range<usize>, u32)> = placed.map(|(buffer, tag)| (range(buffer), tag)).collect();
    found.sort_by_key(|(_, tag)| *tag);
    found
}

/// An element that the launch before number `epoch` has given this tag.
pub fn tagged_element(epoch: i32, tag: u32) -> [u8; TAGGED_BYTES] {
    let tag = tag_of(epoch.wrapping_sub(1).cast_unsigned(), tag).to_le_bytes();
    [0, 0, 0, 0, tag[0], tag[1], tag[2], tag[3]]
}
