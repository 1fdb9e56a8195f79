//! Plans whose rTasks load constants before they wait compute what others do; a load of anything else is reported.

use std::sync::Arc;
use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::kernel_ir::{Block, GlobalSpace, Statement};
use warpweave::codegen::lower::lower;
use warpweave::codegen::verify as kernel_verify;
use warpweave::codegen::verify::Problem;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::template::candidates::candidates;
use warpweave::graph::Tensor;
use warpweave::graph::reference::evaluate;
use warpweave::plan::body::GroupBody;
use warpweave::plan::kernel::{Kernel, ScheduleParams};
use warpweave::plan::plan::{ExecutionPlan, Segment};
use warpweave::plan::streams::fold::{Merging, fold};
use warpweave::plan::streams::prefetch::without_prefetches;
use warpweave::plan::template::Template;
use warpweave::plan::template::contraction::shape::{ContractionShape, Pipeline};
use warpweave::plan::verify::verify;
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::{Compiled, compile_with};
use warpweave_tests::random::{self, Random};
use warpweave_tests::samples;
use warpweave_tests::suite::Suite;

const UNITS: usize = 4;
const SEEDS: [u64; 3] = [0, 7, 0x5eed];
const PIPELINES: [Pipeline; 2] = [Pipeline::RegisterPrefetch, Pipeline::Asynchronous { depth: 3 }];

/// Adds a trial a pipeline.
pub fn add(suite: &mut Suite) {
    for pipeline in PIPELINES {
        suite.trial(format!("prefetch {pipeline:?}"), move || {
            let compiled = compile_with(&samples::two_products(), UNITS, FusionLevel::Register, |body| {
                Some(with_pipeline(body, pipeline))
            });
            let inputs = random::inputs(&mut Random::new(8), &compiled.program);
            let outputs = check(&compiled, &inputs);
            assert_eq!(check(&changed(&compiled, without), &inputs), outputs, "the bits are the same");
            assert_eq!(
                check(&changed(&compiled, |plan| fold(plan, 1, Merging::Turns)), &inputs),
                outputs,
                "on one unit too"
            );
            check_prologue(&compiled, &inputs);
        });
    }
}

/// The body's first contraction, if it is one, with this pipeline.
fn with_pipeline(body: &Arc<GroupBody>, pipeline: Pipeline) -> ScheduleParams {
    let contraction = |kernel: &Kernel| match *kernel.template() {
        Template::Contraction(shape) => Some(ContractionShape { pipeline, ..shape }),
        Template::Pointwise(_)
        | Template::Row(_)
        | Template::WeightStationary
        | Template::Staged
        | Template::Attention(_)
        | Template::Opaque => None,
    };
    let mut found = candidates(body);
    match found.iter().find_map(|kernel| Some((contraction(kernel)?, kernel.tile().to_vec()))) {
        Some((shape, tile)) => ScheduleParams { template: Template::Contraction(shape), tile },
        None => found.swap_remove(0).params().clone(),
    }
}

/// Fails unless the emulator agrees with the reference under every seed; what it computes.
#[track_caller]
fn check(compiled: &Compiled, inputs: &[Tensor]) -> Vec<Tensor> {
    let expected = evaluate(&compiled.program, inputs).unwrap_or_else(|error| panic!("{error}"));
    let machine = Machine::new(compiled);
    let outputs = SEEDS.map(|seed| machine.run(inputs, seed));
    assert_close(&outputs[0], &expected, 1e-4);
    assert!(outputs.iter().all(|other| *other == outputs[0]), "the interleaving does not matter");
    outputs.into_iter().next().expect("there is a seed")
}

fn changed(compiled: &Compiled, change: impl Fn(&ExecutionPlan) -> ExecutionPlan) -> Compiled {
    let plan = verify(change(compiled.plan.plan())).unwrap_or_else(|violations| panic!("{violations:?}"));
    let lowered = lower(plan.plan()).unwrap_or_else(|error| panic!("{error}"));
    Compiled { program: compiled.program.clone(), plan, lowered }
}

fn without(plan: &ExecutionPlan) -> ExecutionPlan {
    let mut plan = plan.clone();
    for segment in &mut plan.segments {
        let Segment::Persistent(segment) = segment else { unreachable!("the plan is persistent") };
        assert!(segment.prefetches() > 0, "the second product begins with constants");
        segment.streams = without_prefetches(std::mem::take(&mut segment.streams));
    }
    plan
}

/// Kernels whose waits come after their first load of the arena are found by the verifier of the kernel IR, and by the
/// emulator under every seed.
fn check_prologue(compiled: &Compiled, inputs: &[Tensor]) {
    let mut machine = Machine::new(compiled);
    machine.program.kernels.values_mut().for_each(|kernel| delay_waits(&mut kernel.body));
    let violations = kernel_verify::verify(&machine.program);
    assert!(violations.iter().all(|violation| violation.problem == Problem::BeforeWaits), "{violations:?}");
    assert!(!violations.is_empty(), "a load of the arena before the waits is found");
    for seed in SEEDS {
        let (report, _) = machine.launch(inputs, &LaunchOptions::seeded(seed));
        assert!(!report.is_clean(), "a load of the arena before the waits is reported under seed {seed}");
    }
}

fn delay_waits(body: &mut Block) {
    let Some(at) = body.iter().position(|statement| matches!(statement, Statement::Await { .. })) else { return };
    let first = body[at..].iter().position(reads_arena).expect("a kernel reads what it waits for");
    body[at..=at + first].rotate_left(1);
}

fn reads_arena(statement: &Statement) -> bool {
    let own = match statement {
        Statement::LoadGlobal { space, .. } | Statement::AsyncCopy { space, .. } => *space == GlobalSpace::Arena,
        _ => false,
    };
    own || statement.blocks().into_iter().flatten().any(reads_arena)
}
