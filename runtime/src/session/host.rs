//! The processor's threads as a device.

use warpweave_graph::Tensor;
use warpweave_graph::program::TensorId;
use warpweave_plan::plan::states::PlannedState;
use warpweave_plan::plan::{ExecutionPlan, MemoryPlan};

use super::bound::{BoundInput, BoundOutput};
use super::error::SessionError;
use super::exchange::{SPOILED, check_inputs, input_types};
use super::index_error::IndexError;
use super::{Session, states};
use crate::host::{HostError, HostSession};

impl Session for HostSession {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError> {
        check_inputs(input_types(&self.plan().plan().memory), inputs)?;
        HostSession::run(self, inputs).map_err(|error| named(error, &self.plan().plan().memory))
    }

    fn run_bound(&mut self, inputs: &[BoundInput<'_>], outputs: &mut [BoundOutput<'_>]) -> Result<bool, SessionError> {
        let ran = HostSession::run_bound(self, inputs, outputs);
        ran.map(|()| true).map_err(|error| named(error, &self.plan().plan().memory))
    }

    fn states(&mut self) -> Result<Vec<Tensor>, SessionError> {
        Ok(self.plan().plan().memory.states.iter().map(|state| self.read(state.tensor)).collect())
    }

    fn set_states(&mut self, states: &[Tensor]) -> Result<(), SessionError> {
        let memory = &self.plan().plan().memory;
        states::check(memory, states)?;
        let tensors: Vec<TensorId> = memory.states.iter().map(|state| state.tensor).collect();
        tensors.into_iter().zip(states).for_each(|(tensor, state)| self.write(tensor, state));
        Ok(())
    }

    fn advance(&mut self) -> Result<(), SessionError> {
        let states = self.plan().plan().memory.states.clone();
        states.into_iter().for_each(|PlannedState { tensor, next }| self.copy(next, tensor));
        Ok(())
    }

    fn spoil_outputs(&mut self) -> Result<bool, SessionError> {
        self.fill_outputs(SPOILED);
        Ok(true)
    }

    fn execution_plan(&self) -> Option<&ExecutionPlan> {
        Some(self.plan().plan())
    }

    fn notes(&self) -> Vec<String> {
        let threads = match self.threads() {
            1 => "one thread".to_owned(),
            several => format!("{several} threads"),
        };
        vec![format!("the plan is folded onto {threads} of this machine")]
    }
}

/// The error, about tensors as the plan numbers them.
fn named(error: HostError, memory: &MemoryPlan) -> SessionError {
    match error {
        HostError::Index(fault) => IndexError::of_plan(fault, memory).into(),
        other => other.into(),
    }
}
