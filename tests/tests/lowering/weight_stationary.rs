//! Kernels whose constants are on chip, and which exchange values that carry their own validity: well-formed, and their
//! printed text computes what the emulator does, in launch after launch.

use std::time::Duration;

use warpweave::codegen::emulate::mutate::TagMutation;
use warpweave::codegen::print::UnitSize;
use warpweave::codegen::verify;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::graph::Tensor;
use warpweave::graph::program::TensorProgram;
use warpweave::plan::plan::tag_of;
use warpweave::plan::tables::{Awaited, OPCODE_WAIT};
use warpweave::plan::template::Template;
use warpweave::runtime::target::Target;
use warpweave::runtime::text::TextError;
use warpweave_tests::evaluate::evaluate;
use warpweave_tests::gates;
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::{self, compile_under};
use warpweave_tests::printed;
use warpweave_tests::random::{self, Random};
use warpweave_tests::samples;
use warpweave_tests::suite::{Suite, is_full};

use crate::text::{run_launches, try_launches};

/// Units, so that tiles are ragged, of one row, and of several rows a warp.
const UNITS: [usize; 3] = [2, 7, 40];

/// Units and batches beside a single sequence. A warp finishes its rows at once, or in several rounds.
const BATCHES: [(usize, usize); 5] = [(2, 2), (7, 2), (40, 2), (7, 5), (2, 20)];

/// Units under which registers hold all passes over the rows but one, and all but several.
const WIDE: [usize; 2] = [16, 14];

/// Widths and batches of device code: rows that end within a warp's run, alone and behind a whole run.
const DEVICE: [(usize, usize); 4] = [(48, 1), (48, 4), (192, 1), (192, 2)];

/// Adds a trial for each number of units and batch.
pub fn add(suite: &mut Suite) {
    for units in UNITS {
        suite.trial(format!("kept on {units}"), move || check(&samples::recurrence(), units, 1e-6));
    }
    let size = |all: usize, fewer: usize| if is_full() { all } else { fewer };
    for (units, batch) in BATCHES.into_iter().take(size(BATCHES.len(), 4)) {
        let program = move || samples::recurrence_of(16, batch);
        suite.trial(format!("kept on {units}, batch {batch}"), move || check(&program(), units, 1e-6));
    }
    for units in WIDE.into_iter().take(size(WIDE.len(), 1)) {
        let program = move || samples::recurrence_of(192, 2);
        suite.trial(format!("kept on {units}, 192 wide"), move || check(&program(), units, 1e-5));
    }
    for (width, batch) in DEVICE {
        suite.trial(format!("device kept, {width} wide, batch {batch}"), move || {
            let compiled = compile_under(&samples::recurrence_of(width, batch), FusionLevel::Register, &options(7));
            for target in [Target::Sm80, Target::Sm90a] {
                gates::check(&compiled.lowered.program, UnitSize::default(), target);
            }
        });
    }
}

fn options(units: usize) -> PlanOptions {
    PlanOptions { shared_bytes: 220 << 10, ..pipeline::options(units) }
}

/// `close` is how far text may be from the emulator.
fn check(program: &TensorProgram, units: usize, close: f64) {
    let compiled = compile_under(program, FusionLevel::Register, &options(units));
    let operators = compiled.plan.plan().persistent().operators.values();
    let chosen: Vec<Template> = operators.map(|operator| *operator.kernel.template()).collect();
    assert!(chosen.contains(&Template::WeightStationary), "nothing is kept: {chosen:?}");
    printed::check(&compiled);
    assert_eq!(verify::verify(&compiled.lowered.program), []);
    let machine = Machine::new(&compiled);
    let inputs = random::inputs(&mut Random::new(24), program);
    let emulated = machine.run(&inputs, 1);
    assert_close(&emulated, &evaluate(program, &inputs), 1e-4);
    // Numbers of launches that are the first, cross the wrap of signed ones, and pass 0.
    for epoch in [1, i32::MAX - 1, -2] {
        assert_close(&run_launches(&machine, &inputs, epoch, 3), &emulated, close);
    }
    if compiled.plan.evidence().polls > 0 {
        check_time_out(&machine, &inputs);
    }
}

/// Without tags a poll gives up and says for what, and all threads leave.
fn check_time_out(machine: &Machine, inputs: &[Tensor]) {
    let mut mutant = Machine { program: TagMutation::DropMark.apply(&machine.program), ..machine.clone() };
    // Which of several waits gives up first is not determined: those for counters are over at once.
    for instruction in mutant.tables.instructions.chunks_exact_mut(4) {
        if let [OPCODE_WAIT, _, _, wanted] = instruction {
            *wanted = 0;
        }
    }
    match try_launches(&mutant, inputs, 1, 1, Duration::from_millis(300)) {
        Err(TextError::Wait(wait)) => {
            assert!(matches!(wait.awaited, Awaited::Tagged { .. }), "{wait}");
            let tag = |epoch| tag_of(epoch, 0).cast_signed();
            assert_eq!((wait.seen, wait.wanted), (tag(0), tag(1)), "{wait}");
        }
        other => panic!("values without tags ended with {other:?}"),
    }
}
