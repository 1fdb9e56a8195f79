//! How large a group's scalar expressions become when producers are composed into their readers.
//!
//! A statement that reads an operand twice doubles what stands behind it, so a chain of such statements grows without
//! bound. This estimates the growth before anything is built.

use crate::tuning::SearchTuning;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Scalar, TensorExpr};
use warpweave_graph::program::{Definition, TensorProgram};

/// Scalar nodes beyond which those expressions of a set that leave it are too many together: each holds what it composes.
const LARGEST_TOGETHER: u64 = 2 * SearchTuning::DEFAULT.partition.largest_expression;

/// Per statement, the nodes of its own scalars and how often they read each producer.
#[derive(Debug)]
pub(crate) struct ScalarSizes {
    own: Vec<u64>,
    reads: Vec<Vec<(usize, u64)>>,
    reduces: Vec<bool>,
}

impl ScalarSizes {
    pub(crate) fn new(program: &TensorProgram) -> Self {
        let mut sizes = Self { own: Vec::new(), reads: Vec::new(), reduces: Vec::new() };
        for statement in program.statements.values() {
            let (mut own, mut reads, mut reduces) = (0, Vec::new(), false);
            if let Definition::Compute(expr) = &statement.definition {
                let (nodes, occurrences) = scalars(expr);
                let producers = statement.operands.iter().map(|&operand| program.producer(operand));
                reads = producers.zip(occurrences).filter_map(|(id, count)| Some((id?.index(), count))).collect();
                (own, reduces) = (nodes, expr.reducer.is_some());
            }
            // Nothing is composed with what a procedure computes.
            reduces |= matches!(statement.definition, Definition::Opaque(_));
            sizes.own.push(own);
            sizes.reads.push(reads);
            sizes.reduces.push(reduces);
        }
        sizes
    }

    /// Whether every composed expression of these statements, ascending, stays within what a kernel is made of, and those that
    /// leave the group do together.
    pub(crate) fn fit(&self, members: &[usize], leaves: impl Fn(usize) -> bool) -> bool {
        if members.len() > SearchTuning::DEFAULT.partition.most_statements {
            return false;
        }
        let mut composed: Vec<u64> = Vec::with_capacity(members.len());
        let mut together: u64 = 0;
        for &member in members {
            let behind = self.reads[member].iter().map(|(producer, count)| match members.binary_search(producer) {
                Ok(position) if !self.reduces[*producer] => count.saturating_mul(composed[position]),
                Ok(_) | Err(_) => 0,
            });
            let size = behind.fold(self.own[member], u64::saturating_add);
            if leaves(member) {
                together = together.saturating_add(size);
            }
            if (size > SearchTuning::DEFAULT.partition.largest_expression || together > LARGEST_TOGETHER)
                && members.len() > 1
            {
                return false;
            }
            composed.push(size);
        }
        true
    }
}

/// The scalar nodes of an expression, and how many of them read each operand.
fn scalars(expr: &TensorExpr) -> (u64, Vec<u64>) {
    let mut nodes = 0;
    let mut occurrences = vec![0; expr.operands.len()];
    for scalar in [Some(&expr.body), expr.epilogue.as_ref()].into_iter().flatten() {
        scalar.visit(&mut |scalar| {
            nodes += 1;
            if let Scalar::Read(read) = scalar {
                occurrences[expr.reads[*read].operand] += 1;
            }
        });
    }
    (nodes, occurrences)
}
