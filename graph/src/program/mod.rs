//! Tensor programs: a graph after every operator has been lowered to tensor expressions.
//!
//! [`text`] has their form as text, [`verify`] their rules, and [`passes`] what rewrites them.

mod builder;
pub mod layout;
mod names;
pub mod passes;
pub mod precision;
pub mod skeleton;
mod source;
pub mod text;
mod ties;
pub mod verify;

use serde::{Deserialize, Serialize};

use crate::arena::Arena;
use crate::expr::TensorExpr;
use crate::procedure::Opaque;
use crate::typed_id;
use crate::types::TensorType;

pub use builder::ProgramBuilder;
pub use names::{Names, Origin, OriginId, Origins, Phase};
pub use source::{Mutability, Source, State};
pub use ties::{Differentiable, Ties};

typed_id!(
    /// A tensor of a program.
    TensorId, "t"
);
typed_id!(
    /// A statement of a program.
    StatementId, "e"
);

/// A tensor of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorDefinition {
    /// Element type and shape.
    pub ty: TensorType,
    /// Where the elements come from.
    pub source: Source,
}

/// What a statement computes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Definition {
    /// A tensor expression; operands in the expression's order.
    Compute(TensorExpr),
    /// What a procedure computes; operands in the order of its access expression.
    Opaque(Opaque),
    /// The operands laid end to end along an axis, in order.
    Concat { axis: usize },
}

/// A statement: defines one tensor from earlier ones.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Statement {
    /// What is computed.
    pub definition: Definition,
    /// The tensors that are read.
    pub operands: Vec<TensorId>,
    /// The tensor that is defined.
    pub output: TensorId,
    /// The model's nodes that this comes from; in a program whose views are inlined there are several, the last of which
    /// computes the output.
    pub origins: Origins,
}

/// Statements in an order in which every tensor is defined before it is read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TensorProgram {
    pub tensors: Arena<TensorId, TensorDefinition>,
    /// All statements, in execution order.
    pub statements: Arena<StatementId, Statement>,
    /// What the caller provides.
    pub inputs: Vec<TensorId>,
    /// What the caller gets; a tensor may stand here twice, and may be an input or a constant.
    pub outputs: Vec<TensorId>,
    /// What the parts are called in the model.
    pub names: Names,
}

impl Definition {
    /// The expression that says what is read and written; concats have none.
    pub fn expr(&self) -> Option<&TensorExpr> {
        match self {
            Self::Compute(expr) => Some(expr),
            Self::Opaque(opaque) => Some(&opaque.access),
            Self::Concat { .. } => None,
        }
    }

    /// The same of another expression in the place of [`Definition::expr`].
    pub fn with_expr(&self, expr: TensorExpr) -> Self {
        match self {
            Self::Compute(_) => Self::Compute(expr),
            Self::Opaque(opaque) => Self::Opaque(Opaque { procedure: opaque.procedure, access: expr }),
            Self::Concat { axis } => Self::Concat { axis: *axis },
        }
    }
}

impl TensorProgram {
    /// The statement that defines a tensor.
    pub fn producer(&self, tensor: TensorId) -> Option<StatementId> {
        match self.tensors[tensor].source {
            Source::Statement(statement) => Some(statement),
            Source::Input(_) | Source::Constant(_) | Source::State(_) => None,
        }
    }
}
