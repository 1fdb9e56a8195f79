//! The phases of an attention kernel: which method each has.

use crate::kernel::Kernel;
use crate::template::attention::AttentionGeometry;
use crate::template::staged::matrices::PhaseSpan;
use crate::template::staged::phase::{Method, PhasePlace, Sink, method, sink};

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
        let spans = spans(geometry, position, &grid);
        let (stage, sink) = (&kernel.body().staged[position], reached(geometry, position, &grid));
        let method = || method(PhasePlace { stage, spans: &spans, boxes: &geometry.boxes, sink }, geometry.block_size);
        match attention.streams[position] {
            Some(_) if position == attention.weights => AttentionPhase::Weights,
            Some(_) => AttentionPhase::Block(method()),
            None if [attention.maximum, attention.total].contains(&position) => AttentionPhase::State,
            None => AttentionPhase::Before(method()),
        }
    };
    (0..kernel.body().staged.len()).map(phase).collect()
}

/// The box of a phase; blocks of keys begin at multiples of their length.
pub fn spans(geometry: &AttentionGeometry, position: usize, grid: &[usize]) -> Vec<PhaseSpan> {
    let mut spans = PhaseSpan::of_box(&geometry.boxes[position], grid);
    if let Some(keys) = geometry.attention.streams[position] {
        spans[keys] = PhaseSpan { is_windowed: geometry.is_ragged(), ..PhaseSpan::of_stretch(geometry.block) };
    }
    spans
}

/// Where the values of a phase lie: the last block may reach beyond the keys.
pub fn reached(geometry: &AttentionGeometry, position: usize, grid: &[usize]) -> Sink {
    let streamed = geometry.attention.streams[position].is_some();
    if streamed && geometry.is_ragged() { Sink::Windowed } else { sink(&geometry.boxes[position], grid) }
}
