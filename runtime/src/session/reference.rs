//! The evaluator of tensor expressions as a device.

use warpweave_graph::reference::{ReferenceError, evaluate_launch};
use warpweave_graph::{Tensor, TensorProgram};

use super::Session;
use super::error::SessionError;
use super::exchange::check_inputs;
use super::index_error::IndexError;
use super::memory_limit::check_reference;

/// A program that the reference evaluates.
pub struct ReferenceSession {
    program: TensorProgram,
    /// What the last run has left of each state.
    next: Vec<Tensor>,
}

impl ReferenceSession {
    /// A session of `program`.
    pub fn new(program: TensorProgram) -> Self {
        Self { program, next: Vec::new() }
    }
}

impl Session for ReferenceSession {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError> {
        let types: Vec<_> = self.program.inputs.iter().map(|input| &self.program.tensors[*input].ty).collect();
        check_inputs(types.into_iter(), inputs)?;
        check_reference(&self.program)?;
        let (outputs, next) = evaluate_launch(&self.program, inputs).map_err(|error| match error {
            ReferenceError::Index(fault) => {
                let ty = &self.program.tensors[fault.check.tensor].ty;
                IndexError::new(fault, ty, &self.program.inputs).into()
            }
            other => SessionError::Internal(other.to_string()),
        })?;
        self.next = next;
        Ok(outputs)
    }

    fn states(&mut self) -> Result<Vec<Tensor>, SessionError> {
        Ok(self.program.states().filter_map(|(state, _)| self.program.stored(state).cloned()).collect())
    }

    fn set_states(&mut self, states: &[Tensor]) -> Result<(), SessionError> {
        if self.program.replace_states(states) {
            return Ok(());
        }
        Err(SessionError::Internal("the states are not those of the program".to_owned()))
    }

    fn advance(&mut self) -> Result<(), SessionError> {
        let next = std::mem::take(&mut self.next);
        self.set_states(&next)
    }
}
