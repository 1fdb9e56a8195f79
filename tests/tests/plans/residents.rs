//! Plans that keep constants on chip: every unit brings its own once, the emulator runs them from there, and folded plans bring
//! them as often as they have to.

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::lower::lower;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::plan::plan::{ExecutionPlan, Instruction, PersistentSegment, Segment};
use warpweave::plan::streams::fold::{Merging, fold};
use warpweave::plan::template::Template;
use warpweave::plan::verify::verify;
use warpweave_tests::evaluate::evaluate;
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::{self, Compiled, compile_under};
use warpweave_tests::random::{self, Random};
use warpweave_tests::samples;
use warpweave_tests::suite::Suite;

const UNITS: usize = 7;
const SEEDS: [u64; 3] = [0, 7, 0x5eed];
/// Fewer units than what is kept needs, and one.
const FOLDED: [usize; 2] = [3, 1];

/// Adds the trials.
pub fn add(suite: &mut Suite) {
    suite.trial("constants on chip", || {
        let program = samples::recurrence();
        let options = PlanOptions { shared_bytes: 1 << 17, ..pipeline::options(UNITS) };
        let compiled = compile_under(&program, FusionLevel::Register, &options);
        let segment = compiled.plan.plan().persistent();
        let is_kept = |template: Template| template == Template::WeightStationary;
        assert!(segment.operators.values().any(|operator| is_kept(*operator.kernel.template())), "something is kept");
        assert!(keeps(segment).iter().all(|count| *count <= 1), "a unit brings what it keeps once");
        check(&compiled);
        for units in FOLDED {
            let folded = folded(&compiled, units);
            let most = keeps(folded.plan.plan().persistent()).into_iter().max();
            assert!(most > Some(1), "{units} units change what they keep");
            check(&folded);
        }
        let unkept = without_holds(compiled.plan.plan());
        let inputs = random::inputs(&mut Random::new(6), &program);
        let machine = Machine::with_plan(&unkept, &compiled.lowered, &compiled.program);
        let (report, _) = machine.launch(&inputs, &LaunchOptions::seeded(0));
        assert!(!report.is_clean(), "constants that were never brought are reported");
    });
    suite.trial("constants on chip one after the other", || {
        let options = PlanOptions { shared_bytes: 1 << 17, ..pipeline::options(UNITS) };
        let compiled = compile_under(&samples::turning_recurrence(), FusionLevel::Register, &options);
        let keeps = keeps(compiled.plan.plan().persistent());
        assert_eq!(keeps.iter().max(), Some(&2), "both layers have units in common, which bring what each keeps once");
        check(&compiled);
        check(&folded(&compiled, FOLDED[0]));
    });
}

/// Fails unless the emulator agrees with the reference.
#[track_caller]
fn check(compiled: &Compiled) {
    let inputs = random::inputs(&mut Random::new(6), &compiled.program);
    let expected = evaluate(&compiled.program, &inputs);
    let machine = Machine::new(compiled);
    for seed in SEEDS {
        assert_close(&machine.run(&inputs, seed), &expected, 1e-4);
    }
}

fn folded(compiled: &Compiled, units: usize) -> Compiled {
    let plan =
        verify(fold(compiled.plan.plan(), units, Merging::Turns)).unwrap_or_else(|violations| panic!("{violations:?}"));
    let lowered = lower(plan.plan()).unwrap_or_else(|error| panic!("{error}"));
    Compiled { program: compiled.program.clone(), plan, lowered }
}

/// How often each unit brings constants on chip.
fn keeps(segment: &PersistentSegment) -> Vec<usize> {
    let is_hold = |instruction: &&Instruction| matches!(instruction, Instruction::Hold(_));
    segment.streams.iter().map(|stream| stream.iter().filter(is_hold).count()).collect()
}

fn without_holds(plan: &ExecutionPlan) -> ExecutionPlan {
    let mut plan = plan.clone();
    for segment in &mut plan.segments {
        let Segment::Persistent(segment) = segment else { continue };
        for stream in &mut segment.streams {
            stream.retain(|instruction| !matches!(instruction, Instruction::Hold(_)));
        }
    }
    plan
}
