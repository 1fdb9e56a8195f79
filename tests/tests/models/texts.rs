//! The programs of models as text, and the nodes that their statements come from.

use std::collections::BTreeSet;

use warpweave::graph::TensorProgram;
use warpweave::graph::pipeline::prepare;
use warpweave::graph::program::OriginId;
use warpweave_tests::models;
use warpweave_tests::program_text::read_back;
use warpweave_tests::suite::Suite;

/// Two trials a model: its program, lowered and prepared, is what its text reads back to; and no pass over programs loses a
/// node of the model.
pub fn add(suite: &mut Suite) {
    for model in models::all() {
        let name = model.name.clone();
        let other = model.clone();
        suite.trial(format!("{name} reads back from the text of its program"), move || {
            let program = model.program();
            let read = read_back(&program).and_then(|()| read_back(&prepare(&program).program));
            read.unwrap_or_else(|reason| panic!("{reason}"));
        });
        suite.trial(format!("{name} keeps the nodes that its statements come from"), move || {
            let program = other.program();
            let prepared = prepare(&program).program;
            assert!(!nodes(&program).is_empty());
            assert_eq!(nodes(&prepared), nodes(&program));
            assert!(prepared.statements.ids().all(|statement| !prepared.origins(statement).is_empty()));
        });
    }
}

fn nodes(program: &TensorProgram) -> BTreeSet<OriginId> {
    program.statements.ids().flat_map(|statement| program.origins(statement).clone()).collect()
}
