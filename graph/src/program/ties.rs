//! Whose share of a gradient it is where several values are the largest, or the smallest.

use super::{StatementId, TensorProgram};
use crate::arena::Arena;

/// Which of equal values a maximum or minimum hands its gradient to. Away from ties all are the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Ties {
    /// All of them, in equal shares, as `torch.amax`, `torch.maximum` and `torch.clamp` with tensors do.
    #[default]
    Shared,
    /// The first, as `torch.nn.functional.max_pool2d` does.
    First,
    /// The last, as `torch.relu` does of `max(x, 0)`, and `torch.clamp` with numbers.
    Last,
    /// None: the result does not depend on the extreme, which only keeps exponentials within range, as in a softmax.
    Cancelled,
}

/// A program and who is handed the gradient of each statement's extremes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Differentiable {
    pub program: TensorProgram,
    pub ties: Arena<StatementId, Ties>,
}

impl Differentiable {
    /// A program of which nothing is known but what it computes.
    pub fn new(program: TensorProgram) -> Self {
        let ties = program.statements.values().map(|_| Ties::default()).collect();
        Self { program, ties }
    }
}
