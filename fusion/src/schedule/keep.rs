//! Which unit keeps which constants on chip: the plan's [`Instruction::Keep`]s.

use std::collections::BTreeMap;

use warpweave_graph::arena::Arena;
use warpweave_graph::program::{Source, TensorId, TensorProgram};

use super::interplay::GroupGraph;
use super::plan::{Instruction, OperatorId, ROperator, RTask};
use crate::partition::attention::AttentionKernel;
use crate::partition::kept::{KeptKey, MOST_ROWS, kept_elements};
use crate::partition::opaque;
use crate::partition::params::{RowThreads, ScheduleParams, Template};
use crate::partition::staged::{STAGED_BYTES, boxes, bytes};
use crate::partition::{FusionGroup, GroupBody, Partition};

/// Groups that read the same constants, below which keeping them on chip does not pay.
const FEWEST_READERS: usize = 4;

/// Per rOperator that keeps constants on chip, a number for what its tiles keep: rTasks with equal numbers and tiles keep the
/// same.
pub fn kept_numbers(operators: &Arena<OperatorId, ROperator>) -> Arena<OperatorId, Option<u32>> {
    let mut known: BTreeMap<KeptKey, u32> = BTreeMap::new();
    let number = |operator: &ROperator| {
        let key = KeptKey::of(&operator.body, &operator.params)?;
        let next = known.len() as u32;
        Some(*known.entry(key).or_insert(next))
    };
    operators.values().map(number).collect()
}

/// What a unit keeps: the number of [`kept_numbers`] and the tile.
pub type Kept = (u32, u32);

/// The streams with what every unit keeps brought as early as it can be: before the first wait, or after the last rTask that
/// uses what was kept before and its signals. What they said of it before does not count. Nothing is prefetched yet.
pub fn with_keeps(streams: Vec<Vec<Instruction>>, operators: &Arena<OperatorId, ROperator>) -> Vec<Vec<Instruction>> {
    let numbers = kept_numbers(operators);
    if numbers.values().all(Option::is_none) {
        return streams;
    }
    streams.into_iter().map(|stream| with_own_keeps(stream, &numbers)).collect()
}

fn with_own_keeps(stream: Vec<Instruction>, numbers: &Arena<OperatorId, Option<u32>>) -> Vec<Instruction> {
    let mut found: Vec<Instruction> = Vec::with_capacity(stream.len() + 1);
    let (mut held, mut free): (Option<Kept>, usize) = (None, 0);
    let mut is_ready = true;
    for instruction in stream {
        is_ready &= !matches!(instruction, Instruction::Wait { .. });
        match instruction {
            Instruction::Keep(_) => {}
            Instruction::Run(task) => {
                if let Some(number) = numbers[task.operator] {
                    let wanted = (number, task.tile);
                    if held != Some(wanted) {
                        found.insert(free, Instruction::Keep(task));
                        held = Some(wanted);
                    }
                    (free, is_ready) = (found.len() + 1, false);
                }
                found.push(instruction);
            }
            Instruction::Signal(_) => {
                // Nobody waits longer for what is brought meanwhile.
                free += usize::from(free == found.len());
                found.push(instruction);
            }
            Instruction::Wait { .. } | Instruction::Prefetch(_) => found.push(instruction),
        }
        if is_ready {
            free = found.len();
        }
    }
    found
}

/// The unit of every rTask that keeps constants on chip: rTasks that keep the same share one, others share none.
#[derive(Clone, Debug, Default)]
pub struct Homes {
    /// Per rOperator, the unit of its first tile.
    first: Arena<OperatorId, Option<usize>>,
}

impl Homes {
    /// Whether any rTask has a unit of its own.
    pub fn are_given(&self) -> bool {
        self.first.values().any(Option::is_some)
    }

    /// Units in the order of the rOperators that first use them; past the last one they are given out again.
    pub fn of(operators: &Arena<OperatorId, ROperator>) -> Self {
        let mut starts: BTreeMap<u32, usize> = BTreeMap::new();
        let mut next = 0;
        let numbers = kept_numbers(operators);
        let first = numbers.iter().map(|(id, number)| {
            number.map(|number| {
                *starts.entry(number).or_insert_with(|| {
                    let start = next;
                    next += operators[id].tasks() as usize;
                    start
                })
            })
        });
        Self { first: first.collect() }
    }

    /// The unit of an rTask among `units`, if it has to be one.
    pub fn unit(&self, task: RTask, units: usize) -> Option<usize> {
        self.first[task.operator].map(|first| (first + task.tile as usize) % units)
    }
}

/// The partition with constants that many groups read kept on chip, each tile's on a unit of its own; `None` if no unit has
/// room for its part.
///
/// `bytes` are what a unit has for them beside what the other groups' kernels need in shared memory. What is read one after
/// the other shares units: of each phase, units are shared out by the elements that its groups keep, and a phase for which
/// there is no room keeps nothing.
pub fn keep_constants(
    program: &TensorProgram,
    partition: &Partition,
    graph: &GroupGraph,
    (units, bytes): (usize, usize),
) -> Option<Partition> {
    let mut families: BTreeMap<KeptKey, Family> = BTreeMap::new();
    for (position, group) in partition.groups.iter().enumerate() {
        if let Some(key) = key(program, group) {
            families.entry(key).or_default().push(position);
        }
    }
    families.retain(|_, members| members.len() >= FEWEST_READERS);
    let room = bytes.checked_sub(other_bytes(partition, &families))?;
    let mut kept = partition.clone();
    for phase in phases(&families, graph) {
        let Some(params) = shared_out(partition, &phase, (units, room)) else { continue };
        for (members, params) in phase.into_iter().zip(params) {
            members.iter().for_each(|&member| kept.groups[member].params.clone_from(&params));
        }
    }
    (kept != *partition).then_some(kept)
}

