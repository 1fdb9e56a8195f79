//! Which rOperators' completion implies that another rOperator has finished with its memory.
//!
//! An rTask that has polled a tagged value knows that the value was computed, and therefore that its operands had been
//! read: a later write to them cannot change it. So if the outputs of an rOperator are polled in full, the buffers that
//! its rTasks read can be overwritten once the polling rTasks have completed. No signal says so. By then the tags of
//! the outputs have been seen as well, so a later tag in the same bytes cannot be overtaken by one of them. The rule is
//! transitive: if the outputs of the polling rOperators are polled in full in turn, their pollers imply both.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::arena::Arena;
use warpweave_graph::expr::{Range, Scalar, region};
use warpweave_graph::program::TensorId;

use crate::body::StageSource;
use crate::plan::{EdgeKind, MemoryPlan, OperatorId, ROperator};
use crate::region::{Region, is_box};
use crate::template::contraction::operand_staging::stages_operands;

/// Per rOperator, the rOperators whose completion implies its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completions(Arena<OperatorId, BTreeSet<OperatorId>>);

impl Completions {
    /// The completions of all rOperators, which are in a topological order.
    ///
    /// An rOperator whose outputs are all tagged and polled in full is completed by its pollers, transitively. Any other
    /// rOperator is completed by itself alone, and the transitive step ends at pollers that keep constants on chip: their
    /// rTasks poll one another from step to step.
    pub fn of(operators: &Arena<OperatorId, ROperator>, memory: &MemoryPlan) -> Self {
        let pollers = pollers(operators, memory);
        let mut found: BTreeMap<OperatorId, BTreeSet<OperatorId>> = BTreeMap::new();
        for id in operators.ids().collect::<Vec<_>>().into_iter().rev() {
            let of_poller =
                |poller: &OperatorId| match (operators[*poller].kernel.rules().holds_residents(), found.get(poller)) {
                    (true, _) | (false, None) => BTreeSet::from([*poller]),
                    (_, Some(completions)) => completions.clone(),
                };
            let own = match &pollers[id] {
                Some(pollers) => pollers.iter().flat_map(of_poller).collect(),
                None => BTreeSet::from([id]),
            };
            found.insert(id, own);
        }
        Self(found.into_values().collect())
    }

    /// The rOperators whose completion together implies that of `operator`.
    pub fn operators(&self, operator: OperatorId) -> &BTreeSet<OperatorId> {
        &self.0[operator]
    }

    /// Whether the completion of `operator` is implied by that of other rOperators.
    pub fn are_others(&self, operator: OperatorId) -> bool {
        !self.0[operator].contains(&operator)
    }
}

/// Per rOperator, its pollers if its outputs are all tagged and polled in full; `None` for any other.
fn pollers(
    operators: &Arena<OperatorId, ROperator>,
    memory: &MemoryPlan,
) -> Arena<OperatorId, Option<BTreeSet<OperatorId>>> {
    let mut pollers: BTreeMap<TensorId, (BTreeSet<OperatorId>, bool)> = BTreeMap::new();
    for (id, operator) in operators.iter() {
        for (position, &operand) in operator.kernel.body().operands.iter().enumerate() {
            if memory.tensors[operand].edge == EdgeKind::Tagged {
                let (by, is_whole) = pollers.entry(operand).or_default();
                by.insert(id);
                *is_whole |= reads_whole(operator, memory, position);
            }
        }
    }
    let whole = |tensor: &TensorId| pollers.get(tensor).filter(|(_, is_whole)| *is_whole).map(|(by, _)| by);
    let of_operator = |operator: &ROperator| {
        let polled: Option<Vec<&BTreeSet<OperatorId>>> = operator.kernel.body().outputs.iter().map(whole).collect();
        let all = polled.filter(|polled| !polled.is_empty());
        all.map(|polled| polled.into_iter().flatten().copied().collect())
    };
    operators.values().map(of_operator).collect()
}

/// Whether the rTasks of an rOperator read every element of an operand, taken together.
fn reads_whole(operator: &ROperator, memory: &MemoryPlan, operand: usize) -> bool {
    let tensor = operator.kernel.body().operands[operand];
    let in_boxes = || stages_operands(&operator.kernel) && boxes_cover(operator, memory, operand);
    let directly = operator.kernel.body().stages.iter().any(|stage| {
        let is_operand = |at: usize| stage.sources[at] == StageSource::Operand(operand);
        let mut reads = stage.expr.reads.iter().filter(|(_, read)| is_operand(read.operand));
        reads.any(|(id, read)| {
            let everything = region::input_region(&stage.expr, id, &region::whole(&stage.expr));
            let everything = everything.map(|ranges| Region::of(memory, tensor, ranges));
            let is_whole = everything.as_ref() == Some(&Region::whole(memory, tensor));
            is_whole && read.guard.is_always() && is_box(&read.index) && stage.expr.body == Scalar::Read(id)
        })
    });
    directly || in_boxes()
}

/// Whether the staged boxes of all rTasks cover an operand: they are the product of ranges along each dimension, and the ranges
/// of each dimension cover its extent.
fn boxes_cover(operator: &ROperator, memory: &MemoryPlan, operand: usize) -> bool {
    let kernel = &operator.kernel;
    let copy = kernel.body().staged.iter().position(|stage| stage.sources == [StageSource::Operand(operand)]);
    let Some((spans, shape)) = copy.and_then(|copy| {
        let spans = &kernel.boxes()?[copy];
        Some((spans, &memory.tensors[kernel.body().operands[operand]].ty.shape))
    }) else {
        return false;
    };
    let mut found: BTreeSet<Vec<(i64, i64)>> = BTreeSet::new();
    for tile in 0..operator.tasks() {
        let coordinates = kernel.tile_coordinates(tile);
        let ranges = spans.iter().map(|span| span.inside(&coordinates));
        found.insert(ranges.map(|Range { minimum, maximum }| (minimum, maximum)).collect());
    }
    let along = |dimension: usize| found.iter().map(|ranges| ranges[dimension]).collect::<BTreeSet<_>>();
    let dimensions: Vec<BTreeSet<(i64, i64)>> = (0..spans.len()).map(along).collect();
    let covers = |(ranges, &extent): (&BTreeSet<(i64, i64)>, &usize)| {
        let reached = ranges
            .iter()
            .fold(0, |reached, (first, last)| if *first <= reached { reached.max(last + 1) } else { reached });
        reached >= extent as i64
    };
    let combined = dimensions.iter().map(BTreeSet::len).product::<usize>() == found.len();
    combined && dimensions.iter().zip(shape.iter()).all(covers)
}
