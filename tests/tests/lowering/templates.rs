//! Every template on every case: the emulator against the plain evaluation.

use std::cell::Cell;
use std::sync::Arc;

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::verify;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::Tensor;
use warpweave::graph::program::TensorProgram;
use warpweave::plan::body::GroupBody;
use warpweave::plan::kernel::Kernel;
use warpweave::plan::template::staged::phase;
use warpweave_tests::evaluate::evaluate;
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::{Compiled, compile_staged, compile_with};
use warpweave_tests::printed;
use warpweave_tests::random::{self, Random};
use warpweave_tests::sketch::Sketch;
use warpweave_tests::suite::{Suite, is_full};

use crate::cases::{self, Case};
use crate::variants;

/// Adds a trial for each case.
pub fn add(suite: &mut Suite) {
    for case in cases::all() {
        let step = if is_full() { 1 } else { STRIDE };
        suite.trial(format!("templates {}", case.name), move || expected(case, 21).check_variants(step));
    }
    for case in cases::staged() {
        suite.trial(format!("templates staged {}", case.name), move || {
            expected(case, 23).check_tiles(phase::candidates, 1)
        });
    }
}

/// Of a case's variants those that are run by default.
const STRIDE: usize = 2;
/// Units of the plans.
const UNITS: usize = 3;
/// Tiles of a staged kernel that are run.
const STAGED_TILES: usize = 6;

/// A program with its inputs, the right outputs, and how far from them kernels may be.
pub struct Expected {
    pub program: TensorProgram,
    pub inputs: Vec<Tensor>,
    pub outputs: Vec<Tensor>,
    pub tolerance: f64,
}

impl Expected {
    /// The program under every `step`-th variant of its groups, on the emulator.
    pub fn check_variants(&self, step: usize) {
        for level in [FusionLevel::None, FusionLevel::Register] {
            let mut number = 0;
            loop {
                let more = Cell::new(false);
                let compiled = compile_with(&self.program, UNITS, level, |body| {
                    let mut variants = variants::of(body);
                    more.set(more.get() || number + step < variants.len());
                    Some(variants.swap_remove(number % variants.len()))
                });
                self.check(&compiled, number as u64);
                number += step;
                if !more.get() {
                    break;
                }
            }
        }
    }

    /// The program as one staged kernel under every `step`-th of some of these candidates, from all over the space.
    pub fn check_tiles(&self, candidates: impl Fn(&Arc<GroupBody>) -> Vec<Kernel>, step: usize) {
        for number in (0..STAGED_TILES).step_by(step) {
            let compiled = compile_staged(&self.program, UNITS, |body| {
                let mut tiles = candidates(body);
                assert!(!tiles.is_empty(), "the case fits under no tile");
                Some(tiles.swap_remove(number * tiles.len() / STAGED_TILES).params().clone())
            });
            self.check(&compiled.expect("the case is staged"), number as u64);
        }
    }

    fn check(&self, compiled: &Compiled, seed: u64) {
        let params = compiled.params();
        printed::check(compiled);
        assert_eq!(verify::verify(&compiled.lowered.program), [], "{params:?}");
        let (report, found) = Machine::new(compiled).launch(&self.inputs, &LaunchOptions::seeded(seed));
        assert!(report.is_clean(), "{params:?}: {report}");
        assert_close(&found, &self.outputs, self.tolerance);
    }
}

/// A case in singles, with weights and inputs of a seed.
fn expected(case: Case, seed: u64) -> Expected {
    let mut sketch = Sketch::new(seed);
    let outputs = (case.build)(&mut sketch);
    let program = sketch.finish(&outputs);
    let inputs = random::inputs(&mut Random::new(seed + 1), &program);
    Expected { outputs: evaluate(&program, &inputs), program, inputs, tolerance: 1e-4 }
}
