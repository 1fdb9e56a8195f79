//! Bytes that groups move through global memory.

use warpweave_graph::expr::{Range, region};
use warpweave_graph::program::{TensorId, TensorProgram};
use warpweave_graph::types::TensorType;

use crate::partition::search::Partition;
use warpweave_plan::body::{GroupBody, StageSource};

/// Bytes through global memory, each operand's regions and each output once a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Of values that depend on the inputs.
    pub activations: u64,
    /// Of what is stored with the program: constants, and what lives between launches.
    pub weights: u64,
}

impl Traffic {
    /// What all groups of a partition move.
    pub fn of(program: &TensorProgram, partition: &Partition) -> Self {
        let mut traffic = Self::default();
        for group in &partition.groups {
            for (tensor, bytes) in tensor_bytes(group.kernel.body(), |tensor| &program.tensors[tensor].ty) {
                match program.stored(tensor) {
                    Some(_) => traffic.weights += bytes,
                    None => traffic.activations += bytes,
                }
            }
        }
        traffic
    }
}

/// What is read of a tensor: boxes that do not overlap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions(Vec<Vec<Range>>);

impl Regions {
    /// Adds a box, joined with those that it overlaps to the box around them.
    pub(crate) fn add(&mut self, mut region: Vec<Range>) {
        let overlaps = |other: &[Range], region: &[Range]| {
            other.iter().zip(region).all(|(a, b)| a.minimum <= b.maximum && b.minimum <= a.maximum)
        };
        while let Some(position) = self.0.iter().position(|other| overlaps(other, &region)) {
            for (own, other) in region.iter_mut().zip(self.0.swap_remove(position)) {
                own.minimum = own.minimum.min(other.minimum);
                own.maximum = own.maximum.max(other.maximum);
            }
        }
        self.0.push(region);
    }

    /// The elements of all boxes.
    pub(crate) fn elements(&self) -> u64 {
        self.0.iter().map(|region| region.iter().map(extent).product::<u64>()).sum()
    }

    /// The elements of all boxes, where no fewer than so many neighbours come together. Neighbours lie along the innermost
    /// dimension, and along those around it where the ones within are taken whole.
    pub(crate) fn elements_in_runs_of(&self, fewest: u64, dimensions: &[usize]) -> u64 {
        let points = |region: &Vec<Range>| {
            let is_whole = |(range, dimension): &(&Range, &usize)| extent(range) >= **dimension as u64;
            let whole = region.iter().zip(dimensions).rev().take_while(is_whole).count();
            let (outer, run) = region.split_at(region.len().saturating_sub(whole + 1));
            let [outer, run] = [outer, run].map(|part| part.iter().map(extent).product::<u64>());
            outer * run.max(if region.is_empty() { 1 } else { fewest })
        };
        self.0.iter().map(points).sum()
    }
}

fn extent(range: &Range) -> u64 {
    (range.maximum - range.minimum + 1) as u64
}

/// Bytes that a group moves: each operand's regions once, each output once.
pub fn bytes(program: &TensorProgram, body: &GroupBody) -> u64 {
    moved_bytes(body, |tensor| &program.tensors[tensor].ty)
}

/// [`bytes`] where the types of tensors come from elsewhere, such as a plan.
pub fn moved_bytes<'a>(body: &GroupBody, ty: impl Fn(TensorId) -> &'a TensorType) -> u64 {
    tensor_bytes(body, ty).map(|(_, bytes)| bytes).sum()
}

/// The tensors that a group reads and writes, with the bytes of what it touches.
fn tensor_bytes<'a>(
    body: &GroupBody,
    ty: impl Fn(TensorId) -> &'a TensorType,
) -> impl Iterator<Item = (TensorId, u64)> {
    let mut read = vec![Regions::default(); body.operands.len()];
    let mut points = vec![0u64; body.operands.len()];
    for stage in body.staged.iter().chain(&body.stages) {
        let whole = region::whole(&stage.expr);
        for (id, access) in stage.expr.reads.iter() {
            let StageSource::Operand(operand) = stage.sources[access.operand] else { continue };
            region::input_region(&stage.expr, id, &whole).into_iter().for_each(|region| read[operand].add(region));
            let axes = stage.expr.index_axes(&access.index).into_iter();
            points[operand] += axes.map(|axis| stage.expr.axes[axis].extent as u64).product::<u64>();
        }
    }
    // Where data name what is read, a region holds far more than that.
    let touched = read.iter().zip(points).map(|(regions, points)| regions.elements().min(points));
    let of_tensor = |(&tensor, elements): (&TensorId, u64)| (tensor, elements * ty(tensor).element.bytes() as u64);
    let loaded = body.operands.iter().zip(touched).map(of_tensor);
    let stored = body.outputs.iter().map(|&output| (output, ty(output).bytes() as u64));
    loaded.chain(stored).collect::<Vec<_>>().into_iter()
}
