//! The emulator and the kernel IR verifier on hand-written programs.

#![allow(missing_docs, reason = "tests")]

mod build;
mod contraction;
mod memory;
mod protocol;
