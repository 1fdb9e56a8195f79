//! Every way of waiting and of sharing memory gives plans that are right; the default is never the slowest.

use std::sync::Arc;
use warpweave::fusion::cost::KernelCost;
use warpweave::fusion::cost::arch::GpuArch;
use warpweave::fusion::cost::estimate::EstimatedCost;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::memory::ArenaPolicy;
use warpweave::fusion::schedule::options::{KernelChoice, PlanOptions, Planned};
use warpweave::fusion::schedule::policy::SyncPolicy;
use warpweave::fusion::schedule::simulation::makespan;
use warpweave::graph::pipeline::prepare;
use warpweave::graph::program::TensorProgram;
use warpweave::graph::reference::evaluate;
use warpweave::plan::body::GroupBody;
use warpweave::plan::plan::ExecutionPlan;
use warpweave::plan::streams::fold::{Merging, fold};
use warpweave::plan::streams::polls::Polls;
use warpweave::plan::verify::verify;
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::{self, compile_under, plan_chosen, plan_under};
use warpweave_tests::random::{self, Random};
use warpweave_tests::sketch::Sketch;
use warpweave_tests::suite::Suite;
use warpweave_tests::{models, samples};

use warpweave_tests::closure::accesses::{Accesses, Reads};
use warpweave_tests::closure::judge::{Verdict, judge};

const UNITS: usize = 5;
/// Units that plans for [`WIDE`] units are folded onto.
const FEWER: [usize; 4] = [114, 108, 16, 1];
const WIDE: usize = 132;

/// Adds a trial for each sample: its plans under all policies are right and compute the same.
pub fn add(suite: &mut Suite) {
    for sample in samples::all() {
        suite.trial(format!("policies {}", sample.name), move || {
            let inputs = random::inputs(&mut Random::new(5), &sample.program);
            let expected = evaluate(&sample.program, &inputs).unwrap_or_else(|error| panic!("{error}"));
            for options in all_options(UNITS) {
                let compiled = compile_under(&sample.program, FusionLevel::Register, &options);
                let plan = compiled.plan.plan();
                assert_eq!(judge(plan, &Accesses::new(plan, Reads::Boxes)), Verdict::Harmless, "{options:?}");
                assert_close(&Machine::new(&compiled).run(&inputs, 1), &expected, 2e-3);
            }
        });
    }
}

/// Adds a trial for each model, planned for a whole device.
pub fn add_models(suite: &mut Suite) {
    for model in models::by_turns_from(0, 3) {
        suite.trial(format!("policies {}", model.name), move || {
            let program = model.program();
            check_times(&program);
            check_interplay(&program);
            check_memory(&program);
            check_folds(&program);
        });
    }
}

/// Adds trials of branches beside one another: kernels that take less of the device are faster together.
pub fn add_branches(suite: &mut Suite) {
    for branches in [2, 6, 12] {
        suite.trial(format!("policies {branches} branches"), move || {
            let program = beside(branches);
            check_interplay(&program);
            let cost = EstimatedCost { arch: GpuArch::h200() };
            let prepared = prepare(&program).program;
            let alone = |body: &Arc<GroupBody>| cost.best(&prepared, body).map(|best| best.kernel.params().clone());
            let [own, chosen] = [KernelChoice::Own, KernelChoice::Interplay].map(|kernels| {
                let options = PlanOptions { kernels, arena: ArenaPolicy::Separate, ..pipeline::options(WIDE) };
                makespan_of(&plan_chosen(&program, FusionLevel::Register, &options, alone).1, &options)
            });
            assert!(chosen < own, "{branches} branches take {chosen} by interplay, {own} each as fast as alone");
        });
    }
}

/// Products with long reductions, of which each alone is fastest in many parts.
fn beside(branches: usize) -> TensorProgram {
    let mut sketch = Sketch::new(3);
    let branch = |_| {
        let input = sketch.input(&[48, 2048]);
        let hidden = sketch.linear(input, 96);
        sketch.relu(hidden)
    };
    let outputs: Vec<_> = (0..branches).map(branch).collect();
    sketch.finish(&outputs)
}

fn all_options(units: usize) -> impl Iterator<Item = PlanOptions> {
    let with = move |sync| {
        ArenaPolicy::ALL.map(move |arena| PlanOptions { sync: Some(sync), arena, ..pipeline::options(units) })
    };
    let by_interplay = PlanOptions { kernels: KernelChoice::Interplay, ..pipeline::options(units) };
    SyncPolicy::ALL.into_iter().flat_map(with).chain([by_interplay])
}

fn planned(program: &TensorProgram, change: impl Fn(PlanOptions) -> PlanOptions) -> Planned {
    plan_under(program, FusionLevel::Register, &change(pipeline::options(WIDE))).1
}

/// The default is at least as fast as every policy, by the simulator that chooses it; waits are only ever removed.
fn check_times(program: &TensorProgram) {
    let costs = pipeline::options(WIDE).costs;
    let with = |sync| planned(program, move |options| PlanOptions { sync, arena: ArenaPolicy::Separate, ..options });
    let default = with(None);
    let polls = Polls::of(default.plan.persistent(), &default.plan.memory);
    assert_eq!(default.makespan, makespan(default.plan.persistent(), &polls, &costs));
    for sync in SyncPolicy::ALL {
        let other = with(Some(sync));
        assert!(default.makespan <= other.makespan, "{} against {} of {sync:?}", default.makespan, other.makespan);
        let barriers = if sync == SyncPolicy::BARRIER { other.plan.persistent().waits() } else { 0 };
        assert!(other.plan.persistent().waits() <= other.needs + barriers, "{sync:?}");
    }
}

/// Kernels chosen by interplay are never predicted to be slower than each group's own, and their plans are right.
fn check_interplay(program: &TensorProgram) {
    let with =
        |kernels| planned(program, move |options| PlanOptions { kernels, arena: ArenaPolicy::Separate, ..options });
    let [own, chosen] = [KernelChoice::Own, KernelChoice::Interplay].map(with);
    assert!(chosen.makespan <= own.makespan, "{} by interplay against {}", chosen.makespan, own.makespan);
    verify(chosen.plan).unwrap_or_else(|violations| panic!("by interplay: {violations:?}"));
}

fn makespan_of(plan: &ExecutionPlan, options: &PlanOptions) -> f64 {
    let polls = Polls::of(plan.persistent(), &plan.memory);
    makespan(plan.persistent(), &polls, &options.costs)
}

/// How much longer a plan may take because its tensors share bytes.
const SHARING: f64 = 1.05;

/// An arena is never below its bound, and sharing bytes as far as it is free is nearly free.
fn check_memory(program: &TensorProgram) {
    let with = |arena| planned(program, move |options| PlanOptions { arena, ..options });
    let [small, fast, separate] = ArenaPolicy::ALL.map(with);
    for planned in [&small, &fast, &separate] {
        assert!(planned.plan.memory.arena_bytes >= planned.arena_bound_bytes);
    }
    assert!(fast.plan.memory.arena_bytes <= separate.plan.memory.arena_bytes);
    assert!(fast.makespan <= SHARING * separate.makespan, "{} against {}", fast.makespan, separate.makespan);
}

fn check_folds(program: &TensorProgram) {
    let plan = planned(program, |options| options).plan;
    for units in FEWER {
        for merging in [Merging::Turns, Merging::ProgramOrder] {
            let folded = fold(&plan, units, merging);
            assert_eq!(folded.persistent().units(), units);
            verify(folded).unwrap_or_else(|violations| panic!("{merging:?} on {units} units: {violations:?}"));
        }
    }
}
