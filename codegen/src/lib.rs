//! Fusion groups to kernel IR to CUDA text, and the emulator that defines the kernel IR.

pub mod emulate;
pub mod kernel_ir;
pub mod lower;
pub mod microbenchmark;
pub mod nodes;
pub mod persistent;
pub mod prelude;
pub mod print;
pub mod trace;
pub mod verify;
