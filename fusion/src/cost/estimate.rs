//! Costs from the architecture model alone.
//!
//! They count what the kernel does against what the device can do. They also count the latencies that a block waits for
//! one after another, and the cost of a dependent step.

use crate::cost::instructions::BARRIER_CYCLES;
use crate::partition::split::may_split;
use crate::template::pricing;
use crate::template::pricing::CountedKernel;
use crate::tuning::SearchTuning;
use std::sync::Arc;
use warpweave_graph::program::TensorProgram;
use warpweave_plan::kernel::{Kernel, ScheduleParams};
use warpweave_plan::plan::TAG_BYTES;

use warpweave_graph::arena::Id;
use warpweave_graph::program::TensorId;

use crate::cost::arch::{DeviceShare, GpuArch};
use crate::cost::counts::{KernelCounts, Sampling};
use crate::cost::traffic::{bytes, moved_bytes};
use crate::cost::{KernelCost, PricedKernel};
use crate::partition::split::{SplitBodies, SplitKernels, split, split_kernel};
use crate::template::candidates::{Timed, shortlist};
use crate::template::contraction::shortlist::KnownSums;
use crate::template::kernel_counts;
use crate::template::staged::cost as phase_cost;
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::contraction::operand_staging;
use warpweave_plan::template::contraction::operand_staging::{Filling, stages_operands, without_staged_operands};
use warpweave_plan::template::contraction::shape::ContractionShape;
use warpweave_plan::template::contraction::unit::ComputeUnit;
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::staged;

/// Bytes of shared memory that are left to a program's entry.
const ENTRY_BYTES: usize = 4 << 10;

/// Points of the largest tile that a contraction's block may have: 8 × 12 a thread, on tensor cores 8 × 16.
const LARGEST_TILE: usize = 8 * 12 * 256;
const LARGEST_MATRIX_TILE: usize = 8 * 16 * 256;

/// Prices kernels for a device.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EstimatedCost {
    pub arch: GpuArch,
}

impl KernelCost for EstimatedCost {
    fn microseconds(&self, program: &TensorProgram, kernel: &Kernel) -> f64 {
        let body = kernel.body();
        if !body.staged.is_empty() {
            return self.staged_price(program, kernel);
        }
        if let Some(split) = split_kernel(kernel, TensorId::from_index(program.tensors.len())) {
            return self.split_price(program, &split);
        }
        self.counted_price(bytes(program, body), kernel, pricing(kernel.template()).priced_counts(kernel))
    }

    fn task_microseconds(&self, kernel: &Kernel) -> f64 {
        if stages_operands(kernel) {
            let cycles = self.filling_cycles(kernel) / self.arch.cycles_per_microsecond.value;
            return cycles + self.task_microseconds(&without_staged_operands(kernel));
        }
        if !kernel.body().staged.is_empty() {
            return pricing(kernel.template()).tile_cycles(&CountedKernel::uncounted(&self.arch, kernel))
                / self.arch.cycles_per_microsecond.value;
        }
        let own = pricing(kernel.template());
        let counted = CountedKernel { arch: &self.arch, kernel, counts: own.priced_counts(kernel) };
        own.tile_cycles(&counted) / self.arch.cycles_per_microsecond.value
    }

    fn call_microseconds(&self, kernel: &Kernel) -> f64 {
        pricing(kernel.template()).call_cycles(&CountedKernel::uncounted(&self.arch, kernel))
            / self.arch.cycles_per_microsecond.value
    }

    fn prologue_microseconds(&self, kernel: &Kernel, sides: &[AxisClass]) -> f64 {
        if sides.is_empty() {
            return 0.0;
        }
        let kernel = without_staged_operands(kernel);
        let own = pricing(kernel.template());
        let counted = CountedKernel { arch: &self.arch, kernel: &kernel, counts: own.priced_counts(&kernel) };
        own.prefetched_cycles(&counted, sides) / self.arch.cycles_per_microsecond.value
    }

    fn tags_microseconds(&self, values: f64, tasks: u32) -> f64 {
        self.arch.cycles_of_bytes(values * TAG_BYTES as f64, tasks as usize) / self.arch.cycles_per_microsecond.value
    }

    fn polls_microseconds(&self, polls: usize) -> f64 {
        polls as f64 * self.arch.load_latency_cycles.value / self.arch.cycles_per_microsecond.value
    }

    /// A call that runs several rTasks is dispatched once.
    fn dispatch_microseconds(&self, kernel: &Kernel) -> f64 {
        let is_one_of_several = self.call_microseconds(kernel) > 0.0;
        let saved = if is_one_of_several { 0.0 } else { pricing(kernel.template()).stream_saving_cycles() };
        -saved / self.arch.cycles_per_microsecond.value
    }

