//! Cells of a recurrence: products with constants that many groups read, and what alone reads these products, as one group.
//!
//! A search that prices every group by itself keeps the products of a batch apart from what follows them: tiles of a
//! contraction load a weight once for all points of the batch. Where the weights stay on chip nothing loads them, and a cell
//! that is one group waits once a step.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use warpweave_graph::arena::Arena;
use warpweave_graph::program::{StatementId, TensorId, TensorProgram};
use warpweave_graph::views::Layout;

use crate::cost::{KernelCost, PricedKernel};
use crate::partition::build::merge_axes::merge_axes;
use crate::partition::build::{Uses, build};
use crate::partition::search::{FusionGroup, Partition};
use crate::tuning::SearchTuning;
use std::sync::Arc;
use warpweave_plan::body::GroupBody;
use warpweave_plan::body::signature::Signature;
use warpweave_plan::template::row::rules::by_warps;
use warpweave_plan::template::weight_stationary::reads::ResidentKey;
use warpweave_plan::template::weight_stationary::rules::of_tiles;

/// The partition with its cells as groups of their own; `None` if it has none that are not.
pub(crate) fn with_cells(
    program: &TensorProgram,
    layouts: &Arena<TensorId, Layout>,
    partition: &Partition,
    cost: &dyn KernelCost,
) -> Option<Partition> {
    let products = products(program, partition);
    if products.is_empty() {
        return None;
    }
    let uses = Uses::new(program);
    let parts = parts(program, &uses, partition, &products);
    let mut known: FxHashMap<Signature, Option<PricedKernel>> = FxHashMap::default();
    let mut cells: BTreeMap<usize, FusionGroup> = BTreeMap::new();
    let mut merged: BTreeSet<usize> = BTreeSet::new();
    for (reader, parts) in parts {
        let members: BTreeSet<usize> = parts.iter().copied().chain([reader]).collect();
        let groups = members.iter().map(|&member| &partition.groups[member]);
        let statements: BTreeSet<StatementId> = groups.flat_map(|group| group.statements.iter().copied()).collect();
        if statements.len() > SearchTuning::DEFAULT.partition.most_statements {
            continue;
        }
        let Some(body) = build(program, &uses, &statements) else { continue };
        let body = Arc::new(merge_axes(&body, layouts));
        if !may_be_kept(program, &body) {
            continue;
        }
        let price = || cost.best(program, &body);
        let Some(PricedKernel { kernel, microseconds }) =
            known.entry(Signature::of(&body)).or_insert_with(price).clone()
        else {
            continue;
        };
        let origins = program.origins_of(&statements);
        cells.insert(reader, FusionGroup { statements, kernel: kernel.with_body(body), microseconds, origins });
        merged.extend(parts);
    }
    for &product in products.iter().filter(|product| !merged.contains(product)) {
        let group = &partition.groups[product];
        if !group.kernel.rules().may_hold_residents() && may_be_kept(program, group.kernel.shared_body()) {
            let kernel = group.kernel.with_params(by_warps(group.kernel.body().tile_extents()));
            cells.insert(product, FusionGroup { kernel, ..group.clone() });
        }
    }
    if cells.is_empty() {
        return None;
    }
    let groups = partition.groups.iter().enumerate().filter(|(position, _)| !merged.contains(position));
    let groups = groups.map(|(position, group)| cells.remove(&position).unwrap_or_else(|| group.clone()));
    Some(Partition { groups: groups.collect() })
}

/// Whether the constants of a body may stay on chip, in one tile of at most a block's rows and columns.
fn may_be_kept(program: &TensorProgram, body: &Arc<GroupBody>) -> bool {
    let are_resident = |key: ResidentKey| key.tensors().all(|tensor| program.mutability(tensor).is_resident());
    ResidentKey::of_body(body).is_some_and(are_resident) && of_tiles(body, usize::MAX).is_some()
}

/// The positions of the groups that reduce products with constants which several groups read.
fn products(program: &TensorProgram, partition: &Partition) -> BTreeSet<usize> {
    let mut readers: BTreeMap<TensorId, Vec<usize>> = BTreeMap::new();
    for (position, group) in partition.groups.iter().enumerate() {
        if group.kernel.body().reductions().next().is_none() {
            continue;
        }
        let constants: BTreeSet<TensorId> = group
            .kernel
            .body()
            .operands
            .iter()
            .copied()
            .filter(|&operand| program.mutability(operand).is_resident())
            .collect();
        constants.into_iter().for_each(|constant| readers.entry(constant).or_default().push(position));
    }
    let several = SearchTuning::DEFAULT.schedule.fewest_resident_readers;
    readers.into_values().filter(|readers| readers.len() >= several).flatten().collect()
}

/// Per group that a cell ends with, the products that it alone reads, directly or by way of another of them.
fn parts(
    program: &TensorProgram,
    uses: &Uses,
    partition: &Partition,
    products: &BTreeSet<usize>,
) -> BTreeMap<usize, Vec<usize>> {
    let groups = partition.groups.iter().enumerate();
    let group_of: BTreeMap<StatementId, usize> =
        groups.flat_map(|(at, group)| group.statements.iter().map(move |&statement| (statement, at))).collect();
    let only_reader = |product: usize| {
        let members = &partition.groups[product].statements;
        let outputs = members.iter().map(|&member| program.statements[member].output);
        let outputs: Vec<TensorId> = outputs.filter(|&output| uses.leaves(output, members)).collect();
        let read_by = outputs.iter().flat_map(|&output| uses.readers(output));
        let readers: BTreeSet<Option<usize>> = read_by.map(|reader| group_of.get(reader).copied()).collect();
        let is_inside = outputs.iter().all(|&output| !uses.is_live_out(output));
        let others = readers.into_iter().filter(|reader| *reader != Some(product)).collect::<Vec<_>>();
        let [Some(reader)] = others[..] else { return None };
        let ends = partition.groups[reader].kernel.body().reductions().next().is_none();
        (is_inside && (ends || products.contains(&reader))).then_some(reader)
    };
    let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    // Readers stand behind what they read.
    let mut ends: BTreeMap<usize, usize> = BTreeMap::new();
    for &product in products.iter().rev() {
        let Some(reader) = only_reader(product) else { continue };
        let end = ends.get(&reader).copied().unwrap_or(reader);
        ends.insert(product, end);
        found.entry(end).or_default().push(product);
    }
    found
}
