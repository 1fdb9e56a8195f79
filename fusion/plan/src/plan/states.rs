//! What lives between launches, and what a launch finds and leaves.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use warpweave_graph::program::TensorId;

use super::{BUFFER_ALIGNMENT, Buffer, BufferSpace, MemoryPlan};

/// A tensor that lives between launches and that each launch replaces. Both tensors have a buffer of their own in the arena
/// and the same type.
///
/// The session writes the initial value before the first launch. After each launch, the two of an [`Exchange`]
/// change places, and of all others what `next` holds is moved to `tensor`. No state becomes what another one was.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct PlannedState {
    /// What a launch reads.
    pub tensor: TensorId,
    /// What the next launch reads in its place.
    pub next: TensorId,
}

/// The states whose places and those of what they become are exchanged after each launch, so that nothing is moved.
/// Both are of the same size, and nothing else lies there at any time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exchange {
    /// Both of each pair, with the other one.
    others: BTreeMap<TensorId, TensorId>,
}

impl Exchange {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.others.is_empty()
    }

    /// What has the place of a root in every other launch.
    pub fn other(&self, root: TensorId) -> Option<TensorId> {
        self.others.get(&root).copied()
    }

    /// Elements from the place of a root to that of the other one, if it has one.
    pub fn elements(&self, memory: &MemoryPlan, root: TensorId) -> Option<i64> {
        let other = &memory.tensors[self.other(root)?];
        let own = &memory.tensors[root];
        let (from, to) = own.buffer.zip(other.buffer)?;
        Some((to.offset as i64 - from.offset as i64) / own.pitch() as i64)
    }
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

impl MemoryPlan {
    /// The states that are exchanged.
    pub fn exchange(&self) -> Exchange {
        if self.states.is_empty() {
            return Exchange::default();
        }
        let alone = self.alone();
        let mut uses: BTreeMap<TensorId, usize> = BTreeMap::new();
        for tensor in self.states.iter().flat_map(|state| [state.tensor, state.next]) {
            *uses.entry(tensor).or_default() += 1;
        }
        let lies_alone = |tensor: &TensorId| uses[tensor] == 1 && alone.contains(tensor);
        let pairs = self.states.iter().filter(|&&PlannedState { tensor, next }| {
            let (own, other) = (&self.tensors[tensor], &self.tensors[next]);
            let is_alike = own.layout.strides == other.layout.strides && own.pitch() == other.pitch();
            is_alike && own.ty == other.ty && [tensor, next].iter().all(lies_alone)
        });
        let others = pairs.flat_map(|state| [(state.tensor, state.next), (state.next, state.tensor)]);
        Exchange { others: others.collect() }
    }

    /// The roots with aligned bytes of the arena that no other root shares.
    fn alone(&self) -> BTreeSet<TensorId> {
        let lies_in_arena = |buffer: &Buffer| buffer.space == BufferSpace::Arena && buffer.bytes > 0;
        let roots = self.tensors.iter().filter(|(id, tensor)| tensor.layout.root == *id);
        let mut placed: Vec<(u64, u64, TensorId)> = roots
            .filter_map(|(id, tensor)| Some((id, tensor.buffer.filter(lies_in_arena)?)))
            .map(|(id, buffer)| (buffer.offset, buffer.offset + buffer.bytes, id))
            .collect();
        placed.sort_unstable();
        let mut alone = BTreeSet::new();
        let mut end_before = 0;
        for (number, &(offset, end, id)) in placed.iter().enumerate() {
            let ends_first = placed.get(number + 1).is_none_or(|&(next, ..)| end <= next);
            if end_before <= offset && ends_first && offset % BUFFER_ALIGNMENT == 0 {
                alone.insert(id);
            }
            end_before = end_before.max(end);
        }
        alone
    }

    /// The memory of every other launch: the states of the exchange and what they become lie in each other's places.
    pub fn exchanged(&self) -> Self {
        let exchange = self.exchange();
        let mut memory = self.clone();
        for tensor in memory.tensors.values_mut() {
            if let Some(other) = exchange.other(tensor.layout.root) {
                tensor.buffer = self.tensors[other].buffer;
            }
        }
        memory
    }

