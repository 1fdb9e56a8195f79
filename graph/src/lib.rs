//! What is computed: tensors, operators, tensor expressions and their reference meaning.

pub mod arena;
