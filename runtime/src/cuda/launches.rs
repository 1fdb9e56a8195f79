//! The arguments of a program's launches.

use std::time::Duration;

use warpweave_plan::tables::{CONTROL_WORDS, STREAM_WORDS};

/// Bytes of a table's word.
const WORD: u64 = 4;

/// Addresses of live allocations, of the sizes that a verified plan and its tables ask for.
#[derive(Clone, Copy)]
pub(crate) struct Addresses {
    pub(crate) arena: u64,
    pub(crate) weights: u64,
    pub(crate) stream_start: u64,
    pub(crate) instructions: u64,
    pub(crate) operands: u64,
    pub(crate) control: u64,
    pub(crate) counters: u64,
    pub(crate) status: u64,
}

/// The arguments of the entry that walks streams: `ww_arguments` of the prelude, by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct StreamArguments {
    pub(super) arena: u64,
    pub(super) weights: u64,
    pub(super) stream_start: u64,
    pub(super) instructions: u64,
    pub(super) operands: u64,
    pub(super) control: u64,
    pub(super) counters: u64,
    pub(super) status: u64,
    pub(super) time_limit_ns: u64,
}

/// The arguments of a node's entry: `ww_node_arguments` of the prelude, by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct NodeArguments {
    pub(super) arena: u64,
    pub(super) weights: u64,
    pub(super) operands: u64,
    pub(super) first_operand: u32,
    pub(super) status: u64,
}

/// The parameters of a probe's entry, in their order.
#[derive(Clone, Copy)]
pub(super) struct StampArguments {
    /// Address of three 64-bit words a block.
    pub(super) stamps: u64,
    /// Address of global memory that the probe may use.
    pub(super) data: u64,
    /// Singles of it.
    pub(super) elements: u64,
    /// How often each block goes round.
    pub(super) rounds: u32,
}

impl Addresses {
    /// Of the persistent segment of this number among those, whose streams begin at `first_stream`.
    pub(crate) fn of_streams(&self, number: usize, first_stream: u32, wait_limit: Duration) -> StreamArguments {
        StreamArguments {
            arena: self.arena,
            weights: self.weights,
            stream_start: self.stream_start + WORD * STREAM_WORDS as u64 * u64::from(first_stream),
            instructions: self.instructions,
            operands: self.operands,
            control: self.control + WORD * (number * CONTROL_WORDS) as u64,
            counters: self.counters,
            status: self.status,
            time_limit_ns: u64::try_from(wait_limit.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    /// Of a node whose operands begin at `first_operand`.
    pub(crate) fn of_node(&self, first_operand: u32) -> NodeArguments {
        let &Self { arena, weights, operands, status, .. } = self;
        NodeArguments { arena, weights, operands, first_operand, status }
    }
}

#[cfg(feature = "compile")]
impl StreamArguments {
    /// The bytes of a launch's parameters.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let &Self { arena, weights, stream_start, instructions, operands, control, counters, status, time_limit_ns } =
            self;
        let words = [arena, weights, stream_start, instructions, operands, control, counters, status, time_limit_ns];
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }
}

#[cfg(feature = "compile")]
impl NodeArguments {
    /// The bytes of a launch's parameters.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let &Self { arena, weights, operands, first_operand, status } = self;
        let words = [arena, weights, operands, first_operand.into(), status];
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }
}
