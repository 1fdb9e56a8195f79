//! What is computed: tensors, operators, tensor expressions and their reference meaning.

pub mod arena;
pub mod arithmetic;
pub mod counted;
pub mod expr;
pub mod index_check;
pub mod ir;
pub mod legible;
pub mod lower;
pub mod minifloat;
pub mod npy;
pub mod online_softmax;
pub mod ops;
pub mod passes;
pub mod prepare;
pub mod procedure;
pub mod program;
pub mod quantized_products;
pub mod reduction_order;
pub mod reference;
pub mod rewrite;
pub mod siblings;
pub mod skeleton;
pub mod slices;
pub mod tensor;
pub mod text;
pub mod types;
pub mod verify;
pub mod views;

pub use ir::{Graph, GraphOutput, Node, NodeId, ValueId};
pub use lower::lower;
pub use program::TensorProgram;
pub use skeleton::ProgramSkeleton;
pub use tensor::Tensor;
pub use types::{ElementType, Shape, TensorType, ValueType};
