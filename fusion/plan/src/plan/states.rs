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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Buffer, BufferSpace, EdgeKind, PlannedTensor};
    use warpweave_graph::ElementType;
    use warpweave_graph::arena::Id;
    use warpweave_graph::types::TensorType;
    use warpweave_graph::views::Layout;

    /// The moves of states at the first places that become what is at the second, so many bytes each.
    #[track_caller]
    fn check(states: &[(u64, u64, u64)], expected: &[(u64, u64, u64)]) {
        let mut memory = MemoryPlan::default();
        for &(place, next, bytes) in states {
            let [tensor, next] = [place, next].map(|offset| {
                let ty = TensorType::new(ElementType::F32, vec![bytes as usize / ElementType::F32.bytes()]);
                let layout = Layout::own(TensorId::from_index(memory.tensors.len()), &ty);
                let buffer = Some(Buffer { space: BufferSpace::Arena, offset, bytes });
                memory.tensors.push(PlannedTensor { ty, layout, buffer, edge: EdgeKind::Counter, tag: 0 })
            });
            memory.states.push(PlannedState { tensor, next });
        }
        let expected = expected.iter().map(|&(from, to, bytes)| StateMove { from, to, bytes });
        assert_eq!(memory.state_moves(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn neighbours_move_at_once() {
        check(&[(0, 1024, 500), (512, 1536, 8), (768, 1792, 256)], &[(1024, 0, 1024)]);
    }

    #[test]
    fn what_lies_apart_or_in_another_order_moves_by_itself() {
        check(&[(0, 1024, 256), (512, 1280, 256)], &[(1024, 0, 256), (1280, 512, 256)]);
        check(&[(256, 1024, 256), (0, 1280, 256)], &[(1024, 256, 256), (1280, 0, 256)]);
        check(&[(0, 2048, 16), (512, 2560, 16)], &[(2048, 0, 16), (2560, 512, 16)]);
        check(&[(0, 256, 0)], &[]);
    }
}
