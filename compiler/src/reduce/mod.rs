//! The smallest program that still fails: first fewer statements, then smaller extents, for as long as either helps.
//!
//! The technique is delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE
//! Transactions on Software Engineering 28, 2002). The caller of [`reduce`] judges whether a candidate fails.

pub(crate) mod delta;
mod extents;
pub mod fault;
mod statements;

use warpweave_graph::program::StatementId;
use warpweave_graph::reference::{ReferenceError, evaluate};
use warpweave_graph::{Tensor, TensorProgram};

use delta::smallest_failing;
use statements::Known;

/// A program with its inputs.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The program.
    pub program: TensorProgram,
    /// Its inputs, in order.
    pub inputs: Vec<Tensor>,
}

/// Why a case cannot be reduced.
#[derive(Debug, thiserror::Error)]
pub enum ReduceError<E> {
    /// The reference has no values for the program's tensors.
    #[error("the reference has no values to cut the program with: {0}")]
    Reference(ReferenceError),
    /// The values of all tensors take more memory than is kept for them.
    #[error("the values of all tensors take {bytes} bytes, and at most {MOST_BYTES} are kept; choose smaller shapes")]
    Memory {
        /// What they take.
        bytes: u64,
    },
    /// The caller's judgement of a candidate failed.
    #[error(transparent)]
    Judge(E),
}

/// Most bytes of values with which a program is cut.
pub const MOST_BYTES: u64 = 8 << 30;

impl Case {
    /// The outputs that are right.
    pub fn expected(&self) -> Result<Vec<Tensor>, ReferenceError> {
        evaluate(&self.program, &self.inputs)
    }
}

/// The smallest case found for which `fails` holds, as it does for `case`. Statements that are left out are replaced by inputs
/// with the values of the reference.
pub fn reduce<E>(case: Case, fails: &mut dyn FnMut(&Case) -> Result<bool, E>) -> Result<Case, ReduceError<E>> {
    let mut smallest = case;
    loop {
        let fewer = fewer_statements(&smallest, fails)?;
        let smaller = extents::smaller(&fewer, fails).map_err(ReduceError::Judge)?;
        if smaller == smallest {
            return Ok(smallest);
        }
        smallest = smaller;
    }
}

fn fewer_statements<E>(case: &Case, fails: &mut dyn FnMut(&Case) -> Result<bool, E>) -> Result<Case, ReduceError<E>> {
    let known = Known::of(case)?;
    let all: Vec<StatementId> = case.program.statements.ids().collect();
    let kept = smallest_failing(&all, &mut |kept| fails(&known.only(kept))).map_err(ReduceError::Judge)?;
    Ok(if kept.len() == all.len() { case.clone() } else { known.only(&kept) })
}
