//! One smallest plan for every way in which the verifier finds a plan wrong.

pub mod factors;
mod indices;
mod opaque;
mod parts;

use std::collections::BTreeSet;

use warpweave::fusion::partition::search::FusionLevel;
use warpweave::fusion::schedule::options::PlanOptions;
use warpweave::graph::ElementType;
use warpweave::graph::arena::Id;
use warpweave::graph::expr::{BinaryOp, Index, TensorExpr, UnaryOp};
use warpweave::graph::program::TensorId;
use warpweave::plan::plan::{
    CounterId, EdgeKind, ExecutionPlan, Instruction, OperatorId, PersistentSegment, PlannedTensor, RTask, Segment,
};
use warpweave::plan::template::Template;
use warpweave::plan::verify::verify;
use warpweave::plan::verify::violation::Violation;
use warpweave_tests::pipeline::{self, plan_under, plan_with};
use warpweave_tests::samples;
use warpweave_tests::sketch::Sketch;
use warpweave_tests::suite::Suite;

use crate::{graphs, segments};

/// Adds a trial for the unchanged plan and one for all counter-examples.
pub fn add(suite: &mut Suite) {
    suite.trial("counterexamples: the unchanged plan", || _ = verify(base()).expect("the plan is right"));
    suite.trial("counterexamples: rTasks in one another's way", || {
        let mut plan = base();
        let start = plan.memory.tensors[TensorId::from_index(MIDDLE)].buffer.expect("it has one").offset;
        let planned = &mut plan.memory.tensors[TensorId::from_index(OUTPUT)];
        planned.buffer.as_mut().expect("every tensor has a buffer").offset = start;
        let violations = verify(plan).expect_err("what is read is overwritten");
        let conflict = violations.iter().find_map(Violation::conflict).expect("two rTasks are named");
        let second = |tile| RTask { operator: OperatorId::from_index(1), tile };
        assert!([(second(0), second(1)), (second(1), second(0))].contains(&conflict), "{conflict:?}");
    });
    suite.trial("counterexamples", || {
        let mut found = BTreeSet::new();
        for (position, (expected, plan)) in all_cases().into_iter().enumerate() {
            let Err(violations) = verify(plan) else { panic!("case {position} is no {expected}") };
            let names: Vec<&str> = violations.iter().map(name).collect();
            assert!(names.contains(&expected), "case {position}: {names:?} instead of {expected}");
            assert!(violations.iter().all(|violation| !violation.to_string().is_empty()));
            found.insert(expected);
        }
        assert_eq!(found, BTreeSet::from(NAMES), "every violation has its counter-example");
    });
}

fn all_cases() -> Vec<(&'static str, ExecutionPlan)> {
    [
        cases(),
        weight_stationary_cases(),
        prefetch_cases(),
        tagged_cases(),
        parts::cases(),
        factors::cases(),
        graphs::cases(base()),
        segments::cases(),
        indices::cases(),
        opaque::cases(),
        vec![("ResidentInGraph", graphs::as_nodes(kept()))],
    ]
    .concat()
}

const NAMES: [&str; 31] = [
    "Memory",
    "Malformed",
    "TaskCount",
    "Unknown",
    "Tile",
    "Output",
    "Arrivals",
    "AmbiguousWait",
    "Deadlock",
    "UnorderedRead",
    "Uncovered",
    "DoubleWrite",
    "Alias",
    "Buffer",
    "WritesConstant",
    "NotResident",
    "ResidentVariable",
    "StrayPrefetch",
    "PrefetchesVariable",
    "Tagged",
    "CannotExchange",
    "NodeCount",
    "NodeBlocks",
    "UnknownNode",
    "ResidentInGraph",
    "TaggedInGraph",
    "ReadsLater",
    "TaggedAcross",
    "InSegment",
    "IndexRecords",
    "UncheckedIndex",
];

