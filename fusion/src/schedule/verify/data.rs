//! Reads after their writes, and buffers used one after the other.

use std::collections::BTreeMap;

use rayon::prelude::*;
use warpweave_graph::program::TensorId;

use super::super::dependency::{Region, reads, writes, writes_into};
use super::super::plan::{BufferSpace, EdgeKind, MemoryPlan, OperatorId, PersistentSegment, RTask};
use super::Violation;
use super::clocks::{Clocks, Moment};
use super::writers::Writers;

/// Checks that what every rTask reads has been written before, or is polled; the number of pairs whose order was
/// proved.
pub(super) fn check_reads(
    segment: &PersistentSegment,
    memory: &MemoryPlan,
    written: &Writers,
    clocks: &Clocks,
    violations: &mut Vec<Violation>,
) -> usize {
    let operators: Vec<OperatorId> = segment.operators.ids().collect();
    let check = |id: &OperatorId| check_operator(*id, segment, memory, written, clocks);
    let checked: Vec<(usize, Vec<Violation>)> = operators.par_iter().map(check).collect();
    let mut proved = 0;
    for (of_operator, found) in checked {
        proved += of_operator;
        violations.extend(found);
    }
    for &output in &memory.outputs {
        if !written.covers(memory, output) {
            violations.push(Violation::Buffer(output));
        }
    }
    proved
}

/// The same of one rOperator's rTasks.
fn check_operator(
    id: OperatorId,
    segment: &PersistentSegment,
    memory: &MemoryPlan,
    written: &Writers,
    clocks: &Clocks,
) -> (usize, Vec<Violation>) {
    let operator = &segment.operators[id];
    let (mut proved, mut violations, mut tiles) = (0, Vec::new(), Vec::new());
    for &operand in &operator.body.operands {
        if !written.covers(memory, operand) {
            violations.push(Violation::Uncovered { operator: id, tensor: operand });
        }
    }
    for tile in 0..operator.tasks() {
        let reader = RTask { operator: id, tile };
        let moment = clocks.moment(reader);
        let plain = |region: &Region| memory.tensors[region.root].edge == EdgeKind::Counter;
        for region in reads(operator, memory, reader).into_iter().filter(plain) {
            for writer_operator in written.of(&region) {
                written.tiles(writer_operator, &region, &mut tiles);
                for &tile in &tiles {
                    let writer = RTask { operator: writer_operator, tile };
                    if clocks.before(clocks.moment(writer), moment) {
                        proved += 1;
                    } else if writes_into(&segment.operators[writer_operator], memory, writer, &region) {
                        violations.push(Violation::UnorderedRead { reader, writer, tensor: region.root });
                    }
                }
            }
        }
    }
    (proved, violations)
}

/// The uses of one root buffer.
#[derive(Default)]
struct Uses {
    /// Per unit, how many instructions of its stream happen before every write; absent while nothing writes.
    before_writes: Option<Vec<usize>>,
    /// Per unit, the last position that touches the buffer.
    last: BTreeMap<usize, usize>,
    input: bool,
    output: bool,
    /// Marks of the launch before must not be overwritten, nor those of this launch be taken for something else.
    sentinel: bool,
}

impl Uses {
    fn touch(&mut self, moment: Moment) {
        let last = self.last.entry(moment.unit).or_insert(moment.position);
        *last = (*last).max(moment.position);
    }

    fn write(&mut self, moment: Moment, clocks: &Clocks) {
        match &mut self.before_writes {
            None => self.before_writes = Some(clocks.before_moment(moment).collect()),
            Some(before) => {
                for (least, seen) in before.iter_mut().zip(clocks.before_moment(moment)) {
                    *least = (*least).min(seen);
                }
            }
        }
    }

    /// Whether this buffer is finished with before anything is written to the other.
    fn ends_before(&self, later: &Self) -> bool {
        let ended = |before: &Vec<usize>| self.last.iter().all(|(&unit, &last)| last < before[unit]);
        let given = self.input || later.input || self.sentinel || later.sentinel;
        !self.output && !given && later.before_writes.as_ref().is_none_or(ended)
    }
}

