//! Where every tensor lives: an arena with reuse, and the weights.

use std::collections::BTreeMap;

use warpweave_graph::arena::Arena;
use warpweave_graph::program::{Source, TensorId, TensorProgram};
use warpweave_graph::views::Layout;

use super::plan::{BUFFER_ALIGNMENT, Buffer, BufferSpace, MemoryPlan, OperatorId, PlannedTensor, ROperator};
use super::reach::OperatorSet;

/// The memory plan without buffers: types and layouts only, which is what dependencies follow from.
pub fn unplaced(program: &TensorProgram, layouts: &Arena<TensorId, Layout>) -> MemoryPlan {
    let tensors = program.tensors.iter().map(|(id, tensor)| PlannedTensor {
        ty: tensor.ty.clone(),
        layout: layouts[id].clone(),
        buffer: None,
    });
    MemoryPlan {
        tensors: tensors.collect(),
        inputs: program.inputs.clone(),
        outputs: program.outputs.clone(),
        ..MemoryPlan::default()
    }
}

/// Gives every tensor that a kernel or the host touches a buffer.
///
/// Two buffers share bytes only where every rOperator that touches the one is an ancestor of every rOperator that writes
/// the other. Inputs keep their bytes for the whole launch, so that a launch can be repeated; outputs keep theirs to the
/// end.
pub fn place(
    mut memory: MemoryPlan,
    program: &TensorProgram,
    operators: &Arena<OperatorId, ROperator>,
    ancestors: &Arena<OperatorId, OperatorSet>,
) -> MemoryPlan {
    let mut roots: BTreeMap<TensorId, Lifetime> = BTreeMap::new();
    for &input in &memory.inputs {
        roots.entry(input).or_default().is_input = true;
    }
    let root = |tensor: TensorId| memory.tensors[tensor].layout.root;
    for (id, operator) in operators.iter() {
        for &tensor in &operator.body.operands {
            roots.entry(root(tensor)).or_default().touched_by(id);
        }
        for &tensor in &operator.body.outputs {
            let lifetime = roots.entry(root(tensor)).or_default();
            lifetime.touched_by(id);
            lifetime.writers.push(id);
        }
    }
    for &output in &memory.outputs {
        roots.entry(root(output)).or_default().is_output = true;
    }
    let mut order: Vec<TensorId> = roots.keys().copied().collect();
    order.sort_by_key(|root| (roots[root].writers.first().copied(), *root));
    let mut placed: Vec<(TensorId, Buffer)> = Vec::new();
    let mut buffers: BTreeMap<TensorId, Buffer> = BTreeMap::new();
    for tensor in order {
        let bytes = memory.tensors[tensor].ty.bytes() as u64;
        let buffer = if let Source::Constant(_) = program.tensors[tensor].source {
            let offset = memory.weights_bytes.next_multiple_of(BUFFER_ALIGNMENT);
            memory.weights_bytes = offset + bytes;
            memory.constants.push(tensor);
            Buffer { space: BufferSpace::Weights, offset, bytes }
        } else {
            let conflicts = placed.iter().filter(|(other, _)| !follows(&roots[other], &roots[&tensor], ancestors));
            let offset = first_fit(bytes, conflicts.map(|(_, buffer)| *buffer).collect());
            memory.arena_bytes = memory.arena_bytes.max(offset + bytes);
            let buffer = Buffer { space: BufferSpace::Arena, offset, bytes };
            placed.push((tensor, buffer));
            buffer
        };
        buffers.insert(tensor, buffer);
    }
    for id in program.tensors.ids() {
        memory.tensors[id].buffer = buffers.get(&memory.tensors[id].layout.root).copied();
    }
    memory
}

#[derive(Clone, Debug, Default)]
struct Lifetime {
    writers: Vec<OperatorId>,
    touching: Vec<OperatorId>,
    is_input: bool,
    is_output: bool,
}

impl Lifetime {
    fn touched_by(&mut self, operator: OperatorId) {
        if self.touching.last() != Some(&operator) {
            self.touching.push(operator);
        }
    }
}

/// Whether the later buffer may use the earlier one's bytes.
fn follows(earlier: &Lifetime, later: &Lifetime, ancestors: &Arena<OperatorId, OperatorSet>) -> bool {
    let ordered = |writer: &OperatorId| earlier.touching.iter().all(|operator| ancestors[*writer].contains(*operator));
    !earlier.is_input && !earlier.is_output && !later.is_input && later.writers.iter().all(ordered)
}

/// The lowest aligned offset at which `bytes` overlap none of `taken`.
fn first_fit(bytes: u64, mut taken: Vec<Buffer>) -> u64 {
    taken.sort_by_key(|buffer| buffer.offset);
    let mut offset = 0u64;
    for buffer in taken {
        if offset + bytes.max(1) <= buffer.offset {
            break;
        }
        offset = offset.max((buffer.offset + buffer.bytes).next_multiple_of(BUFFER_ALIGNMENT));
    }
    offset
}