fn name(violation: &Violation) -> &'static str {
    match violation {
        Violation::Memory(_) => "Memory",
        Violation::Malformed { .. } => "Malformed",
        Violation::TaskCount { .. } => "TaskCount",
        Violation::Unknown { .. } => "Unknown",
        Violation::Tile(_) => "Tile",
        Violation::Output { .. } => "Output",
        Violation::Arrivals { .. } => "Arrivals",
        Violation::AmbiguousWait { .. } => "AmbiguousWait",
        Violation::Deadlock(_) => "Deadlock",
        Violation::UnorderedRead { .. } => "UnorderedRead",
        Violation::Uncovered { .. } => "Uncovered",
        Violation::DoubleWrite(..) => "DoubleWrite",
        Violation::Alias { .. } => "Alias",
        Violation::Buffer(_) => "Buffer",
        Violation::WritesConstant(_) => "WritesConstant",
        Violation::NotResident { .. } => "NotResident",
        Violation::ResidentVariable { .. } => "ResidentVariable",
        Violation::StrayPrefetch { .. } => "StrayPrefetch",
        Violation::PrefetchesVariable(_) => "PrefetchesVariable",
        Violation::Tagged(_) => "Tagged",
        Violation::CannotExchange { .. } => "CannotExchange",
        Violation::NodeCount { .. } => "NodeCount",
        Violation::NodeBlocks { .. } => "NodeBlocks",
        Violation::UnknownNode(_) => "UnknownNode",
        Violation::ResidentInGraph(_) => "ResidentInGraph",
        Violation::TaggedInGraph(_) => "TaggedInGraph",
        Violation::ReadsLater { .. } => "ReadsLater",
        Violation::TaggedAcross { .. } => "TaggedAcross",
        Violation::InSegment { .. } => "InSegment",
        Violation::IndexRecords => "IndexRecords",
        Violation::UncheckedIndex(_) => "UncheckedIndex",
    }
}

const INPUT: usize = 0;
const MIDDLE: usize = 1;
const OUTPUT: usize = 2;

/// `tanh(x) + tanh(x)ᵀ` in two operators of two rTasks each, on two units: every rTask of the second operator reads
/// both of the first.
fn base() -> ExecutionPlan {
    let mut sketch = Sketch::new(0);
    let input = sketch.input(&[4, 4]);
    let middle = sketch.unary(UnaryOp::Tanh, input);
    let turned = sketch.transpose(middle, &[1, 0]);
    let output = sketch.binary(BinaryOp::Add, middle, turned);
    let program = sketch.finish(&[output]);
    let (_, mut plan) = plan_with(&program, 2, FusionLevel::None, |body| {
        let mut params = warpweave::fusion::template::candidates::candidates(body).swap_remove(0).params().clone();
        params.tile[0] /= 2;
        Some(params)
    });
    let segment = segment(&mut plan);
    assert_eq!(segment.operators.values().map(|operator| operator.tasks()).collect::<Vec<_>>(), [2, 2]);
    segment.counters = [warpweave::plan::plan::Counter { arrivals: 2 }].into_iter().collect();
    segment.streams =
        (0..2).map(|tile| vec![run(0, tile), Instruction::Signal(counter()), wait(2), run(1, tile)]).collect();
    plan
}

