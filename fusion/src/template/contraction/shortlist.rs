//! The parameters that the search prices: all of the rules' contractions are scored by the bound, the best are kept.

use crate::cost::arch::GpuArch;
use crate::cost::bound::counted::{Overlap, counted_bound};
use crate::cost::counts::{KernelCounts, Sampling};
use crate::template::candidates::{contraction_shapes, simple_candidates};
use crate::template::contraction::counts::ContractionModel;
use crate::tuning::SearchTuning;
use rustc_hash::FxHashMap;
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::Template;
use warpweave_plan::template::contraction::shape::{ContractionShape, Pipeline};
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::tile::ScheduleParams;

/// Parameters to be priced for a body, with what their kernels do; never empty.
pub fn shortlist(body: &GroupBody, arch: &GpuArch) -> Vec<(ScheduleParams, KernelCounts)> {
    let simple = simple_candidates(body).into_iter().map(|params| {
        let counts = crate::template::kernel_counts(body, &params, Sampling::COARSE);
        (params, counts)
    });
    let mut found: Vec<(ScheduleParams, KernelCounts)> = simple.collect();
    if let Some(contraction) = Contraction::of(body) {
        found.extend(contractions(body, &contraction, arch));
    }
    found
}

/// The shapes with the largest bounds, in the order of the rules; with those that the bound does not tell apart from the
/// last of them. What a shape's products alone bound is looked at first: a shape that this puts behind all that are kept is
/// not followed further.
fn contractions(body: &GroupBody, contraction: &Contraction, arch: &GpuArch) -> Vec<(ScheduleParams, KernelCounts)> {
    let model = ContractionModel::new(body);
    let useful = body.operations() as f64;
    let bound = |params: &ScheduleParams, shape: &ContractionShape, counts: &KernelCounts| {
        let device = (arch, &arch.rates_of(body, params));
        counted_bound(counts, useful, params.tiles(body), overlap(shape.pipeline), device).fraction
    };
    let mut tiles: FxHashMap<[usize; 2], Vec<Vec<usize>>> = FxHashMap::default();
    let with_limits = |shape: ContractionShape| {
        let lengths = [AxisClass::Row, AxisClass::Column].map(|class| shape.length(class));
        let tiles = tiles.entry(lengths).or_insert_with(|| shape.tiles(body, contraction));
        let with_limit = |tile: Vec<usize>| {
            let params = ScheduleParams { template: Template::Contraction(shape), tile };
            (bound(&params, &shape, &model.products(&params, &shape)), params, shape)
        };
        tiles.iter().cloned().map(with_limit).collect::<Vec<_>>()
    };
    let open: Vec<(f64, ScheduleParams, ContractionShape)> =
        contraction_shapes(body, contraction).flat_map(with_limits).collect();
    let kept = ((open.len() as f64 * SearchTuning::DEFAULT.partition.shortlist_share).ceil() as usize)
        .clamp(SearchTuning::DEFAULT.partition.shortest_list, SearchTuning::DEFAULT.partition.longest_list);
    let mut order: Vec<usize> = (0..open.len()).collect();
    order.sort_by(|a, b| open[*b].0.total_cmp(&open[*a].0));
    // Best first, and in the order of the rules among equals.
    let mut scored: Vec<(f64, usize, KernelCounts)> = Vec::new();
    for number in order {
        let (limit, params, shape) = &open[number];
        if scored.get(kept - 1).is_some_and(|last| *limit < last.0) {
            break;
        }
        let counts = model.counts(params, *shape, Sampling::COARSE);
        let fraction = bound(params, shape, &counts);
        let better =
            |other: &(f64, usize, KernelCounts)| other.0.total_cmp(&fraction).then(number.cmp(&other.1)).is_gt();
        let place = scored.partition_point(better);
        scored.insert(place, (fraction, number, counts));
    }
    let last = scored.get(kept - 1).map_or(0.0, |last| last.0);
    let taken =
        scored.into_iter().take(SearchTuning::DEFAULT.partition.longest_list).take_while(|scored| scored.0 >= last);
    taken.map(|(_, number, counts)| (open[number].1.clone(), counts)).collect()
}

fn overlap(pipeline: Pipeline) -> Overlap {
    match pipeline {
        Pipeline::Unpipelined => Overlap::InTurn,
        Pipeline::RegisterPrefetch | Pipeline::Asynchronous { .. } => Overlap::Together,
    }
}
