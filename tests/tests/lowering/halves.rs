//! Programs in 16 bits: every template on every case, stored in halves and written in them, against the reference.

use std::sync::Arc;

use warpweave::codegen::verify;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::ElementType;
use warpweave::graph::program::TensorProgram;
use warpweave::graph::reference::evaluate;
use warpweave::plan::body::GroupBody;
use warpweave::plan::kernel::Kernel;
use warpweave::plan::template::attention;
use warpweave::plan::template::staged::phase;

use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::compile;
use warpweave_tests::printed;
use warpweave_tests::random::{self, Random};
use warpweave_tests::samples;
use warpweave_tests::sketch::Sketch;
use warpweave_tests::storage::{stored_as, written_in};
use warpweave_tests::suite::{Suite, is_full};

use crate::attention::cases as attention_cases;
use crate::cases::{self, Case};
use crate::templates::Expected;
use crate::text::run_text;

/// How a program of singles becomes one of halves.
type Form = fn(&TensorProgram, ElementType) -> TensorProgram;

const FORMS: [(&str, Form); 2] = [("stored in", stored_as), ("written in", written_in)];
const HALVES: [ElementType; 2] = [ElementType::F16, ElementType::BF16];
const UNITS: usize = 3;
/// Of a staged case's tiles and of a case's variants those that are run by default.
const STRIDE: usize = 8;

/// Adds a trial for each case, form and type; by default for one type and form of each.
pub fn add(suite: &mut Suite) {
    let mut turn = 0;
    let mut each = |suite: &mut Suite, name: &str, check: fn(Case, Form, ElementType), case: Case| {
        for (at, (how, form)) in FORMS.into_iter().enumerate() {
            for (of, element) in HALVES.into_iter().enumerate() {
                if is_full() || 2 * of + at == turn % 4 {
                    suite.trial(format!("{name} {} {how} {element}", case.name), move || check(case, form, element));
                }
            }
        }
        turn += 1;
    };
    for case in cases::all() {
        each(suite, "templates", check, case);
    }
    for case in cases::staged() {
        each(suite, "templates staged", |case, form, of| check_staged(case, form, of, phase::candidates), case);
    }
    for case in attention_cases() {
        each(suite, "attention", |case, form, of| check_staged(case, form, of, attention::candidates), case);
    }
    for (at, sample) in samples::all().into_iter().enumerate() {
        let (how, form) = FORMS[at % 2];
        let element = HALVES[at / 2 % 2];
        let program = form(&sample.program, element);
        suite.trial(format!("sample {} {how} {element}", sample.name), move || check_sample(&program, element));
    }
}

/// Four units in the last place of what is stored.
fn tolerance(element: ElementType) -> f64 {
    if element == ElementType::F16 { 2e-3 } else { 1.6e-2 }
}

/// A case in a form, with weights and inputs of a seed.
fn expected(case: Case, seed: u64, form: Form, element: ElementType) -> Expected {
    let mut sketch = Sketch::new(seed);
    let outputs = (case.build)(&mut sketch);
    let program = form(&sketch.finish(&outputs), element);
    let inputs = random::inputs(&mut Random::new(seed + 1), &program);
    let outputs = evaluate(&program, &inputs).unwrap_or_else(|error| panic!("{error}"));
    Expected { program, inputs, outputs, tolerance: tolerance(element) }
}

fn check(case: Case, form: Form, element: ElementType) {
    expected(case, 31, form, element).check_variants(step());
}

fn check_staged(case: Case, form: Form, element: ElementType, candidates: fn(&Arc<GroupBody>) -> Vec<Kernel>) {
    expected(case, 33, form, element).check_tiles(candidates, step());
}

fn step() -> usize {
    if is_full() { 1 } else { STRIDE }
}

/// A whole sample as the search compiles it, on the emulator and, fused as far as it goes, as printed text.
fn check_sample(program: &TensorProgram, element: ElementType) {
    let inputs = random::inputs(&mut Random::new(35), program);
    let expected = evaluate(program, &inputs).unwrap_or_else(|error| panic!("{error}"));
    // A logit of ten that is rounded the other way moves a weight by a hundredth, and several softmaxes follow one another.
    let tolerance = 5.0 * tolerance(element);
    for level in [FusionLevel::Register, FusionLevel::Full] {
        let compiled = compile(program, UNITS, level);
        printed::check(&compiled);
        assert_eq!(verify::verify(&compiled.lowered.program), [], "{level:?}");
        let machine = Machine::new(&compiled);
        assert_close(&machine.run(&inputs, 3), &expected, tolerance);
        if level == FusionLevel::Full {
            assert_close(&run_text(&machine, &inputs), &expected, tolerance);
        }
    }
}
