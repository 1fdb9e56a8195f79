//! Fusion groups to kernel IR to CUDA text, and the emulator that defines the kernel IR.

pub mod kernel_ir;
pub mod prelude;
pub mod print;
