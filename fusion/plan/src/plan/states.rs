//! What lives between launches, and what a launch finds and leaves.

use serde::{Deserialize, Serialize};
use warpweave_graph::program::TensorId;

use super::{BUFFER_ALIGNMENT, MemoryPlan};

/// A tensor that lives between launches and that each launch replaces. Both tensors have a buffer of their own in the arena
/// and the same type.
///
/// Whoever runs the plan writes the initial value before the first launch, and moves what every `next` holds to its `tensor`
/// after each launch, as if all were moved at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct PlannedState {
    /// What a launch reads.
    pub tensor: TensorId,
    /// What the next launch reads in its place.
    pub next: TensorId,
}

/// Bytes of the arena that are moved when a launch has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateMove {
    /// The first byte of what states become.
    pub from: u64,
    /// The first byte of what the next launch reads.
    pub to: u64,
    /// How many.
    pub bytes: u64,
}

impl StateMove {
    /// Whether another begins behind it, equally far behind both of its ends.
    fn reaches(&self, other: &Self) -> bool {
        let gap = |own: u64, other: u64| other.checked_sub(own + self.bytes).filter(|gap| *gap < BUFFER_ALIGNMENT);
        gap(self.from, other.from).is_some_and(|from| gap(self.to, other.to) == Some(from))
    }
}

impl MemoryPlan {
    /// What is moved after each launch, neighbours at once. Nothing lies between two buffers that are less than an alignment apart.
    pub fn state_moves(&self) -> Vec<StateMove> {
        let mut moves: Vec<StateMove> = Vec::new();
        for state in &self.states {
            let [from, to] = [state.next, state.tensor].map(|tensor| self.tensors[tensor].buffer);
            let Some((from, to)) = from.zip(to).filter(|(from, _)| from.bytes > 0) else { continue };
            let own = StateMove { from: from.offset, to: to.offset, bytes: from.bytes };
            match moves.last_mut().filter(|last| last.reaches(&own)) {
                Some(last) => last.bytes = own.to - last.to + own.bytes,
                None => moves.push(own),
            }
        }
        moves
    }

    /// The tensors of the arena that hold values when a launch begins: inputs and states.
    pub fn live_in(&self) -> impl Iterator<Item = TensorId> + Clone {
        self.inputs.iter().copied().chain(self.states.iter().map(|state| state.tensor))
    }

    /// The tensors that are read when a launch has ended: outputs and what states become.
    pub fn live_out(&self) -> impl Iterator<Item = TensorId> + Clone {
        self.outputs.iter().copied().chain(self.states.iter().map(|state| state.next))
    }

    /// Whether a launch finds values in a tensor of the arena.
    pub fn is_live_in(&self, tensor: TensorId) -> bool {
        self.live_in().any(|live| live == tensor)
    }
}
