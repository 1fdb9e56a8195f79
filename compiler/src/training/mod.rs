//! Models as training steps, and data for them.

mod memory;

use std::collections::BTreeSet;
use std::path::Path;

use warpweave_frontend::{ImportOptions, NameFilter, Variables};
use warpweave_graph::Graph;
use warpweave_graph::ir::{Origin, Value};
use warpweave_graph::legible::legible;
use warpweave_graph::program::{Source, TensorProgram};
use warpweave_graph::training::{
    LEARNING_RATE, Loss, Objective, SEED, Step, StepOptions, training_step, with_weights_only,
};
use warpweave_runtime::bundle::{ClassesRecord, Signature, StateRecord, StateRole, TrainingRecord};

use crate::model::{Model, ModelError};

pub use memory::{MemoryClass, TrainingMemory};

/// What is asked of a training step.
#[derive(Clone, PartialEq, Debug)]
pub struct TrainingRequest {
    /// Loss and optimizer.
    pub step: StepOptions,
    /// The learning rate where a run names none.
    pub learning_rate: f64,
    /// Which initializers are trained, by name.
    pub trainable: NameFilter,
}

/// What a training step changes, and what the model's owner should know.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TrainingSummary {
    /// The names of the tensors that are trained.
    pub trained: Vec<String>,
    /// The names of the running statistics.
    pub statistics: Vec<String>,
    /// The names of other initializers that could be trained.
    pub frozen: Vec<String>,
    /// What may not be as it seems.
    pub warnings: Vec<String>,
}

impl TrainingSummary {
    /// The names that patterns may name.
    pub fn known(&self) -> Vec<&str> {
        self.trained.iter().chain(&self.statistics).chain(&self.frozen).map(String::as_str).collect()
    }

    /// The set of tensors that are trained, for people.
    pub fn text(&self) -> String {
        let mut text = format!("trains {} tensors: {}", self.trained.len(), self.trained.join(", "));
        let others = [("keeps running statistics", &self.statistics), ("leaves as they are", &self.frozen)];
        for (what, names) in others.into_iter().filter(|(_, names)| !names.is_empty()) {
            text.push_str(&format!("; {what}: {}", names.join(", ")));
        }
        text
    }
}

impl Model {
    /// The training step of the model in an ONNX file.
    pub fn import_step(
        path: &Path,
        options: &ImportOptions,
        request: &TrainingRequest,
    ) -> Result<(Self, TrainingSummary), ModelError> {
        let variables = Variables::Floating(request.trainable.clone());
        let options = ImportOptions { variables, ..options.clone() };
        Self::from_file(path, &options, |graph| Self::step_of(graph, request))
    }

    /// The training step of a graph whose variables are trained, or are running statistics.
    pub fn step_of(graph: &Graph, request: &TrainingRequest) -> Result<(Self, TrainingSummary), ModelError> {
        let (graph, left) = match request.trainable.included.as_slice() {
            [] => with_weights_only(graph)?,
            _ => (graph.clone(), Vec::new()),
        };
        let step = training_step(&graph, &request.step)?;
        step.program.verify()?;
        let record = record(&step, request);
        let mut model = Self::new(&graph.name, step.program, &step.inputs, &step.outputs);
        model.training = Some(record);
        let Step { trained, statistics, mut warnings, .. } = step;
        if !left.is_empty() {
            let names = left.iter().map(|name| legible(name)).collect::<Vec<_>>().join(", ");
            warnings.push(format!(
                "not trained, since no product, convolution, normalisation, table or bias uses them: {names}; --trainable '*' \
                 trains all"
            ));
        }
        let frozen = frozen(&graph);
        Ok((model, TrainingSummary { trained, statistics, frozen, warnings }))
    }
}

/// How many samples a batch of a step has: the first dimension of what it is given, where that is shared.
pub fn samples(signature: &Signature) -> Option<usize> {
    let given = signature.inputs.iter().filter(|port| ![SEED, LEARNING_RATE].contains(&port.name.as_str()));
    let mut first = given.map(|port| port.ty.shape.first().copied());
    let samples = first.next()??;
    first.all(|other| other == Some(samples)).then_some(samples)
}

/// The constants of a graph that could be trained and are not, as far as they have names.
fn frozen(graph: &Graph) -> Vec<String> {
    let could = |value: &Value| match &value.origin {
        Origin::Constant(tensor) => Variables::could_hold(tensor.ty()) && !value.name.is_empty(),
        Origin::Input(_) | Origin::Variable(_) | Origin::Node(..) => false,
    };
    graph.values.values().filter(|value| could(value)).map(|value| value.name.clone()).collect()
}

fn record(step: &Step, request: &TrainingRequest) -> TrainingRecord {
    let trained: BTreeSet<&str> = step.trained.iter().map(String::as_str).collect();
    let statistics: BTreeSet<&str> = step.statistics.iter().map(String::as_str).collect();
    let role = |name: &str| match (trained.contains(name), statistics.contains(name)) {
        (true, _) => StateRole::Weight,
        (false, true) => StateRole::Statistic,
        (false, false) => StateRole::Optimizer,
    };
    let state = |(tensor, _)| {
        let name = step.program.names.tensors.get(&tensor).cloned().unwrap_or_default();
        StateRecord { role: role(&name), name, ty: step.program.tensors[tensor].ty.clone() }
    };
    TrainingRecord {
        loss: request.step.loss.name().to_owned(),
        optimizer: request.step.optimizer.name().to_owned(),
        learning_rate: request.learning_rate,
        classes: classes(&step.program, request.step.loss),
        states: step.program.states().map(state).collect(),
    }
}

/// The classes of a step whose second output has scores of them.
fn classes(program: &TensorProgram, loss: Objective) -> Option<ClassesRecord> {
    let Objective::Loss(Loss::CrossEntropy { ignored, .. }) = loss else { return None };
    let target = program.inputs.iter().rev().nth(1)?;
    debug_assert!(matches!(program.tensors[*target].source, Source::Input(_)));
    let count = program.outputs.get(1).map(|&scores| program.tensors[scores].ty.shape[1] as u64)?;
    Some(ClassesRecord { count, ignored })
}
