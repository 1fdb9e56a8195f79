//! The thread-level intermediate representation of rKernels and of the persistent program.
//!
//! A [`Program`] is a set of [`Function`] bodies and what is launched. That is one entry body of a persistent program, an
//! entry body a kernel for the nodes of a graph, or both. The entry body of a persistent program walks the block's
//! instruction stream and calls kernels. Every thread of every block runs the entry. The emulator defines what each
//! node means, the printer writes it as CUDA.
//!
//! Invariants, checked by the kernel IR verifier:
//! - every local is assigned before it is read on every path, and every expression is well typed;
//! - loop extents, switch selectors and call arguments are block-uniform by construction (constants, operands, the
//!   tile index, the block index, uniform locals);
//! - register arrays are indexed by expressions of constants and of variables of unrolled loops only, so that they
//!   live in registers;
//! - block barriers stand only where control flow is block-uniform;
//! - what memory holds decides about an address only after [`Statement::CheckIndex`];
//! - a kernel that does its own waits touches nothing of the arena before them, and its calls say which they are.

pub(crate) mod build;
pub mod declaration;
pub mod effects;
pub mod expression;
pub mod ids;
pub mod location;
pub mod memory;
pub mod program;
pub mod rewrite;
pub mod statement;
pub mod text;
pub mod typing;

pub use expression::{BinaryOp, Builtin, Constant, Expression, ScalarType, UnaryOp};
pub use ids::{ArrayId, KernelId, LocalId, SharedId};
pub use location::{Body, Location};
pub use memory::{
    ControlWord, FETCHED_WORDS, GlobalSpace, Half, Matrices, MemoryOrder, MemoryType, ShuffleMode, SpecialRegister,
    Table, WARP_SIZE, Width,
};
pub use program::{Entry, Function, LAUNCH_BYTES, MixedEntries, Program, RegisterArray, SharedArray};
pub use statement::{Block, CallOperands, CallWaits, Place, Statement};
