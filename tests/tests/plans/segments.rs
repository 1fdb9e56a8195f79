//! Plans of several segments. What runs them gives what the reference gives, what is wrong between segments is found,
//! and what is chosen by prediction is what is predicted to be fastest.

use std::time::Duration;

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::codegen::print::cuda;
use warpweave::fusion::cost::sync::SyncCosts;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::choice::parts::SegmentGroups;
use warpweave::fusion::schedule::memory::ArenaPolicy;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::fusion::schedule::simulation::Jitter;
use warpweave::fusion::schedule::simulation::plan::{simulate_plan, simulate_segment};
use warpweave::graph::arena::Id;
use warpweave::graph::expr::{BinaryOp, Scalar, UnaryOp};
use warpweave::graph::program::{TensorId, TensorProgram};
use warpweave::graph::reference::evaluate;
use warpweave::graph::{ElementType, Tensor};
use warpweave::plan::plan::backend::{Backend, BackendChoice, BackendReason, PlanBackend, SegmentReason};
use warpweave::plan::plan::{EdgeKind, ExecutionPlan, Segment};
use warpweave::plan::streams::fold::{Merging, fold};
use warpweave::plan::tensor_core::sum::TensorCore;
use warpweave::plan::verify::verify;
use warpweave::runtime::host::{HostSession, pack_weights};
use warpweave::runtime::session_memory::SessionMemory;
use warpweave::runtime::text::{TextError, TextLaunch, TextProgram};
use warpweave_tests::machine::{Machine, assert_close};
use warpweave_tests::pipeline::{self, Compiled, compile_parts, compile_under, plan_under};
use warpweave_tests::printed;
use warpweave_tests::random::{self, Random};
use warpweave_tests::samples::{self, Sample};
use warpweave_tests::sketch::Sketch;
use warpweave_tests::suite::Suite;

const UNITS: usize = 5;
const SEEDS: [u64; 2] = [3, 0x5eed];
const FOLDED: [usize; 2] = [3, 1];
/// Numbers of first launches: three launches from each are the first of a session, or pass 0.
const EPOCHS: [u32; 2] = [1, u32::MAX - 1];
/// What the segments run as, the first one first; a program of fewer groups has fewer.
const SEQUENCES: [&[Backend]; 4] = [
    &[Backend::Persistent, Backend::CudaGraph],
    &[Backend::CudaGraph, Backend::Persistent],
    &[Backend::CudaGraph, Backend::Persistent, Backend::CudaGraph, Backend::Persistent],
    &[Backend::Persistent, Backend::Persistent, Backend::CudaGraph, Backend::CudaGraph],
];

/// Adds the trials.
pub fn add(suite: &mut Suite) {
    for sample in samples::all() {
        suite.trial(format!("segments: {}", sample.name), move || check(&sample));
    }
    suite.trial("segments: tagged values and constants on chip", || {
        let options = PlanOptions { shared_bytes: 1 << 17, ..pipeline::options(7) };
        let compiled = compile_parts(&samples::recurrence(), FusionLevel::Register, &options, around_a_node);
        let tensors = &compiled.plan.plan().memory.tensors;
        assert!(tensors.values().any(|tensor| tensor.edge == EdgeKind::Tagged), "something is polled");
        check_runs(&compiled);
    });
    suite.trial("segments: the choice", check_choice);
    for sequence in [SEQUENCES[0], SEQUENCES[3]] {
        let name = format!("segments: nothing runs after an abort, {} segments", sequence.len());
        suite.trial(name, move || check_rest(sequence));
    }
}

/// Two persistent segments of half of the groups each, with a node of one group between them.
fn around_a_node(groups: usize) -> Vec<SegmentGroups> {
    let middle = groups / 2;
    vec![
        SegmentGroups { groups: 0..middle, backend: Backend::Persistent },
        SegmentGroups { groups: middle..middle + 1, backend: Backend::CudaGraph },
        SegmentGroups { groups: middle + 1..groups, backend: Backend::Persistent },
    ]
}

/// Segments of equal numbers of groups, as far as there are groups.
fn parts(groups: usize, sequence: &[Backend]) -> Vec<SegmentGroups> {
    let count = sequence.len().min(groups).max(1);
    let start = |at: usize| at * groups / count;
    let part = |(at, &backend): (usize, &Backend)| SegmentGroups { groups: start(at)..start(at + 1), backend };
    sequence.iter().take(count).enumerate().map(part).collect()
}

