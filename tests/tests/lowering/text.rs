//! The printed text of all cases in one program, run on the CPU: the same bits as the emulator's.

use std::path::Path;
use std::time::Duration;

use warpweave::codegen::print::cuda;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::graph::Tensor;
use warpweave::plan::kernel::ScheduleParams;
use warpweave::plan::template::Template;
use warpweave::plan::template::contraction::shape::Pipeline;
use warpweave::plan::tensor_core::sum::TensorCore;
use warpweave::runtime::cache::Cache;
use warpweave::runtime::session_memory::SessionMemory;
use warpweave::runtime::text::{TextError, TextLaunch, TextProgram};
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::{Compiled, compile_with};
use warpweave_tests::random::{self, Random};
use warpweave_tests::samples;
use warpweave_tests::sketch::Sketch;
use warpweave_tests::suite::{Suite, is_full};

use crate::cases;
use crate::variants;

const UNITS: usize = 3;

/// Adds a trial for some of the variants; the C++ compiler takes seconds for each.
pub fn add(suite: &mut Suite) {
    for number in (0..40).step_by(if is_full() { 1 } else { 9 }) {
        suite.trial(format!("text {number}"), move || check(number));
    }
    for pipeline in [Pipeline::RegisterPrefetch, Pipeline::Asynchronous { depth: 3 }] {
        suite.trial(format!("text with waits of its own, {pipeline:?}"), move || check_own_waits(pipeline));
    }
}

/// Kernels that load constants before their waits compute the same bits, also where launches' numbers wrap.
fn check_own_waits(pipeline: Pipeline) {
    let has = |params: &ScheduleParams| match params.template {
        Template::Contraction(shape) => shape.pipeline == pipeline,
        _ => false,
    };
    let compiled = compile_with(&samples::two_products(), UNITS, FusionLevel::Register, |body| {
        variants::of(body).into_iter().find(has)
    });
    assert!(compiled.plan.plan().persistent().prefetches() > 0, "the second product begins with constants");
    let machine = Machine::new(&compiled);
    let inputs = random::inputs(&mut Random::new(24), &compiled.program);
    let emulated = machine.run(&inputs, 1);
    assert_eq!(run_launches(&machine, &inputs, -2, 5), emulated);
}

/// All cases as one program, compiled with the given variant of every group; whether each output is exact.
pub fn all_cases(number: usize, level: FusionLevel) -> (Compiled, Vec<bool>) {
    let mut sketch = Sketch::new(21);
    let (mut outputs, mut exact) = (Vec::new(), Vec::new());
    for case in cases::all() {
        let own = (case.build)(&mut sketch);
        exact.resize(exact.len() + own.len(), case.exact);
        outputs.extend(own);
    }
    let program = sketch.finish(&outputs);
    let compiled = compile_with(&program, UNITS, level, |body| {
        let mut variants = variants::of(body);
        Some(variants.swap_remove(number % variants.len()))
    });
    (compiled, exact)
}

fn check(number: usize) {
    let level = if number.is_multiple_of(4) { FusionLevel::Register } else { FusionLevel::None };
    let (compiled, exact) = all_cases(number, level);
    let machine = Machine::new(&compiled);
    let inputs = random::inputs(&mut Random::new(23), &compiled.program);
    let emulated = machine.run(&inputs, 1);
    let printed = run_text(&machine, &inputs);
    for ((emulated, printed), exact) in emulated.iter().zip(&printed).zip(exact) {
        if exact || !emulated.element().is_float() {
            assert_eq!(printed.bytes(), emulated.bytes());
        } else {
            assert_close(std::slice::from_ref(printed), std::slice::from_ref(emulated), 1e-6);
        }
    }
}

/// The outputs of one launch of the printed text.
pub fn run_text(machine: &Machine, inputs: &[Tensor]) -> Vec<Tensor> {
    run_launches(machine, inputs, 1, 1)
}

/// The outputs of the last of several launches of the printed text, from this number on.
pub fn run_launches(machine: &Machine, inputs: &[Tensor], epoch: i32, launches: u32) -> Vec<Tensor> {
    let outputs = try_launches(machine, inputs, epoch, launches, Duration::from_secs(60));
    outputs.unwrap_or_else(|error| panic!("{error}"))
}

/// The same, unless a wait or a poll takes longer than this.
pub fn try_launches(
    machine: &Machine,
    inputs: &[Tensor],
    epoch: i32,
    launches: u32,
    wait_limit: Duration,
) -> Result<Vec<Tensor>, TextError> {
    let cache = Cache::new(Path::new(env!("CARGO_TARGET_TMPDIR")).join("text"));
    let text = TextProgram::compile(&cuda(&machine.program), Some(&cache)).unwrap_or_else(|error| panic!("{error}"));
    let launch = TextLaunch {
        threads: machine.program.threads,
        shared_bytes: machine.program.shared_bytes(),
        tables: &machine.tables,
        weights: &machine.weights,
        launches,
        wait_limit,
        run_limit: Duration::from_secs(120),
        tensor_core: TensorCore::Hopper,
    };
    let arrivals = machine.plan.arrivals();
    let mut memory = SessionMemory::new(machine.arena(inputs), machine.counters())
        .at_epoch(epoch, &arrivals, &machine.plan.grids())
        .tagged(&machine.plan.memory);
    text.run(launch, &mut memory)?;
    Ok(machine.outputs(&memory.arena))
}