fn cases() -> Vec<(&'static str, ExecutionPlan)> {
    let stream = |change: &dyn Fn(&mut PersistentSegment)| {
        let mut plan = base();
        change(segment(&mut plan));
        plan
    };
    let expression = |change: &dyn Fn(&mut TensorExpr)| {
        stream(&|segment| {
            let body = segment.operators[OperatorId::from_index(1)].kernel.body_mut();
            change(&mut body.stages[0].expr);
        })
    };
    let memory = |change: &dyn Fn(&mut ExecutionPlan)| {
        let mut plan = base();
        change(&mut plan);
        plan
    };
    let offset = |plan: &mut ExecutionPlan, tensor: usize, offset: u64| {
        let planned = &mut plan.memory.tensors[TensorId::from_index(tensor)];
        planned.buffer.as_mut().expect("every tensor has a buffer").offset = offset;
    };
    let offset_of = |plan: &ExecutionPlan, tensor: usize| {
        plan.memory.tensors[TensorId::from_index(tensor)].buffer.expect("every tensor has a buffer").offset
    };
    vec![
        ("TaskCount", stream(&|segment| _ = segment.streams[0].pop())),
        ("TaskCount", stream(&|segment| segment.streams[0].push(run(1, 1)))),
        ("Unknown", stream(&|segment| segment.streams[0].push(run(1, 2)))),
        ("Unknown", stream(&|segment| segment.streams[0].push(run(2, 0)))),
        ("Unknown", stream(&|segment| segment.streams[0].push(Instruction::Signal(CounterId::from_index(1))))),
        ("Tile", stream(&|segment| with_tile(segment, &|tile| tile[0] = 0))),
        ("Tile", stream(&|segment| with_tile(segment, &|tile| tile.push(1)))),
        ("Output", stream(&|segment| redirect(segment, &|index| index.times(2)))),
        ("Output", stream(&|segment| redirect(segment, &|_| Index::constant(0)))),
        ("Arrivals", stream(&|segment| segment.counters[counter()].arrivals = 3)),
        ("Arrivals", stream(&|segment| _ = segment.streams[1].remove(1))),
        ("AmbiguousWait", stream(&|segment| segment.streams[0][2] = wait(1))),
        ("Deadlock", stream(&|segment| segment.streams[0][2] = wait(3))),
        ("Deadlock", stream(&|segment| segment.streams.iter_mut().for_each(|stream| stream.swap(1, 2)))),
        ("UnorderedRead", stream(&|segment| _ = segment.streams[1].remove(2))),
        ("UnorderedRead", stream(&|segment| segment.streams[0].swap(0, 1))),
        ("Uncovered", memory(&|plan| plan.memory.inputs.clear())),
        (
            "DoubleWrite",
            stream(&|segment| {
                let body = segment.operators[OperatorId::from_index(1)].kernel.body_mut();
                body.outputs = vec![TensorId::from_index(MIDDLE)];
            }),
        ),
        (
            "Alias",
            memory(&|plan| {
                let start = offset_of(plan, MIDDLE);
                offset(plan, OUTPUT, start);
            }),
        ),
        (
            "Alias",
            memory(&|plan| {
                let start = offset_of(plan, INPUT);
                offset(plan, OUTPUT, start);
            }),
        ),
        ("Buffer", memory(&|plan| plan.memory.tensors[TensorId::from_index(MIDDLE)].buffer = None)),
        (
            "Buffer",
            memory(&|plan| {
                let beyond = plan.memory.arena_bytes.next_multiple_of(256);
                offset(plan, MIDDLE, beyond);
            }),
        ),
        (
            "Buffer",
            memory(&|plan| {
                plan.memory.arena_bytes += 8;
                let start = offset_of(plan, OUTPUT) + 8;
                offset(plan, OUTPUT, start);
            }),
        ),
        ("Memory", memory(&|plan| _ = plan.memory.tensors[TensorId::from_index(MIDDLE)].layout.strides.pop())),
        ("Malformed", expression(&|expr| expr.element = ElementType::I32)),
        ("Malformed", expression(&|expr| expr.operands[0].element = ElementType::I64)),
        ("WritesConstant", memory(&|plan| plan.memory.inputs.push(TensorId::from_index(MIDDLE)))),
    ]
}

/// A plan that keeps constants on chip.
fn kept() -> ExecutionPlan {
    let options = PlanOptions { shared_bytes: 1 << 17, ..pipeline::options(4) };
    plan_under(&samples::recurrence(), FusionLevel::Register, &options).1.plan
}

