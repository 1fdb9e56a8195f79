//! What lives between launches, and what a launch finds and leaves.

use serde::{Deserialize, Serialize};
use warpweave_graph::program::TensorId;

use super::MemoryPlan;

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

impl MemoryPlan {
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
