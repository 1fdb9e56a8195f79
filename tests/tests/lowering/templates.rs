//! Every template on every case: the emulator against the plain evaluation.

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::verify;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::plan::template::staged::phase;
use warpweave_tests::evaluate::evaluate;
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::{compile_staged, compile_with};
use warpweave_tests::printed;
use warpweave_tests::random::{self, Random};
use warpweave_tests::sketch::Sketch;
use warpweave_tests::suite::Suite;

use crate::cases::{self, Case};
use crate::variants;

/// Adds a trial for each case.
pub fn add(suite: &mut Suite) {
    for case in cases::all() {
        suite.trial(format!("templates {}", case.name), move || check(case));
    }
    for case in cases::staged() {
        suite.trial(format!("templates staged {}", case.name), move || check_staged(case));
    }
}

/// Tiles of a staged kernel that are run.
const STAGED_TILES: usize = 6;

/// A case as one staged kernel, under tiles from all over the space.
fn check_staged(case: Case) {
    let mut sketch = Sketch::new(23);
    let outputs = (case.build)(&mut sketch);
    let program = sketch.finish(&outputs);
    let inputs = random::inputs(&mut Random::new(24), &program);
    let expected = evaluate(&program, &inputs);
    for number in 0..STAGED_TILES {
        let compiled = compile_staged(&program, 3, |body| {
            let mut tiles = phase::candidates(body);
            Some(tiles.swap_remove(number * tiles.len() / STAGED_TILES).params().clone())
        });
        let compiled = compiled.expect("the case is staged");
        printed::check(&compiled);
        assert_eq!(verify::verify(&compiled.lowered.program), []);
        let (report, found) = Machine::new(&compiled).launch(&inputs, &LaunchOptions::seeded(number as u64));
        assert!(report.is_clean(), "{report}");
        assert_close(&found, &expected, 1e-4);
    }
}

fn check(case: Case) {
    let mut sketch = Sketch::new(21);
    let outputs = (case.build)(&mut sketch);
    let program = sketch.finish(&outputs);
    let inputs = random::inputs(&mut Random::new(22), &program);
    let expected = evaluate(&program, &inputs);
    for level in [FusionLevel::None, FusionLevel::Register] {
        let mut number = 0;
        loop {
            let more = std::cell::Cell::new(false);
            let compiled = compile_with(&program, 3, level, |body| {
                let mut variants = variants::of(body);
                more.set(more.get() || number + 1 < variants.len());
                Some(variants.swap_remove(number % variants.len()))
            });
            let params = compiled.params();
            printed::check(&compiled);
            assert_eq!(verify::verify(&compiled.lowered.program), [], "{level:?} {params:?}");
            let (report, found) = Machine::new(&compiled).launch(&inputs, &LaunchOptions::seeded(number as u64));
            assert!(report.is_clean(), "{level:?} {params:?}: {report}");
            assert_close(&found, &expected, 1e-4);
            number += 1;
            if !more.get() {
                break;
            }
        }
    }
}
