//! What is computed: tensors, operators, tensor expressions and their reference meaning.

pub mod arena;
pub mod arithmetic;
#[cfg(feature = "ndarray")]
mod arrays;
pub mod autodiff;
pub mod counted;
pub mod expr;
pub mod halves;
pub mod index_check;
pub mod ir;
pub mod legible;
pub mod lower;
pub mod minifloat;
pub mod npy;
pub mod numerics;
pub mod online_softmax;
pub mod ops;
pub mod passes;
pub mod pipeline;
pub mod procedure;
pub mod program;
pub mod reference;
pub mod tensor;
pub mod text;
pub mod training;
pub mod types;
pub mod verify;

pub use ir::{Graph, GraphOutput, Node, NodeId, ValueId};
pub use lower::lower;
pub use numerics::Numerics;
pub use program::TensorProgram;
pub use program::skeleton::ProgramSkeleton;
pub use tensor::Tensor;
pub use types::{ElementType, Shape, TensorType, ValueType};

/// Data movement without data: layouts of buffers that tensors share, and reads composed into others.
pub mod views {
    pub use crate::expr::merge_operands;
    pub use crate::program::layout::Layout;
    pub use crate::program::passes::{inline_views, place_concats};
}