fn check(sample: &Sample) {
    for arena in [ArenaPolicy::Small, ArenaPolicy::Fast] {
        for sequence in SEQUENCES {
            let options = PlanOptions { arena, ..pipeline::options(UNITS) };
            let compiled =
                compile_parts(&sample.program, FusionLevel::None, &options, |groups| parts(groups, sequence));
            check_runs(&compiled);
            check_order(&compiled);
        }
    }
}

/// Emulator and host agree with the reference: under several interleavings, in launches that follow one another, folded.
fn check_runs(compiled: &Compiled) {
    printed::check(compiled);
    let inputs = random::indices(&mut Random::new(6), &compiled.program);
    let expected = evaluate(&compiled.program, &inputs).unwrap_or_else(|error| panic!("{error}"));
    let weights = pack_weights(&compiled.plan, |id| compiled.program.constant(id)).expect("constants are there");
    let plans = FOLDED.map(|units| fold(compiled.plan.plan(), units, Merging::Turns));
    for plan in std::iter::once(compiled.plan.plan()).chain(&plans) {
        verify(plan.clone()).unwrap_or_else(|violations| panic!("{violations:?}"));
        let machine = Machine::with_plan(plan, &compiled.lowered, &compiled.program);
        for (epoch, seed) in EPOCHS.into_iter().zip(SEEDS) {
            machine.check_launches(&inputs, &expected, epoch, seed);
        }
    }
    check_abort(&Machine::new(compiled), &inputs, &expected);
    for threads in FOLDED {
        let mut session = HostSession::new(&compiled.plan, weights.clone(), threads).expect("the plan folds");
        for _ in 0..3 {
            assert_close(&session.run(&inputs).expect("the plan runs"), &expected, 1e-4);
        }
    }
}

/// A wait that gives up in any persistent segment aborts the launch; after a restart the session is as new.
fn check_abort(machine: &Machine, inputs: &[Tensor], expected: &[Tensor]) {
    if machine.plan.waits() == 0 {
        return;
    }
    let mut device = machine.device();
    let options = LaunchOptions { time_out_wait: Some(0), ..LaunchOptions::seeded(2) };
    let (report, _) = machine.launch_on(&mut device, inputs, &options);
    assert!(report.aborted && report.status.is_some(), "{report}");
    device.restart(1);
    let (report, outputs) = machine.launch_on(&mut device, inputs, &LaunchOptions::seeded(2));
    assert!(report.is_clean(), "{report}");
    assert_close(&outputs, expected, 1e-4);
}

/// After a wait that gives up no further segment computes from what is not there: what it writes stays as it was.
fn check_rest(sequence: &'static [Backend]) {
    const UNTOUCHED: u8 = 0xa5;
    let options = pipeline::options(UNITS);
    let compiled =
        compile_parts(&branches_and_a_chain(), FusionLevel::None, &options, |groups| parts(groups, sequence));
    let machine = Machine::new(&compiled);
    let text = TextProgram::compile(&cuda(&machine.program), None).unwrap_or_else(|error| panic!("{error}"));
    let launch = TextLaunch {
        threads: machine.program.threads,
        shared_bytes: machine.program.shared_bytes(),
        tables: &machine.tables,
        weights: &machine.weights,
        launches: 1,
        wait_limit: Duration::from_millis(20),
        run_limit: Duration::from_secs(60),
        tensor_core: TensorCore::Hopper,
    };
    let arena = vec![UNTOUCHED; machine.plan.memory.arena_bytes as usize];
    let mut memory = SessionMemory::new(arena, machine.counters());
    memory = memory.at_epoch(1, &machine.plan.arrivals(), &machine.plan.grids()).tagged(&machine.plan.memory);
    // No wait can end.
    memory.counters.fill(-1_000_000);
    match text.run(launch, &mut memory) {
        Err(TextError::Wait(_)) => {}
        other => panic!("the launch ended with {other:?}"),
    }
    let memory_plan = &machine.plan.memory;
    let output = memory_plan.tensors[memory_plan.outputs[0]].buffer.expect("an output has a buffer");
    let output = &memory.arena[output.offset as usize..][..output.bytes as usize];
    assert!(output.iter().all(|byte| *byte == UNTOUCHED), "a segment ran on incomplete data");
}

