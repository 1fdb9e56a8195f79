//! The emulator and the kernel IR verifier on hand-written programs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod build;
mod contraction;
mod grid;
mod indices;
#[path = "../matrices/mod.rs"]
mod matrices;
mod memory;
mod products;
mod protocol;
mod semantics;
mod verifier;
