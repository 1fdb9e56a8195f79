//! Recorded runs: the results of runs that record nothing, every rTask once, in an order that the plan allows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use warpweave::codegen::kernel_ir::text;
use warpweave::codegen::print::UnitSize;
use warpweave::codegen::trace::{TraceClock, TraceLayout, traced};
use warpweave::codegen::verify;
use warpweave::explain::Clock;
use warpweave::fusion::schedule::simulation::Event;
use warpweave::plan::plan::{Instruction, RTask};
use warpweave::plan::streams::polls::Polls;
use warpweave::plan::tables;
use warpweave::prices::{self, GivenPrices};
use warpweave::runtime::session::Device;
use warpweave::runtime::target::Target;
use warpweave::{OpenOptions, Source, open, random_inputs};
use warpweave_measure::profile::{Profile, profile, profile_by};
use warpweave_tests::pipeline::compile_for;
use warpweave_tests::suite::{Suite, is_full};
use warpweave_tests::{gates, models};

const MODELS: [&str; 3] = ["dlrm/torchscript", "bert/dynamo", "lstm/torchscript"];

/// A trial a model and device that records, and one a model for its device code.
pub fn add(suite: &mut Suite) {
    for model in models::all().into_iter().filter(|model| MODELS.contains(&model.name.as_str())) {
        for device in [Device::Host, Device::Emulator, Device::Text] {
            let path = model.path.clone();
            suite.trial(format!("{} recorded on {device}", model.name), move || check(path, device));
        }
        let by_cycles = [Device::Emulator, Device::Text].into_iter().take(if is_full() { 2 } else { 1 });
        for device in by_cycles {
            let path = model.path.clone();
            suite.trial(format!("{} recorded by cycles on {device}", model.name), move || check_cycles(path, device));
        }
        suite.trial(format!("{} with a trace as device code", model.name), move || check_code(&model));
    }
}

fn check(path: PathBuf, device: Device) {
    let source = Source::load(&path, &Default::default()).expect("the model imports");
    let inputs = random_inputs(source.signature(), 5);
    let options = OpenOptions { units: Some(5), threads: 2, ..OpenOptions::default() };
    let no_compiler = || Err("no GPU is used".to_owned());
    let mut plain = open(&source, device, &options, &no_compiler).expect("the device opens");
    let expected = plain.run(&inputs).expect("the program runs");
    let profile = profile(&source, device, &options, &no_compiler, &inputs, &GivenPrices::default())
        .expect("the program is recorded");
    assert!(profile.outputs == expected, "what is recorded changes no bit");
    let is_emulator = device == Device::Emulator;
    assert_eq!(profile.clock, if is_emulator { Clock::Steps } else { Clock::Measured });
    check_tasks(&profile);
    check_order(&profile);
}

/// Cycles of every unit, set against the shared clock, are times like those of the shared clock.
fn check_cycles(path: PathBuf, device: Device) {
    let source = Source::load(&path, &Default::default()).expect("the model imports");
    let inputs = random_inputs(source.signature(), 5);
    let options = OpenOptions { units: Some(5), ..OpenOptions::default() };
    let no_compiler = || Err("no GPU is used".to_owned());
    let prices = prices::of_run(device, &GivenPrices::default()).expect("no GPU is used").expect("it has prices");
    let recorded = |clock| {
        let profile =
            profile_by(clock, &source, device, &options, &no_compiler, &inputs, &prices).expect("it is recorded");
        check_tasks(&profile);
        profile
    };
    let (shared, cycles) = (recorded(TraceClock::Shared), recorded(TraceClock::Cycles));
    assert!(shared.outputs == cycles.outputs, "a clock changes no bit");
    if device == Device::Emulator {
        // Its steps are the same in every run, but for those that reading clocks takes.
        let ratio = cycles.recorded.makespan / shared.recorded.makespan;
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
    }
}

