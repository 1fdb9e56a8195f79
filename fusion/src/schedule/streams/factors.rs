//! Which factors of contractions are polled.
//!
//! A tensor that only contractions read, as a factor, may be tagged. Its readers load the box that they need into shared
//! memory at once and poll it there. That saves the signal and most of the exchange, and costs the bytes of the tags, so
//! it is done where it saves more than it costs.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::arena::Arena;
use warpweave_graph::program::TensorId;

use crate::cost::KernelCost;
use crate::cost::sync::SyncCosts;
use crate::partition::search::{FusionGroup, Partition};
use crate::schedule::options::PlanOptions;
use crate::schedule::streams::tagged::{TaggedProgram, staged_operand_elements};
use warpweave_plan::body::deduplication::{StructuralKey, deduplicated};
use warpweave_plan::template::contraction::operand_staging::{boxed, boxes};

/// The program with every factor tagged for which polling is worthwhile; `None` if there is none.
///
/// Two consecutive contractions are never tagged: completion would be known from polls alone, which delays the reuse of their
/// memory. Nor is any factor of a program whose rows keep constants on chip, where no shared memory is left for boxes.
pub(crate) fn with_boxes(
    mut exchanged: TaggedProgram,
    cost: &dyn KernelCost,
    options: &PlanOptions,
) -> Option<TaggedProgram> {
    if exchanged.partition.groups.iter().any(|group| group.kernel.rules().holds_residents()) {
        return None;
    }
    let found = worthwhile(&exchanged, cost, options);
    let chosen = not_in_a_row(&exchanged, found);
    if chosen.is_empty() {
        return None;
    }
    for Candidate { tensor, readers, .. } in chosen {
        exchanged.tagged_values.insert(tensor);
        for Reader { group, boxed } in readers {
            exchanged.partition.groups[group] = boxed;
        }
    }
    Some(exchanged)
}

/// The candidates that save more than they take.
fn worthwhile(exchanged: &TaggedProgram, cost: &dyn KernelCost, options: &PlanOptions) -> Vec<Candidate> {
    let found = candidates(exchanged);
    let readers: Vec<&Reader> = found.iter().flat_map(|candidate| &candidate.readers).collect();
    let groups = &exchanged.partition.groups;
    let (lost, kinds) = deduplicated(
        &readers,
        |reader| {
            let plain = &groups[reader.group];
            (StructuralKey::of(&plain.kernel), StructuralKey::of(&reader.boxed.kernel))
        },
        |reader, _| microseconds_lost(&groups[reader.group], &reader.boxed, cost, options),
    );
    let SyncCosts { tagged_value, .. } = options.costs;
    let by_counter = options.costs.signal_microseconds() + options.costs.exchange_microseconds(options.units);
    let mut lost = kinds.into_iter().map(|kind| lost[kind]);
    let pays: Vec<bool> = found
        .iter()
        .map(|candidate| {
            let of_readers = lost.by_ref().take(candidate.readers.len()).fold(0.0, f64::max);
            of_readers + microseconds_of_tags(exchanged, candidate, cost, options) < by_counter - tagged_value.value
        })
        .collect();
    found.into_iter().zip(pays).filter_map(|(candidate, pays)| pays.then_some(candidate)).collect()
}

/// Of the candidates, by ascending writers, the first of those that follow one another without a counter between them, and
/// at most one a reader.
fn not_in_a_row(exchanged: &TaggedProgram, candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut candidates = candidates.into_iter().peekable();
    let mut chosen: Vec<Candidate> = Vec::new();
    let mut polling: BTreeSet<usize> = BTreeSet::new();
    // Parts that come of polled factors.
    let mut late: BTreeSet<TensorId> = BTreeSet::new();
    for (position, FusionGroup { kernel, .. }) in exchanged.partition.groups.iter().enumerate() {
        let body = kernel.body();
        let is_late = polling.contains(&position) || body.operands.iter().any(|operand| late.contains(operand));
        if is_late {
            late.extend(body.outputs.iter().filter(|tensor| exchanged.tagged_values.contains(tensor)));
        }
        while let Some(candidate) = candidates.next_if(|candidate| candidate.writer == position) {
            let is_free = candidate.readers.iter().all(|reader| !polling.contains(&reader.group));
            if !is_late && is_free {
                polling.extend(candidate.readers.iter().map(|reader| reader.group));
                chosen.push(candidate);
            }
        }
    }
    chosen
}

