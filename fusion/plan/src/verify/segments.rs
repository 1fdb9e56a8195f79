//! What only plans of several segments can have wrong, and how what is wrong in one of them is named.

use std::collections::BTreeMap;

use warpweave_graph::arena::Id;
use warpweave_graph::program::TensorId;

use crate::plan::segments::SegmentId;
use crate::plan::{EdgeKind, ExecutionPlan, OperatorId, RTask};
use crate::verify::violation::Violation;

/// Which segment the rOperators belong to that are numbered through a plan.
pub(super) struct Numbering {
    /// Per segment, the number of its first rOperator.
    first: Vec<usize>,
}

impl Numbering {
    pub(super) fn of(plan: &ExecutionPlan) -> Self {
        Self { first: plan.first_operators() }
    }

    /// What is wrong in a segment, which is named where there are several.
    pub(super) fn within(&self, segment: SegmentId, violation: Violation) -> Violation {
        match self.first.as_slice() {
            [_] => violation,
            _ => Violation::InSegment { segment, violation: Box::new(violation) },
        }
    }

    /// Violations whose rOperators are numbered through, with the numbers that these have in their segments.
    pub(super) fn of_segments(&self, violations: Vec<Violation>) -> Vec<Violation> {
        match self.first.as_slice() {
            [_] => violations,
            _ => violations.into_iter().map(|violation| self.of_segment(violation)).collect(),
        }
    }

    fn of_segment(&self, violation: Violation) -> Violation {
        match violation {
            Violation::Output { operator, stage } => {
                let (segment, operator) = self.own(operator);
                self.within(segment, Violation::Output { operator, stage })
            }
            Violation::CannotExchange { operator, tensor } => {
                let (segment, operator) = self.own(operator);
                self.within(segment, Violation::CannotExchange { operator, tensor })
            }
            Violation::UncheckedIndex(operator) => {
                let (segment, operator) = self.own(operator);
                self.within(segment, Violation::UncheckedIndex(operator))
            }
            Violation::Malformed { operator, reason } => {
                let (segment, operator) = self.own(operator);
                self.within(segment, Violation::Malformed { operator, reason })
            }
            Violation::Uncovered { operator, tensor } => {
                let (segment, operator) = self.own(operator);
                self.within(segment, Violation::Uncovered { operator, tensor })
            }
            Violation::UnorderedRead { reader, writer, tensor } => {
                let ((segment, reader), (written_in, writer)) = (self.own_task(reader), self.own_task(writer));
                match segment == written_in {
                    true => self.within(segment, Violation::UnorderedRead { reader, writer, tensor }),
                    false => Violation::ReadsLater { segment, reader, written_in, writer, tensor },
                }
            }
            Violation::Alias { tensors, tasks: Some((one, other)) } => {
                // Segments are in order, so what nothing orders is in one.
                let ((segment, one), (_, other)) = (self.own_task(one), self.own_task(other));
                self.within(segment, Violation::Alias { tensors, tasks: Some((one, other)) })
            }
            // Those of segments are named where they are found, the others name tensors.
            Violation::Alias { tasks: None, .. }
            | Violation::IndexRecords
            | Violation::Memory(_)
            | Violation::TaskCount { .. }
            | Violation::Unknown { .. }
            | Violation::Tile(_)
            | Violation::Arrivals { .. }
            | Violation::AmbiguousWait { .. }
            | Violation::Deadlock(_)
            | Violation::NodeCount { .. }
            | Violation::NodeBlocks { .. }
            | Violation::UnknownNode(_)
            | Violation::ResidentInGraph(_)
            | Violation::TaggedInGraph(_)
            | Violation::ReadsLater { .. }
            | Violation::TaggedAcross { .. }
            | Violation::InSegment { .. }
            | Violation::DoubleWrite(..)
            | Violation::Buffer(_)
            | Violation::WritesConstant(_)
            | Violation::NotResident { .. }
            | Violation::StrayPrefetch { .. }
            | Violation::PrefetchesVariable(_)
            | Violation::Tagged(_)
            | Violation::ResidentVariable { .. } => violation,
        }
    }

    fn own_task(&self, task: RTask) -> (SegmentId, RTask) {
        let (segment, operator) = self.own(task.operator);
        (segment, RTask { operator, ..task })
    }

    /// The segment of an rOperator, and its number there.
    fn own(&self, operator: OperatorId) -> (SegmentId, OperatorId) {
        let segment = self.first.partition_point(|first| *first <= operator.index()) - 1;
        (SegmentId::from_index(segment), OperatorId::from_index(operator.index() - self.first[segment]))
    }
}

/// TaggedValues that two segments use.
pub(super) fn check_tagged(plan: &ExecutionPlan) -> Vec<Violation> {
    let (mut users, mut violations): (BTreeMap<TensorId, SegmentId>, Vec<Violation>) = Default::default();
    for (segment, planned) in plan.numbered() {
        for operator in planned.operators().values() {
            for &tensor in operator.kernel.body().operands.iter().chain(&operator.kernel.body().outputs) {
                let root = plan.memory.tensors[tensor].layout.root;
                if plan.memory.tensors[root].edge == EdgeKind::Counter {
                    continue;
                }
                let first = *users.entry(root).or_insert(segment);
                let across = Violation::TaggedAcross { tensor, first, other: segment };
                if first != segment && !violations.contains(&across) {
                    violations.push(across);
                }
            }
        }
    }
    violations
}
