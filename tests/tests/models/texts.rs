//! The programs of models as text.

use warpweave::graph::pipeline::prepare;
use warpweave_tests::models;
use warpweave_tests::program_text::read_back;
use warpweave_tests::suite::Suite;

/// A trial a model: its program, lowered and prepared, is what its text reads back to.
pub fn add(suite: &mut Suite) {
    for model in models::all() {
        suite.trial(format!("{} reads back from the text of its program", model.name), move || {
            let program = model.program();
            let read = read_back(&program).and_then(|()| read_back(&prepare(&program).0));
            assert!(read.is_ok(), "{}", read.unwrap_err());
        });
    }
}
