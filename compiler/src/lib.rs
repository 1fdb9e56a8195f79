//! warpweave compiles whole ONNX graphs ahead of time into persistent GPU programs.
//!
//! The façade over the crates. A [`Model`] comes in, and [`Build`] and [`write_bundle`] make a verified plan and its
//! program for every target. A bundle holds them, and [`open`] runs a model or a bundle on a device.

#![warn(missing_docs)]

mod arch_file;
mod batch;
mod build;
mod bundles;
mod check;
pub mod compiler;
mod device_compiler;
mod error;
pub mod explain;
mod index_names;
mod kernel_program;
mod model;
mod open;
pub mod operators;
pub mod precision;
pub mod prices;
pub mod program_file;
mod random_inputs;
pub mod reduce;
mod refused;
mod search_limit;
mod storage;
pub mod svg;
mod timings_file;
pub mod training;

pub use arch_file::{ArchFileError, DeviceArch, read_arch, write_arch};
pub use batch::{batch, samples_of};
pub use build::Build;
pub use bundles::{BundleRequest, Watcher, WeightsPlace, refit, write_bundle};
pub use check::{Checked, WithoutWait};
pub use compiler::{BuildPhase, CompiledCode, TargetPart, compile, device_code};
pub use device_compiler::{DeviceCompileError, DeviceCompiler, InProcess, ProgramCode, compile_program};
pub use error::{BuildError, CompileError, WithoutKernel};
pub use kernel_program::KernelProgram;
pub use model::{Model, ModelError};
pub use open::{CompilerSource, OpenError, Source, device_target, open};
pub use random_inputs::{MOST_RANDOM_BYTES, random_inputs};
pub use refused::RefusedNode;
pub use search_limit::{Interrupt, SearchLimit};
pub use storage::{KeepList, PrecisionChoice, Storage};
pub use timings_file::{TimingsFile, TimingsFileError, architecture};

pub use warpweave_codegen as codegen;
pub use warpweave_frontend as frontend;
pub use warpweave_fusion as fusion;
pub use warpweave_graph as graph;
pub use warpweave_models as models;
pub use warpweave_plan as plan;
pub use warpweave_runtime as runtime;
pub use warpweave_runtime::session::OpenOptions;
