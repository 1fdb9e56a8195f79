//! The parameters that the search prices: all of the rules' contractions are scored by the bound, the best are kept.

use super::arch::GpuArch;
use super::body::GroupBody;
use super::bound::kernel::{ContractionModel, KernelCounts, Sampling};
use super::bound::{Overlap, counted_bound};
use super::contraction::Contraction;
use super::params::{Pipeline, ScheduleParams, Template, contraction_shapes, simple_candidates};

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
            let bound = counted_bound(&counts, useful, params.tiles(body), overlap(shape.pipeline), arch);
            (bound.fraction, params, counts)
        })
        .collect();
    let kept = ((scored.len() as f64 * KEPT).ceil() as usize).clamp(FEWEST, MOST);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let last = scored.get(kept - 1).map_or(0.0, |last| last.0);
    let end = scored.iter().take(MOST).take_while(|(fraction, ..)| *fraction >= last).count();
    scored.into_iter().take(end).map(|(_, params, counts)| (params, counts)).collect()
}

fn overlap(pipeline: Pipeline) -> Overlap {
    match pipeline {
        Pipeline::InTurn => Overlap::InTurn,
        Pipeline::Registers | Pipeline::Asynchronous { .. } => Overlap::Together,
    }
}