/// The positions of groups that would keep the same constants, ascending.
type Family = Vec<usize>;

/// Families by when they run: the groups of a phase begin after those of the phase before have ended, were every group a step.
fn phases<'f>(families: &'f BTreeMap<KeptKey, Family>, graph: &GroupGraph) -> Vec<Vec<&'f Family>> {
    let steps = graph.steps();
    let span = |members: &'f Family| {
        let of_members = || members.iter().map(|&member| steps[member]);
        (of_members().min(), of_members().max(), members)
    };
    let mut spans: Vec<_> = families.values().map(span).collect();
    spans.sort_unstable();
    let mut phases: Vec<Vec<&Family>> = Vec::new();
    let mut end = None;
    for (first, last, members) in spans {
        match phases.last_mut().filter(|_| first <= end) {
            Some(phase) => phase.push(members),
            None => phases.push(vec![members]),
        }
        end = end.max(last);
    }
    phases
}

/// For each family of a phase the tile that shares the units out between them; `None` if a unit has no room for its part.
fn shared_out(partition: &Partition, phase: &[&Family], (units, room): (usize, usize)) -> Option<Vec<ScheduleParams>> {
    let whole = |members: &Family| {
        let body = &partition.groups[members[0]].body;
        kept_elements(body, &ScheduleParams { template: Template::Kept, tile: body.tile_extents() })
    };
    let all: usize = phase.iter().map(|members| whole(members)).sum();
    let params = phase.iter().map(|members| {
        let group = &partition.groups[members[0]];
        let params = tiled(group, (units * whole(members) / all).max(1))?;
        (4 * kept_elements(&group.body, &params) <= room).then_some(params)
    });
    (phase.len() <= units).then(|| params.collect()).flatten()
}

/// What a group would keep, if its constants may be kept.
fn key(program: &TensorProgram, group: &FusionGroup) -> Option<KeptKey> {
    let is_row = matches!(group.params.template, Template::Row(RowThreads::Warp | RowThreads::Block));
    let key = KeptKey::of_body(&group.body).filter(|_| is_row)?;
    let is_constant = |tensor: TensorId| matches!(program.tensors[tensor].source, Source::Constant(_));
    let constant = key.tensors().all(is_constant);
    constant.then_some(key)
}

/// The tile under which a group has at most `tiles` tiles: the innermost axes whole, one divided evenly.
fn tiled(group: &FusionGroup, tiles: usize) -> Option<ScheduleParams> {
    let mut tile = group.body.tile_extents();
    let mut left = tiles;
    for length in &mut tile {
        let extent = *length;
        *length = extent.div_ceil(left).max(1);
        left /= extent.div_ceil(*length).max(1);
    }
    let rows: usize = tile.iter().product();
    (1..=MOST_ROWS).contains(&rows).then_some(ScheduleParams { template: Template::Kept, tile })
}

/// Bytes of shared memory that the other groups' kernels may need.
fn other_bytes(partition: &Partition, families: &BTreeMap<KeptKey, Family>) -> usize {
    let is_kept = |position: usize| families.values().any(|members| members.binary_search(&position).is_ok());
    let others = partition.groups.iter().enumerate().filter(|(position, _)| !is_kept(*position));
    kernel_bytes(others.map(|(_, group)| group))
}

/// Bytes of shared memory that kernels of these groups need at most, but for what they keep and for boxes of factors.
pub(super) fn kernel_bytes<'g>(groups: impl Iterator<Item = &'g FusionGroup>) -> usize {
    groups.map(|group| most_bytes(&group.body, &group.params)).max().unwrap_or(0).max(ROW_BYTES)
}

/// Bytes of shared memory that a kernel needs at most, but for what it keeps and for boxes of factors.
pub fn most_bytes(body: &GroupBody, params: &ScheduleParams) -> usize {
    let staged = match params.template {
        Template::Staged => boxes(body, params).map(|boxes| bytes(&boxes)),
        Template::Attention { .. } => AttentionKernel::of(body, params).map(|kernel| kernel.bytes()),
        Template::Contraction(shape) => return shape.shared_bytes(),
        Template::Pointwise { .. } | Template::Row(_) | Template::Kept => return ROW_BYTES,
        Template::Opaque => return opaque::shared_bytes(body) + ARRAY_ALIGNMENT * STATES,
    };
    staged.map_or(STAGED_BYTES, |bytes| bytes + ARRAY_ALIGNMENT * (body.staged.len() + STATES))
}

/// Bytes to which an array of shared memory is aligned.
const ARRAY_ALIGNMENT: usize = 16;

/// Arrays of an attention kernel beside its boxes: of every row its maximum, its total and the factor of its sums.
const STATES: usize = 3;

/// Bytes of shared memory in which rows are combined or finished, at most.
pub(super) const ROW_BYTES: usize = 4 * MOST_ROWS * 8;
