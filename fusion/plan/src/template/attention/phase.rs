//! The phases of an attention kernel: which method each has.

use crate::kernel::Kernel;
use crate::template::attention::AttentionGeometry;
use crate::template::staged::extents;
use crate::template::staged::phase::{Method, Sink, method, sink};

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
pub fn phases(kernel: &Kernel, geometry: &AttentionGeometry) -> Vec<AttentionPhase> {
    let grid = kernel.grid();
    let attention = &geometry.attention;
    let phase = |position: usize| {
        let spans = &geometry.boxes[position];
        let sink = || reached(geometry, position, &grid);
        let method = || method(&kernel.body().staged[position].expr, &extents(spans), sink(), geometry.block_size);
        match attention.streams[position] {
            Some(_) if position == attention.weights => AttentionPhase::Weights,
            Some(_) => AttentionPhase::Block(method()),
            None if [attention.maximum, attention.total].contains(&position) => AttentionPhase::State,
            None => AttentionPhase::Before(method()),
        }
    };
    (0..kernel.body().staged.len()).map(phase).collect()
}

/// Where the values of a phase lie: the last block may reach beyond the keys.
pub fn reached(geometry: &AttentionGeometry, position: usize, grid: &[usize]) -> Sink {
    let streamed = geometry.attention.streams[position].is_some();
    if streamed && geometry.is_ragged() { Sink::Windowed } else { sink(&geometry.boxes[position], grid) }
}
