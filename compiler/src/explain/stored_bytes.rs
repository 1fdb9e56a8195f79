//! How much of what a plan stores is of 16 bits.

use std::ops::AddAssign;

use warpweave_graph::arena::Id;
use warpweave_plan::plan::{BufferSpace, MemoryPlan, PlannedTensor};

/// Bytes of floating point.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FloatBytes {
    /// All.
    pub all: u64,
    /// Those of elements of 16 bits that carry no tag.
    pub half: u64,
}

/// What a plan stores between kernels, by what it is. Tensors that lie inside others do not count, nor do integers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StoredBytes {
    /// Constants that kernels read.
    pub weights: FloatBytes,
    /// What kernels write and others read. Inputs, outputs and states, whose types a caller sees, are not among them.
    pub activations: FloatBytes,
    /// What only a plan has: sums of parts of a reduction, and copies of states.
    pub partial_sums: FloatBytes,
}

impl FloatBytes {
    fn of(tensor: &PlannedTensor) -> Self {
        let element = tensor.ty.element;
        let all = if element.is_float() { tensor.bytes() } else { 0 };
        let is_half = element.is_half() && tensor.pitch() == element.bytes();
        Self { all, half: if is_half { all } else { 0 } }
    }
}

impl AddAssign for FloatBytes {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.half += other.half;
    }
}

impl StoredBytes {
    /// Those of the tensors of a plan, of which the first `tensors` are the program's.
    pub fn of(memory: &MemoryPlan, tensors: usize) -> Self {
        let mut stored = Self::default();
        memory.constants.iter().for_each(|tensor| stored.weights += FloatBytes::of(&memory.tensors[*tensor]));
        let states = memory.states.iter().flat_map(|state| [state.tensor, state.next]);
        let seen: Vec<_> = memory.inputs.iter().chain(&memory.outputs).copied().chain(states).collect();
        let in_arena = |tensor: &PlannedTensor| tensor.buffer.is_some_and(|own| own.space == BufferSpace::Arena);
        for (id, tensor) in memory.tensors.iter().filter(|(_, tensor)| in_arena(tensor)) {
            if tensor.layout.root == id && !seen.contains(&id) {
                let kind = if id.index() < tensors { &mut stored.activations } else { &mut stored.partial_sums };
                *kind += FloatBytes::of(tensor);
            }
        }
        stored
    }
}

#[cfg(test)]
mod tests {
    use warpweave_graph::program::TensorId;
    use warpweave_graph::program::layout::Layout;
    use warpweave_graph::types::{ElementType, TensorType};
    use warpweave_plan::plan::{Buffer, EdgeKind};

    use super::*;

    fn push(memory: &mut MemoryPlan, element: ElementType, space: BufferSpace, edge: EdgeKind) -> TensorId {
        let ty = TensorType { element, shape: [10].into() };
        let layout = Layout::own(TensorId::from_index(memory.tensors.len()), &ty);
        let buffer = Some(Buffer { space, offset: 0, bytes: 0 });
        memory.tensors.push(PlannedTensor { ty, layout, buffer, edge, tag: 0 })
    }

    #[test]
    fn what_is_tagged_or_seen_outside_is_no_half() {
        let mut memory = MemoryPlan::default();
        for element in [ElementType::F16, ElementType::F32, ElementType::I64] {
            let constant = push(&mut memory, element, BufferSpace::Weights, EdgeKind::Counter);
            memory.constants.push(constant);
        }
        let input = push(&mut memory, ElementType::F32, BufferSpace::Arena, EdgeKind::Counter);
        memory.inputs.push(input);
        push(&mut memory, ElementType::BF16, BufferSpace::Arena, EdgeKind::Counter);
        push(&mut memory, ElementType::F16, BufferSpace::Arena, EdgeKind::Tagged);
        let inner = push(&mut memory, ElementType::F16, BufferSpace::Arena, EdgeKind::Counter);
        memory.tensors[inner].layout.root = input;
        push(&mut memory, ElementType::F32, BufferSpace::Arena, EdgeKind::Counter);
        let stored = StoredBytes::of(&memory, memory.tensors.len() - 1);
        assert_eq!(stored.weights, FloatBytes { all: 60, half: 20 });
        assert_eq!(stored.activations, FloatBytes { all: 100, half: 20 });
        assert_eq!(stored.partial_sums, FloatBytes { all: 40, half: 0 });
    }
}