    fn best(&self, program: &TensorProgram, body: &Arc<GroupBody>) -> Option<PricedKernel> {
        PricedKernel::cheapest(self.choices(program, body))
    }

    fn best_known(&self, program: &TensorProgram, body: &Arc<GroupBody>, known: &KnownSums) -> Option<PricedKernel> {
        PricedKernel::cheapest(self.choices_known(program, body, known))
    }

    fn variants(&self, program: &TensorProgram, body: &Arc<GroupBody>, shapes: &[ContractionShape]) -> Vec<Kernel> {
        self.best_on_shares(program, body, shapes)
    }

    fn best_within(&self, program: &TensorProgram, body: &Arc<GroupBody>, shared_bytes: usize) -> Option<Kernel> {
        let fits = |priced: &PricedKernel| priced.kernel.shared_bytes() <= shared_bytes;
        PricedKernel::cheapest(self.choices(program, body).into_iter().filter(fits)).map(|priced| priced.kernel)
    }

    fn beside_others(&self, program: &TensorProgram, body: &Arc<GroupBody>) -> Vec<Kernel> {
        let smallest = Self { arch: self.arch.share(DeviceShare::Eighth) };
        smallest.fastest_and_smallest(program, body)
    }

    fn on_share(&self, share: DeviceShare) -> Option<Box<dyn KernelCost>> {
        Some(Box::new(Self { arch: self.arch.share(share) }))
    }

    /// What was left to choose from for a body, in one part.
    fn ranked(&self, program: &TensorProgram, body: &Arc<GroupBody>) -> Vec<PricedKernel> {
        let mut priced = self.priced(program, body, &KnownSums::default());
        priced.sort_by(PricedKernel::by_price);
        priced
    }

    fn shared_bytes_per_block(&self) -> usize {
        self.arch.shared_bytes_per_block.value
    }
}

impl EstimatedCost {
    /// All that there is to choose from for a body with estimated microseconds. First comes what was left of the rules'
    /// parameters in one part, then for every number of parts the cheapest. Empty if no kernel takes the body.
    pub fn choices(&self, program: &TensorProgram, body: &Arc<GroupBody>) -> Vec<PricedKernel> {
        self.choices_known(program, body, &KnownSums::default())
    }

    /// The same in a search that has found out something before.
    pub(crate) fn choices_known(
        &self,
        program: &TensorProgram,
        body: &Arc<GroupBody>,
        known: &KnownSums,
    ) -> Vec<PricedKernel> {
        let mut found = self.priced(program, body, known);
        if body.staged.is_empty() && Contraction::of(body).is_some() {
            let counts = SearchTuning::DEFAULT.partition.splits.into_iter();
            found.extend(counts.filter_map(|count| self.best_split((program, known), body, count)));
        }
        found
    }

    /// Cycles that filling the boxes of a contraction takes beyond fetching its factors step by step. The first round
    /// takes the place of the first step's fetch, and all that is fetched later comes from shared memory. Without end
    /// where the device has not so much of that.
    fn filling_cycles(&self, kernel: &Kernel) -> f64 {
        let body = kernel.body();
        let (arch, grid) = (&self.arch, kernel.grid());
        let boxes = operand_staging::boxes(kernel).expect("a contraction has boxes only where they fit");
        let tiles = kernel.shared_bytes();
        if tiles + staged::bytes(body, boxes) + ENTRY_BYTES > arch.shared_bytes_per_block.value {
            return f64::INFINITY;
        }
        let rounds: usize =
            boxes.iter().map(|spans| Filling::of(spans, &grid, kernel.rules().block_size()).rounds).sum();
        let bytes = arch.cycles_of_bytes(staged::bytes(body, boxes) as f64, kernel.tiles());
        (rounds as f64 - 1.0) * arch.load_latency_cycles.value
            + bytes
            + BARRIER_CYCLES
            + arch.shared_latency_cycles.value
    }

    /// The staged kernels of a body with their prices: those that cost least before their loads are counted.
    pub(crate) fn staged_choices(&self, program: &TensorProgram, body: &Arc<GroupBody>) -> Vec<PricedKernel> {
        let price = |kernel: Kernel| {
            let microseconds = self.staged_price(program, &kernel);
            PricedKernel { kernel, microseconds }
        };
        phase_cost::shortlist(body, SearchTuning::DEFAULT.partition.counted_tiles, &self.arch)
            .into_iter()
            .map(price)
            .collect()
    }