/// Two segments in each other's place are accepted only where the emulator computes the same and reports nothing.
fn check_order(compiled: &Compiled) {
    let inputs = random::indices(&mut Random::new(8), &compiled.program);
    let expected = Machine::new(compiled).run(&inputs, 0);
    let bindings = &compiled.lowered.bindings;
    for first in 1..compiled.plan.plan().segments.len() {
        let mut plan = compiled.plan.plan().clone();
        plan.segments.swap(first - 1, first);
        if verify(plan.clone()).is_err() {
            continue;
        }
        let numbers: Vec<usize> = compiled.plan.plan().first_operators();
        let counts: Vec<usize> = compiled.plan.plan().segments.iter().map(|one| one.operators().len()).collect();
        let mut order: Vec<usize> = (0..counts.len()).collect();
        order.swap(first - 1, first);
        let moved = order.iter().flat_map(|&at| numbers[at]..numbers[at] + counts[at]);
        let mut lowered = compiled.lowered.clone();
        lowered.bindings = moved.map(|at| bindings[Id::from_index(at)]).collect();
        let machine = Machine::with_plan(&plan, &lowered, &compiled.program);
        assert_eq!(machine.run(&inputs, 1), expected, "segments {} and {first}", first - 1);
    }
}

/// Branches side by side, then a chain: units that work on branches at the same time, then kernels one after another of which
/// every unit reads what all have written.
fn branches_and_a_chain() -> TensorProgram {
    const BRANCHES: usize = 8;
    const STEPS: usize = 4;
    let mut sketch = Sketch::new(3);
    let input = sketch.input(&[8, 64]);
    let branch = |_| {
        (0..STEPS).fold(input, |value, _| {
            let product = sketch.linear(value, 64);
            sketch.unary(UnaryOp::Tanh, product)
        })
    };
    let branches: Vec<TensorId> = (0..BRANCHES).map(branch).collect();
    let joined = sketch.concat(0, &branches);
    let value = (0..3 * STEPS).fold(joined, |value, _| {
        let turned = sketch.transpose(value, &[1, 0]);
        let sum = sketch.binary(BinaryOp::Add, value, turned);
        // Damped, so that a step does not enlarge what another has rounded.
        let half = Scalar::literal(ElementType::F32, 0.5);
        sketch.map(sum, |sum| sum.binary(BinaryOp::Multiply, half).unary(UnaryOp::Tanh))
    });
    sketch.finish(&[value])
}

/// What is chosen is predicted to be faster than both kinds alone, and says so with the figures of every segment.
fn check_choice() {
    let program = branches_and_a_chain();
    let mut costs = SyncCosts::h200();
    // Waits are dear, and so are nodes: the chain is faster as kernels, the branches are not.
    costs.exchange.value = [(2, 0.6), (4, 4.0), (8, 4.0), (64, 4.0), (132, 4.0)];
    costs.graph_node.value = 2.5;
    let options = PlanOptions { backend: BackendChoice::Auto, costs, ..pipeline::options(8) };
    let (_, planned) = plan_under(&program, FusionLevel::None, &options);
    let BackendReason::Mixed { mixed_nanoseconds, persistent_nanoseconds, cuda_graph_nanoseconds, segments } =
        &planned.reason
    else {
        panic!("{}", planned.reason)
    };
    assert!(mixed_nanoseconds < persistent_nanoseconds.min(cuda_graph_nanoseconds), "{}", planned.reason);
    assert_eq!(planned.plan.backend(), PlanBackend::Mixed);
    let kinds: Vec<Backend> = segments.iter().map(|segment| segment.backend).collect();
    assert_eq!(kinds, planned.plan.segments.iter().map(Segment::backend).collect::<Vec<Backend>>());
    let nanoseconds = |microseconds: f64| (microseconds * 1000.0).round() as u64;
    let run = simulate_plan(&planned.plan, &costs, Jitter::None);
    // No launch of a graph with a cooperative node has been measured.
    let launched = costs.launch_microseconds(Backend::Persistent) + run.makespan;
    assert!(nanoseconds(launched).abs_diff(*mixed_nanoseconds) <= 1, "the figure is that of the plan");
    let mut sum = costs.node_microseconds() * (segments.len() - 1) as f64;
    for (segment, reason) in planned.plan.segments.iter().zip(segments) {
        let SegmentReason { backend, persistent_nanoseconds, cuda_graph_nanoseconds } = *reason;
        let own = simulate_segment(segment, &planned.plan.memory, &costs, Jitter::None).makespan;
        let (told, other) = match backend {
            Backend::Persistent => (persistent_nanoseconds, cuda_graph_nanoseconds),
            Backend::CudaGraph => (cuda_graph_nanoseconds, persistent_nanoseconds),
        };
        assert!(nanoseconds(own).abs_diff(told) <= 1 && told < other, "{}", planned.reason);
        sum += own;
    }
    assert!((run.makespan - sum).abs() < 1e-6, "segments follow one another");
    check_runs(&compile_under(&program, FusionLevel::None, &options));
    costs.graph_node.value = 10.0;
    let dear = plan_under(&program, FusionLevel::None, &PlanOptions { costs, ..options }).1;
    assert_eq!(dear.plan.backend(), PlanBackend::Persistent, "{}", dear.reason);
}

