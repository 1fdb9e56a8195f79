//! Errors of the protocol, which the emulator reports under every seed.

use std::time::Instant;

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::emulate::mutate::{PlanMutation, ProgramMutation};
use warpweave::codegen::emulate::report::LaunchReport;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::fusion::schedule::policy::SyncPolicy;
use warpweave::graph::reference::evaluate;
use warpweave::graph::{Tensor, TensorProgram};
use warpweave::plan::plan::{ExecutionPlan, Instruction, Segment};
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::{self, Compiled, compile, compile_under};
use warpweave_tests::random::{self, Random};
use warpweave_tests::suite::{Suite, is_full};
use warpweave_tests::{models, samples};

use warpweave_tests::closure::accesses::{Accesses, Reads};
use warpweave_tests::closure::judge::{Verdict, judge};

const UNITS: usize = 4;
const SEEDS: [u64; 3] = [0, 1, 0x5eed];
/// Signals of a model's plan that are tried before the rTask that they follow.
const EARLY_SIGNALS: usize = 2;

/// Adds a trial for each sample: every error of the entry, and every error of the streams at every place.
pub fn add(suite: &mut Suite) {
    for sample in samples::all() {
        for level in [FusionLevel::None, FusionLevel::Register] {
            let program = sample.program.clone();
            suite.trial(format!("protocol {} {level:?}", sample.name), move || {
                let compiled = compile(&program, UNITS, level);
                let inputs = random::inputs(&mut Random::new(5), &program);
                check_plan(&compiled, &inputs);
                // Waits for whole operators order rTasks of different units in which every warp reads.
                let options = PlanOptions { sync: Some(SyncPolicy::OPERATOR), ..pipeline::options(UNITS) };
                check_program(&compile_under(&program, level, &options), &inputs);
            });
        }
    }
}

/// Adds a trial for each model: clean runs that agree with the reference, every error of the entry, and some of the streams.
pub fn add_models(suite: &mut Suite) {
    for model in models::by_turns_from(1, 3) {
        suite.trial(format!("protocol of {}", model.name), move || {
            let start = Instant::now();
            let program = model.program();
            let inputs = random::indices(&mut Random::new(5), &program);
            let expected = evaluate(&program, &inputs).unwrap_or_else(|error| panic!("{error}"));
            let full = Trial::new(&program, &inputs, FusionLevel::Full);
            assert_close(&full.expected, &expected, 1e-3);
            let clean = start.elapsed();
            let hidden = full.check_errors();
            full.check_early_signals();
            if is_full() || !hidden.is_empty() {
                let register = Trial::new(&program, &inputs, FusionLevel::Register);
                assert_close(&register.expected, &expected, 1e-3);
                assert_eq!(register.check_errors(), [], "errors that do no harm at any level of fusion");
                register.check_early_signals();
            }
            eprintln!(
                "{}: {clean:.1?} clean, {:.1?} in all, harmless on the shipped plan: {hidden:?}",
                model.name,
                start.elapsed()
            );
        });
    }
}

/// A model's plan for a GPU, and what it computes.
struct Trial<'a> {
    compiled: Compiled,
    machine: Machine,
    inputs: &'a [Tensor],
    expected: Vec<Tensor>,
}

impl<'a> Trial<'a> {
    fn new(program: &TensorProgram, inputs: &'a [Tensor], level: FusionLevel) -> Self {
        let compiled = compile(program, UNITS, level);
        let machine = Machine::new(&compiled);
        let expected = machine.run(inputs, 0);
        Self { compiled, machine, inputs, expected }
    }

    /// Fails unless every error of the entry is reported under every seed. A barrier after waits may be missing without
    /// harm, if every kernel meets at one of its own before any warp but the first reads what another unit wrote. Then
    /// no seed may report it or compute anything else, and it is among what this returns.
    fn check_errors(&self) -> Vec<ProgramMutation> {
        let is_hidden = |&mutation: &ProgramMutation| {
            let mutant = Machine { program: mutation.apply(&self.machine.program), ..self.machine.clone() };
            let runs = model_seeds().iter().map(|&seed| (seed, launch(&mutant, self.inputs, seed)));
            let silent: Vec<u64> = runs
                .filter(|(_, (report, _))| report.is_clean())
                .map(|(seed, (_, outputs))| {
                    assert!(outputs == self.expected, "{mutation:?} changes the result unnoticed under seed {seed}");
                    seed
                })
                .collect();
            let may_hide = mutation == ProgramMutation::DropBarrierAfterWait && silent.len() == model_seeds().len();
            assert!(silent.is_empty() || may_hide, "{mutation:?} is not reported under seeds {silent:?}");
            !silent.is_empty()
        };
        ProgramMutation::ALL.into_iter().filter(is_hidden).collect()
    }

    /// Fails unless signals before the rTask that they follow are reported, where they do harm.
    fn check_early_signals(&self) {
        let accesses = Accesses::new(self.compiled.plan.plan(), Reads::Points);
        for mutation in harmful_early_signals(&self.compiled, &self.machine, &accesses) {
            let tables = mutation.apply(&self.machine.tables).expect("the plan has that signal");
            let mutant = Machine { tables, ..self.machine.clone() };
            for &seed in model_seeds() {
                let (report, _) = launch(&mutant, self.inputs, seed);
                assert!(!report.is_clean(), "{mutation:?} is not reported under seed {seed}");
            }
        }
    }
}

/// Interleavings of a mutant of a model: two, and five in a full run.
fn model_seeds() -> &'static [u64] {
    if is_full() { &[0, 1, 2, 3, 0x5eed] } else { &[0, 0x5eed] }
}

