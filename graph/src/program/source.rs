//! Where a tensor's elements come from, and what may be done with them for that reason.

use super::{StatementId, TensorId, TensorProgram};
use crate::tensor::Tensor;

/// Where a tensor's elements come from.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// The caller; the position among the program's inputs.
    Input(usize),
    /// The model.
    Constant(Tensor),
    /// The launch before: the tensor lives between launches.
    State(State),
    /// A statement of the program.
    Statement(StatementId),
}

/// A tensor that lives between launches.
#[derive(Clone, PartialEq, Debug)]
pub struct State {
    /// What the first launch finds.
    pub initial: Tensor,
    /// What the next launch finds, a tensor of the same type; `None` if launches only read the tensor, and the caller may change
    /// it between two launches.
    pub next: Option<TensorId>,
}

/// When a tensor's elements may change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Mutability {
    /// Never: they are known when the program is compiled.
    Immutable,
    /// Between launches; a launch only reads them.
    ReadOnly,
    /// A launch reads them, and leaves others for the next launch.
    ReadWrite,
    /// They are written again in or before every launch.
    Transient,
}

/// The properties of a use. What a compiler, a kernel or a plan may do with a tensor depends on these alone.
impl Mutability {
    /// Whether what depends on such tensors alone may be computed when the program is compiled.
    pub fn is_foldable(self) -> bool {
        self == Self::Immutable
    }

    /// Whether the elements may be stored in another order or shape than the program has them in.
    pub fn is_packable(self) -> bool {
        self == Self::Immutable
    }

    /// Whether kernels may read the elements through caches that do not see writes of the same launch.
    pub fn loads_non_coherently(self) -> bool {
        matches!(self, Self::Immutable | Self::ReadOnly)
    }

    /// Whether an rTask may load the elements before it waits for others: they stand there from a launch's beginning to the last
    /// use in it.
    pub fn loads_before_waits(self) -> bool {
        matches!(self, Self::Immutable | Self::ReadOnly | Self::ReadWrite)
    }

    /// Whether a launch changes the elements, so that whatever uses them in it has an order.
    pub fn changes_in_launch(self) -> bool {
        matches!(self, Self::ReadWrite | Self::Transient)
    }

    /// Whether the elements may stay on chip for a whole launch.
    pub fn is_resident(self) -> bool {
        matches!(self, Self::Immutable | Self::ReadOnly)
    }
}

impl Source {
    /// When the elements may change.
    pub fn mutability(&self) -> Mutability {
        match self {
            Self::Constant(_) => Mutability::Immutable,
            Self::State(State { next: None, .. }) => Mutability::ReadOnly,
            Self::State(State { next: Some(_), .. }) => Mutability::ReadWrite,
            // The caller writes inputs into the arena, where whatever is computed stands too.
            Self::Input(_) | Self::Statement(_) => Mutability::Transient,
        }
    }
}

impl TensorProgram {
    /// When a tensor's elements may change.
    pub fn mutability(&self, tensor: TensorId) -> Mutability {
        self.tensors[tensor].source.mutability()
    }

    /// The tensor's value, if it is a constant.
    pub fn constant(&self, tensor: TensorId) -> Option<&Tensor> {
        match &self.tensors[tensor].source {
            Source::Constant(value) => Some(value),
            Source::Input(_) | Source::State(_) | Source::Statement(_) => None,
        }
    }

    /// The value that is stored with the program: a constant's, or what the first launch finds.
    pub fn stored(&self, tensor: TensorId) -> Option<&Tensor> {
        match &self.tensors[tensor].source {
            Source::Constant(value) | Source::State(State { initial: value, .. }) => Some(value),
            Source::Input(_) | Source::Statement(_) => None,
        }
    }

    /// The bytes of all values that are stored with the program.
    pub fn stored_bytes(&self) -> u64 {
        let bytes = |tensor| self.stored(tensor).map_or(0, |value| value.bytes().len() as u64);
        self.tensors.ids().map(bytes).sum()
    }

    /// The tensor's value, if what depends on it may be computed now.
    pub fn foldable(&self, tensor: TensorId) -> Option<&Tensor> {
        self.constant(tensor).filter(|_| self.mutability(tensor).is_foldable())
    }

    /// The tensor's value, if it may be stored otherwise.
    pub fn packable(&self, tensor: TensorId) -> Option<&Tensor> {
        self.constant(tensor).filter(|_| self.mutability(tensor).is_packable())
    }

    /// The tensors that live between launches and that launches replace, each with what it becomes.
    pub fn states(&self) -> impl Iterator<Item = (TensorId, TensorId)> {
        self.tensors.iter().filter_map(|(id, tensor)| match &tensor.source {
            Source::State(state) => Some((id, state.next?)),
            Source::Input(_) | Source::Constant(_) | Source::Statement(_) => None,
        })
    }

    /// Makes these, one a state that launches replace and of its type, what the first launch finds; `false` if they are not
    /// that, and nothing is changed.
    pub fn replace_states(&mut self, initial: &[Tensor]) -> bool {
        let states: Vec<TensorId> = self.states().map(|(state, _)| state).collect();
        let fits = |(&state, tensor): (&TensorId, &Tensor)| self.tensors[state].ty == *tensor.ty();
        if states.len() != initial.len() || !states.iter().zip(initial).all(fits) {
            return false;
        }
        for (state, tensor) in states.into_iter().zip(initial) {
            if let Source::State(state) = &mut self.tensors[state].source {
                state.initial = tensor.clone();
            }
        }
        true
    }

    /// The tensors that are written again before a launch: inputs, and states that launches replace.
    pub fn live_in(&self) -> impl Iterator<Item = TensorId> {
        self.inputs.iter().copied().chain(self.states().map(|(state, _)| state))
    }

    /// The tensors whose values are wanted after a launch: outputs, and what states become.
    pub fn live_out(&self) -> impl Iterator<Item = TensorId> {
        self.outputs.iter().copied().chain(self.states().map(|(_, next)| next))
    }
}
