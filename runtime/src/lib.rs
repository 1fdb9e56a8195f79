//! Compiles, inspects and runs persistent programs.
//!
//! Without the feature `compile` nothing here reaches a compiler: a deployment loads and runs what is already built.

#![warn(missing_docs)]

pub mod aligned;
pub mod bundle;
pub mod cache;
pub mod checkpoint;
pub mod cubin;
pub mod cuda;
#[cfg(feature = "compile")]
mod dynamic_library;
#[cfg(feature = "compile")]
pub mod gates;
pub mod host;
#[cfg(feature = "compile")]
pub mod linker;
pub mod mapped;
pub mod new_file;
pub mod npz;
#[cfg(feature = "compile")]
pub mod nvrtc;
#[cfg(feature = "compile")]
pub mod sass;
pub mod session;
pub mod session_memory;
pub mod signals;
pub mod target;
#[cfg(feature = "compile")]
pub mod text;
#[cfg(feature = "compile")]
pub mod toolkit;
#[cfg(feature = "compile")]
mod tools;
pub mod unfinished;

pub use serde_json as json;
