//! Parts of concats produced in the buffers of the concats.

use std::collections::BTreeSet;

use super::rewriting::rebuild::{LiveOut, Rebuild};
use crate::arena::Arena;
use crate::program::layout::{Layout, layouts};
use crate::program::{Definition, Origins, TensorId, TensorProgram};

/// The program with a copy wherever a tensor could not be produced in place.
///
/// Afterwards every part of a concat has a statement of its own that writes it into the concat's buffer. Every output
/// is produced by a statement and occurs once. What states become is produced by statements.
pub fn concat_placement(program: &TensorProgram) -> TensorProgram {
    let mut builder = Rebuild::new(program);
    let wanted: BTreeSet<TensorId> = program.live_out().collect();
    let mut placed: BTreeSet<TensorId> = BTreeSet::new();
    for statement in program.statements.values() {
        let Definition::Concat { axis } = statement.definition else {
            builder.keep(statement);
            continue;
        };
        let mut parts = Vec::new();
        for &part in &statement.operands {
            let new = builder.map(part);
            let in_place = program.producer(part).is_some() && !placed.contains(&new) && !wanted.contains(&part);
            let home = if in_place { new } else { builder.copy(new, statement.origins.clone()) };
            placed.insert(home);
            parts.push(home);
        }
        builder.concat(statement, axis, &parts);
    }
    let mut produced = |tensor: TensorId, is_taken: bool| {
        let new = builder.map(tensor);
        let producer = program.producer(tensor);
        let origins = producer.map_or_else(Origins::new, |producer| program.origins(producer).clone());
        if producer.is_some() && !is_taken { new } else { builder.copy(new, origins) }
    };
    let mut taken = BTreeSet::new();
    let outputs = program.outputs.iter().map(|&output| produced(output, !taken.insert(output))).collect();
    let next: Vec<TensorId> = program.states().map(|(_, next)| produced(next, false)).collect();
    let states = program.states().zip(next).map(|((state, _), next)| (builder.map(state), next)).collect();
    builder.finish_with(program, LiveOut { outputs, states })
}

/// The program after [`concat_placement`], and each tensor's layout.
pub fn place_concats(program: &TensorProgram) -> (TensorProgram, Arena<TensorId, Layout>) {
    let placed = concat_placement(program);
    let layouts = layouts(&placed);
    (placed, layouts)
}
