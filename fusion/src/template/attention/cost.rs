//! What the phases of an attention kernel cost.

use crate::cost::arch::GpuArch;
use crate::cost::bound::BlockShape;
use crate::cost::counts::KernelCounts;
use crate::cost::counts::Sampling;
use crate::cost::cpu::Processor;
use crate::cost::host::evaluated_in_boxes;
use crate::cost::instructions::BARRIER_CYCLES;
use crate::template::attention::counts::counts;
use crate::template::pricing::CountedKernel;
use crate::template::pricing::Pricing;
use crate::template::staged::cost::{PhaseWork, phase_cycles, phased_cycles, read_latency};
use std::ops::Add;
use warpweave_plan::body::Stage;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::attention::AttentionGeometry;
use warpweave_plan::template::attention::parameters::KeyBlocks;
use warpweave_plan::template::attention::phase::{AttentionPhase, phases, reached, spans};
use warpweave_plan::template::block::WARP;
use warpweave_plan::template::staged::padded::PaddedBody;
use warpweave_plan::template::staged::phase::{PhasePlace, ProductStep};

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
    fn counts(&self, kernel: &Kernel, sampling: Sampling) -> KernelCounts {
        phase_counts(kernel, sampling).into_iter().fold(KernelCounts::default(), Add::add)
    }

    fn priced_counts(&self, _: &Kernel) -> KernelCounts {
        KernelCounts::default()
    }

    fn tile_cycles(&self, counted: &CountedKernel<'_>) -> f64 {
        let padded = counted.kernel.with_body(PaddedBody::of(counted.kernel.shared_body()).body);
        let Some(geometry) = AttentionGeometry::of(counted.kernel) else { return f64::INFINITY };
        let phases = attention_phases(&padded, &geometry, counted.arch);
        phased_cycles(counted, &padded, phases, phase_counts(counted.kernel, Sampling::SINGLE))
    }

    fn block_shape(&self, _: &Kernel, _stage: usize) -> Option<BlockShape> {
        None
    }

    fn host_microseconds(&self, kernel: &Kernel, processor: Processor<'_>) -> f64 {
        evaluated_in_boxes(kernel, processor.arch)
    }
}

/// What each phase of an attention kernel does, over all tiles.
///
/// # Panics
/// If the kernel does not fit under these parameters.
fn phase_counts(kernel: &Kernel, sampling: Sampling) -> Vec<KernelCounts> {
    let geometry = AttentionGeometry::of(kernel).expect("parameters are chosen so that the kernel fits");
    counts(&kernel.with_body(PaddedBody::of(kernel.shared_body()).body), &geometry, sampling)
}

/// Estimated cycles of every phase of a tile, all blocks together: staged values, then what leaves the group as one.
pub(crate) fn attention_phases(kernel: &Kernel, geometry: &AttentionGeometry, arch: &GpuArch) -> Vec<f64> {
    let body = kernel.body();
    let blocks = geometry.blocks() as f64;
    let grid = kernel.grid();
    let phase = |position: usize| {
        let (stage, sink) = (&body.staged[position], reached(geometry, position, &grid));
        let place = PhasePlace { stage, spans: &spans(geometry, position, &grid), boxes: &geometry.boxes, sink };
        phase_cycles(place, (geometry.block_size, arch))
    };
    let staged = phases(kernel, geometry).into_iter().enumerate().map(|(position, kind)| match kind {
        AttentionPhase::Before(_) => phase(position),
        AttentionPhase::Block(_) => blocks * (phase(position) + BARRIER_CYCLES),
        AttentionPhase::Weights => blocks * (weights_cycles(&body.staged[position], geometry, arch) + BARRIER_CYCLES),
        AttentionPhase::State => 0.0,
    });
    staged.chain([product_cycles(kernel, geometry, arch)]).collect()
}

/// Warps that a scheduler of a multiprocessor has of a block.
fn warps_a_scheduler(geometry: &AttentionGeometry, arch: &GpuArch) -> f64 {
    geometry.block_size.warps() as f64 / arch.schedulers.value as f64
}

/// Cycles in which the scores of one block become weights.
fn weights_cycles(stage: &Stage, geometry: &AttentionGeometry, arch: &GpuArch) -> f64 {
    let rows = geometry.side_by_side() as f64;
    let trips = (geometry.rows() as f64 / (geometry.block_size.warps() as f64 * rows)).ceil();
    let steps = (geometry.block as f64 / 32.0).ceil();
    let score = geometry.attention.softmax.score.operations() as f64;
    let instructions = rows * (steps * (score + KEY_INSTRUCTIONS) + ROW_INSTRUCTIONS);
    let chain = ROW_CHAIN_CYCLES + read_latency(stage, arch);
    trips * chain.max(warps_a_scheduler(geometry, arch) * instructions)
}

/// Cycles of the weighted sum over all blocks, and of what follows it.
fn product_cycles(kernel: &Kernel, geometry: &AttentionGeometry, arch: &GpuArch) -> f64 {
    let lead = &kernel.body().stages[0];
    let own = PhaseWork::new(lead, arch);
    let (elements, products) = match &geometry.product {
        ProductStep::Blocked(step) => {
            let elements = step.rows * step.columns;
            let points: usize = kernel.tile().iter().product();
            let threads = points.div_ceil(elements).min(geometry.block_size.threads());
            let busy = (threads.div_ceil(WARP) as f64 / arch.schedulers.value as f64).ceil();
            (elements, own.blocked(*step, busy))
        }
        ProductStep::Matrices(step) => {
            let block = step.product.block;
            (block.lane_rows() * block.lane_columns(), own.matrices(step))
        }
    };
    let rescaling = arch.shared_latency_cycles.value + warps_a_scheduler(geometry, arch) * elements as f64;
    let block = arch.load_latency_cycles.value + rescaling + BARRIER_CYCLES;
    ENTRY_CYCLES + products + geometry.blocks() as f64 * block
}
