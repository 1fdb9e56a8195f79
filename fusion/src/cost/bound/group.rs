//! The bound of a fusion group under the parameters of a template.

use crate::cost::counts::Sampling;
use crate::template::{kernel_counts, pricing};
use std::collections::BTreeMap;

use warpweave_graph::expr::{Read, TensorExpr};

use crate::cost::arch::GpuArch;
use crate::cost::bound::counts;
use crate::cost::bound::counts::Counts;
use crate::cost::bound::{
    BlockShape, BoundMode, Overlap, PerformanceUpperBound, counted_bound, extents, overlaps, ratios,
};
use warpweave_plan::body::{GroupBody, StageSource};
use warpweave_plan::kernel::Kernel;

/// The bound of a group. Operations are summed over its stages, and traffic is that of the tensors outside (erratum
/// E11). The stages' on-chip factors combine as parts that run in turn (erratum E12). One grid balances them all. The
/// bound of a staged group is the corrected one in either mode, from what its phases do.
pub fn group_bound(kernel: &Kernel, arch: &GpuArch, mode: BoundMode) -> PerformanceUpperBound {
    let body = kernel.body();
    if !body.staged.is_empty() {
        return staged_bound(kernel, arch);
    }
    let shapes: Vec<BlockShape> = {
        let own = pricing(kernel.template());
        let shape = |stage| own.block_shape(kernel, stage);
        (0..body.stages.len())
            .map(shape)
            .collect::<Option<_>>()
            .expect("only staged groups are bounded by their phases")
    };
    let counted: Vec<Counts> =
        body.stages.iter().zip(&shapes).map(|(stage, shape)| Counts::of(&stage.expr, shape, arch, mode)).collect();
    let operations = counted.iter().map(|counts| counts.block_operations).sum();
    let loaded =
        external(body, kernel.tile(), |expr, read, extents| counts::read_transactions(expr, read, extents, arch, mode));
    let stored = match mode {
        BoundMode::Thesis(_) => 0,
        BoundMode::Corrected => {
            written(body, kernel.tile(), |expr, extents| counts::store_transactions(expr, extents, arch))
        }
    };
    let work = |tile: &[usize]| {
        let operations =
            body.stages.iter().map(|stage| counts::operations(&stage.expr, &extents(&stage.expr, tile))).sum();
        let bytes = external(body, tile, counts::read_bytes) + written(body, tile, counts::output_bytes);
        (operations, bytes)
    };
    let whole: Vec<usize> = body.tile_extents().into_iter().map(|extent| extent.max(1)).collect();
    let device = (arch, &arch.rates_of(kernel));
    let intensity = ratios::device_intensity(&whole, kernel.tile(), arch, work);
    let on_chip = shapes
        .iter()
        .zip(&counted)
        .map(|(shape, counts)| (counts.block_operations as f64, ratios::shared_memory(shape, counts, device, mode)));
    let factors = [
        ratios::global_memory(operations, loaded + stored, intensity, device, mode),
        ratios::combine(on_chip),
        ratios::work_balance(kernel.tiles() as u64, arch.multiprocessors.value as u64),
    ];
    let fits = shapes.iter().zip(&counted).all(|(shape, counts)| ratios::fits(shape, counts, arch));
    let overlapped = shapes.iter().all(|shape| overlaps(&shape.level));
    PerformanceUpperBound::new(mode, factors, fits, overlapped)
}

/// The bound of a group at shared-memory level. Its phases run in turn, but a phase fetches while it computes.
fn staged_bound(kernel: &Kernel, arch: &GpuArch) -> PerformanceUpperBound {
    let counts = kernel_counts(kernel, Sampling::COARSE);
    let useful = kernel.body().operations() as f64;
    let bound = counted_bound(&counts, useful, kernel.tiles(), Overlap::Together, (arch, &arch.rates_of(kernel)));
    let fits = kernel.rules().box_bytes(kernel).is_some_and(|bytes| bytes <= arch.shared_bytes_per_block.value);
    if fits { bound } else { bound.without_resources() }
}

/// The sum over the operands from outside of the largest count among an operand's reads.
fn external(body: &GroupBody, tile: &[usize], count: impl Fn(&TensorExpr, &Read, &[usize]) -> u64) -> u64 {
    let mut most: BTreeMap<usize, u64> = BTreeMap::new();
    for stage in &body.stages {
        let extents = extents(&stage.expr, tile);
        for read in stage.expr.reads.values() {
            if let StageSource::Operand(operand) = stage.sources[read.operand] {
                let most = most.entry(operand).or_default();
                *most = count(&stage.expr, read, &extents).max(*most);
            }
        }
    }
    most.values().sum()
}

/// The sum over the stages whose values leave the group.
fn written(body: &GroupBody, tile: &[usize], count: impl Fn(&TensorExpr, &[usize]) -> u64) -> u64 {
    let leaving = body.stages.iter().filter(|stage| stage.output.is_some());
    leaving.map(|stage| count(&stage.expr, &extents(&stage.expr, tile))).sum()
}
