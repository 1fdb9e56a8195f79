//! Plans whose rTasks exchange values that carry their own validity.

use std::sync::Arc;
use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::emulate::mutate::TagMutation;
use warpweave::codegen::emulate::report::Fault;
use warpweave::frontend::{ImportOptions, import_bytes};
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::fusion::template::candidates::candidates;
use warpweave::graph::reference::evaluate;
use warpweave::graph::{Graph, Tensor, TensorProgram, lower};
use warpweave::models::{BuildOptions, Form, Scale, build};
use warpweave::plan::body::GroupBody;
use warpweave::plan::plan::{EdgeKind, tag_of};
use warpweave::plan::streams::fold::{Merging, fold};
use warpweave::plan::tables::{Awaited, INSTRUCTION_WORDS, OPCODE_RUN};
use warpweave::plan::template::contraction::operand_staging::stages_operands;
use warpweave::plan::verify::verify;
use warpweave::runtime::bundle::BundleTarget;
use warpweave::runtime::host::{HostSession, pack_weights};
use warpweave::runtime::target::Target;
use warpweave::{Build, Model, compile};
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::{self, Compiled, compile_chosen, compile_under};
use warpweave_tests::printed;
use warpweave_tests::random::{self, Random};
use warpweave_tests::samples;
use warpweave_tests::suite::{Suite, is_full};

use crate::agreement::{Tally, check_all};
use crate::counterexamples::factors;
use warpweave_tests::closure::accesses::{Accesses, Reads};
use warpweave_tests::closure::judge::{Verdict, judge};

const UNITS: usize = 7;
const SEEDS: [u64; 5] = [0, 1, 7, 0x5eed, 3];
const FOLDED: [usize; 3] = [5, 3, 1];
/// Parts of a sum.
const PARTS: usize = 4;
/// Numbers of first launches: three launches from each cross a wrap, that of tags among them, pass 0, or are the first of a
/// session.
const EPOCHS: [u32; 5] = [1, i32::MAX as u32 - 1, u32::MAX - 1, 0, 31];

