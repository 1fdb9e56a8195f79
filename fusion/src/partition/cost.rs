//! What a kernel costs: estimated from the model, later recorded or measured.

use warpweave_graph::expr::region;
use warpweave_graph::program::{TensorId, TensorProgram};
use warpweave_graph::types::TensorType;

use super::body::{GroupBody, StageSource};
pub use super::estimate::EstimatedCost;
use super::params::{ScheduleParams, candidates};

/// The time of a group's kernel under a choice of parameters.
pub trait KernelCost: Sync {
    /// Microseconds on the whole device, the dependent step included.
    fn microseconds(&self, program: &TensorProgram, body: &GroupBody, params: &ScheduleParams) -> f64;

    /// Microseconds of one rTask that has its unit to itself.
    fn task_microseconds(&self, body: &GroupBody, params: &ScheduleParams) -> f64;

    /// The cheapest choice for a body and its cost in microseconds; the first of equals. `None` if no kernel takes it: its
    /// staged values fit nowhere.
    fn best(&self, program: &TensorProgram, body: &GroupBody) -> Option<(ScheduleParams, f64)> {
        let priced = candidates(body).into_iter().map(|params| {
            let time = self.microseconds(program, body, &params);
            (params, time)
        });
        priced.min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Bytes that the group moves through memory: each operand's region once, each output once.
pub fn bytes(program: &TensorProgram, body: &GroupBody) -> u64 {
    moved_bytes(body, |tensor| &program.tensors[tensor].ty)
}

/// [`bytes`] where the types of tensors come from elsewhere, such as a plan.
pub fn moved_bytes<'a>(body: &GroupBody, ty: impl Fn(TensorId) -> &'a TensorType) -> u64 {
    let size = |tensor: TensorId| ty(tensor).element.bytes() as u64;
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
    let loaded: u64 = body.operands.iter().zip(read).map(|(&operand, points)| points * size(operand)).sum();
    let stored: u64 = body.outputs.iter().map(|&output| ty(output).bytes() as u64).sum();
    loaded + stored
}
