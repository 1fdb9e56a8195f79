//! Programs as graphs of kernel nodes, and as segments of both kinds: on the emulator and as text on the CPU.

use std::collections::BTreeSet;
use std::time::Duration;

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::kernel_ir::statement::Statement;
use warpweave::codegen::kernel_ir::{Entry, Program};
use warpweave::codegen::verify;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::choice::parts::SegmentGroups;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::graph::reference::evaluate;
use warpweave::graph::{Tensor, TensorProgram};
use warpweave::plan::plan::backend::{Backend, BackendChoice};
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::{self, Compiled, compile_parts, compile_under};
use warpweave_tests::random::{self, Random};
use warpweave_tests::suite::{Suite, is_full};
use warpweave_tests::{models, printed, samples};

use crate::text::{run_text, try_launches};

const UNITS: usize = 132;
const SEEDS: [u64; 2] = [0, 0x5eed];
/// Models of the default run.
const SAMPLE: [&str; 3] = ["mobilenet_v2/torchscript", "dlrm/dynamo", "lstm/dynamo"];

/// Adds a trial a sample and a model.
pub fn add(suite: &mut Suite) {
    for sample in samples::all() {
        suite.trial(format!("graph of {}", sample.name), move || {
            let compiled = compiled(&sample.program);
            _ = check(&compiled, &sample.program, 1e-4);
            check_waits(&compiled);
        });
    }
    for model in models::all().into_iter().filter(|model| is_full() || SAMPLE.contains(&model.name.as_str())) {
        suite.trial(format!("graph of {}", model.name), move || {
            let program = model.program();
            let compiled = compiled(&program);
            let (machine, inputs, expected) = check(&compiled, &program, 1e-3);
            assert_close(&run_text(&machine, &inputs), &expected, 1e-3);
        });
    }
}

/// Adds a trial a sample as a persistent program, a graph, and a persistent program.
pub fn add_mixed(suite: &mut Suite) {
    for sample in samples::all() {
        suite.trial(format!("segments of {}", sample.name), move || {
            let compiled = compile_parts(&sample.program, FusionLevel::None, &pipeline::options(MIXED_UNITS), thirds);
            let (machine, inputs, expected) = check(&compiled, &sample.program, 1e-4);
            for epoch in [1, i32::MAX - 1] {
                let outputs = try_launches(&machine, &inputs, epoch, 3, Duration::from_secs(60));
                let outputs = outputs.unwrap_or_else(|error| panic!("{error}"));
                assert_close(&outputs, &expected, 1e-4);
            }
        });
    }
}

const MIXED_UNITS: usize = 5;

/// A persistent program, a graph, and another persistent program, as far as there are groups.
fn thirds(groups: usize) -> Vec<SegmentGroups> {
    let ends = [groups.div_ceil(3), (2 * groups).div_ceil(3), groups];
    let starts = [0].into_iter().chain(ends);
    let kinds = [Backend::Persistent, Backend::CudaGraph, Backend::Persistent];
    let parts =
        starts.zip(ends).zip(kinds).map(|((start, end), backend)| SegmentGroups { groups: start..end, backend });
    parts.filter(|part| !part.groups.is_empty()).collect()
}

fn compiled(program: &TensorProgram) -> Compiled {
    let options = PlanOptions { backend: BackendChoice::Only(Backend::CudaGraph), ..pipeline::options(UNITS) };
    compile_under(program, FusionLevel::Full, &options)
}

/// The emulator agrees with the reference; plan and kernels parse back. The machine, its inputs and what they give.
fn check(compiled: &Compiled, program: &TensorProgram, tolerance: f64) -> (Machine, Vec<Tensor>, Vec<Tensor>) {
    printed::check(compiled);
    assert_eq!(verify::verify(&compiled.lowered.program), []);
    let inputs = random::indices(&mut Random::new(5), program);
    let expected = evaluate(program, &inputs).unwrap_or_else(|error| panic!("{error}"));
    let machine = Machine::new(compiled);
    for seed in SEEDS {
        assert_close(&machine.run(&inputs, seed), &expected, tolerance);
    }
    (machine, inputs, expected)
}

/// A node that does not wait for the one before it is found, by the rules of the IR and by the emulator.
fn check_waits(compiled: &Compiled) {
    let machine = Machine::new(compiled);
    let mutant = Machine { program: without_waits(&machine.program), ..machine };
    let problems: BTreeSet<String> =
        verify::verify(&mutant.program).iter().map(|violation| violation.problem.to_string()).collect();
    assert_eq!(problems, BTreeSet::from([verify::Problem::NoDependencyWait.to_string()]));
    let inputs = random::inputs(&mut Random::new(5), &compiled.program);
    for seed in SEEDS {
        assert!(!mutant.launch(&inputs, &LaunchOptions::seeded(seed)).0.is_clean(), "under seed {seed}");
    }
}

fn without_waits(program: &Program) -> Program {
    let mut mutant = program.clone();
    match &mut mutant.entry {
        Entry::Persistent(_) | Entry::Mixed(_) => unreachable!("the program was made for a graph"),
        Entry::Nodes(nodes) => {
            nodes.values_mut().for_each(|node| node.body.retain(|statement| *statement != Statement::DependencyWait));
        }
    }
    mutant
}
