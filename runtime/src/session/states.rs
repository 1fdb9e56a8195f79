//! Tensors that live between runs, in the arena of a plan.

use warpweave_graph::Tensor;
use warpweave_graph::program::TensorId;
use warpweave_plan::plan::MemoryPlan;
use warpweave_plan::plan::states::PlannedState;

use super::error::SessionError;
use super::exchange::{output, place};

/// Whether these can be what the states of a plan are.
pub(crate) fn check(memory: &MemoryPlan, states: &[Tensor]) -> Result<(), SessionError> {
    if states.len() != memory.states.len() {
        return Err(SessionError::StateCount { expected: memory.states.len(), found: states.len() });
    }
    let expected = memory.states.iter().map(|state| &memory.tensors[state.tensor].ty);
    match expected.zip(states).enumerate().find(|(_, (expected, state))| *expected != state.ty()) {
        Some((position, (expected, state))) => {
            let (expected, found) = (expected.clone(), state.ty().clone());
            Err(SessionError::StateType { position, expected, found })
        }
        None => Ok(()),
    }
}

/// Reads the tensors that `part` chooses of all states by `bytes`, which gives those of a range of the arena.
pub(crate) fn read(
    memory: &MemoryPlan,
    part: impl Fn(&PlannedState) -> TensorId,
    mut bytes: impl FnMut(std::ops::Range<usize>) -> Result<Vec<u8>, SessionError>,
) -> Result<Vec<Tensor>, SessionError> {
    let read = |state: &PlannedState| {
        let tensor = part(state);
        output(memory, tensor, bytes(place(memory, tensor))?)
    };
    memory.states.iter().map(read).collect()
}

/// Writes what states are to an arena.
#[cfg(feature = "compile")]
pub(crate) fn write(memory: &MemoryPlan, states: &[Tensor], arena: &mut [u8]) {
    for (state, tensor) in memory.states.iter().zip(states) {
        arena[place(memory, state.tensor)].copy_from_slice(tensor.bytes());
    }
}
