//! What the phases of an attention kernel cost.

use crate::cost::arch::GpuArch;
use crate::cost::bound::BlockShape;
use crate::cost::counts::KernelCounts;
use crate::cost::counts::Sampling;
use crate::cost::cpu::Processor;
use crate::cost::host::evaluated_in_boxes;
use crate::cost::instructions::BARRIER_CYCLES;
use crate::template::attention::counts::counts;
use crate::template::kernel::Kernel;
use crate::template::pricing::Pricing;
use crate::template::staged::cost::{PhaseWork, phase_cycles, phased_cycles, read_latency};
use std::ops::Add;
use warpweave_plan::body::{GroupBody, Stage};
use warpweave_plan::template::attention::AttentionKernel;
use warpweave_plan::template::attention::parameters::KeyBlocks;
use warpweave_plan::template::attention::phase::{AttentionPhase, phases, reached};
use warpweave_plan::template::block::WARP;
use warpweave_plan::template::staged::extents;
use warpweave_plan::template::staged::padded::PaddedBody;
use warpweave_plan::template::tile::ScheduleParams;

/// Instructions of a lane for each key, beside those of the score: what holds, the maximum, the exponential, the store.
const KEY_INSTRUCTIONS: f64 = 10.0;
/// Instructions of a lane for each row: two combinations across lanes, and the state.
const ROW_INSTRUCTIONS: f64 = 40.0;
/// Cycles from one instruction to the next that needs it in turning a row's scores into weights, beside its loads. They
/// cover the place of the row, two combinations across lanes, powers, and the state in shared memory.
const ROW_CHAIN_CYCLES: f64 = 1600.0;
/// Cycles until a thread has its operands and knows its place.
const ENTRY_CYCLES: f64 = 1000.0;

impl Pricing for KeyBlocks {
    fn counts(&self, body: &GroupBody, params: &ScheduleParams, sampling: Sampling) -> KernelCounts {
        phase_counts(body, params, sampling).into_iter().fold(KernelCounts::default(), Add::add)
    }

    fn priced_counts(&self, _: &GroupBody, _: &ScheduleParams) -> KernelCounts {
        KernelCounts::default()
    }

    fn tile_cycles(&self, kernel: &Kernel<'_>) -> f64 {
        let padded = PaddedBody::of(kernel.body);
        let Some(attention) = AttentionKernel::of(kernel.body, kernel.params) else { return f64::INFINITY };
        let phases = attention_phases(&padded.body, kernel.params, &attention, kernel.arch);
        phased_cycles(kernel, &padded, phases, phase_counts(kernel.body, kernel.params, Sampling::SINGLE))
    }

    fn block_shape(&self, _: &GroupBody, _: &ScheduleParams, _stage: usize) -> Option<BlockShape> {
        None
    }

    fn host_microseconds(&self, body: &GroupBody, params: &ScheduleParams, processor: Processor<'_>) -> f64 {
        evaluated_in_boxes(body, params, processor.arch)
    }
}

/// What each phase of an attention kernel does, over all tiles.
///
/// # Panics
/// If the kernel does not fit under these parameters.
fn phase_counts(body: &GroupBody, params: &ScheduleParams, sampling: Sampling) -> Vec<KernelCounts> {
    let kernel = AttentionKernel::of(body, params).expect("parameters are chosen so that the kernel fits");
    counts(&PaddedBody::of(body).body, params, &kernel, sampling)
}

/// Estimated cycles of every phase of a tile, all blocks together: staged values, then what leaves the group as one.
pub(crate) fn attention_phases(
    body: &GroupBody,
    params: &ScheduleParams,
    kernel: &AttentionKernel,
    arch: &GpuArch,
) -> Vec<f64> {
    let blocks = kernel.blocks() as f64;
    let grid = params.grid(body);
    let phase = |position: usize| {
        let extents = extents(&kernel.boxes[position]);
        phase_cycles(&body.staged[position], &extents, reached(kernel, position, &grid), (kernel.block_size, arch))
    };
    let staged = phases(body, params, kernel).into_iter().enumerate().map(|(position, kind)| match kind {
        AttentionPhase::Before(_) => phase(position),
        AttentionPhase::Block(_) => blocks * (phase(position) + BARRIER_CYCLES),
        AttentionPhase::Weights => blocks * (weights_cycles(&body.staged[position], kernel, arch) + BARRIER_CYCLES),
        AttentionPhase::State => 0.0,
    });
    staged.chain([product_cycles(&body.stages[0], params, kernel, arch)]).collect()
}

/// Warps that a scheduler of a multiprocessor has of a block.
fn warps_a_scheduler(kernel: &AttentionKernel, arch: &GpuArch) -> f64 {
    kernel.block_size.warps() as f64 / arch.schedulers.value as f64
}

/// Cycles in which the scores of one block become weights.
fn weights_cycles(stage: &Stage, kernel: &AttentionKernel, arch: &GpuArch) -> f64 {
    let rows = kernel.side_by_side() as f64;
    let trips = (kernel.rows() as f64 / (kernel.block_size.warps() as f64 * rows)).ceil();
    let steps = (kernel.block as f64 / 32.0).ceil();
    let score = kernel.attention.softmax.score.operations() as f64;
    let instructions = rows * (steps * (score + KEY_INSTRUCTIONS) + ROW_INSTRUCTIONS);
    let chain = ROW_CHAIN_CYCLES + read_latency(stage, arch);
    trips * chain.max(warps_a_scheduler(kernel, arch) * instructions)
}

/// Cycles of the weighted sum over all blocks, and of what follows it.
fn product_cycles(lead: &Stage, params: &ScheduleParams, kernel: &AttentionKernel, arch: &GpuArch) -> f64 {
    let step = kernel.product;
    let elements = step.rows * step.columns;
    let threads = params.tile.iter().product::<usize>().div_ceil(elements).min(kernel.block_size.threads());
    let busy = (threads.div_ceil(WARP) as f64 / arch.schedulers.value as f64).ceil();
    let rescaling = arch.shared_latency_cycles.value + warps_a_scheduler(kernel, arch) * elements as f64;
    let block = arch.load_latency_cycles.value + rescaling + BARRIER_CYCLES;
    ENTRY_CYCLES + PhaseWork::new(lead, arch).blocked(step, busy) + kernel.blocks() as f64 * block
}
