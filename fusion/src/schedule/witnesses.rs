//! Whose end shows that an rTask is done with its memory.
//!
//! An rTask that has polled a value knows that it was computed, and so that whatever it was computed from had been read:
//! no later write can change that. So where every output of an rOperator is polled whole, bytes that its rTasks read may be
//! written after those that poll them, though nothing else tells that they have ended. Their own marks have been seen by
//! then too, and no later mark in the same place can be overtaken by one that was seen.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::arena::Arena;
use warpweave_graph::expr::{Scalar, region};
use warpweave_graph::program::TensorId;

use super::dependency::{Region, is_box};
use super::plan::{EdgeKind, MemoryPlan, OperatorId, ROperator};
use crate::partition::StageSource;

/// Per rOperator, those whose rTasks witness the end of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witnesses(Arena<OperatorId, BTreeSet<OperatorId>>);

impl Witnesses {
    /// Of all rOperators: whoever polls one that writes nothing but sentinels, each of which somebody polls whole; otherwise
    /// the rOperator itself.
    pub fn of(operators: &Arena<OperatorId, ROperator>, memory: &MemoryPlan) -> Self {
        let mut pollers: BTreeMap<TensorId, (BTreeSet<OperatorId>, bool)> = BTreeMap::new();
        for (id, operator) in operators.iter() {
            for (position, &operand) in operator.body.operands.iter().enumerate() {
                if memory.tensors[operand].edge == EdgeKind::Sentinel {
                    let (by, is_whole) = pollers.entry(operand).or_default();
                    by.insert(id);
                    *is_whole |= reads_whole(operator, memory, position);
                }
            }
        }
        let whole = |tensor: &TensorId| pollers.get(tensor).filter(|(_, is_whole)| *is_whole).map(|(by, _)| by);
        let of_operator = |(id, operator): (OperatorId, &ROperator)| {
            let polled: Option<Vec<&BTreeSet<OperatorId>>> = operator.body.outputs.iter().map(whole).collect();
            match polled {
                Some(polled) if !polled.is_empty() => polled.into_iter().flatten().copied().collect(),
                Some(_) | None => BTreeSet::from([id]),
            }
        };
        Self(operators.iter().map(of_operator).collect())
    }

    /// The witnesses of an rOperator.
    pub fn operators(&self, operator: OperatorId) -> &BTreeSet<OperatorId> {
        &self.0[operator]
    }

    /// Whether an rOperator's end is known by others alone.
    pub fn are_others(&self, operator: OperatorId) -> bool {
        !self.0[operator].contains(&operator)
    }
}

/// Whether the rTasks of an rOperator together are sure to read every element of an operand.
fn reads_whole(operator: &ROperator, memory: &MemoryPlan, operand: usize) -> bool {
    let tensor = operator.body.operands[operand];
    operator.body.stages.iter().any(|stage| {
        let is_operand = |at: usize| stage.sources[at] == StageSource::Operand(operand);
        let mut reads = stage.expr.reads.iter().filter(|(_, read)| is_operand(read.operand));
        reads.any(|(id, read)| {
            let everything = region::input_region(&stage.expr, id, &region::whole(&stage.expr));
            let everything = everything.map(|ranges| Region::of(memory, tensor, ranges));
            let is_whole = everything.as_ref() == Some(&Region::whole(memory, tensor));
            is_whole && read.guard.is_always() && is_box(&read.index) && stage.expr.body == Scalar::Read(id)
        })
    })
}
