//! How large a group's scalar expressions become when producers are composed into their readers.
//!
//! A statement that reads an operand twice doubles what stands behind it, so a chain of such statements grows without
//! bound. Each reduction of a group holds such a chain of its own. This estimates the growth before anything is built.

use crate::tuning::SearchTuning;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Scalar, TensorExpr};
use warpweave_graph::program::{Definition, TensorProgram};

/// Scalar nodes beyond which the expressions of a body are too many together: each holds what it composes.
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

    /// The scalar nodes of the value of the last of these statements, ascending, into which the others are composed.
    pub(crate) fn composed(&self, members: &[usize]) -> u64 {
        let mut composed: Vec<u64> = Vec::with_capacity(members.len());
        for &member in members {
            composed.push(self.size(member, members, &composed));
        }
        composed.last().copied().unwrap_or(0)
    }

    /// The scalar nodes of a statement's value, with those of the members before it that are composed into it.
    fn size(&self, member: usize, members: &[usize], composed: &[u64]) -> u64 {
        let behind = self.reads[member].iter().map(|(producer, count)| match members.binary_search(producer) {
            Ok(position) if !self.reduces[*producer] => count.saturating_mul(composed[position]),
            Ok(_) | Err(_) => 0,
        });
        behind.fold(self.own[member], u64::saturating_add)
    }

    /// Whether every composed expression of these statements, ascending, stays within what a kernel is made of, and those of the
    /// body do together. Reductions and what leaves the group are expressions of the body.
    pub(crate) fn fit(&self, members: &[usize], leaves: impl Fn(usize) -> bool) -> bool {
        let tuning = &SearchTuning::DEFAULT.partition;
        if members.len() > tuning.most_statements {
            return false;
        }
        let mut composed: Vec<u64> = Vec::with_capacity(members.len());
        let (mut together, mut distinct): (u64, u64) = (0, 0);
        for &member in members {
            let size = self.size(member, members, &composed);
            if leaves(member) || self.reduces[member] {
                together = together.saturating_add(size);
            }
            if size > tuning.largest_expression && members.len() > 1 {
                return false;
            }
            distinct += self.own[member];
            composed.push(size);
        }
        let most = (tuning.most_copies * distinct).clamp(tuning.few_scalars, LARGEST_TOGETHER);
        members.len() == 1 || together <= most
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

#[cfg(test)]
mod tests {
    use super::*;

    use warpweave_graph::program::text::parse;
    use warpweave_graph::text::Tensors;

    /// Whether all statements of a chain fit one group. Each link reads the one before it so often, and the sum of its elements.
    fn fits(links: usize, reads: usize) -> bool {
        let mut text = String::from("program\nt0: f32[4] = input 0\n");
        for at in 0..links {
            let (before, link, sum) = (2 * at, 2 * at + 1, 2 * at + 2);
            let value = if before == 0 { "x0[a0]" } else { "add(x0[a0], x1[])" };
            let operands = if before == 0 { "t0".to_owned() } else { format!("t{}, t{before}", before - 1) };
            let product = (1..reads).fold(value.to_owned(), |product, _| format!("mul({product}, x0[a0])"));
            text += &format!("e{before} ({operands}) -> t{link}: f32[4] = [a0<4] {product}\n");
            text += &format!("e{link} (t{link}) -> t{sum}: f32[] = [] sum[a0<4] x0[a0]\n");
        }
        text += &format!("output t{}\n", 2 * links);
        let program = parse(&text, &Tensors::new()).expect("a program");
        let members: Vec<usize> = (0..program.statements.len()).collect();
        ScalarSizes::new(&program).fit(&members, |member| member + 1 == members.len())
    }

    #[test]
    fn groups_do_not_repeat_what_they_share_in_every_reduction() {
        // Without products each link adds its three nodes to the sums behind it; each product doubles them.
        assert!(fits(9, 1));
        assert!(fits(4, 2));
        assert!(!fits(9, 2));
    }
}
