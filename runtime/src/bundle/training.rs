//! What a bundle of a training step says beside what every bundle says.

use serde::{Deserialize, Serialize};
use warpweave_graph::TensorType;

/// A training step: what it makes smaller, how, and what it changes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrainingRecord {
    /// The loss, as it was given.
    pub loss: String,
    /// The optimizer, as it was given.
    pub optimizer: String,
    /// The learning rate where a run names none.
    pub learning_rate: f64,
    /// The number of classes, and the one that counts nothing; absent where the target holds no classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<ClassesRecord>,
    /// What lives between steps, in the order of the program's states.
    pub states: Vec<StateRecord>,
}

/// What classes a target may name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClassesRecord {
    /// How many there are.
    pub count: u64,
    /// The number that names none and counts nothing.
    pub ignored: i64,
}

/// A tensor that a step replaces.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StateRecord {
    /// The name: of the model's tensors their own.
    pub name: String,
    /// What it is.
    pub role: StateRole,
    /// Element type and shape.
    #[serde(flatten)]
    pub ty: TensorType,
}

/// What a state is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateRole {
    /// A tensor of the model that is trained.
    Weight,
    /// A running statistic of the model.
    Statistic,
    /// What the optimizer keeps.
    Optimizer,
}
