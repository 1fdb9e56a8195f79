//! The nodes of a graph: every rTask once, in a kernel that needs nothing of a persistent program.

use std::collections::BTreeSet;

use warpweave_graph::arena::Arena;
use warpweave_graph::program::TensorId;

use crate::plan::{EdgeKind, GraphSegment, MemoryPlan, OperatorId};
use crate::verify::violation::Violation;

/// Violations of what only a graph has, but for the order of its nodes.
pub(super) fn check(segment: &GraphSegment, memory: &MemoryPlan) -> Vec<Violation> {
    let mut violations = Vec::new();
    check_nodes(segment, &mut violations);
    check_kernels(segment, memory, &mut violations);
    violations
}

/// Per rOperator of a graph that has been checked, the position of its node.
pub(super) fn positions(segment: &GraphSegment) -> Arena<OperatorId, usize> {
    let mut positions: Arena<OperatorId, usize> = segment.operators.values().map(|_| 0).collect();
    for (position, node) in segment.nodes.iter().enumerate() {
        positions[node.operator] = position;
    }
    positions
}

fn check_nodes(segment: &GraphSegment, violations: &mut Vec<Violation>) {
    let mut counts: Arena<OperatorId, usize> = segment.operators.values().map(|_| 0).collect();
    for (position, node) in segment.nodes.iter().enumerate() {
        let Some(operator) = segment.operators.get(node.operator) else {
            violations.push(Violation::UnknownNode(position));
            continue;
        };
        counts[node.operator] += 1;
        let (tasks, blocks) = (operator.tasks(), node.blocks);
        if tasks != blocks {
            violations.push(Violation::NodeBlocks { operator: node.operator, tasks, blocks });
        }
    }
    for (operator, &nodes) in counts.iter() {
        if nodes != usize::from(segment.operators[operator].tasks() > 0) {
            violations.push(Violation::NodeCount { operator, nodes });
        }
    }
}

fn check_kernels(segment: &GraphSegment, memory: &MemoryPlan, violations: &mut Vec<Violation>) {
    let keeps = segment.operators.iter().filter(|(_, operator)| operator.kernel.rules().holds_residents());
    violations.extend(keeps.map(|(id, _)| Violation::ResidentInGraph(id)));
    let bodies = segment.operators.values().map(|operator| operator.kernel.body());
    let used: BTreeSet<TensorId> = bodies.flat_map(|body| body.operands.iter().chain(&body.outputs)).copied().collect();
    let tagged = used.into_iter().filter(|tensor| memory.tensors[*tensor].edge == EdgeKind::Tagged);
    violations.extend(tagged.map(Violation::TaggedInGraph));
}
