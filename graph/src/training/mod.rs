//! Training steps: a model's program with a loss, its gradients, and what an optimizer makes of its tensors.
//!
//! Everything that a step changes is a state of the program: the model's tensors, their running statistics, and what the
//! optimizer keeps. The rules and defaults are PyTorch's.

mod batch_statistics;
mod clipping;
mod dropout;
mod error;
mod loss;
mod optimizer;
mod step;
mod weights;

pub use error::TrainingError;
pub use loss::{Loss, LossError, Objective};
pub use optimizer::{OPTIMIZER_STATES, Optimizer};
pub use step::{LEARNING_RATE, LOSS, SEED, Step, StepOptions, TARGET, training_step};
pub use weights::with_weights_only;
