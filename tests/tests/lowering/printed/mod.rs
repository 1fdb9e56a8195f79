//! Plans and kernels print, and what is printed parses back; other texts are refused.

mod expressions;
mod hostile;
mod random;

use warpweave::fusion::partition::search::FusionLevel;
use warpweave_tests::models::{self, Model};
use warpweave_tests::pipeline::compile;
use warpweave_tests::printed;
use warpweave_tests::suite::Suite;

const UNITS: usize = 132;

/// Adds a trial a model, and those of other texts.
pub fn add(suite: &mut Suite) {
    for model in models::all() {
        suite.trial(format!("{} parses back", model.name), move || check(&model));
    }
    hostile::add(suite);
    random::add(suite);
    expressions::add(suite);
}

fn check(model: &Model) {
    let program = model.program();
    for level in [FusionLevel::None, FusionLevel::Register, FusionLevel::Full] {
        printed::check(&compile(&program, UNITS, level));
    }
}
