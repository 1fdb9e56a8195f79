//! A training step as a program.

use std::collections::{BTreeMap, BTreeSet};

use super::batch_statistics::{RunningStatistic, in_training, update};
use super::clipping::clipped;
use super::dropout::drawing;
use super::error::TrainingError;
use super::loss::{Objective, as_loss};
use super::optimizer::{OPTIMIZER_STATES, Optimizer, Trained};
use crate::autodiff::{AutodiffError, append_gradients};
use crate::ir::{Graph, Origin as ValueOrigin};
use crate::lower::lower_differentiable;
use crate::ops::Op;
use crate::passes;
use crate::program::{
    Differentiable, Origin, Origins, Phase, ProgramBuilder, Source, Statement, TensorId, TensorProgram,
};
use crate::tensor::Tensor;
use crate::types::{ElementType, Shape, TensorType};

/// The name of the input that says what the model should have given.
pub const TARGET: &str = "target";
/// The name of the input, a scalar single, that says how far tensors follow their gradients.
pub const LEARNING_RATE: &str = "learning_rate";
/// The name of the input, a scalar of 32 bits, by which dropouts draw; only steps of models with dropouts have it. Of 0 nothing is
/// dropped.
pub const SEED: &str = "seed";
/// The name of the output, a scalar, that is the loss before the step.
pub const LOSS: &str = "loss";

/// The key of a safetensors file's header that is no tensor.
const SAFETENSORS_METADATA: &str = "__metadata__";

/// What a step is made of beside the model.
#[derive(Clone, PartialEq, Debug)]
pub struct StepOptions {
    /// What it makes smaller.
    pub loss: Objective,
    /// The output that the loss is of; the first unless given.
    pub output: Option<String>,
    /// How it does that.
    pub optimizer: Optimizer,
    /// The largest norm that all gradients together may have.
    pub largest_norm: Option<f64>,
}

/// A training step.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// What is computed; states have the names of the model's initializers.
    pub program: TensorProgram,
    /// The names of its inputs: the model's, [`SEED`] if it has dropouts, [`TARGET`] unless the model gives its loss itself, and
    /// [`LEARNING_RATE`].
    pub inputs: Vec<String>,
    /// The names of its outputs: [`LOSS`], then the output that it is of, unless that is the loss itself.
    pub outputs: Vec<String>,
    /// The names of the tensors that are trained.
    pub trained: Vec<String>,
    /// The names of the running statistics.
    pub statistics: Vec<String>,
    /// What the model's owner should know.
    pub warnings: Vec<String>,
}