    /// What is moved after each launch: all that is not exchanged, and not what it was before.
    pub fn state_moves(&self) -> Vec<StateMove> {
        let exchange = self.exchange();
        let moved = |state: &PlannedState| {
            let [from, to] = [state.next, state.tensor].map(|tensor| self.tensors[tensor].buffer);
            let (from, to) = from.zip(to).filter(|(from, to)| from.bytes > 0 && from.offset != to.offset)?;
            Some(StateMove { from: from.offset, to: to.offset, bytes: from.bytes })
        };
        let others = self.states.iter().filter(|state| exchange.other(state.tensor).is_none());
        others.filter_map(moved).collect()
    }

    /// Whether a tensor is part of a state as a launch finds it: it stands there from the launch's beginning to its last use.
    pub fn is_state(&self, tensor: TensorId) -> bool {
        let root = self.tensors[tensor].layout.root;
        self.states.iter().any(|state| state.tensor == root)
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
    use crate::plan::{EdgeKind, PlannedTensor};
    use warpweave_graph::ElementType;
    use warpweave_graph::arena::Id;
    use warpweave_graph::types::TensorType;
    use warpweave_graph::views::Layout;

    /// A memory of states at the first places that become what is at the second, so many bytes each.
    fn memory(states: &[(u64, u64, u64)]) -> MemoryPlan {
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
        memory
    }

    /// The moves of such states.
    #[track_caller]
    fn check(states: &[(u64, u64, u64)], expected: &[(u64, u64, u64)]) {
        let expected = expected.iter().map(|&(from, to, bytes)| StateMove { from, to, bytes });
        assert_eq!(memory(states).state_moves(), expected.collect::<Vec<_>>());
    }

    /// Which of such states are exchanged.
    #[track_caller]
    fn check_exchange(states: &[(u64, u64, u64)], expected: &[bool]) {
        let memory = memory(states);
        let (exchange, exchanged) = (memory.exchange(), memory.exchanged());
        for (state, &expected) in memory.states.iter().zip(expected) {
            let offset = |memory: &MemoryPlan, tensor| memory.tensors[tensor].buffer.map_or(0, |buffer| buffer.offset);
            let [own, next] = [state.tensor, state.next].map(|tensor| offset(&memory, tensor));
            let after = [state.tensor, state.next].map(|tensor| offset(&exchanged, tensor));
            assert_eq!(after, if expected { [next, own] } else { [own, next] }, "{states:?}");
            let elements = (next as i64 - own as i64) / ElementType::F32.bytes() as i64;
            let found = [state.tensor, state.next].map(|tensor| exchange.elements(&memory, tensor));
            assert_eq!(found, if expected { [Some(elements), Some(-elements)] } else { [None; 2] }, "{states:?}");
        }
        assert_eq!(exchanged.exchanged(), memory, "twice is never");
    }

    #[test]
    fn what_lies_alone_is_exchanged_and_nothing_is_moved() {
        let alone = [(0, 1024, 500), (512, 1536, 8), (768, 1792, 256)];
        check_exchange(&alone, &[true; 3]);
        check(&alone, &[]);
    }

    #[test]
    fn what_shares_bytes_or_lies_anywhere_is_moved() {
        check_exchange(&[(0, 256, 256), (512, 768, 16), (1024, 768, 16)], &[true, false, false]);
        check_exchange(&[(0, 512, 512), (256, 1024, 16)], &[false, false]);
        check_exchange(&[(16, 512, 16), (1024, 1048, 16), (0, 256, 0)], &[false; 3]);
        check(&[(0, 256, 256), (512, 768, 16), (1024, 768, 16)], &[(768, 512, 16), (768, 1024, 16)]);
    }

    #[test]
    fn a_tensor_of_several_states_is_moved() {
        let mut shared = memory(&[(0, 256, 16), (512, 768, 16), (1024, 1280, 16)]);
        shared.states[1].next = shared.states[0].next;
        assert_eq!(shared.exchange().others.len(), 2, "the third pair");
        shared.states[2].next = shared.states[2].tensor;
        assert!(shared.exchange().is_empty());
        assert_eq!(shared.state_moves().len(), 2, "what stays what it was is not moved");
    }

    #[test]
    fn what_has_no_bytes_is_not_moved() {
        check(&[(16, 1040, 256), (272, 272, 0)], &[(1040, 16, 256)]);
    }
}