/// Plans that keep constants on chip, each wrong in one way.
fn weight_stationary_cases() -> Vec<(&'static str, ExecutionPlan)> {
    let stream = |change: &dyn Fn(&mut PersistentSegment)| {
        let mut plan = kept();
        change(segment(&mut plan));
        plan
    };
    let is_hold = |instruction: &Instruction| matches!(instruction, Instruction::Hold(_));
    let keep = |segment: &PersistentSegment, unit: usize| {
        segment.streams[unit].iter().position(is_hold).expect("every unit keeps something")
    };
    let lose = |segment: &mut PersistentSegment| {
        let at = keep(segment, 1);
        _ = segment.streams[1].remove(at);
    };
    let late = |segment: &mut PersistentSegment| {
        let at = keep(segment, 0);
        let instruction = segment.streams[0].remove(at);
        segment.streams[0].push(instruction);
    };
    let swap = |segment: &mut PersistentSegment| {
        let places = [keep(segment, 0), keep(segment, 1)];
        let other = segment.streams[1][places[1]];
        segment.streams[0][places[0]] = other;
    };
    let unknown = |segment: &mut PersistentSegment| {
        let operator = OperatorId::from_index(segment.operators.len());
        segment.streams[0].push(Instruction::Hold(RTask { operator, tile: 0 }));
    };
    let mut variable = kept();
    let operators = variable.persistent().operators.values();
    let constants: BTreeSet<TensorId> =
        operators.flat_map(|operator| operator.kernel.body().operands.clone()).collect();
    for tensor in constants {
        if let Some(buffer) = &mut variable.memory.tensors[tensor].buffer {
            buffer.space = warpweave::plan::plan::BufferSpace::Arena;
        }
    }
    vec![
        ("NotResident", stream(&lose)),
        ("NotResident", stream(&late)),
        ("NotResident", stream(&swap)),
        ("Unknown", stream(&unknown)),
        ("ResidentVariable", variable),
    ]
}

/// A product with constants that waits for what it multiplies them by.
fn prefetching() -> ExecutionPlan {
    let plan = plan_under(&samples::two_products(), FusionLevel::None, &pipeline::options(4)).1.plan;
    assert!(plan.persistent().prefetches() > 0, "the second product begins with constants");
    plan
}

/// Plans that prefetch, each wrong in one way.
fn prefetch_cases() -> Vec<(&'static str, ExecutionPlan)> {
    let is_prefetch = |instruction: &Instruction| matches!(instruction, Instruction::Prefetch(_));
    let stream = |change: &dyn Fn(&mut Vec<Instruction>, usize)| {
        let mut plan = prefetching();
        let streams = segment(&mut plan).streams.iter_mut();
        let found = streams.filter_map(|stream| stream.iter().position(is_prefetch).map(|at| (stream, at)));
        found.for_each(|(stream, at)| change(stream, at));
        plan
    };
    let last = |stream: &mut Vec<Instruction>, at: usize| {
        let prefetch = stream.remove(at);
        stream.push(prefetch);
    };
    let unknown = |stream: &mut Vec<Instruction>, at: usize| {
        stream[at] = Instruction::Prefetch(RTask { operator: OperatorId::from_index(0), tile: u32::MAX });
    };
    let other = |stream: &mut Vec<Instruction>, at: usize| {
        let Instruction::Prefetch(RTask { operator, tile }) = stream[at] else {
            unreachable!("a prefetch stands here")
        };
        stream[at] = Instruction::Prefetch(RTask { operator, tile: u32::from(tile == 0) });
    };
    let mut variable = prefetching();
    for id in variable.memory.constants.clone() {
        if let Some(buffer) = &mut variable.memory.tensors[id].buffer {
            buffer.space = warpweave::plan::plan::BufferSpace::Arena;
        }
    }
    vec![
        ("StrayPrefetch", stream(&last)),
        ("StrayPrefetch", stream(&other)),
        ("Unknown", stream(&unknown)),
        ("PrefetchesVariable", variable),
    ]
}

/// The plan of [`base`] without counters: its middle tensor is polled.
fn polled() -> ExecutionPlan {
    let mut plan = base();
    segment(&mut plan).counters = Default::default();
    segment(&mut plan).streams = (0..2).map(|tile| vec![run(0, tile), run(1, tile)]).collect();
    mark(&mut plan, MIDDLE);
    plan
}