/// The training step of a graph whose variables are trained, or are running statistics.
pub fn training_step(graph: &Graph, options: &StepOptions) -> Result<Step, TrainingError> {
    if !graph.counted.is_empty() {
        return Err(TrainingError::Counted);
    }
    let output = chosen_output(graph, options)?;
    let (training, statistics) = in_training(graph)?;
    let taken: &[&str] = match options.loss {
        Objective::Output => &[SEED, LEARNING_RATE],
        Objective::Loss(_) => &[SEED, TARGET, LEARNING_RATE],
    };
    let mut named = graph.inputs.iter().map(|&input| graph.values[input].name.as_str());
    if let Some(name) = named.find(|name| taken.contains(name)) {
        return Err(TrainingError::Input(name.to_owned()));
    }
    let training = passes::run(&drawing(&training))?;
    let inputs: Vec<String> = training.inputs.iter().map(|&input| training.values[input].name.clone()).collect();
    let forward = lower_differentiable(&training);
    let model_outputs = forward.program.outputs.clone();
    let mut program = ProgramBuilder::extending(forward);
    program.set_origins(Origins::new());
    let scored = model_outputs[output];
    let error = |error| TrainingError::Loss { output: graph.outputs[output].name.clone(), error };
    let compared = match options.loss {
        Objective::Output => None,
        Objective::Loss(loss) => {
            let ty = loss.target(program.ty(scored)).map_err(error)?;
            Some((loss, program.input(ty)))
        }
    };
    let rate = program.input(TensorType { element: ElementType::F32, shape: Shape::scalar() });
    set_origin(&mut program, Phase::Loss, options.loss.name(), LOSS);
    let loss = match compared {
        Some((loss, target)) => loss.append(&mut program, scored, target),
        None => as_loss(&mut program, scored).map_err(error)?,
    };
    let forward = program.finish_differentiable(vec![loss]).with_reduced_values();

    let states = named_states(&forward.program);
    let is_statistic: BTreeSet<&str> = statistics.iter().map(|statistic| statistic.name.as_str()).collect();
    let trained: Vec<(&str, TensorId)> = states
        .iter()
        .filter(|(name, _)| !is_statistic.contains(name.as_str()))
        .map(|(name, &tensor)| (name.as_str(), tensor))
        .collect();
    if trained.is_empty() {
        return Err(TrainingError::Nothing);
    }
    if let Some(name) = states.keys().find(|name| is_reserved(name)) {
        return Err(TrainingError::Name(name.clone()));
    }
    let mut program = ProgramBuilder::extending(forward.clone());
    let seed = program.constant(Tensor::from_f64(program.ty(loss).clone(), &[1.0]));
    let wanted: Vec<TensorId> = trained.iter().map(|&(_, tensor)| tensor).collect();
    let gradients = append_gradients(&mut program, &forward, &[(loss, seed)], &wanted)?;
    let missing: Vec<&(&str, TensorId)> =
        trained.iter().zip(&gradients).filter(|(_, gradient)| gradient.is_none()).map(|(trained, _)| trained).collect();
    if !missing.is_empty() {
        return Err(no_path(&forward, loss, &missing)?);
    }
    let mut gradients: Vec<TensorId> = gradients.into_iter().flatten().collect();
    set_origin(&mut program, Phase::Optimizer, options.optimizer.name(), "optimizer");
    if let Some(largest) = options.largest_norm {
        gradients = clipped(&mut program, &gradients, largest);
    }
    let tensors: Vec<Trained<'_>> =
        trained.iter().zip(&gradients).map(|(&(name, tensor), &gradient)| Trained { name, tensor, gradient }).collect();
    options.optimizer.append(&mut program, &tensors, rate);
    // Several normalisations may keep one statistic: each goes on from what the one before it has left.
    let mut kept: BTreeMap<&str, TensorId> = BTreeMap::new();
    for statistic in &statistics {
        if let Some(&running) = states.get(&statistic.name) {
            let before = kept.get(statistic.name.as_str()).copied().unwrap_or(running);
            let next = update(&mut program, statistic, before, &model_outputs);
            kept.insert(&statistic.name, next);
        }
    }
    for (name, next) in kept {
        program.set_next(states[name], next);
    }
    let name = graph.outputs[output].name.clone();
    let shows_output = name != LOSS && options.loss != Objective::Output;
    let mut outputs = vec![loss];
    outputs.extend(shows_output.then_some(scored));
    let mut outputs_names = vec![LOSS.to_owned()];
    outputs_names.extend(shows_output.then_some(name));
    program.names().outputs = outputs_names.iter().cloned().enumerate().collect();
    Ok(Step {
        program: program.finish(outputs).pruned(),
        inputs: inputs
            .into_iter()
            .chain(compared.map(|_| TARGET.to_owned()))
            .chain([LEARNING_RATE.to_owned()])
            .collect(),
        outputs: outputs_names,
        trained: trained.iter().map(|(name, _)| (*name).to_owned()).collect(),
        statistics: is_statistic.iter().map(|name| (*name).to_owned()).collect(),
        warnings: warnings(graph, &statistics),
    })
}

fn chosen_output(graph: &Graph, options: &StepOptions) -> Result<usize, TrainingError> {
    let Some(wanted) = &options.output else { return Ok(0) };
    let place = graph.outputs.iter().position(|output| output.name == *wanted);
    place.ok_or_else(|| TrainingError::Output {
        wanted: wanted.clone(),
        known: graph.outputs.iter().map(|output| output.name.clone()).collect(),
    })
}