/// Checks that buffers which share bytes follow one another, and that constants share none; the number of such pairs.
pub(super) fn check_buffers(
    segment: &PersistentSegment,
    memory: &MemoryPlan,
    clocks: &Clocks,
    violations: &mut Vec<Violation>,
) -> usize {
    let mut uses: BTreeMap<TensorId, Uses> = BTreeMap::new();
    let root = |tensor: TensorId| memory.tensors[tensor].layout.root;
    for &input in &memory.inputs {
        uses.entry(root(input)).or_default().input = true;
    }
    for &output in &memory.outputs {
        uses.entry(root(output)).or_default().output = true;
    }
    for (id, operator) in segment.operators.iter() {
        for tile in 0..operator.tasks() {
            let moment = clocks.moment(RTask { operator: id, tile });
            for &tensor in operator.body.operands.iter().chain(&operator.body.outputs) {
                uses.entry(root(tensor)).or_default().touch(moment);
            }
            for &tensor in &operator.body.outputs {
                uses.entry(root(tensor)).or_default().write(moment, clocks);
            }
        }
    }
    for (&tensor, uses) in &mut uses {
        uses.sentinel = memory.tensors[tensor].edge == EdgeKind::Sentinel;
    }
    let mut proved = 0;
    for space in [BufferSpace::Arena, BufferSpace::Weights] {
        let here = |tensor: &TensorId| {
            memory.tensors[*tensor].buffer.filter(|buffer| buffer.space == space && buffer.bytes > 0)
        };
        let mut placed: Vec<_> = uses.keys().filter_map(|tensor| Some((here(tensor)?, *tensor))).collect();
        placed.sort_by_key(|(buffer, tensor)| (buffer.offset, *tensor));
        for (at, &(buffer, tensor)) in placed.iter().enumerate() {
            let end = buffer.offset + buffer.bytes;
            for &(_, other) in placed[at + 1..].iter().take_while(|(next, _)| next.offset < end) {
                let (a, b) = (&uses[&tensor], &uses[&other]);
                let follow = a.ends_before(b) || b.ends_before(a);
                if follow && space == BufferSpace::Arena {
                    proved += 1;
                } else {
                    let tensors = (tensor, other);
                    violations.push(Violation::Alias { tensors, tasks: clash(segment, memory, clocks, tensors) });
                }
            }
        }
    }
    proved
}

/// An rTask that uses one of two roots and one that writes the other, which nothing orders; two that touch the
/// same bytes if there are such.
fn clash(
    segment: &PersistentSegment,
    memory: &MemoryPlan,
    clocks: &Clocks,
    (a, b): (TensorId, TensorId),
) -> Option<(RTask, RTask)> {
    let touching = |root: TensorId, reading: bool| {
        let tasks = segment.operators.iter().flat_map(|(id, operator)| {
            let task = move |tile| RTask { operator: id, tile };
            (0..operator.tasks()).map(move |tile| (operator, task(tile)))
        });
        let touched = tasks.flat_map(move |(operator, task)| {
            let read = if reading { reads(operator, memory, task) } else { Vec::new() };
            let regions = read.into_iter().chain(writes(operator, memory, task));
            regions.filter(move |region| region.root == root).map(move |region| (task, rows(memory, &region)))
        });
        touched.collect::<Vec<(RTask, Vec<Span>)>>()
    };
    let unordered = |one: RTask, other: RTask| {
        let (earlier, later) = (clocks.moment(one), clocks.moment(other));
        one != other && !clocks.before(earlier, later) && !clocks.before(later, earlier)
    };
    let mut any = None;
    for (used, written) in [(a, b), (b, a)] {
        let (users, writers) = (touching(used, true), touching(written, false));
        for (user, at) in &users {
            for (writer, other) in writers.iter().filter(|(writer, _)| unordered(*user, *writer)) {
                any = any.or(Some((*user, *writer)));
                if meet(at, other) {
                    return Some((*user, *writer));
                }
            }
        }
    }
    any
}

/// Bytes from the first to behind the last.
type Span = (u64, u64);

/// The rows of a box in memory, ascending.
fn rows(memory: &MemoryPlan, region: &Region) -> Vec<Span> {
    let planned = &memory.tensors[region.root];
    let strides = planned.ty.shape.strides();
    let pitch = planned.pitch() as u64;
    let along = |dimension: usize| region.ranges[dimension].minimum as u64..=region.ranges[dimension].maximum as u64;
    let outer = region.ranges.len().saturating_sub(1);
    let mut starts = vec![planned.buffer.map_or(0, |buffer| buffer.offset)];
    for dimension in 0..outer {
        let stride = strides[dimension] as u64 * pitch;
        starts = starts.iter().flat_map(|start| along(dimension).map(move |at| start + at * stride)).collect();
    }
    let inner = region.ranges.last().map_or((0, 0), |range| (range.minimum as u64, range.maximum as u64));
    starts.into_iter().map(|start| (start + inner.0 * pitch, start + (inner.1 + 1) * pitch)).collect()
}

/// Whether two ascending lists of spans share a byte.
fn meet(one: &[Span], other: &[Span]) -> bool {
    let (mut a, mut b) = (0, 0);
    while let (Some(one), Some(other)) = (one.get(a), other.get(b)) {
        if one.1 <= other.0 {
            a += 1;
        } else if other.1 <= one.0 {
            b += 1;
        } else {
            return true;
        }
    }
    false
}