/// Lets a tensor's values carry their validity, in bytes at the end of the arena.
fn mark(plan: &mut ExecutionPlan, tensor: usize) {
    let start = plan.memory.arena_bytes.next_multiple_of(256);
    let planned = &mut plan.memory.tensors[TensorId::from_index(tensor)];
    planned.edge = EdgeKind::Tagged;
    let bytes = planned.bytes();
    let buffer = planned.buffer.as_mut().expect("every tensor has a buffer");
    (buffer.offset, buffer.bytes) = (start, bytes);
    plan.memory.arena_bytes = start + bytes;
}

/// Plans whose values carry their own validity, each wrong in one way; the unchanged one is right.
fn tagged_cases() -> Vec<(&'static str, ExecutionPlan)> {
    verify(polled()).unwrap_or_else(|violations| panic!("the plan is right: {violations:?}"));
    let changed = |change: &dyn Fn(&mut ExecutionPlan)| {
        let mut plan = polled();
        change(&mut plan);
        plan
    };
    let planned = |plan: &mut ExecutionPlan, change: &dyn Fn(&mut PlannedTensor)| {
        change(&mut plan.memory.tensors[TensorId::from_index(MIDDLE)]);
    };
    let untagged = |tensor: &mut PlannedTensor| {
        tensor.edge = EdgeKind::Counter;
        let bytes = tensor.bytes();
        tensor.buffer.as_mut().expect("it has one").bytes = bytes;
    };
    let shared = |plan: &mut ExecutionPlan| {
        let other = plan.memory.tensors[TensorId::from_index(INPUT)].buffer.expect("an input has one").offset;
        planned(plan, &|tensor| tensor.buffer.as_mut().expect("it has one").offset = other);
    };
    let unwritten = |plan: &mut ExecutionPlan| {
        let body = segment(plan).operators[OperatorId::from_index(0)].kernel.body_mut();
        body.stages[0].output = None;
        body.outputs.clear();
    };
    let staged = |plan: &mut ExecutionPlan| {
        let kernel = &mut segment(plan).operators[OperatorId::from_index(1)].kernel;
        *kernel = kernel.with_template(Template::Staged);
    };
    vec![
        // The poll waits for an rTask behind it in its own stream.
        ("Deadlock", changed(&|plan| segment(plan).streams.iter_mut().for_each(|stream| stream.swap(0, 1)))),
        ("Deadlock", changed(&|plan| segment(plan).streams[0].swap(0, 1))),
        ("UnorderedRead", changed(&|plan| planned(plan, &untagged))),
        ("Buffer", changed(&|plan| planned(plan, &|tensor| tensor.buffer.as_mut().expect("it has one").bytes /= 2))),
        ("Alias", changed(&shared)),
        ("Uncovered", changed(&unwritten)),
        ("Tagged", changed(&|plan| plan.memory.outputs.push(TensorId::from_index(MIDDLE)))),
        ("Tagged", changed(&|plan| mark(plan, INPUT))),
        ("CannotExchange", changed(&staged)),
    ]
}

fn segment(plan: &mut ExecutionPlan) -> &mut PersistentSegment {
    let [Segment::Persistent(segment)] = plan.segments.as_mut_slice() else {
        unreachable!("plans have one persistent segment")
    };
    segment
}

fn counter() -> CounterId {
    CounterId::from_index(0)
}

fn run(operator: usize, tile: u32) -> Instruction {
    Instruction::Run(RTask { operator: OperatorId::from_index(operator), tile })
}

fn wait(signals: u32) -> Instruction {
    Instruction::Wait { counter: counter(), signals }
}

/// Changes the tile of the first operator.
fn with_tile(segment: &mut PersistentSegment, change: &dyn Fn(&mut Vec<usize>)) {
    let kernel = &mut segment.operators[OperatorId::from_index(0)].kernel;
    let mut params = kernel.params().clone();
    change(&mut params.tile);
    *kernel = kernel.with_params(params);
}

/// Changes where the first operator writes.
fn redirect(segment: &mut PersistentSegment, change: &dyn Fn(&Index) -> Index) {
    let stage = &mut segment.operators[OperatorId::from_index(0)].kernel.body_mut().stages[0];
    let output = stage.output.as_mut().expect("the operator writes");
    output.index = output.index.iter().map(change).collect();
}
