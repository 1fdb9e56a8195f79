//! Who writes which part of which root.

use std::collections::BTreeMap;

use warpweave_graph::arena::Arena;
use warpweave_graph::expr::Range;
use warpweave_graph::program::TensorId;

use crate::plan::{BufferSpace, MemoryPlan, OperatorId, RTask};
use crate::region::{Region, writes};
use crate::verify::operators::Operators;

/// The writers of all roots.
pub(super) struct Writers {
    roots: BTreeMap<TensorId, RootWriters>,
    boxes: Arena<OperatorId, Vec<Boxes>>,
}

/// The outputs that make up a root.
struct RootWriters {
    /// One an output.
    operators: Vec<OperatorId>,
    outputs: Boxes,
}

impl Writers {
    pub(super) fn new(operators: &Operators, memory: &MemoryPlan) -> Self {
        let mut roots: BTreeMap<TensorId, (Vec<OperatorId>, Vec<Region>)> = BTreeMap::new();
        let mut boxes = Arena::new();
        for (id, operator) in operators.iter() {
            for &output in &operator.kernel.body().outputs {
                let region = Region::whole(memory, output);
                let root = roots.entry(region.root).or_default();
                root.0.push(id);
                root.1.push(region);
            }
            let mut own: Vec<Vec<Region>> = Vec::new();
            for tile in 0..operator.tasks() {
                let written = writes(operator, memory, RTask { operator: id, tile });
                own.resize_with(written.len(), Vec::new);
                own.iter_mut().zip(written).for_each(|(boxes, region)| boxes.push(region));
            }
            boxes.push(own.into_iter().map(Boxes::new).collect());
        }
        let root = |(operators, outputs)| RootWriters { operators, outputs: Boxes::new(outputs) };
        let roots = roots.into_iter().map(|(tensor, found)| (tensor, root(found))).collect();
        Self { roots, boxes }
    }

    /// The operators with an output that meets a region, ascending.
    pub(super) fn of(&self, region: &Region) -> Vec<OperatorId> {
        let Some(root) = self.roots.get(&region.root) else { return Vec::new() };
        let mut met = Vec::new();
        root.outputs.meeting(region, &mut met);
        let mut found: Vec<OperatorId> = met.into_iter().map(|output| root.operators[output as usize]).collect();
        found.dedup();
        found
    }

    /// The tiles of an operator whose writes may meet a region, in `found`, ascending.
    pub(super) fn tiles(&self, operator: OperatorId, region: &Region, found: &mut Vec<u32>) {
        found.clear();
        let boxes = &self.boxes[operator];
        boxes.iter().for_each(|boxes| boxes.meeting(region, found));
        if boxes.len() > 1 {
            found.sort_unstable();
            found.dedup();
        }
    }

    /// Whether every element of a tensor is an input, a state, a constant, or written by someone. Outputs of one root are
    /// disjoint, as checked before.
    pub(super) fn covers(&self, memory: &MemoryPlan, tensor: TensorId) -> bool {
        let region = Region::whole(memory, tensor);
        let given = memory.tensors[tensor].buffer.is_some_and(|buffer| buffer.space == BufferSpace::Weights);
        if given || memory.is_live_in(region.root) {
            return true;
        }
        let Some(root) = self.roots.get(&region.root) else { return region.elements() == 0 };
        let mut met = Vec::new();
        root.outputs.meeting(&region, &mut met);
        let shared = met.into_iter().map(|output| {
            let cut = root.outputs.levels[0][output as usize]
                .ranges
                .iter()
                .zip(&region.ranges)
                .map(|(a, b)| (a.maximum.min(b.maximum) - a.minimum.max(b.minimum) + 1) as u64);
            cut.product::<u64>()
        });
        shared.sum::<u64>() == region.elements()
    }
}

/// Boxes of one root by number, with the boxes around every few of them, around every few of those, and so on.
struct Boxes {
    /// The boxes themselves first.
    levels: Vec<Vec<Region>>,
}

/// How many boxes one of the next level surrounds.
const FAN: usize = 8;

impl Boxes {
    fn new(boxes: Vec<Region>) -> Self {
        let mut levels = vec![boxes];
        while let Some(last) = levels.last().filter(|last| last.len() > 1) {
            let around = last.chunks(FAN).map(hull).collect();
            levels.push(around);
        }
        Self { levels }
    }

    fn meeting(&self, region: &Region, found: &mut Vec<u32>) {
        self.descend(self.levels.len() - 1, 0, region, found);
    }

    fn descend(&self, level: usize, at: usize, region: &Region, found: &mut Vec<u32>) {
        if !self.levels[level].get(at).is_some_and(|own| own.overlaps(region)) {
            return;
        }
        match level.checked_sub(1) {
            None => found.push(at as u32),
            Some(below) => {
                (at * FAN..(at + 1) * FAN).for_each(|inner| self.descend(below, inner, region, found));
            }
        }
    }
}

/// The box around boxes of one root.
fn hull(boxes: &[Region]) -> Region {
    let mut around = boxes[0].clone();
    for other in &boxes[1..] {
        for (range, other) in around.ranges.iter_mut().zip(&other.ranges) {
            *range = Range { minimum: range.minimum.min(other.minimum), maximum: range.maximum.max(other.maximum) };
        }
    }
    around
}
