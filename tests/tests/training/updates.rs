//! What updates of weights move through memory, and how many passes they take.

use std::collections::BTreeSet;

use warpweave::frontend::{ImportOptions, NameFilter};
use warpweave::graph::program::{Phase, Source, TensorId, TensorProgram};
use warpweave::graph::training::{Loss, Objective, Optimizer, StepOptions};
use warpweave::plan::verify::verify;
use warpweave::runtime::bundle::{BundleTarget, StateRole};
use warpweave::runtime::target::Target;
use warpweave::training::TrainingRequest;
use warpweave::{Build, Model, TargetPart, compile};
use warpweave_measure::bench::OptimizerTraffic;
use warpweave_tests::suite::Suite;

use super::fixtures::{MODELS, file};

/// The optimizer, and how many tensors of a weight's size an update must read or write.
const OPTIMIZERS: [(&str, Optimizer, u64); 4] = [
    ("plain", Optimizer::SGD, 3),
    ("momentum", Optimizer::Sgd { momentum: 0.9, dampening: 0.0, weight_decay: 1e-4, nesterov: false }, 5),
    ("nesterov", Optimizer::Sgd { momentum: 0.9, dampening: 0.0, weight_decay: 1e-4, nesterov: true }, 5),
    ("adam", Optimizer::ADAM, 7),
];
/// How much more than that may be moved, scalars included.
const MOST_TRAFFIC: f64 = 1.1;
/// rOperators that may compute scalars of all updates, such as Adam's corrections.
const MOST_SCALARS: usize = 2;

/// A trial a model and optimizer.
pub fn add(suite: &mut Suite) {
    for model in MODELS {
        for optimizer in OPTIMIZERS {
            suite.trial(format!("updates {model} {}", optimizer.0), move || check(model, optimizer));
        }
    }
}

fn check(model: &str, (name, optimizer, least): (&str, Optimizer, u64)) {
    let path = file(model, "model.onnx");
    let loss = Objective::Loss(Loss::CROSS_ENTROPY);
    let step = StepOptions { loss, output: None, optimizer, largest_norm: None };
    let request = TrainingRequest { step, learning_rate: 0.1, trainable: NameFilter::default() };
    let (model, _) = Model::import_step(&path, &ImportOptions::default(), &request).expect("it can be trained");
    let states = model.training.iter().flat_map(|training| &training.states);
    let roles: Vec<StateRole> = states.clone().map(|state| state.role).collect();
    let weights: u64 =
        states.filter(|state| state.role == StateRole::Weight).map(|state| state.ty.bytes() as u64).sum();
    let build = Build::new(model).expect("the passes are right");
    let part = compile(&build, BundleTarget::Gpu(Target::Sm90a), None, &mut |_| {}).expect("there is a plan");
    let moved = moved_bytes(&part, &build.model.program, &roles);
    let ratio = moved as f64 / (least * weights) as f64;
    assert!(ratio <= MOST_TRAFFIC, "{name}: {moved} bytes are moved, {ratio:.3} times the least");
    check_traffic(&part, name);
    let passes = passes(&part, &build.model.program);
    let most = roles.iter().filter(|role| **role != StateRole::Optimizer).count() + MOST_SCALARS;
    assert!(passes <= most, "{name}: the updates take {passes} rOperators, more than one a tensor, {most}");
}

/// The profile's count agrees: kernels move little more than they must, and no state is moved, since all are exchanged; the
/// plan of the other launches is right, too.
fn check_traffic(part: &TargetPart, name: &str) {
    let plan = part.plan.plan.plan();
    let OptimizerTraffic { bytes, moved_bytes, least_bytes } = OptimizerTraffic::of(plan);
    assert!(bytes as f64 <= MOST_TRAFFIC * least_bytes as f64, "{name}: {bytes} bytes, {least_bytes} are needed");
    assert_eq!((plan.memory.state_moves(), moved_bytes), (Vec::new(), 0), "{name}");
    let exchanged = part.plan.exchanged().expect("states are exchanged");
    assert_eq!(exchanged.exchanged().as_ref(), Some(&part.plan), "{name}: twice is never");
    assert_eq!(exchanged.relocations.len(), part.plan.relocations.len());
    let states = plan.memory.states.iter();
    assert!(exchanged.relocations.len() >= 2 * states.len(), "{name}: every state is read and written somewhere");
    let evidence = verify(exchanged.plan.plan().clone()).expect("the other launches are ordered, too").evidence();
    assert_eq!(evidence, part.plan.plan.evidence(), "{name}");
}

fn phase(program: &TensorProgram, tensor: TensorId) -> Phase {
    program.producer(tensor).map_or(Phase::Forward, |statement| program.names.phase(program.origins(statement)))
}

/// Bytes that the rOperators of updates read and write: weights, what the optimizer keeps, gradients, and what updates hand to
/// one another. What a gradient is computed of is the backward pass's, wherever that is done.
fn moved_bytes(part: &TargetPart, program: &TensorProgram, roles: &[StateRole]) -> u64 {
    let updates = program.statements.values().filter(|update| program.names.phase(&update.origins) == Phase::Optimizer);
    let gradients: BTreeSet<TensorId> = updates.flat_map(|update| update.operands.iter().copied()).collect();
    let statistics = statistics(part, program, roles);
    let plan = part.plan.plan.plan();
    let mut bytes = 0;
    for operator in plan.operators().values() {
        if program.names.phase(&operator.origins) != Phase::Optimizer {
            continue;
        }
        let counts = |tensor: &&TensorId| {
            let Some(known) = program.tensors.get(**tensor) else { return false };
            let is_state = matches!(known.source, Source::State(_));
            let is_own = phase(program, **tensor) == Phase::Optimizer;
            (is_state || is_own || gradients.contains(tensor)) && !statistics.contains(tensor)
        };
        let tensors = operator.kernel.body().operands.iter().chain(&operator.kernel.body().outputs).filter(counts);
        bytes += tensors.map(|&tensor| program.tensors[tensor].ty.bytes() as u64).sum::<u64>();
    }
    bytes
}

/// Running statistics and what they are updated from, which no optimizer touches.
fn statistics(part: &TargetPart, program: &TensorProgram, roles: &[StateRole]) -> BTreeSet<TensorId> {
    let states = part.plan.plan.plan().memory.states.iter().zip(roles);
    let states = states.filter(|(_, role)| **role == StateRole::Statistic);
    let mut found: BTreeSet<TensorId> = states.flat_map(|(state, _)| [state.tensor, state.next]).collect();
    let made: Vec<TensorId> = found.iter().copied().collect();
    for statement in made.into_iter().filter_map(|tensor| program.producer(tensor)) {
        found.extend(program.statements[statement].operands.iter().copied());
    }
    found
}

/// rOperators of the updates.
fn passes(part: &TargetPart, program: &TensorProgram) -> usize {
    let operators = part.plan.plan.plan().operators().into_owned();
    operators.values().filter(|operator| program.names.phase(&operator.origins) == Phase::Optimizer).count()
}
