//! Exchanges between blocks and the ends of rTasks, as kernels that stamp their times.

use std::fmt;

use super::{ENTRY, STAMPS, Stamped};
use crate::prelude::device_source;

const EDGES: &str = include_str!("edges.cuh");

/// The cycles of a stamp whose block has given up a wait.
pub const GAVE_UP: u64 = u64::MAX;
/// Singles of global memory that an exchange uses: control words, counters and an arena.
pub const EDGE_ELEMENTS: usize = 1 << 19;
/// The most blocks that have counters in it, and 16 bytes a thread of the arena.
pub const MOST_BLOCKS: usize = 384;
/// The entry of a graph's node that does nothing but what a node does for those before and behind it.
pub const EMPTY_NODE: &str = "ww_empty_node";
/// The entry of a kernel that does nothing.
pub const EMPTY: &str = "ww_empty";

/// An exchange, or a part of one. All use the primitives that kernels are printed with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeProbe {
    /// A ring of blocks that signal and wait, as many hops a round as blocks.
    SignalRing,
    /// A ring of blocks that pass a tagged value, as many hops a round as blocks.
    TaggedRing,
    /// All blocks signal a counter and wait for all.
    Meeting,
    /// The barrier at the end of an rTask.
    Barrier,
    /// The barrier and the signal.
    Release,
    /// A store of 16 bytes a thread, the barrier and the signal.
    StoreAndRelease,
}

impl EdgeProbe {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::SignalRing, Self::TaggedRing, Self::Meeting, Self::Barrier, Self::Release, Self::StoreAndRelease];

    fn body(self) -> &'static str {
        match self {
            Self::SignalRing => "ww_signal_ring(stamps, data, rounds);",
            Self::TaggedRing => "ww_tagged_ring(stamps, data, rounds);",
            Self::Meeting => "ww_meet(stamps, data, rounds);",
            Self::Barrier => "ww_task_end<false, false>(stamps, data, rounds);",
            Self::Release => "ww_task_end<false, true>(stamps, data, rounds);",
            Self::StoreAndRelease => "ww_task_end<true, true>(stamps, data, rounds);",
        }
    }
}

impl Stamped for EdgeProbe {
    fn source(&self) -> String {
        let (threads, body) = (self.threads(), self.body());
        let entry = format!("WW_ENTRY({ENTRY}, {threads}) {{\n  (void)elements;\n  {body}\n}}\n");
        device_source(&[STAMPS, EDGES, &entry].concat())
    }

    fn threads(&self) -> usize {
        256
    }

    fn shared_bytes(&self) -> usize {
        0
    }
}

impl fmt::Display for EdgeProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SignalRing => "ring of signals",
            Self::TaggedRing => "ring of tagged values",
            Self::Meeting => "barrier of all blocks",
            Self::Barrier => "end of an rTask without a signal",
            Self::Release => "end of an rTask without stores",
            Self::StoreAndRelease => "end of an rTask",
        })
    }
}

/// The translation unit of kernels that do nothing: [`EMPTY_NODE`] and [`EMPTY`].
pub fn empty_kernels() -> String {
    device_source(&[STAMPS, EDGES].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_stay_inside_their_memory() {
        let number = |name: &str| -> usize {
            let at = EDGES.find(name).expect("the text has it") + name.len();
            EDGES[at..].chars().take_while(char::is_ascii_digit).collect::<String>().parse().expect("it is a number")
        };
        let arena = number("ww_probe_arena_bytes = ");
        let line = 128;
        assert!(2 * line + MOST_BLOCKS * line <= arena, "control words, status and counters lie before the arena");
        let threads = EdgeProbe::StoreAndRelease.threads();
        assert!(arena + 16 * threads * MOST_BLOCKS <= size_of::<f32>() * EDGE_ELEMENTS);
    }

    #[test]
    fn every_wait_is_bounded() {
        assert!(EDGES.contains("ww_probe_limit_ns"), "waits end by the limit of the exchange");
        let unbounded = EDGES.lines().find(|line| line.contains("while (") || line.contains("for (;;"));
        assert_eq!(unbounded, None, "every loop has a bound");
    }
}
