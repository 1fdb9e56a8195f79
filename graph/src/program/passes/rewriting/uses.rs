//! What reads each tensor.

use std::collections::BTreeSet;

use crate::arena::Arena;
use crate::program::{StatementId, TensorId, TensorProgram};

/// The uses of a program's tensors.
pub(crate) struct Uses {
    readers: Arena<TensorId, Vec<StatementId>>,
    live_out: BTreeSet<TensorId>,
}

impl Uses {
    pub(crate) fn of(program: &TensorProgram) -> Self {
        let mut readers: Arena<TensorId, Vec<StatementId>> = program.tensors.values().map(|_| Vec::new()).collect();
        for (id, statement) in program.statements.iter() {
            for &operand in &statement.operands {
                if readers[operand].last() != Some(&id) {
                    readers[operand].push(id);
                }
            }
        }
        Self { readers, live_out: program.live_out().collect() }
    }

    /// The statements that read a tensor, in order, each once.
    pub(crate) fn readers(&self, tensor: TensorId) -> &[StatementId] {
        &self.readers[tensor]
    }

    /// Whether a tensor's value is wanted after a launch.
    pub(crate) fn is_live_out(&self, tensor: TensorId) -> bool {
        self.live_out.contains(&tensor)
    }
}
