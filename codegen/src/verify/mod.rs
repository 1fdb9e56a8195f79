//! The verifier of the kernel IR. It reports violations as data and never panics.

mod arrays;
mod assignment;
mod early;
mod indirect;
mod nodes;
mod types;
mod uniformity;

use std::fmt;

use thiserror::Error;

use crate::kernel_ir::{ArrayId, Entry, KernelId, LocalId, Location, Program, ScalarType, WARP_SIZE};

/// What is wrong with a statement.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Problem {
    /// The threads of a block are no positive multiple of the warp, or more than 1024.
    #[error("{0} threads a block")]
    Threads(u32),
    /// The arrays of a body take more than any device has.
    #[error("{count} {what} are declared")]
    Size {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        count: u64,
    },
    /// An id of another body or program.
    #[error("{0} is not declared")]
    UnknownId(String),
    /// A value of another type than the one needed.
    #[error("a {found:?} stands where a {expected:?} is needed")]
    Type {
        /// The type needed.
        expected: ScalarType,
        /// The type found.
        found: ScalarType,
    },
    /// An operation that its operands' type does not have.
    #[error("{operation} is not defined on {scalar:?}")]
    Undefined {
        /// The operation.
        operation: String,
        /// The type of the operands.
        scalar: ScalarType,
    },
    /// A statement or expression of the entry in a kernel, or of a kernel in the entry.
    #[error("{0} does not belong into this body")]
    Misplaced(&'static str),
    /// A call names waits of a kernel that does none itself, or none of one that does.
    #[error("the call of {0} and its body disagree about who waits")]
    CallWaits(KernelId),
    /// A kernel touches the arena before the waits that it does itself.
    #[error("the arena is touched before the kernel's waits")]
    BeforeWaits,
    /// A store of another number of values than one, two or four.
    #[error("a store of {0} values")]
    StoreWidth(usize),
    /// A node that does something before it has waited for the node before it.
    #[error("a node does not begin with the wait for its dependencies")]
    NoDependencyWait,
    /// Another number of nodes than of kernels.
    #[error("{nodes} nodes for {kernels} kernels")]
    Nodes {
        /// The nodes.
        nodes: usize,
        /// The kernels.
        kernels: usize,
    },
    /// A poll of no elements, or of more than one poll may ask for.
    #[error("a poll of {0} elements")]
    SentinelCount(u32),
    /// An access wider than one element whose place is not in an array.
    #[error("a wide load into a scalar variable")]
    WidePlace,
    /// An unrolled loop whose extent is not a literal.
    #[error("an unrolled loop without a literal extent")]
    UnrolledExtent,
    /// The variable of a loop is assigned in the loop, or is the variable of an enclosing loop.
    #[error("the loop variable {0} is written inside the loop")]
    LoopVariable(LocalId),
    /// An address that depends on what memory held, without a check.
    #[error("what memory holds decides about an address, unchecked")]
    UncheckedIndex,
    /// A break outside of a loop.
    #[error("a break outside of a loop")]
    StrayBreak,
    /// A lane number that no warp has.
    #[error("lane {0} of a shuffle")]
    ShuffleLane(u32),
    /// A variable that may be read before it is written.
    #[error("{0} may be read before it is assigned")]
    Unassigned(LocalId),
    /// A register array indexed by more than constants and variables of unrolled loops.
    #[error("the index of {0} is not made of constants and variables of unrolled loops")]
    DynamicIndex(ArrayId),
    /// A register array indexed out of its bounds.
    #[error("{array} is indexed from {lowest} to {highest}, its length is {length}")]
    ArrayBounds {
        /// The array.
        array: ArrayId,
        /// The lowest index.
        lowest: i64,
        /// The highest index.
        highest: i64,
        /// The length.
        length: u32,
    },
    /// Control flow or a value that is not uniform where it must be.
    #[error("{what} must be uniform in the {scope}")]
    Divergent {
        /// What it is.
        what: &'static str,
        /// Over which threads.
        scope: Scope,
    },
}

/// Threads over which something must be uniform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The lanes of a warp.
    Warp,
    /// The threads of a block.
    Block,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warp => "warp",
            Self::Block => "block",
        })
    }
}

/// A problem and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Where.
    pub location: Location,
    /// What.
    pub problem: Problem,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.problem)
    }
}

/// Every violation of the kernel IR's invariants in `program`; empty if it may be printed and run.
pub fn verify(program: &Program) -> Vec<Violation> {
    let mut violations = structure(program);
    if violations.is_empty() {
        for (body, kernel) in program.bodies() {
            nodes::check(body, kernel, &mut violations);
            arrays::check(body, kernel, &mut violations);
            uniformity::check(body, kernel, &mut violations);
            early::check(body, kernel, &mut violations);
            indirect::check(body, kernel, &mut violations);
        }
    }
    violations
}

/// The part of [`verify()`] on which the emulator relies: ids, types, places, widths, loops and definite assignment, not
/// uniformity, the indices of register arrays and the waits of nodes, which it checks as it runs.
pub fn structure(program: &Program) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut of_program = |problem: Problem| {
        let location = Location { body: crate::kernel_ir::Body::Entry, path: Vec::new() };
        violations.push(Violation { location, problem });
    };
    if program.threads == 0 || !program.threads.is_multiple_of(WARP_SIZE) || program.threads > 1024 {
        of_program(Problem::Threads(program.threads));
    }
    match &program.entry {
        Entry::Nodes(nodes) if nodes.len() != program.kernels.len() => {
            of_program(Problem::Nodes { nodes: nodes.len(), kernels: program.kernels.len() });
        }
        Entry::Mixed(entries) => {
            let unknown = entries.nodes.keys().find(|kernel| program.kernels.get(**kernel).is_none());
            unknown.into_iter().for_each(|kernel| of_program(Problem::UnknownId(kernel.to_string())));
        }
        Entry::Persistent(_) | Entry::Nodes(_) => {}
    }
    for (body, kernel) in program.bodies() {
        let before = violations.len();
        types::check(program, body, kernel, &mut violations);
        if violations.len() == before {
            assignment::check(body, kernel, &mut violations);
        }
    }
    violations
}
