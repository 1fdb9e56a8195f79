//! The evaluator of tensor expressions as a device.

use warpweave_graph::reference::evaluate;
use warpweave_graph::{Tensor, TensorProgram};

use super::Session;
use super::error::SessionError;
use super::exchange::check_inputs;

/// A program that the reference evaluates.
pub struct ReferenceSession {
    program: TensorProgram,
}

impl ReferenceSession {
    /// A session of `program`.
    pub fn new(program: TensorProgram) -> Self {
        Self { program }
    }
}

impl Session for ReferenceSession {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, SessionError> {
        let types: Vec<_> = self.program.inputs.iter().map(|input| &self.program.tensors[*input].ty).collect();
        check_inputs(types.into_iter(), inputs)?;
        evaluate(&self.program, inputs).map_err(|error| SessionError::Internal(error.to_string()))
    }
}
