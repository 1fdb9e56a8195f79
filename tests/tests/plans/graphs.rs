//! Graphs of kernel nodes: what the verifier proves of their order, and when a graph is chosen.

use warpweave::codegen::emulate::LaunchOptions;
use warpweave::fusion::cost::sync::SyncCosts;
use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::memory::ArenaPolicy;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::graph::arena::Id;
use warpweave::graph::program::TensorId;
use warpweave::plan::plan::backend::{Backend, BackendChoice, BackendReason};
use warpweave::plan::plan::{BufferSpace, EdgeKind, ExecutionPlan, GraphSegment, KernelNode, OperatorId, Segment};
use warpweave::plan::template::Template;
use warpweave::plan::verify::verify;
use warpweave_tests::machine::Machine;
use warpweave_tests::pipeline::{self, Compiled, compile_under, plan_under};
use warpweave_tests::random::{self, Random};
use warpweave_tests::samples::{self, Sample};
use warpweave_tests::suite::{Suite, is_full};

/// Pairs of nodes of a plan that are exchanged, spread over all; in a full run every pair is.
const MOST_PAIRS: usize = 40;

/// Adds a trial a sample: two nodes exchanged; and one for the choice between back ends.
pub fn add(suite: &mut Suite) {
    for sample in samples::all() {
        suite.trial(format!("graphs: order of {}", sample.name), move || {
            for level in [FusionLevel::None, FusionLevel::Register] {
                for arena in [ArenaPolicy::Small, ArenaPolicy::Separate] {
                    check_orders(&sample, level, arena);
                }
            }
        });
    }
    suite.trial("graphs: the faster back end", || samples::all().iter().for_each(check_choice));
}

/// The verifier accepts two nodes in each other's place only where the emulator computes the same and reports nothing. Where
/// no bytes are shared, it accepts wherever that is so; where some are, what is overwritten too early may be overwritten
/// by what it was.
fn check_orders(sample: &Sample, level: FusionLevel, arena: ArenaPolicy) {
    let backend = BackendChoice::Only(Backend::CudaGraph);
    let compiled = compile_under(&sample.program, level, &PlanOptions { backend, arena, ..pipeline::options(4) });
    let inputs = random::inputs(&mut Random::new(31), &sample.program);
    let expected = Machine::new(&compiled).run(&inputs, 0);
    let nodes = graph(compiled.plan.plan()).nodes.len();
    let pairs = (0..nodes).flat_map(|first| (first + 1..nodes).map(move |second| (first, second)));
    let pairs: Vec<(usize, usize)> = pairs.collect();
    let step = if is_full() { 1 } else { pairs.len().div_ceil(MOST_PAIRS).max(1) };
    for (first, second) in pairs.into_iter().step_by(step) {
        let mut plan = compiled.plan.plan().clone();
        graph_mut(&mut plan).nodes.swap(first, second);
        let Compiled { lowered, program, .. } = &compiled;
        let machine = Machine::with_plan(&plan, lowered, program);
        let (report, outputs) = machine.launch(&inputs, &LaunchOptions::seeded(1));
        let is_the_same = report.is_clean() && outputs == expected;
        let is_right = match (verify(plan).is_ok(), arena) {
            (true, _) => is_the_same,
            (false, ArenaPolicy::Separate) => !is_the_same,
            (false, ArenaPolicy::Small | ArenaPolicy::Fast) => true,
        };
        assert!(is_right, "{level:?}, {}: nodes {first} and {second}", arena.name());
    }
}

