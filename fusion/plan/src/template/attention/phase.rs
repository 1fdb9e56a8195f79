//! The phases of an attention kernel: which method each has.

use crate::body::GroupBody;
use crate::template::attention::AttentionKernel;
use crate::template::staged::extents;
use crate::template::staged::phase::{Method, Sink, method, sink};
use crate::template::tile::ScheduleParams;

/// What is done for a staged value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttentionPhase {
    /// It is computed whole, before the blocks.
    Before(Method),
    /// It is computed with every block.
    Block(Method),
    /// Scores become weights, a warp a row.
    Weights,
    /// It is the state of the reduction.
    State,
}

/// What is done for each staged value of a body whose padding has been found.
pub fn phases(body: &GroupBody, params: &ScheduleParams, kernel: &AttentionKernel) -> Vec<AttentionPhase> {
    let grid = params.grid(body);
    let attention = &kernel.attention;
    let phase = |position: usize| {
        let spans = &kernel.boxes[position];
        let sink = || reached(kernel, position, &grid);
        let method = || method(&body.staged[position].expr, &extents(spans), sink(), kernel.block_size);
        match attention.streams[position] {
            Some(_) if position == attention.weights => AttentionPhase::Weights,
            Some(_) => AttentionPhase::Block(method()),
            None if [attention.maximum, attention.total].contains(&position) => AttentionPhase::State,
            None => AttentionPhase::Before(method()),
        }
    };
    (0..body.staged.len()).map(phase).collect()
}

/// Where the values of a phase lie: the last block may reach beyond the keys.
pub fn reached(kernel: &AttentionKernel, position: usize, grid: &[usize]) -> Sink {
    let streamed = kernel.attention.streams[position].is_some();
    if streamed && kernel.is_ragged() { Sink::Windowed } else { sink(&kernel.boxes[position], grid) }
}