fn set_origin(program: &mut ProgramBuilder, phase: Phase, operator: &str, name: &str) {
    let origin = Origin { phase, operator: operator.to_owned(), name: name.to_owned(), result: String::new() };
    let origin = program.names().origins.push(origin);
    program.set_origins(Origins::from([origin]));
}

/// The states of a program by name.
fn named_states(program: &TensorProgram) -> BTreeMap<String, TensorId> {
    let states = program.tensors.iter().filter(|(_, tensor)| matches!(tensor.source, Source::State(_)));
    states.filter_map(|(id, _)| Some((program.names.tensors.get(&id)?.clone(), id))).collect()
}

/// Whether files of states use a name for something else than an initializer.
fn is_reserved(name: &str) -> bool {
    name.starts_with(OPTIMIZER_STATES) || name == SAFETENSORS_METADATA
}

/// Tensors on which the loss does not depend, and the statements at which their paths end: their results have a gradient, or are
/// no floating-point numbers.
fn no_path(
    forward: &Differentiable,
    loss: TensorId,
    missing: &[&(&str, TensorId)],
) -> Result<TrainingError, AutodiffError> {
    let program = &forward.program;
    let mut reached: BTreeSet<TensorId> = missing.iter().map(|(_, tensor)| *tensor).collect();
    let reads = |statement: &Statement, tensors: &BTreeSet<TensorId>| {
        statement.operands.iter().any(|operand| tensors.contains(operand))
    };
    for statement in program.statements.values() {
        if reads(statement, &reached) && program.tensors[statement.output].ty.element.is_float() {
            reached.insert(statement.output);
        }
    }
    let wanted: Vec<TensorId> = reached.iter().copied().collect();
    let mut scratch = ProgramBuilder::extending(forward.clone());
    let seed = scratch.constant(Tensor::from_f64(scratch.ty(loss).clone(), &[1.0]));
    let gradients = append_gradients(&mut scratch, forward, &[(loss, seed)], &wanted)?;
    let (with, without): (Vec<_>, Vec<_>) = wanted.into_iter().zip(gradients).partition(|(_, found)| found.is_some());
    let tensors = |part: Vec<(TensorId, Option<TensorId>)>| part.into_iter().map(|(tensor, _)| tensor).collect();
    let (with, without): (BTreeSet<TensorId>, BTreeSet<TensorId>) = (tensors(with), tensors(without));
    let ends = program.statements.values().filter(|statement| {
        let is_float = program.tensors[statement.output].ty.element.is_float();
        reads(statement, &without) && (!is_float || with.contains(&statement.output) || statement.output == loss)
    });
    let nodes: BTreeSet<String> = ends.flat_map(|statement| program.names.nodes(statement)).collect();
    let tensors = missing.iter().map(|(name, _)| (*name).to_owned()).collect();
    Ok(TrainingError::NoPath { tensors, nodes: nodes.into_iter().collect() })
}

/// The beginning of the names that PyTorch's exporter gives to weights into which it has folded a batch normalisation.
const FOLDED: &str = "onnx::Conv_";

fn warnings(graph: &Graph, statistics: &[RunningStatistic]) -> Vec<String> {
    let is_folded = |node: &crate::ir::Node| {
        let weight = node.inputs.get(1).copied().flatten().map(|value| &graph.values[value]);
        let variable = weight.filter(|weight| matches!(weight.origin, ValueOrigin::Variable(_)));
        matches!(node.op, Op::Conv(_)) && variable.is_some_and(|weight| weight.name.starts_with(FOLDED))
    };
    let folded = graph.nodes.values().filter(|node| is_folded(node)).count();
    if folded == 0 || !statistics.is_empty() {
        return Vec::new();
    }
    let text = "batch normalisations seem to be folded into {} convolutions, which are trained without them; export the model \
                with `do_constant_folding=False` and `training=TrainingMode.PRESERVE` to train those, too";
    vec![text.replace("{}", &folded.to_string())]
}