/// Adds the trials.
pub fn add(suite: &mut Suite) {
    suite.trial("tagged: launches", || check_launches(&compiled(&samples::recurrence(), UNITS), &EPOCHS));
    suite.trial("tagged: folds", || check_folds(&compiled(&samples::recurrence(), UNITS), &FOLDED));
    suite.trial("tagged: errors of kernels", || check_errors(&compiled(&samples::recurrence(), UNITS), &SEEDS));
    suite.trial("tagged: tags of another launch", || check_stale(&compiled(&samples::recurrence(), UNITS)));
    suite.trial("tagged: time-outs", || check_time_outs(&compiled(&samples::recurrence(), UNITS)));
    suite.trial("tagged: agreement", || {
        for units in [5, UNITS] {
            let mut tally = Tally::default();
            let plan = compiled(&samples::recurrence(), units).plan.plan().clone();
            check_all(&plan, |_| if is_full() { usize::MAX } else { 20 }, &mut tally);
            eprintln!("on {units}: {tally}");
            tally.assert_agreement();
        }
    });
    suite.trial("tagged: parts of sums", || {
        let compiled = in_parts(&samples::long_products(), UNITS);
        let memory = &compiled.plan.plan().memory;
        assert!(memory.tensors.values().any(|tensor| tensor.tag > 0), "bytes of parts are used again");
        check_launches(&compiled, &[1, 31]);
        check_folds(&compiled, &FOLDED);
        check_errors(&compiled, &SEEDS);
    });
    suite.trial("tagged: agreement on parts of sums", || {
        let mut tally = Tally::default();
        let plan = in_parts(&samples::long_products(), 5).plan.plan().clone();
        check_all(&plan, |_| if is_full() { usize::MAX } else { 14 }, &mut tally);
        eprintln!("{tally}");
        tally.assert_agreement();
    });
    suite.trial("tagged: factors", || {
        let compiled = compiled(&samples::windows(), factors::UNITS);
        let operators = &compiled.plan.plan().persistent().operators;
        let in_boxes = operators.values().filter(|operator| stages_operands(&operator.kernel)).count();
        assert!(in_boxes > 0, "a factor is polled");
        check_launches(&compiled, &[31]);
        check_folds(&compiled, &[5]);
        check_errors(&compiled, &SEEDS[..1]);
    });
    suite.trial("tagged: agreement on factors", || {
        let mut tally = Tally::default();
        let plan = compiled(&samples::windows(), factors::UNITS).plan.plan().clone();
        check_all(&plan, |_| if is_full() { usize::MAX } else { 14 }, &mut tally);
        eprintln!("{tally}");
        tally.assert_agreement();
    });
    suite.trial("tagged: calls of several rTasks", || check_calls(&compiled(&lower(&stack(Form::Nodes)), 16)));
    suite.trial("tagged: in bundles", || {
        let model = Model::from_graph(&stack(Form::Nodes)).unwrap_or_else(|error| panic!("{error}"));
        let build = Build::new(model).expect("the passes are right");
        for target in [Target::Sm80, Target::Sm90a] {
            let part =
                compile(&build, BundleTarget::Gpu(target), None, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
            assert!(part.plan.plan.evidence().polls > 0, "{target} polls");
        }
    });
    for form in [Form::Nodes, Form::Unrolled] {
        suite.trial(format!("tagged: lstm_tc {form:?}"), move || {
            let compiled = compiled(&lower(&stack(form)), 16);
            check_launches(&compiled, &EPOCHS);
            check_folds(&compiled, &FOLDED);
            check_errors(&compiled, &SEEDS);
        });
    }
}

/// Three layers of a recurrent network over ten steps.
fn stack(form: Form) -> Graph {
    let options = BuildOptions { form, scale: Scale::Reduced, ..BuildOptions::default() };
    let model = build("lstm_tc", &options).unwrap_or_else(|error| panic!("{error}"));
    let mut bytes = Vec::new();
    model.write_to(&mut bytes).expect("memory takes every byte");
    let graph = import_bytes(bytes.into(), None, &ImportOptions::default());
    graph.unwrap_or_else(|error| panic!("{error}"))
}

/// The program on these units with constants on chip, which exchanges something by tagged values.
#[track_caller]
fn compiled(program: &TensorProgram, units: usize) -> Compiled {
    let options = PlanOptions { shared_bytes: 1 << 17, ..pipeline::options(units) };
    check_polled(compile_under(program, FusionLevel::Register, &options))
}

/// The program on these units, each product of two matrices in [`PARTS`] parts, which are tagged values because counters are
/// dear.
#[track_caller]
fn in_parts(program: &TensorProgram, units: usize) -> Compiled {
    let parted = |body: &Arc<GroupBody>| {
        let in_parts = candidates(body).into_iter().find(|kernel| kernel.parts() == PARTS);
        in_parts.map(|kernel| kernel.params().clone())
    };
    let mut options = pipeline::options(units);
    options.costs.exchange.value.iter_mut().for_each(|(_, microseconds)| *microseconds *= 10.0);
    check_polled(compile_chosen(program, FusionLevel::Register, &options, parted))
}

/// The same, whose plan exchanges something by tagged values, which is needed and does no harm.
#[track_caller]
fn check_polled(compiled: Compiled) -> Compiled {
    let plan = compiled.plan.plan();
    let is_tagged = |edge: EdgeKind| edge == EdgeKind::Tagged;
    assert!(plan.memory.tensors.values().any(|tensor| is_tagged(tensor.edge)), "something is polled");
    assert!(compiled.plan.evidence().polls > 0, "something is polled");
    assert_eq!(judge(plan, &Accesses::new(plan, Reads::Boxes)), Verdict::Harmless);
    printed::check(&compiled);
    compiled
}

/// Calls run several rTasks, which gives bit for bit what a call an rTask gives.
fn check_calls(compiled: &Compiled) {
    let mut single = compiled.lowered.clone();
    single.bindings.values_mut().for_each(|binding| binding.shared_operands = None);
    let (plan, inputs) = (compiled.plan.plan(), ordinary(compiled));
    let machines = [&compiled.lowered, &single].map(|lowered| Machine::with_plan(plan, lowered, &compiled.program));
    let longest = machines.each_ref().map(|machine| {
        let runs = machine.tables.instructions.chunks_exact(INSTRUCTION_WORDS).filter(|words| words[0] >= OPCODE_RUN);
        runs.map(|words| words[3]).max().expect("something runs")
    });
    assert!(longest[0] >= 4 && longest[1] == 0, "instructions of a call: {longest:?}");
    let [together, alone] = machines.map(|machine| machine.run(&inputs, SEEDS[3]));
    assert!(together == alone, "the outputs differ");
}

/// Three launches in a row from every number agree with the reference, whatever the interleaving and the data.
fn check_launches(compiled: &Compiled, epochs: &[u32]) {
    for inputs in [ordinary(compiled), with_nan(compiled)] {
        let expected = reference(compiled, &inputs);
        let machine = Machine::new(compiled);
        for (&epoch, seed) in epochs.iter().zip(SEEDS) {
            machine.check_launches(&inputs, &expected, epoch, seed);
        }
    }
}

/// Plans folded onto these units verify, and emulator and host agree with the reference on them.
fn check_folds(compiled: &Compiled, folded: &[usize]) {
    let inputs = ordinary(compiled);
    let expected = reference(compiled, &inputs);
    for &units in folded {
        let folded = fold(compiled.plan.plan(), units, Merging::Turns);
        assert_eq!(judge(&folded, &Accesses::new(&folded, Reads::Boxes)), Verdict::Harmless, "{units} units");
        let folded = verify(folded).unwrap_or_else(|violations| panic!("on {units} units: {violations:?}"));
        assert_eq!(folded.evidence().polls, compiled.plan.evidence().polls);
        let machine = Machine::with_plan(folded.plan(), &compiled.lowered, &compiled.program);
        for seed in SEEDS {
            assert_close(&machine.run(&inputs, seed), &expected, 1e-4);
        }
        let weights = pack_weights(&compiled.plan, |id| compiled.program.constant(id)).expect("constants are there");
        let mut session = HostSession::new(&compiled.plan, weights, units).expect("the plan folds");
        for _ in 0..3 {
            assert_close(&session.run(&inputs).expect("the plan runs"), &expected, 1e-4);
        }
    }
}

/// Every error of the kernels is reported under every one of these seeds.
fn check_errors(compiled: &Compiled, seeds: &[u64]) {
    let inputs = ordinary(compiled);
    let machine = Machine::new(compiled);
    for mutation in TagMutation::ALL {
        let mutant = Machine { program: mutation.apply(&machine.program), ..machine.clone() };
        for &seed in seeds {
            let (report, _) = mutant.launch_on(&mut mutant.device(), &inputs, &LaunchOptions::seeded(seed));
            assert!(!report.is_clean(), "{mutation:?} is not reported under seed {seed}");
        }
    }
}

/// Tags that are there before they are written are reported, where no others have had their bytes meanwhile.
fn check_stale(compiled: &Compiled) {
    let inputs = ordinary(compiled);
    let machine = Machine::new(compiled);
    let mut stale = machine.device();
    let (first, _) = machine.launch_on(&mut stale, &inputs, &LaunchOptions::seeded(0));
    assert!(first.is_clean(), "{first}");
    stale.controls[0].epoch = 1;
    stale.counters.fill(0);
    let (report, _) = machine.launch_on(&mut stale, &inputs, &LaunchOptions::seeded(0));
    let is_stale = |fault: &Fault| matches!(fault, Fault::TagStale { .. });
    assert!(report.violations.iter().any(|violation| is_stale(&violation.fault)), "{report}");
}

/// A poll that gives up says what it missed, every block leaves, and the session is as new after a restart.
fn check_time_outs(compiled: &Compiled) {
    let inputs = ordinary(compiled);
    let machine = Machine::new(compiled);
    let expected = reference(compiled, &inputs);
    for seed in SEEDS {
        let mut device = machine.device();
        let options = LaunchOptions { time_out_poll: Some(seed % 3), ..LaunchOptions::seeded(seed) };
        let (report, _) = machine.launch_on(&mut device, &inputs, &options);
        assert!(report.completed && report.aborted && report.total == 0, "{report}");
        let status = report.status.expect("who gave up has written it down");
        assert!(matches!(status.awaited, Awaited::Tagged { .. }));
        assert_eq!((status.seen, status.wanted), (0, tag_of(1, 0)));
        device.restart(1);
        let (report, outputs) = machine.launch_on(&mut device, &inputs, &LaunchOptions::seeded(seed));
        assert!(report.is_clean(), "{report}");
        assert_close(&outputs, &expected, 1e-4);
    }
}

fn reference(compiled: &Compiled, inputs: &[Tensor]) -> Vec<Tensor> {
    evaluate(&compiled.program, inputs).unwrap_or_else(|error| panic!("{error}"))
}

fn ordinary(compiled: &Compiled) -> Vec<Tensor> {
    random::indices(&mut Random::new(6), &compiled.program)
}

/// The same inputs with some that are no numbers, and some that are infinite.
fn with_nan(compiled: &Compiled) -> Vec<Tensor> {
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0];
    let change = |tensor: Tensor| {
        if !tensor.element().is_float() {
            return tensor;
        }
        let mut bytes = tensor.bytes().to_vec();
        for (at, element) in bytes.chunks_exact_mut(4).enumerate().filter(|(at, _)| at % 11 == 3) {
            element.copy_from_slice(&special[at / 11 % special.len()].to_le_bytes());
        }
        Tensor::from_bytes(tensor.ty().clone(), bytes.into()).expect("as many bytes as before")
    };
    ordinary(compiled).into_iter().map(change).collect()
}
