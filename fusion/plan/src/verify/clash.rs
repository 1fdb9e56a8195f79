//! Which two rTasks are in one another's way where buffers share bytes.

use warpweave_graph::program::TensorId;

use crate::plan::{MemoryPlan, RTask};
use crate::region::{Region, reads, writes};
use crate::verify::operators::Operators;
use crate::verify::order::Order;

/// An rTask that uses one of two roots and one that writes the other, in the same bytes, which nothing orders; `None`
/// if what is not ordered touches different bytes.
pub(super) fn clash(
    operators: &Operators,
    memory: &MemoryPlan,
    order: &Order,
    (a, b): (TensorId, TensorId),
) -> Option<(RTask, RTask)> {
    let touching = |root: TensorId, reading: bool| {
        let tasks = operators.iter().flat_map(|(id, operator)| {
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
    let before = |one: RTask, other: RTask| {
        let other = order.moment(other);
        order.ends(one).iter().all(|end| order.before(*end, other))
    };
    let unordered = |one: RTask, other: RTask| one != other && !before(one, other) && !before(other, one);
    for (used, written) in [(a, b), (b, a)] {
        let (users, writers) = (touching(used, true), touching(written, false));
        for (user, at) in &users {
            for (writer, other) in writers.iter().filter(|(writer, _)| unordered(*user, *writer)) {
                if meet(at, other) {
                    return Some((*user, *writer));
                }
            }
        }
    }
    None
}

/// Bytes from the first to behind the last.
type Span = (u64, u64);

/// The rows of a box in memory, ascending.
fn rows(memory: &MemoryPlan, region: &Region) -> Vec<Span> {
    let planned = &memory.tensors[region.root];
    let strides = planned.ty.shape.strides();
    let pitch = planned.pitch() as u64;
    let outer = region.ranges.len().saturating_sub(1);
    let mut starts = vec![planned.buffer.map_or(0, |buffer| buffer.offset)];
    for (range, &stride) in region.ranges[..outer].iter().zip(&strides) {
        let (along, stride) = (range.minimum.max(0) as u64..=range.maximum.max(0) as u64, stride as u64 * pitch);
        starts = starts.iter().flat_map(|start| along.clone().map(move |at| start + at * stride)).collect();
    }
    let inner = region.ranges.last().map_or((0, 0), |range| (range.minimum.max(0) as u64, range.maximum.max(0) as u64));
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