/// Some signals of a plan, spread over its streams, that do harm when they come before the rTask that they follow.
fn harmful_early_signals(compiled: &Compiled, machine: &Machine, accesses: &Accesses) -> Vec<PlanMutation> {
    let plan = compiled.plan.plan();
    let all: Vec<PlanMutation> = (0..)
        .map(|number| PlanMutation::SignalBeforeRun { number })
        .take_while(|mutation| mutation.apply(&machine.tables).is_some())
        .collect();
    let stride = (all.len() / EARLY_SIGNALS).max(1);
    let spread = (0..stride).flat_map(|first| all.iter().copied().skip(first).step_by(stride));
    let harmful = |mutation: &PlanMutation| matches!(judge(&changed(plan, *mutation), accesses), Verdict::Harmful(_));
    let found: Vec<PlanMutation> = spread.filter(harmful).take(EARLY_SIGNALS).collect();
    assert!(!found.is_empty(), "some signal matters");
    found
}

/// Every error of the entry is reported if rTasks of different units depend on one another.
fn check_program(compiled: &Compiled, inputs: &[Tensor]) {
    let machine = Machine::new(compiled);
    SEEDS.iter().for_each(|&seed| _ = machine.run(inputs, seed));
    if compiled.plan.plan().persistent().waits() == 0 {
        return;
    }
    for mutation in ProgramMutation::ALL {
        let mutant = Machine { program: mutation.apply(&machine.program), ..machine.clone() };
        for seed in SEEDS {
            let report = launch(&mutant, inputs, seed).0;
            assert!(!report.is_clean(), "{mutation:?} is not reported under seed {seed}");
        }
    }
}

/// Every error of the streams is reported if the closure finds harm in it, and changes nothing if it finds none.
fn check_plan(compiled: &Compiled, inputs: &[Tensor]) {
    let machine = Machine::new(compiled);
    let accesses = Accesses::new(compiled.plan.plan(), Reads::Points);
    let expected = machine.run(inputs, 0);
    for number in 0.. {
        let found = kinds(number)
            .map(|mutation| check_mutation(compiled, &machine, &accesses, mutation, (inputs, &expected), &SEEDS));
        if found == [false; 3] {
            return;
        }
    }
}

/// Whether the streams have a place for an error; fails unless the emulator reports it under every seed exactly if the
/// closure finds harm in it. Where values are polled the emulator knows of more that is over, namely all that a block
/// did before a tag which was seen. There, what does harm by the closure may change nothing and go unreported.
#[track_caller]
pub fn check_mutation(
    compiled: &Compiled,
    machine: &Machine,
    accesses: &Accesses,
    mutation: PlanMutation,
    (inputs, expected): (&[Tensor], &[Tensor]),
    seeds: &[u64],
) -> bool {
    let Some(tables) = mutation.apply(&machine.tables) else { return false };
    let harmful = matches!(judge(&changed(compiled.plan.plan(), mutation), accesses), Verdict::Harmful(_));
    let mutant = Machine { tables, ..machine.clone() };
    let polls = accesses.polled.iter().any(|polled| !polled.is_empty());
    for &seed in seeds {
        let (report, outputs) = launch(&mutant, inputs, seed);
        let is_clean = report.is_clean();
        assert!(is_clean != harmful || is_clean && polls, "{mutation:?} under seed {seed}: {report}");
        assert!(!is_clean || outputs == expected, "{mutation:?} changes the result under seed {seed}");
    }
    true
}

fn kinds(number: usize) -> [PlanMutation; 3] {
    [PlanMutation::DropWait { number }, PlanMutation::DropSignal { number }, PlanMutation::SignalBeforeRun { number }]
}

fn launch(machine: &Machine, inputs: &[Tensor], seed: u64) -> (LaunchReport, Vec<Tensor>) {
    machine.launch(inputs, &LaunchOptions { step_budget: 1 << 33, ..LaunchOptions::seeded(seed) })
}

/// The plan with the error that a mutation makes in its tables.
fn changed(plan: &ExecutionPlan, mutation: PlanMutation) -> ExecutionPlan {
    let mut mutant = plan.clone();
    let [Segment::Persistent(segment)] = mutant.segments.as_mut_slice() else {
        unreachable!("plans have one persistent segment")
    };
    let matches = |stream: &[Instruction], at: usize| match (mutation, stream[at]) {
        (PlanMutation::DropWait { .. }, Instruction::Wait { .. })
        | (PlanMutation::DropSignal { .. }, Instruction::Signal(_)) => true,
        (PlanMutation::SignalBeforeRun { .. }, Instruction::Signal(_)) => {
            at > 0 && matches!(stream[at - 1], Instruction::Run(_))
        }
        _ => false,
    };
    let (PlanMutation::DropWait { number }
    | PlanMutation::DropSignal { number }
    | PlanMutation::SignalBeforeRun { number }) = mutation;
    let mut places = Vec::new();
    for (unit, stream) in segment.streams.iter().enumerate() {
        places.extend((0..stream.len()).filter(|&at| matches(stream, at)).map(|at| (unit, at)));
    }
    let (unit, at) = places[number];
    match mutation {
        PlanMutation::DropWait { .. } | PlanMutation::DropSignal { .. } => _ = segment.streams[unit].remove(at),
        PlanMutation::SignalBeforeRun { .. } => {
            let stream = &mut segment.streams[unit];
            let waits = stream[..at - 1].iter().rev().take_while(|before| matches!(before, Instruction::Wait { .. }));
            let prefetch = (at - 1).checked_sub(waits.count() + 1);
            let is_prefetch = |&at: &usize| matches!(stream[at], Instruction::Prefetch(_));
            let first = prefetch.filter(is_prefetch).unwrap_or(at - 1);
            stream[first..=at].rotate_right(1);
        }
    }
    mutant
}
