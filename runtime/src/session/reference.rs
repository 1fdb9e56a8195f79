//! The evaluator of tensor expressions as a device.

use warpweave_graph::reference::{ReferenceError, evaluate};
use warpweave_graph::{Tensor, TensorProgram};

use super::Session;
use super::error::SessionError;
use super::exchange::check_inputs;
use super::index_error::IndexError;
use super::memory_limit::check_reference;

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
        check_reference(&self.program)?;
        evaluate(&self.program, inputs).map_err(|error| match error {
            ReferenceError::Index(fault) => {
                let ty = &self.program.tensors[fault.check.tensor].ty;
                IndexError::new(fault, ty, &self.program.inputs).into()
            }
            other => SessionError::Internal(other.to_string()),
        })
    }
}
