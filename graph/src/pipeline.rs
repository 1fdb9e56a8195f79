//! All that happens to a model before it is partitioned: passes over its graph, then over its program, by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use crate::arena::Arena;
use crate::ir::Graph;
use crate::passes::{self, InvalidRewrite};
use crate::program::layout::{Layout, layouts};
use crate::program::precision::{Kept, Precision, kept_in_singles, stored_in};
use crate::program::verify::ProgramError;
use crate::program::{TensorId, TensorProgram, passes as program_passes};

/// What a pass rewrites.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Graphs of operators.
    Graph,
    /// Programs of expressions.
    Program,
}

/// A pass by its level and its place there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PassId {
    level: Level,
    place: usize,
}

/// What a program will run on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Machine {
    /// A GPU: to wait for another unit takes as long as thousands of products.
    Gpu,
    /// A processor: to read constants again takes longer than to wait for another thread.
    Processor,
}

/// A name that no pass has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no pass; `compile --passes list` prints all")]
pub struct UnknownPass(pub String);

/// A pass has made a program invalid: an error of warpweave.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("pass {pass} leaves an invalid program: {error}")]
pub struct InvalidPass {
    pub pass: PassId,
    /// What does not hold of the program.
    pub error: ProgramError,
}

/// Which passes run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selection {
    /// These alone, and those that nothing works without; all unless given.
    pub only: Option<BTreeSet<PassId>>,
    /// Those up to this one; a pass over graphs has then run once.
    pub last: Option<PassId>,
}

impl PassId {
    /// [`program_passes::channels_last`].
    pub const CHANNELS_LAST: Self = Self { level: Level::Program, place: program_passes::CHANNELS_LAST };

    /// All passes, in the order in which they run. Those over graphs run in turn until nothing changes.
    pub fn all() -> impl Iterator<Item = Self> {
        let of = |level: Level, count: usize| (0..count).map(move |place| Self { level, place });
        of(Level::Graph, passes::PASSES.len()).chain(of(Level::Program, program_passes::PASSES.len()))
    }

    /// What the pass rewrites.
    pub fn level(self) -> Level {
        self.level
    }

    pub fn name(self) -> &'static str {
        match self.level {
            Level::Graph => passes::PASSES[self.place].0,
            Level::Program => program_passes::PASSES[self.place].name,
        }
    }

    /// Whether nothing that follows works without the pass.
    pub fn is_required(self) -> bool {
        self.level == Level::Program && self.name() == program_passes::CONCAT_PLACEMENT
    }
}

impl fmt::Display for PassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PassId {
    type Err = UnknownPass;

    fn from_str(name: &str) -> Result<Self, UnknownPass> {
        Self::all().find(|pass| pass.name() == name).ok_or_else(|| UnknownPass(name.to_owned()))
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Graph => "graph",
            Self::Program => "program",
        })
    }
}

impl Selection {
    /// Whether a pass runs.
    pub fn runs(&self, pass: PassId) -> bool {
        let chosen = pass.is_required() || self.only.as_ref().is_none_or(|only| only.contains(&pass));
        chosen && self.last.is_none_or(|last| pass <= last)
    }

    /// The last pass, if passes over programs do not begin.
    pub fn last_of_graph(&self) -> Option<PassId> {
        self.last.filter(|last| last.level == Level::Graph)
    }
}

/// The graph after the passes over graphs that run; verified before the first and after each that changes something.
pub fn optimize(graph: &Graph, selection: &Selection) -> Result<Graph, InvalidRewrite> {
    let runs = |place: usize| selection.runs(PassId { level: Level::Graph, place });
    passes::run_chosen(graph, runs, selection.last_of_graph().is_some())
}

/// The program after the passes over programs that run and that the machine gains by; verified after each.
pub fn rewrite(program: &TensorProgram, selection: &Selection, machine: Machine) -> Result<TensorProgram, InvalidPass> {
    let mut program = program.clone();
    for (place, named) in program_passes::PASSES.into_iter().enumerate() {
        let id = PassId { level: Level::Program, place };
        let pass = match machine {
            Machine::Gpu => named.of_gpus,
            Machine::Processor => named.of_processors,
        };
        if let Some(pass) = pass.filter(|_| selection.runs(id)) {
            program = pass(&program);
            program.verify().map_err(|error| InvalidPass { pass: id, error })?;
        }
    }
    Ok(program)
}

/// A program after the passes over programs: what is partitioned and planned, for all targets of one kind of machine.
#[derive(Clone, PartialEq, Debug)]
pub struct PreparedProgram {
    /// The program: views are inlined, and concats placed.
    pub program: TensorProgram,
    /// Where each tensor lies in its buffer.
    pub layouts: Arena<TensorId, Layout>,
}

impl PreparedProgram {
    /// A program as it is.
    pub fn new(program: TensorProgram) -> Self {
        Self { layouts: layouts(&program), program }
    }

    /// The program with singles stored in a precision, and what of them stays so: `wanted` among others.
    pub fn stored_in(
        &self,
        precision: Precision,
        wanted: &BTreeMap<TensorId, Kept>,
    ) -> (Self, BTreeMap<TensorId, Kept>) {
        let Some(storage) = precision.storage() else { return (self.clone(), BTreeMap::new()) };
        let kept = kept_in_singles(&self.program, storage, wanted);
        let program = stored_in(&self.program, storage, &kept.keys().copied().collect());
        (Self { program, layouts: self.layouts.clone() }, kept)
    }

    /// The program with its inner images turned; see [`program_passes::channels_last`].
    pub fn channels_last(&self) -> Self {
        Self::new(program_passes::channels_last(&self.program))
    }

    /// The program for a machine after chosen passes, as [`rewrite`] makes it.
    pub fn rewritten(program: &TensorProgram, selection: &Selection, machine: Machine) -> Result<Self, InvalidPass> {
        Ok(Self::new(rewrite(program, selection, machine)?))
    }
}

/// The program for a GPU after all passes.
///
/// # Panics
/// If the program is invalid, or a pass leaves an invalid one.
pub fn prepare(program: &TensorProgram) -> PreparedProgram {
    let prepared = PreparedProgram::rewritten(program, &Selection::default(), Machine::Gpu);
    prepared.unwrap_or_else(|error| panic!("{error}"))
}
