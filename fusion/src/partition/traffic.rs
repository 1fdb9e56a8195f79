//! Bytes that groups move through global memory.

use warpweave_graph::expr::region;
use warpweave_graph::program::{Source, TensorId, TensorProgram};
use warpweave_graph::types::TensorType;

use super::body::{GroupBody, StageSource};
use super::search::Partition;

/// Bytes through global memory, each operand's region and each output once a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Of values that depend on the inputs.
    pub activations: u64,
    /// Of constants.
    pub weights: u64,
}

impl Traffic {
    /// What all groups of a partition move.
    pub fn of(program: &TensorProgram, partition: &Partition) -> Self {
        let mut traffic = Self::default();
        for group in &partition.groups {
            for (tensor, bytes) in tensor_bytes(&group.body, |tensor| &program.tensors[tensor].ty) {
                match program.tensors[tensor].source {
                    Source::Constant(_) => traffic.weights += bytes,
                    Source::Input(_) | Source::Statement(_) => traffic.activations += bytes,
                }
            }
        }
        traffic
    }
}

/// Bytes that a group moves: each operand's region once, each output once.
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
    let mut read = vec![0u64; body.operands.len()];
    for stage in body.staged.iter().chain(&body.stages) {
        let whole = region::whole(&stage.expr);
        for (id, access) in stage.expr.reads.iter() {
            let StageSource::Operand(operand) = stage.sources[access.operand] else { continue };
            let points = region::input_region(&stage.expr, id, &whole).map_or(0, |region| {
                region.iter().map(|range| (range.maximum - range.minimum + 1) as u64).product::<u64>()
            });
            read[operand] = read[operand].max(points);
        }
    }
    let loaded =
        body.operands.iter().zip(read).map(|(&tensor, points)| (tensor, points * ty(tensor).element.bytes() as u64));
    let stored = body.outputs.iter().map(|&output| (output, ty(output).bytes() as u64));
    loaded.chain(stored).collect::<Vec<_>>().into_iter()
}
