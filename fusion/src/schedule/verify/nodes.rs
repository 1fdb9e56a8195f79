//! The nodes of a graph: every rTask once, in a kernel that needs nothing of a persistent program.

use warpweave_graph::arena::Arena;

use super::super::plan::{EdgeKind, GraphSegment, MemoryPlan, OperatorId};
use super::Violation;
use super::structure::check_with;
use crate::partition::Template;

/// Per rOperator, the position of its node; what is wrong with the segment beside the order of its nodes, if something is.
pub(super) fn positions(
    segment: &GraphSegment,
    memory: &MemoryPlan,
) -> Result<Arena<OperatorId, usize>, Vec<Violation>> {
    let violations = check_with(&segment.operators, memory, |violations| {
        check_nodes(segment, violations);
        check_kernels(segment, memory, violations);
    });
    if !violations.is_empty() {
        return Err(violations);
    }
    let mut positions: Arena<OperatorId, usize> = segment.operators.values().map(|_| 0).collect();
    for (position, node) in segment.nodes.iter().enumerate() {
        positions[node.operator] = position;
    }
    Ok(positions)
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
    let keeps = segment.operators.iter().filter(|(_, operator)| match operator.params.template {
        Template::Kept => true,
        Template::Pointwise { .. }
        | Template::Row(_)
        | Template::Contraction(_)
        | Template::Staged
        | Template::Attention { .. } => false,
    });
    violations.extend(keeps.map(|(id, _)| Violation::KeepsInGraph(id)));
    let marked = memory.tensors.iter().filter(|(_, tensor)| tensor.edge == EdgeKind::Sentinel);
    violations.extend(marked.map(|(tensor, _)| Violation::SentinelInGraph(tensor)));
}
