//! Epilogue fusion into the second pass of a split-K reduction: element-wise readers of the sum are computed where the parts are
//! added.
//!
//! The search prices each group alone, where one more kernel costs little. On a critical path it costs a signal and an exchange,
//! which fusion saves.

use std::collections::BTreeSet;

use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::program::{StatementId, TensorId, TensorProgram};
use warpweave_graph::views::Layout;

use crate::cost::KernelCost;
use crate::partition::build::merge_axes::merge_axes;
use crate::partition::build::{Uses, build};
use crate::partition::search::{FusionGroup, Partition};
use crate::partition::split::split_kernel;
use crate::schedule::choice::interplay::GroupGraph;
use crate::tuning::SearchTuning;

/// The partition with every group that may end a reduction in parts as its end; `None` if there is none.
///
/// Such a group does not reduce, and everything else that it reads is there before the reduction begins.
pub(crate) fn with_longer_ends(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    partition: &Partition,
    graph: &GroupGraph,
    cost: &dyn KernelCost,
) -> Option<Partition> {
    let uses = Uses::new(program);
    let mut groups: Vec<Option<FusionGroup>> = partition.groups.iter().cloned().map(Some).collect();
    let mut ended = vec![false; groups.len()];
    for reader in 0..groups.len() {
        let Some(reduction) = reduction_of(partition, graph, reader).filter(|reduction| !ended[*reduction]) else {
            continue;
        };
        if let Some(joined) = joined(program, layouts, &uses, (partition, [reduction, reader]), cost) {
            ended[reduction] = true;
            groups[reduction] = Some(joined);
            groups[reader] = None;
        }
    }
    let is_longer = ended.contains(&true);
    is_longer.then(|| Partition { groups: groups.into_iter().flatten().collect() })
}

/// The reduction in parts that a group may end.
fn reduction_of(partition: &Partition, graph: &GroupGraph, reader: usize) -> Option<usize> {
    if partition.groups[reader].kernel.body().reductions().next().is_some() {
        return None;
    }
    let predecessors = graph.predecessors(reader);
    let mut in_parts = predecessors.iter().copied().filter(|&group| partition.groups[group].kernel.parts() > 1);
    let (reduction, None) = (in_parts.next()?, in_parts.next()) else { return None };
    let others = predecessors.iter().copied().filter(|&group| group != reduction);
    are_before(graph, reduction, &others.collect()).then_some(reduction)
}

/// Whether a group reads what all these make, directly or by way of others.
fn are_before(graph: &GroupGraph, group: usize, wanted: &BTreeSet<usize>) -> bool {
    let mut missing = wanted.clone();
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    let mut open = vec![group];
    while let (Some(&first), Some(next)) = (missing.first(), open.pop()) {
        for &before in graph.predecessors(next).iter().filter(|before| **before >= first) {
            missing.remove(&before);
            if seen.insert(before) {
                open.push(before);
            }
        }
    }
    missing.is_empty()
}

/// Both groups as one, in the kernels of the first; `None` if these do not compute it.
fn joined(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    uses: &Uses,
    (partition, pair): (&Partition, [usize; 2]),
    cost: &dyn KernelCost,
) -> Option<FusionGroup> {
    let [reduction, reader] = pair.map(|group| &partition.groups[group]);
    let statements: BTreeSet<StatementId> = reduction.statements.union(&reader.statements).copied().collect();
    if statements.len() > SearchTuning::DEFAULT.partition.most_statements {
        return None;
    }
    let kernel = reduction.kernel.with_body(merge_axes(&build(program, uses, &statements)?, layouts));
    let (body, tensor) = (kernel.body(), TensorId::from_index(program.tensors.len()));
    let is_same_tile = body.tile_extents() == reduction.kernel.body().tile_extents() && body.reductions().count() == 1;
    let single = kernel.in_one_part();
    if !is_same_tile || single.rules().check(&single).is_err() {
        return None;
    }
    split_kernel(&kernel, tensor)?;
    let microseconds = cost.microseconds(program, &kernel);
    let origins = program.origins_of(&statements);
    Some(FusionGroup { statements, kernel, microseconds, origins })
}
