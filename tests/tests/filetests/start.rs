//! What a file begins with: a level of the compiler, recognised from its text.

use std::path::Path;

use warpweave::codegen::kernel_ir::{self, Program};
use warpweave::frontend::{ImportOptions, import};
use warpweave::fusion::partition::search::Partition;
use warpweave::fusion::partition::text as partition_text;
use warpweave::graph::program::text as program_text;
use warpweave::graph::verify::verify as verify_graph;
use warpweave::graph::{Graph, TensorProgram, text};
use warpweave::plan::plan::ExecutionPlan;
use warpweave::plan::text as plan_text;

use crate::weights::seeded;

/// The level that a file begins at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// `model PATH`: an ONNX file, from the folder of file tests.
    Model,
    /// `graph …`: a graph in text.
    Graph,
    /// `program …`: a program in text.
    Program,
    /// `program … partition …`: a program as it is partitioned, and its partition.
    Partition,
    /// `memory …`: an execution plan in text.
    Plan,
    /// `threads …`: kernels in text.
    KernelIr,
}

/// What a file begins with.
#[derive(Clone, Debug)]
pub enum Start {
    /// A graph, imported or in text.
    Graph(Graph),
    /// A program before any pass.
    Program(TensorProgram),
    /// A program after all passes, and its partition.
    Partition(TensorProgram, Partition),
    /// A plan that is not verified.
    Plan(ExecutionPlan),
    /// Kernels and their entry.
    KernelIr(Program),
}

/// The line at which a partition begins.
const PARTITION: &str = "\npartition\n";

impl Level {
    /// The level of a text.
    pub fn of(text: &str) -> Result<Self, String> {
        match text.split_whitespace().next() {
            Some("model") => Ok(Self::Model),
            Some("graph") => Ok(Self::Graph),
            Some("program") if text.contains(PARTITION) => Ok(Self::Partition),
            Some("program") => Ok(Self::Program),
            Some("memory") => Ok(Self::Plan),
            Some("threads") => Ok(Self::KernelIr),
            other => {
                Err(format!("a file begins with no level of the compiler but with `{}`", other.unwrap_or_default()))
            }
        }
    }
}

impl Start {
    /// What a text says.
    pub fn read(text: &str) -> Result<Self, String> {
        match Level::of(text)? {
            Level::Model => {
                let path = text.trim().strip_prefix("model ").unwrap_or_default();
                let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests").join(path);
                Ok(Self::Graph(import(&path, &ImportOptions::default()).map_err(told)?))
            }
            Level::Graph => {
                let graph = text::parse(text, &seeded(text)).map_err(told)?;
                let violations = verify_graph(&graph);
                if violations.is_empty() { Ok(Self::Graph(graph)) } else { Err(format!("{violations:?}")) }
            }
            Level::Program => Ok(Self::Program(program(text)?)),
            Level::Partition => {
                let at = text.find(PARTITION).expect("the level says so");
                let program = program(&text[..at])?;
                let partition = partition_text::parse(&text[at..], &program).map_err(told)?;
                Ok(Self::Partition(program, partition))
            }
            Level::Plan => plan_text::parse(text).map(Self::Plan).map_err(told),
            Level::KernelIr => kernel_ir::text::parse(text).map(Self::KernelIr).map_err(told),
        }
    }
}

fn program(text: &str) -> Result<TensorProgram, String> {
    let program = program_text::parse(text, &seeded(text)).map_err(told)?;
    program.verify().map_err(told)?;
    Ok(program)
}

/// An error in its own words.
pub fn told(error: impl ToString) -> String {
    error.to_string()
}
