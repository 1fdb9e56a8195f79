//! Execution plans, and what a runtime needs of them: kernel bodies and their parameters, streams, memory, text, tables and
//! the verifier.

#![warn(missing_docs)]

pub mod body;
pub mod kernel;
pub mod plan;
pub mod region;
pub mod shared_memory;
pub mod streams;
pub mod tables;
pub mod template;
pub mod tensor_core;
pub mod text;
pub mod verify;