/// Every rTask is recorded once and takes time.
fn check_tasks(profile: &Profile) {
    let segment = profile.plan.persistent();
    let mut ran = BTreeSet::new();
    for (stream, events) in segment.streams.iter().zip(&profile.recorded.units) {
        assert_eq!(stream.len(), events.len(), "every instruction is recorded");
        for (instruction, event) in stream.iter().zip(events) {
            assert_eq!(*instruction, event.instruction);
            if let Instruction::Run(task) = event.instruction {
                assert!(ran.insert(task), "{task:?} is recorded twice");
                assert!(event.end > event.start, "{task:?} takes no time: {event:?}");
            }
        }
    }
    assert_eq!(ran.len(), segment.tasks());
    let told: usize = profile.operators().iter().map(|times| times.tasks).sum();
    assert_eq!(told, ran.len());
}

/// Units do one thing after another, waits end after the signals that they wait for are begun, and rTasks end after those
/// that they poll have begun.
fn check_order(profile: &Profile) {
    let segment = profile.plan.persistent();
    let polls = Polls::of(segment, &profile.plan.memory);
    let mut signals: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    let mut runs: BTreeMap<RTask, Event> = BTreeMap::new();
    for events in &profile.recorded.units {
        assert!(events.iter().all(|event| event.start >= 0.0 && event.start <= event.end));
        assert!(events.windows(2).all(|pair| pair[0].end <= pair[1].start), "a unit does one thing at a time");
        for event in events {
            match event.instruction {
                Instruction::Signal(counter) => signals.entry(counter).or_default().push(event.start),
                Instruction::Run(task) => _ = runs.insert(task, *event),
                Instruction::Wait { .. } | Instruction::Hold(_) | Instruction::Prefetch(_) => {}
            }
        }
    }
    let steps = profile.recorded.units.iter().flat_map(|events| (0..events.len()).map(move |at| (events, at)));
    for (events, at) in steps {
        let event = &events[at];
        match event.instruction {
            Instruction::Wait { counter, signals: wanted } => {
                let end = wait_end(events, at);
                let given = signals[&counter].iter().filter(|given| **given <= end).count();
                assert!(given >= wanted as usize, "{:?} ends after {given} signals", event.instruction);
            }
            Instruction::Run(task) => {
                for writer in polls.writers(task) {
                    assert!(runs[writer].start <= event.end, "{task:?} ends before {writer:?} begins");
                }
            }
            Instruction::Signal(_) | Instruction::Hold(_) | Instruction::Prefetch(_) => {}
        }
    }
}

/// When a wait had ended at the latest: where an rTask waits itself, when that ended.
fn wait_end(events: &[Event], at: usize) -> f64 {
    let is_wait = |event: &&Event| matches!(event.instruction, Instruction::Wait { .. });
    let before = events[..at].iter().rev().find(|event| !is_wait(event));
    match before.map(|event| event.instruction) {
        Some(Instruction::Prefetch(task)) => {
            let run = events[at..].iter().find(|event| event.instruction == Instruction::Run(task));
            run.expect("an rTask that is prefetched for runs").end
        }
        _ => events[at].end,
    }
}

/// A traced program is well-formed, its text parses back, NVRTC takes it for both architectures and its code passes the
/// gates. Without the trace it is the program that it was.
fn check_code(model: &models::Model) {
    let compiled = compile_for(&model.program(), Target::Sm90a);
    let (plan, lowered) = (compiled.plan.plan(), &compiled.lowered);
    let tables = tables::encode(plan, &lowered.bindings, lowered.operands.clone());
    let layout = TraceLayout::behind(plan.memory.arena_bytes, &tables).expect("the arena is small");
    assert!(layout.start() >= plan.memory.arena_bytes && layout.arena_bytes() > layout.start());
    assert!(!lowered.program.to_string().contains("special"));
    for clock in [TraceClock::Shared, TraceClock::Cycles] {
        let program = traced(&lowered.program, &layout, clock);
        assert_eq!(verify::verify(&program), []);
        assert_eq!(text::parse(&program.to_string()), Ok(program.clone()));
        assert_eq!(program.kernels, lowered.program.kernels);
        for target in [Target::Sm80, Target::Sm90a] {
            gates::check(&program, UnitSize::default(), target);
        }
    }
}