/// A tensor that can be polled wherever it is read.
struct Candidate {
    tensor: TensorId,
    writer: usize,
    readers: Vec<Reader>,
}

/// A contraction that can poll a factor.
struct Reader {
    /// The position of its group.
    group: usize,
    /// The group, reading from a box.
    boxed: FusionGroup,
}

/// Tensors of which one group writes all, which that group can tag, and whose readers can all poll them.
fn candidates(exchanged: &TaggedProgram) -> Vec<Candidate> {
    let TaggedProgram { program, layouts, partition: Partition { groups }, tagged_values } = exchanged;
    let mut roots: Arena<TensorId, usize> = program.tensors.values().map(|_| 0).collect();
    layouts.values().for_each(|layout| roots[layout.root] += 1);
    let mut readers: BTreeMap<TensorId, Vec<usize>> = BTreeMap::new();
    for (position, group) in groups.iter().enumerate() {
        group.kernel.body().operands.iter().for_each(|tensor| readers.entry(*tensor).or_default().push(position));
    }
    let mut found = Vec::new();
    for (writer, group) in groups.iter().enumerate().filter(|(_, group)| group.kernel.rules().can_tag()) {
        for &tensor in &group.kernel.body().outputs {
            let by_host = program.live_in().chain(program.live_out()).any(|live| live == tensor);
            let is_single = program.tensors[tensor].ty.element.is_single();
            let alone = exchanged.is_whole(tensor) && roots[tensor] == 1;
            if by_host || !is_single || !alone || tagged_values.contains(&tensor) {
                continue;
            }
            let reader = |&group: &usize| Some(Reader { group, boxed: polling(&groups[group], tensor)? });
            let readers = readers.get(&tensor).and_then(|all| all.iter().map(reader).collect::<Option<Vec<_>>>());
            found.extend(readers.map(|readers| Candidate { tensor, writer, readers }));
        }
    }
    found
}

/// A contraction that reads a tensor from a box, if it can.
fn polling(group: &FusionGroup, tensor: TensorId) -> Option<FusionGroup> {
    let template = group.kernel.rules().with_staged_operands()?;
    let operand = group.kernel.body().operands.iter().position(|operand| *operand == tensor)?;
    let kernel = group.kernel.with_template(template).with_body(boxed(group.kernel.body(), operand)?);
    boxes(&kernel)?;
    Some(FusionGroup { kernel, ..group.clone() })
}

/// What all rTasks of a contraction lose where they read from a box and poll it.
fn microseconds_lost(plain: &FusionGroup, boxed: &FusionGroup, cost: &dyn KernelCost, options: &PlanOptions) -> f64 {
    let tiles = boxed.kernel.tiles();
    let tags = cost.tags_microseconds(staged_operand_elements(&boxed.kernel), tiles as u32);
    let of_task = cost.task_microseconds(&boxed.kernel) + tags - cost.task_microseconds(&plain.kernel);
    of_task * tiles.div_ceil(options.units) as f64
}

/// What writing the tags takes.
fn microseconds_of_tags(
    exchanged: &TaggedProgram,
    candidate: &Candidate,
    cost: &dyn KernelCost,
    options: &PlanOptions,
) -> f64 {
    let tiles = exchanged.partition.groups[candidate.writer].kernel.tiles().max(1);
    let values = exchanged.program.tensors[candidate.tensor].ty.shape.elements() as f64 / tiles as f64;
    cost.tags_microseconds(values, tiles as u32) * tiles.div_ceil(options.units) as f64
}
