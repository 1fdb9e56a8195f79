//! The parameters that the search prices: all of the rules' contractions are scored by the bound, the best are kept.

use super::arch::GpuArch;
use super::body::GroupBody;
use super::bound::kernel::{ContractionModel, KernelCounts, Sampling};
use super::bound::work_balance;
use super::contraction::Contraction;
use super::params::{ContractionShape, Pipeline, ScheduleParams, Template, contraction_shapes, simple_candidates};

/// The share of all shapes that is kept, and the limits of how many.
const KEPT: f64 = 0.01;
const FEWEST: usize = 10;
const MOST: usize = 50;

/// Parameters to be priced for a body, with what their kernels do; never empty.
pub fn shortlist(body: &GroupBody, arch: &GpuArch) -> Vec<(ScheduleParams, KernelCounts)> {
    let simple = simple_candidates(body).into_iter().map(|params| {
        let counts = super::bound::kernel::kernel_counts(body, &params, Sampling::COARSE);
        (params, counts)
    });
    let mut found: Vec<(ScheduleParams, KernelCounts)> = simple.collect();
    if let Some(contraction) = Contraction::of(body) {
        found.extend(contractions(body, &contraction, arch));
    }
    found
}

/// The shapes with the largest bounds, in the order of the rules; with those that the bound does not tell apart from the
/// last of them.
fn contractions(body: &GroupBody, contraction: &Contraction, arch: &GpuArch) -> Vec<(ScheduleParams, KernelCounts)> {
    let model = ContractionModel::new(body);
    let useful = body.operations() as f64;
    let mut scored: Vec<(f64, ScheduleParams, KernelCounts)> = contraction_shapes(body, contraction)
        .map(|shape| {
            let params = ScheduleParams { template: Template::Contraction(shape), tile: shape.tile(body, contraction) };
            let counts = model.counts(&params, shape, Sampling::COARSE);
            (fraction(&counts, useful, params.tiles(body), shape, arch), params, counts)
        })
        .collect();
    let kept = ((scored.len() as f64 * KEPT).ceil() as usize).clamp(FEWEST, MOST);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let last = scored.get(kept - 1).map_or(0.0, |last| last.0);
    let end = scored.iter().take(MOST).take_while(|(fraction, ..)| *fraction >= last).count();
    scored.into_iter().take(end).map(|(_, params, counts)| (params, counts)).collect()
}

/// The bound in corrected mode, from what the kernel does: useful operations against the traffic, the loads from shared
/// memory and the operations that it takes.
fn fraction(counts: &KernelCounts, useful: f64, tiles: usize, shape: ContractionShape, arch: &GpuArch) -> f64 {
    let bytes = (counts.load_sectors + counts.store_sectors) * arch.transaction_bytes.value as f64;
    let peak = arch.operations_per_microsecond.value;
    let global = (useful / bytes * arch.cache_bytes_per_microsecond.value / peak).min(1.0);
    let words = arch.shared_bytes_per_cycle.value as f64 / 4.0;
    let loads = counts.shared_loads * counts.conflict_degree();
    let shared = (useful * words / (2.0 * arch.lanes.value as f64 * loads)).min(1.0);
    let shared = shared.min(useful / counts.operations);
    let balance = work_balance(tiles as u64, arch.multiprocessors.value as u64);
    match shape.pipeline {
        Pipeline::InTurn => balance / (1.0 / global + 1.0 / shared - 1.0),
        Pipeline::Registers | Pipeline::Asynchronous { .. } => balance * global.min(shared),
    }
}