/// The chosen plan is the one that the figures with which it was chosen say is faster.
fn check_choice(sample: &Sample) {
    let planned = |backend| {
        let options = PlanOptions { backend, ..pipeline::options(132) };
        plan_under(&sample.program, FusionLevel::Full, &options).1
    };
    let costs = SyncCosts::h200();
    let takes = |backend| {
        let planned = planned(BackendChoice::Only(backend));
        assert_eq!((planned.plan.segment().backend(), planned.reason), (backend, BackendReason::Asked));
        ((costs.launch_microseconds(backend) + planned.makespan) * 1000.0) as u64
    };
    let (persistent_nanoseconds, cuda_graph_nanoseconds) = (takes(Backend::Persistent), takes(Backend::CudaGraph));
    let auto = planned(BackendChoice::Auto);
    let told = (persistent_nanoseconds, cuda_graph_nanoseconds);
    match auto.reason {
        BackendReason::Mixed { mixed_nanoseconds, persistent_nanoseconds, cuda_graph_nanoseconds, segments } => {
            assert_eq!((persistent_nanoseconds, cuda_graph_nanoseconds), told);
            assert!(mixed_nanoseconds < told.0.min(told.1) && segments.len() == auto.plan.segments.len());
        }
        reason => {
            assert_eq!(reason, BackendReason::Predicted { persistent_nanoseconds, cuda_graph_nanoseconds });
            let backend = if told.1 < told.0 { Backend::CudaGraph } else { Backend::Persistent };
            assert_eq!(auto.plan.segment().backend(), backend);
        }
    }
}

fn graph(plan: &ExecutionPlan) -> &GraphSegment {
    match plan.segment() {
        Segment::CudaGraph(segment) => segment,
        Segment::Persistent(_) => unreachable!("the plan was made for a graph"),
    }
}

fn graph_mut(plan: &mut ExecutionPlan) -> &mut GraphSegment {
    match plan.segments.as_mut_slice() {
        [Segment::CudaGraph(segment)] => segment,
        _ => unreachable!("the plan was made for a graph"),
    }
}

/// A persistent plan's rOperators as nodes, each wrong in one way.
pub fn cases(persistent: ExecutionPlan) -> Vec<(&'static str, ExecutionPlan)> {
    let base = as_nodes(persistent);
    verify(base.clone()).unwrap_or_else(|violations| panic!("the plan is right: {violations:?}"));
    let changed = |change: &dyn Fn(&mut ExecutionPlan)| {
        let mut plan = base.clone();
        change(&mut plan);
        plan
    };
    let nodes = |change: &dyn Fn(&mut Vec<KernelNode>)| changed(&|plan| change(&mut graph_mut(plan).nodes));
    let unknown = KernelNode { operator: OperatorId::from_index(2), blocks: 1 };
    let keep = |plan: &mut ExecutionPlan| {
        let kernel = &mut graph_mut(plan).operators[OperatorId::from_index(0)].kernel;
        *kernel = kernel.with_template(Template::WeightStationary);
    };
    let alias = |plan: &mut ExecutionPlan| {
        let places: Vec<TensorId> = plan.memory.tensors.ids().filter(|id| in_arena(plan, *id)).collect();
        let [.., middle, output] = places.as_slice() else { unreachable!("there are three tensors") };
        plan.memory.tensors[*output].buffer = plan.memory.tensors[*middle].buffer;
    };
    let tagged = |plan: &mut ExecutionPlan| {
        plan.memory.tensors[TensorId::from_index(1)].edge = EdgeKind::Tagged;
    };
    vec![
        ("UnorderedRead", nodes(&|nodes| nodes.swap(0, 1))),
        ("NodeCount", nodes(&|nodes| _ = nodes.pop())),
        ("NodeCount", nodes(&|nodes| nodes.push(nodes[0]))),
        ("NodeBlocks", nodes(&|nodes| nodes[1].blocks -= 1)),
        ("NodeBlocks", nodes(&|nodes| nodes[0].blocks += 1)),
        ("UnknownNode", nodes(&|nodes| nodes.push(unknown))),
        ("Alias", changed(&alias)),
        ("Tile", changed(&keep)),
        ("TaggedInGraph", changed(&tagged)),
    ]
}

fn in_arena(plan: &ExecutionPlan, tensor: TensorId) -> bool {
    plan.memory.tensors[tensor].buffer.is_some_and(|buffer| buffer.space == BufferSpace::Arena)
}

/// The rOperators of a persistent plan as nodes, in their order.
pub fn as_nodes(persistent: ExecutionPlan) -> ExecutionPlan {
    let operators = persistent.persistent().operators.clone();
    let nodes = operators.iter().map(|(operator, planned)| KernelNode { operator, blocks: planned.tasks() }).collect();
    let segment = GraphSegment { operators, nodes, units: 2 };
    ExecutionPlan { segments: vec![Segment::CudaGraph(segment)], memory: persistent.memory }
}
