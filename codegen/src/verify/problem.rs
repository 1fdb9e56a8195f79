//! What the verifier finds.

use std::fmt;

use thiserror::Error;

use crate::kernel_ir::effects::{Flaw, Scope};
use crate::kernel_ir::typing::TypeError;
use crate::kernel_ir::{ArrayId, Body, KernelId, LocalId, Location, ScalarType};

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
    /// What is wrong with the statement wherever it stands.
    #[error(transparent)]
    Flaw(#[from] Flaw),
    /// An id of another body or program.
    #[error("{0} is not declared")]
    UnknownId(String),
    /// A value of another type than the one needed.
    #[error("a {found:?} stands where a {expected:?} is needed")]
    Type {
        /// The type needed.
        expected: ScalarType,
        found: ScalarType,
    },
    /// An operation that its operands' type does not have.
    #[error("{operation} is not defined on {scalar:?}")]
    Undefined {
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
    /// A kernel touches what a launch writes of the arena before the waits that it does itself.
    #[error("the arena is touched before the kernel's waits")]
    BeforeWaits,
    /// A node that does something before it has waited for the node before it.
    #[error("a node does not begin with the wait for its dependencies")]
    NoDependencyWait,
    /// Another number of nodes than of kernels.
    #[error("{nodes} nodes for {kernels} kernels")]
    Nodes { nodes: usize, kernels: usize },
    /// An access wider than one element whose place is not in an array.
    #[error("a wide load into a scalar variable")]
    WidePlace,
    /// The variable of a loop is assigned in the loop, or is the variable of an enclosing loop.
    #[error("the loop variable {0} is written inside the loop")]
    LoopVariable(LocalId),
    /// An address that depends on what memory held, without a check.
    #[error("what memory holds decides about an address, unchecked")]
    UncheckedIndex,
    /// A break outside of a loop.
    #[error("a break outside of a loop")]
    StrayBreak,
    /// A variable that may be read before it is written.
    #[error("{0} may be read before it is assigned")]
    Unassigned(LocalId),
    /// A register array indexed by more than constants and variables of unrolled loops.
    #[error("the index of {0} is not made of constants and variables of unrolled loops")]
    DynamicIndex(ArrayId),
    /// A register array without elements, which C++ does not have.
    #[error("{0} has no elements")]
    EmptyArray(ArrayId),
    /// A register array indexed out of its bounds.
    #[error("{array} is indexed from {lowest} to {highest}, its length is {length}")]
    ArrayBounds {
        array: ArrayId,
        lowest: i64,
        /// The highest index.
        highest: i64,
        length: u32,
    },
    /// Control flow or a value that is not uniform where it must be.
    #[error("{what} must be uniform in the {scope}")]
    Divergent {
        what: &'static str,
        /// Over which threads.
        scope: Scope,
    },
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

/// Takes the violations of a body.
pub(super) struct Report<'a> {
    pub body: Body,
    pub violations: &'a mut Vec<Violation>,
}

impl Report<'_> {
    /// Adds a problem of the statement at `path`.
    pub fn add(&mut self, path: &[u32], problem: Problem) {
        self.violations.push(Violation { location: Location { body: self.body, path: path.to_vec() }, problem });
    }
}

impl From<TypeError> for Problem {
    fn from(error: TypeError) -> Self {
        match error {
            TypeError::UnknownId(id) => Self::UnknownId(id),
            TypeError::Mismatch { expected, found } => Self::Type { expected, found },
            TypeError::Undefined { operation, scalar } => Self::Undefined { operation, scalar },
        }
    }
}
