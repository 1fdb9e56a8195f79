//! Parts of concats produced in the buffers of the concats.

use std::collections::BTreeSet;

use super::rebuild::Rebuild;
use crate::arena::Arena;
use crate::program::layout::{Layout, layouts};
use crate::program::{Definition, Origins, TensorId, TensorProgram};

/// The program with a copy wherever a tensor could not be produced in place.
///
/// Afterwards every part of a concat has a statement of its own that writes it into the concat's buffer, and every output is
/// produced by a statement and occurs once.
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
    let mut outputs = Vec::new();
    for &output in &program.outputs {
        let new = builder.map(output);
        let producer = program.producer(output);
        let own = producer.is_some() && !outputs.contains(&new);
        let origins = producer.map_or_else(Origins::new, |producer| program.origins(producer).clone());
        outputs.push(if own { new } else { builder.copy(new, origins) });
    }
    builder.finish_with(program, outputs)
}

/// The program after [`concat_placement`], and each tensor's layout.
pub fn place_concats(program: &TensorProgram) -> (TensorProgram, Arena<TensorId, Layout>) {
    let placed = concat_placement(program);
    let layouts = layouts(&placed);
    (placed, layouts)
}
