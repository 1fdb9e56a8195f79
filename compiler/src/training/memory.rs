//! What the memory of a training step holds, before anything has run.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpweave_graph::arena::Arena;
use warpweave_graph::program::{Phase, Source, TensorId, TensorProgram};
use warpweave_plan::plan::{Buffer, BufferSpace, MemoryPlan};
use warpweave_runtime::bundle::{StateRole, TrainingRecord};

/// What bytes of a training step are for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryClass {
    /// Tensors of the model: those that are trained and running statistics, before and after the step, and constants.
    Weights,
    /// What the optimizer keeps, before and after the step.
    OptimizerState,
    /// Gradients that the optimizer reads.
    Gradients,
    /// What the forward pass keeps for the backward pass.
    Activations,
    /// Everything else.
    Workspace,
}

impl MemoryClass {
    /// All of them. Bytes that tensors of several classes use in turn count for the first of these.
    pub const ALL: [Self; 5] =
        [Self::Weights, Self::OptimizerState, Self::Gradients, Self::Activations, Self::Workspace];

    /// The words for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::OptimizerState => "optimizer state",
            Self::Gradients => "gradients",
            Self::Activations => "activations",
            Self::Workspace => "workspace",
        }
    }
}

/// Bytes by class; together the arena and the constants of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TrainingMemory {
    /// [`MemoryClass::Weights`].
    pub weights: u64,
    /// [`MemoryClass::OptimizerState`].
    pub optimizer_state: u64,
    /// [`MemoryClass::Gradients`].
    pub gradients: u64,
    /// [`MemoryClass::Activations`].
    pub activations: u64,
    /// [`MemoryClass::Workspace`].
    pub workspace: u64,
}

impl TrainingMemory {
    /// Of the memory that is planned for a program.
    pub fn of(memory: &MemoryPlan, program: &TensorProgram, record: &TrainingRecord) -> Self {
        let classes = classes(memory, program, record);
        // A plan has tensors that the program has not: partial sums.
        let class = |id| classes.get(id).copied().unwrap_or(MemoryClass::Workspace);
        let placed = memory.tensors.iter().filter_map(|(id, tensor)| Some((tensor.buffer?, class(id))));
        let arena = placed.filter(|(buffer, _)| buffer.space == BufferSpace::Arena);
        let [weights, optimizer_state, gradients, activations, _] = bytes_by_class(arena);
        let workspace = memory.arena_bytes.saturating_sub(weights + optimizer_state + gradients + activations);
        Self { weights: weights + memory.weights_bytes, optimizer_state, gradients, activations, workspace }
    }

    /// Bytes of a class.
    pub fn bytes(&self, class: MemoryClass) -> u64 {
        match class {
            MemoryClass::Weights => self.weights,
            MemoryClass::OptimizerState => self.optimizer_state,
            MemoryClass::Gradients => self.gradients,
            MemoryClass::Activations => self.activations,
            MemoryClass::Workspace => self.workspace,
        }
    }

    /// All bytes.
    pub fn total(&self) -> u64 {
        MemoryClass::ALL.map(|class| self.bytes(class)).iter().sum()
    }
}

impl fmt::Display for TrainingMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes:", self.total())?;
        for (at, class) in MemoryClass::ALL.into_iter().enumerate() {
            write!(f, "{} {} {}", if at == 0 { "" } else { "," }, class.name(), self.bytes(class))?;
        }
        Ok(())
    }
}

/// What each tensor is for.
fn classes(memory: &MemoryPlan, program: &TensorProgram, record: &TrainingRecord) -> Arena<TensorId, MemoryClass> {
    let mut read: Arena<TensorId, Vec<Phase>> = program.tensors.ids().map(|_| Vec::new()).collect();
    for statement in program.statements.values() {
        let phase = program.names.phase(&statement.origins);
        statement.operands.iter().for_each(|&operand| read[operand].push(phase));
    }
    let mut classes: Arena<TensorId, MemoryClass> =
        program.tensors.iter().map(|(id, tensor)| class(program, &tensor.source, &read[id])).collect();
    for (state, described) in memory.states.iter().zip(&record.states) {
        let class = match described.role {
            StateRole::Weight | StateRole::Statistic => MemoryClass::Weights,
            StateRole::Optimizer => MemoryClass::OptimizerState,
        };
        classes[state.tensor] = class;
        classes[state.next] = class;
    }
    classes
}

/// What a tensor that is no state is for, by what makes it and what reads it.
fn class(program: &TensorProgram, source: &Source, read: &[Phase]) -> MemoryClass {
    let made = match source {
        Source::Input(_) => Phase::Forward,
        Source::Statement(statement) => program.names.phase(program.origins(*statement)),
        Source::Constant(_) | Source::State(_) => return MemoryClass::Weights,
    };
    match made {
        Phase::Forward | Phase::Loss if read.contains(&Phase::Backward) => MemoryClass::Activations,
        Phase::Backward if read.contains(&Phase::Optimizer) => MemoryClass::Gradients,
        Phase::Forward | Phase::Loss | Phase::Backward | Phase::Optimizer => MemoryClass::Workspace,
    }
}

/// Bytes that buffers of each class cover; what several cover counts for the first of the classes.
fn bytes_by_class(buffers: impl Iterator<Item = (Buffer, MemoryClass)>) -> [u64; MemoryClass::ALL.len()] {
    let mut edges: Vec<(u64, usize, i64)> = Vec::new();
    for (buffer, class) in buffers {
        edges.push((buffer.offset, class as usize, 1));
        edges.push((buffer.offset + buffer.bytes, class as usize, -1));
    }
    edges.sort_unstable();
    let (mut bytes, mut open, mut last) = ([0; MemoryClass::ALL.len()], [0; MemoryClass::ALL.len()], 0);
    for (at, class, change) in edges {
        if let Some(first) = open.iter().position(|&buffers| buffers > 0) {
            bytes[first] += at - last;
        }
        open[class] += change;
        last = at;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_bytes_count_once() {
        let buffer = |offset, bytes| Buffer { space: BufferSpace::Arena, offset, bytes };
        let buffers = [
            (buffer(0, 256), MemoryClass::Weights),
            (buffer(256, 512), MemoryClass::Workspace),
            (buffer(512, 512), MemoryClass::Activations),
            (buffer(512, 128), MemoryClass::Gradients),
        ];
        assert_eq!(bytes_by_class(buffers.into_iter()), [256, 0, 128, 384, 256]);
    }
}
