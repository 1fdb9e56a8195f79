//! What a template's kernels do and cost.

use warpweave_plan::body::GroupBody;
use warpweave_plan::template::contraction::AxisClass;
use warpweave_plan::template::tile::ScheduleParams;

use crate::cost::bound::BlockShape;
use crate::cost::counts::{KernelCounts, Sampling};
use crate::cost::cpu::Processor;
use crate::template::kernel::Kernel;

/// rTasks over which a tile's cycles spread the beginning of a call: how many it runs is known only once rTasks are placed.
pub const CALL_STEPS: f64 = 16.0;

/// Cycles that a tile takes less in a stream than as a node, where a template says nothing else.
const STREAM_SAVING_CYCLES: f64 = 40.0;

/// What the kernels of a template do and cost. Each template answers in its own folder.
pub trait Pricing {
    /// What the kernel of a body does, over all tiles.
    fn counts(&self, body: &GroupBody, params: &ScheduleParams, sampling: Sampling) -> KernelCounts;

    /// The counts that the price of the kernel follows from.
    fn priced_counts(&self, body: &GroupBody, params: &ScheduleParams) -> KernelCounts {
        self.counts(body, params, Sampling::COARSE)
    }

    /// Cycles of one tile on a multiprocessor of its own, while the others that have tiles run theirs.
    fn tile_cycles(&self, kernel: &Kernel<'_>) -> f64;

    /// Cycles that a call takes once where it may run several rTasks one after another; of those of a tile, a [`CALL_STEPS`]th.
    fn call_cycles(&self, _: &Kernel<'_>) -> f64 {
        0.0
    }

    /// Cycles that a tile takes less where a stream calls the kernel than where it is a node.
    fn stream_saving_cycles(&self) -> f64 {
        STREAM_SAVING_CYCLES
    }

    /// Of a tile's cycles, those in which the first steps of the factors of `sides` arrive.
    fn prefetched_cycles(&self, _: &Kernel<'_>, _sides: &[AxisClass]) -> f64 {
        0.0
    }

    /// How a block and a thread divide the points of a stage, for the performance upper bound; `None` where the bound follows
    /// the kernel's phases instead.
    fn block_shape(&self, body: &GroupBody, params: &ScheduleParams, stage: usize) -> Option<BlockShape>;

    /// Microseconds of one tile on a core of a processor.
    fn host_microseconds(&self, body: &GroupBody, params: &ScheduleParams, processor: Processor<'_>) -> f64;
}