/// Four operators one after another, as a graph, a persistent program and a graph, in bytes of their own but for what is
/// shared between segments.
fn base() -> ExecutionPlan {
    let mut sketch = Sketch::new(0);
    let input = sketch.input(&[4, 4]);
    let value = (0..4).fold(input, |value, _| {
        let squashed = sketch.unary(UnaryOp::Tanh, value);
        let turned = sketch.transpose(squashed, &[1, 0]);
        sketch.binary(BinaryOp::Add, squashed, turned)
    });
    let program = sketch.finish(&[value]);
    let options = PlanOptions { arena: ArenaPolicy::Small, ..pipeline::options(2) };
    let sequence = [Backend::CudaGraph, Backend::Persistent, Backend::CudaGraph];
    let compiled = compile_parts(&program, FusionLevel::None, &options, |groups| parts(groups, &sequence));
    compiled.plan.plan().clone()
}

/// A plan of three segments, wrong in one way between them or in one of them.
pub fn cases() -> Vec<(&'static str, ExecutionPlan)> {
    let changed = |change: &dyn Fn(&mut ExecutionPlan)| {
        let mut plan = base();
        change(&mut plan);
        plan
    };
    let of = |plan: &ExecutionPlan, segment: usize| -> (Vec<TensorId>, Vec<TensorId>) {
        let bodies = || plan.segments[segment].operators().values().map(|operator| operator.kernel.body());
        (
            bodies().flat_map(|body| body.operands.clone()).collect(),
            bodies().flat_map(|body| body.outputs.clone()).collect(),
        )
    };
    let lose = |plan: &mut ExecutionPlan| match &mut plan.segments[0] {
        Segment::CudaGraph(graph) => _ = graph.nodes.pop(),
        Segment::Persistent(_) => unreachable!("the first segment is a graph"),
    };
    // What the first segment leaves to the second lies where the last writes, and where the host reads.
    let share = |plan: &mut ExecutionPlan, one: TensorId, other: TensorId| {
        plan.memory.tensors[one].buffer = plan.memory.tensors[other].buffer;
    };
    let alias = |plan: &mut ExecutionPlan| {
        let (read, _) = of(plan, 1);
        let (_, left) = of(plan, 0);
        let handed = *left.iter().find(|tensor| read.contains(tensor)).expect("something is handed over");
        let written = *of(plan, 1).1.first().expect("the second segment writes");
        share(plan, written, handed);
    };
    let overwritten = |plan: &mut ExecutionPlan| {
        let (input, (_, left)) = (plan.memory.inputs[0], of(plan, 2));
        share(plan, left[0], input);
    };
    let twice = |plan: &mut ExecutionPlan| {
        let (_, first) = of(plan, 0);
        let operator = match &mut plan.segments[2] {
            Segment::CudaGraph(graph) => graph.operators.values_mut().next(),
            Segment::Persistent(_) => unreachable!("the last segment is a graph"),
        };
        operator.expect("it has rOperators").kernel.body_mut().outputs[0] = first[0];
    };
    let unwritten = |plan: &mut ExecutionPlan| _ = plan.segments.remove(0);
    let tagged = |plan: &mut ExecutionPlan| {
        let (read, (_, left)) = (of(plan, 1).0, of(plan, 0));
        let handed = *left.iter().find(|tensor| read.contains(tensor)).expect("something is handed over");
        plan.memory.tensors[handed].edge = EdgeKind::Tagged;
    };
    vec![
        ("InSegment", changed(&lose)),
        ("ReadsLater", changed(&|plan| plan.segments.swap(0, 1))),
        ("ReadsLater", changed(&|plan| plan.segments.swap(1, 2))),
        ("Alias", changed(&alias)),
        ("Alias", changed(&overwritten)),
        ("DoubleWrite", changed(&twice)),
        ("InSegment", changed(&unwritten)),
        ("TaggedAcross", changed(&tagged)),
    ]
}
