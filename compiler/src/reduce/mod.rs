//! The smallest program that still fails: first fewer statements, then smaller extents, for as long as either helps.
//!
//! The technique is delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE
//! Transactions on Software Engineering 28, 2002). The caller of [`reduce`] judges whether a candidate fails.

pub(crate) mod delta;
mod extents;
pub mod fault;
mod statements;

use std::collections::BTreeMap;

use warpweave_graph::program::{StatementId, TensorId};
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

/// A part of a program whose inputs and one output have stored values.
#[derive(Clone, PartialEq, Debug)]
pub struct StoredPart {
    /// The statements that compute the output.
    pub case: Case,
    /// The tensor of the whole program that they compute.
    pub output: TensorId,
    /// Its stored value.
    pub expected: Tensor,
}

/// The parts of a program that stored values of its tensors judge, smallest first. For each stored tensor that a statement defines, one
/// part computes it from the nearest other stored tensors, and one from the program's inputs alone. Nothing that the program itself
/// computes is an input of a part: it may be what is wrong.
pub fn between_stored(case: &Case, stored: &BTreeMap<TensorId, Tensor>) -> Vec<StoredPart> {
    let program = &case.program;
    let fits = |(tensor, value): &(&TensorId, &Tensor)| program.tensors[**tensor].ty == *value.ty();
    let nearest = stored.iter().filter(fits).map(|(tensor, value)| (*tensor, value.clone())).collect();
    let known = [Known::of_values(case, nearest), Known::of_values(case, BTreeMap::new())];
    let mut parts: Vec<StoredPart> = Vec::new();
    for (&output, expected) in stored.iter().filter(|(tensor, _)| program.producer(**tensor).is_some()) {
        for known in &known {
            let part = StoredPart { case: known.computing(output), output, expected: expected.clone() };
            if parts.last() != Some(&part) {
                parts.push(part);
            }
        }
    }
    parts.sort_by_key(|part| part.case.program.statements.len());
    parts
}

fn fewer_statements<E>(case: &Case, fails: &mut dyn FnMut(&Case) -> Result<bool, E>) -> Result<Case, ReduceError<E>> {
    let known = Known::of(case)?;
    let all: Vec<StatementId> = case.program.statements.ids().collect();
    let kept = smallest_failing(&all, &mut |kept| fails(&known.only(kept))).map_err(ReduceError::Judge)?;
    Ok(if kept.len() == all.len() { case.clone() } else { known.only(&kept) })
}
