//! Whole samples, as the search compiles them: the emulator against the plain evaluation.

use warpweave::codegen::verify;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave_tests::evaluate::evaluate;
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::compile;
use warpweave_tests::printed;
use warpweave_tests::random::{self, Random};
use warpweave_tests::samples::{self, Sample};
use warpweave_tests::suite::Suite;

/// Adds a trial for each sample.
pub fn add(suite: &mut Suite) {
    for sample in samples::all() {
        suite.trial(format!("sample {}", sample.name), move || check(&sample));
    }
}

fn check(sample: &Sample) {
    let inputs = random::inputs(&mut Random::new(17), &sample.program);
    let expected = evaluate(&sample.program, &inputs);
    for level in [FusionLevel::None, FusionLevel::Register, FusionLevel::Full] {
        for units in [1, 5] {
            let compiled = compile(&sample.program, units, level);
            printed::check(&compiled);
            assert_eq!(verify::verify(&compiled.lowered.program), [], "{level:?}");
            let found = Machine::new(&compiled).run(&inputs, 3);
            assert_close(&found, &expected, 1e-4);
        }
    }
}
