//! Statements that nothing depends on.

use std::collections::BTreeMap;

use super::rewriting::rebuild::Rebuild;
use crate::arena::Arena;
use crate::program::{Names, Source, State, Statement, TensorId, TensorProgram};

/// The program without statements that no output and no state depends on; all inputs and constants stay.
pub fn remove_dead(program: &TensorProgram) -> TensorProgram {
    let live = needed(program);
    let mut builder = Rebuild::new(program);
    for statement in program.statements.values().filter(|statement| live[statement.output]) {
        builder.keep(statement);
    }
    builder.finish(program)
}

impl TensorProgram {
    /// The same program without statements and constants that no output and no state depends on; all inputs and states stay.
    pub fn pruned(&self) -> Self {
        let mut needed = needed(self);
        self.inputs.iter().for_each(|&tensor| needed[tensor] = true);
        let mut pruned = Self { names: Names { tensors: BTreeMap::new(), ..self.names.clone() }, ..Self::default() };
        let mut renamed: Arena<TensorId, Option<TensorId>> = Arena::new();
        for (id, definition) in self.tensors.iter() {
            renamed.push(needed[id].then(|| pruned.tensors.push(definition.clone())));
        }
        let rename = |id: &TensorId| renamed[*id].expect("what a needed statement names is needed");
        for tensor in pruned.tensors.values_mut() {
            if let Source::State(State { next: Some(next), .. }) = &mut tensor.source {
                *next = rename(next);
            }
        }
        for statement in self.statements.values().filter(|statement| needed[statement.output]) {
            let output = rename(&statement.output);
            let operands = statement.operands.iter().map(rename).collect();
            let id = pruned.statements.push(Statement { operands, output, ..statement.clone() });
            pruned.tensors[output].source = Source::Statement(id);
        }
        pruned.inputs = self.inputs.iter().map(rename).collect();
        pruned.outputs = self.outputs.iter().map(rename).collect();
        let named = |(id, name): (&TensorId, &String)| Some(((*renamed.get(*id)?)?, name.clone()));
        pruned.names.tensors = self.names.tensors.iter().filter_map(named).collect();
        pruned
    }
}

/// Whether an output or a state depends on each tensor; states are needed themselves.
fn needed(program: &TensorProgram) -> Arena<TensorId, bool> {
    let is_state = |source: &Source| matches!(source, Source::State(_));
    let mut needed: Arena<TensorId, bool> = program.tensors.values().map(|tensor| is_state(&tensor.source)).collect();
    program.live_out().for_each(|tensor| needed[tensor] = true);
    for statement in program.statements.values().rev() {
        if needed[statement.output] {
            statement.operands.iter().for_each(|&operand| needed[operand] = true);
        }
    }
    needed
}