    fn staged_price(&self, program: &TensorProgram, kernel: &Kernel) -> f64 {
        let arch = &self.arch;
        let traffic = bytes(program, kernel.body()) as f64 / arch.memory_bytes_per_microsecond.value;
        let waves = kernel.tiles().div_ceil(arch.multiprocessors.value) as f64;
        let tiles = waves * pricing(kernel.template()).tile_cycles(&CountedKernel::uncounted(arch, kernel))
            / arch.cycles_per_microsecond.value;
        arch.step_microseconds.value + traffic.max(tiles)
    }

    fn priced(&self, program: &TensorProgram, body: &Arc<GroupBody>, known: &KnownSums) -> Vec<PricedKernel> {
        if body.staged.is_empty() {
            return self.shortlisted(bytes(program, body), body, known).collect();
        }
        self.staged_choices(program, body)
    }

    fn shortlisted(&self, moved: u64, body: &Arc<GroupBody>, known: &KnownSums) -> impl Iterator<Item = PricedKernel> {
        shortlist(body, &self.arch, known).into_iter().map(move |Timed { kernel, tile_cycles }| {
            let microseconds = self.timed_price(moved, &kernel, tile_cycles);
            PricedKernel { kernel, microseconds }
        })
    }

    /// The cheapest choice in `count` parts, where the whole leaves most of the device idle. Parts have tiles of their own:
    /// larger ones than the whole would have.
    fn best_split(
        &self,
        (program, known): (&TensorProgram, &KnownSums),
        body: &Arc<GroupBody>,
        count: usize,
    ) -> Option<PricedKernel> {
        let units = self.arch.multiprocessors.value;
        if !may_split(body, fewest_tiles(body), count, units) {
            return None;
        }
        let bodies = split(body, count, TensorId::from_index(program.tensors.len()))?;
        let moved = moved_parts(program, &bodies).0;
        let cheapest = || {
            let found = PricedKernel::cheapest(self.shortlisted(moved, &bodies.parts, known))?;
            Some(found.kernel.params().clone())
        };
        let parts = Kernel::unchecked(Arc::clone(&bodies.parts), known.of_parts(&bodies.parts, moved, cheapest)?);
        if !may_split(body, parts.tiles() / count, count, units) {
            return None;
        }
        let template = parts.rules().with_parts(count)?;
        let params = ScheduleParams { template, tile: parts.tile()[1..].to_vec() };
        let kernel = Kernel::unchecked(Arc::clone(body), params);
        let microseconds = self.split_price(program, &bodies.kernels(&kernel)?);
        Some(PricedKernel { kernel, microseconds })
    }

    /// Both rOperators of a split group.
    fn split_price(&self, program: &TensorProgram, split: &SplitKernels) -> f64 {
        let moved = moved_parts(program, &split.bodies);
        let of =
            |kernel: &Kernel, moved: u64| self.counted_price(moved, kernel, kernel_counts(kernel, Sampling::COARSE));
        of(&split.parts, moved.0) + of(&split.sum, moved.1)
    }

    fn counted_price(&self, moved: u64, kernel: &Kernel, counts: KernelCounts) -> f64 {
        let counted = CountedKernel { arch: &self.arch, kernel, counts };
        self.timed_price(moved, kernel, pricing(kernel.template()).tile_cycles(&counted))
    }

    /// The price of a kernel that moves so many bytes and whose tiles take so many cycles.
    fn timed_price(&self, moved: u64, kernel: &Kernel, tile_cycles: f64) -> f64 {
        let arch = &self.arch;
        let traffic = moved as f64 / arch.memory_bytes_per_microsecond.value;
        let waves = kernel.tiles().div_ceil(arch.multiprocessors.value) as f64;
        arch.step_microseconds.value + traffic.max(waves * tile_cycles / arch.cycles_per_microsecond.value)
    }
}

/// Tiles of a body under the largest shape that a contraction may have.
fn fewest_tiles(body: &GroupBody) -> usize {
    let points: usize = body.tile_extents().iter().product();
    let contraction = Contraction::of(body);
    let on_tensor_cores = contraction.is_some_and(|own| ComputeUnit::Mma.multiplies(own.numerics()));
    points.div_ceil(if on_tensor_cores { LARGEST_MATRIX_TILE } else { LARGEST_TILE })
}

/// Bytes that both rOperators of a split group move; the parts themselves stay in the second-level cache.
fn moved_parts(program: &TensorProgram, bodies: &SplitBodies) -> (u64, u64) {
    let ty = |tensor: TensorId| program.tensors.get(tensor).map_or(&bodies.ty, |known| &known.ty);
    let parts = bodies.ty.bytes() as u64;
    (moved_bytes(&bodies.parts, ty) - parts, moved_bytes(&bodies.sum, ty) - parts)
}
