//! Machine code, executed: every lane of every block, with the values that a device would have.
//!
//! A cubin is loaded as a driver loads it, and its instructions are decoded once. Blocks run on threads of this machine, and the
//! warps of a block in turn. An access outside of what was allocated, or of what no instruction has written, is a [`fault::Fault`].
//! With a seed memory is as weak as its model allows: [`memory::weak`].
//!
//! Within a warp, lanes that go different ways run one group after the other, lowest place first, until they converge, as in
//! [`evaluate`](super::evaluate).

mod block;
mod constants;
mod control;
pub mod failure;
pub mod fault;
pub mod grid;
pub mod image;
mod instructions;
mod lanes;
pub mod memory;
pub mod mutation;
mod operands;
pub mod scan;
mod warp;
