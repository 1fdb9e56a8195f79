//! The parameters that the rules leave for a body.

use std::sync::Arc;

use crate::cost::arch::GpuArch;
use crate::cost::counts::Sampling;
use crate::template::contraction::shortlist::KnownSums;
use crate::template::contraction::shortlist::contractions;
use crate::template::pricing::CountedKernel;
use crate::template::{kernel_counts, pricing};
use warpweave_plan::body::GroupBody;
use warpweave_plan::kernel::{Kernel, ScheduleParams};
use warpweave_plan::template::Template;
use warpweave_plan::template::block::fill;
use warpweave_plan::template::contraction::Contraction;
use warpweave_plan::template::contraction::shape::ContractionShape;
use warpweave_plan::template::pointwise::Pointwise;
use warpweave_plan::template::pointwise::rules::takes_runs;
use warpweave_plan::template::row::RowThreads;
use warpweave_plan::template::rules::Rules;

/// Points a thread of the large tiles that a processor's threads take.
const LARGE: [usize; 3] = [8, 16, 64];

/// Points of the small tiles, for what several threads share.
const SMALL: [usize; 2] = [64, 128];

/// Rows of the large tiles of reductions.
const LARGE_ROWS: [usize; 3] = [32, 64, 128];

/// Choices for the threads of a processor: tiles that are larger or smaller than those of a GPU's blocks.
pub fn thread_candidates(body: &Arc<GroupBody>) -> impl Iterator<Item = Kernel> {
    let extents = body.tile_extents();
    let all: Vec<usize> = (0..extents.len()).collect();
    let reduces = body.procedure().is_none() && body.reductions().count() > 0 && body.staged.is_empty();
    let rows = LARGE_ROWS.into_iter().filter(|_| reduces);
    let rows = rows.map(|rows| fill(&extents, &all, rows)).collect::<Vec<_>>().into_iter();
    let rows = rows.map(|tile| ScheduleParams { template: Template::Row(RowThreads::Warp), tile });
    let body = Arc::clone(body);
    rows.chain(thread_elementwise(&body)).map(move |params| Kernel::unchecked(Arc::clone(&body), params))
}

/// The same of what is computed element by element.
fn thread_elementwise(body: &GroupBody) -> impl Iterator<Item = ScheduleParams> + use<> {
    let extents = body.tile_extents();
    let own = (0..body.stages.len()).any(|stage| !body.extra_axes(stage).is_empty());
    let is_pointwise = body.procedure().is_none() && body.reductions().count() <= 1 && !own && body.staged.is_empty();
    let all: Vec<usize> = (0..extents.len()).collect();
    let choice = move |per_thread: usize, points: usize| {
        let tile = fill(&extents, &all, points);
        ScheduleParams { template: Template::Pointwise(Pointwise::strided(per_thread)), tile }
    };
    let threads = Pointwise::strided(1).block_size().threads();
    let large = LARGE.into_iter().map(move |per_thread| (per_thread, threads * per_thread));
    let points = SMALL.into_iter().map(|points| (1, points)).chain(large).filter(move |_| is_pointwise);
    points.map(move |(per_thread, points)| choice(per_thread, points))
}

/// The kernels of the templates without a shared-memory stage.
pub fn simple_candidates(body: &Arc<GroupBody>) -> Vec<Kernel> {
    simple_params(body).into_iter().map(|params| Kernel::unchecked(Arc::clone(body), params)).collect()
}

fn simple_params(body: &GroupBody) -> Vec<ScheduleParams> {
    let extents = body.tile_extents();
    if body.procedure().is_some() {
        return vec![ScheduleParams { template: Template::Opaque, tile: vec![1; extents.len()] }];
    }
    let all: Vec<usize> = (0..extents.len()).collect();
    let reductions = body.reductions().count();
    let extra = (0..body.stages.len()).any(|stage| !body.extra_axes(stage).is_empty());
    let mut found = Vec::new();
    if reductions <= 1 && !extra {
        let strided = if reductions == 0 { &[1, 4][..] } else { &[1] };
        for template in strided.iter().copied().map(Pointwise::strided) {
            let tile = fill(&extents, &all, template.block_size().threads() * template.per_thread);
            found.push(ScheduleParams { template: Template::Pointwise(template), tile });
        }
        if takes_runs(body) {
            found.extend(runs(&extents));
        }
    }
    if reductions > 0 {
        let tile = fill(&extents, &all, RowThreads::Warp.block_size().warps());
        found.push(ScheduleParams { template: Template::Row(RowThreads::Warp), tile });
        let tile = vec![1; extents.len()];
        found.push(ScheduleParams { template: Template::Row(RowThreads::Block), tile });
    }
    found
}

/// Neighbours that one thread computes, at most.
const RUNS: [usize; 6] = [8, 7, 6, 5, 4, 3];
/// Lengths of runs that are tried.
const RUN_LENGTHS: usize = 2;

/// Tiles whose innermost axis is divided into runs: lengths that divide it, or four neighbours where none does.
fn runs(extents: &[usize]) -> impl Iterator<Item = ScheduleParams> {
    let along = extents.iter().rposition(|extent| *extent > 1);
    let extent = along.map_or(1, |along| extents[along]);
    let mut lengths: Vec<usize> = RUNS.into_iter().filter(|length| extent.is_multiple_of(*length)).collect();
    lengths.truncate(RUN_LENGTHS);
    if lengths.is_empty() && extent > RUN_LENGTHS {
        lengths.push(4);
    }
    let all: Vec<usize> = (0..extents.len()).collect();
    lengths.into_iter().map(move |length| {
        let template = Pointwise::run(length);
        let mut numbered = extents.to_vec();
        if let Some(along) = along {
            numbered[along] = numbered[along].div_ceil(length);
        }
        let mut tile = fill(&numbered, &all, template.block_size().threads());
        if let Some(along) = along {
            tile[along] = (tile[along] * length).min(extents[along]);
        }
        ScheduleParams { template: Template::Pointwise(template), tile }
    })
}

/// A few fixed kernels of every template for a body; empty only if it stages values that fit nowhere. The search's choices
/// are [`crate::template::contraction::shortlist`]'s.
pub fn candidates(body: &Arc<GroupBody>) -> Vec<Kernel> {
    if !body.staged.is_empty() {
        return warpweave_plan::template::staged::phase::candidates(body)
            .into_iter()
            .chain(warpweave_plan::template::attention::candidates(body))
            .collect();
    }
    let mut found = simple_candidates(body);
    if let Some(contraction) = Contraction::of(body) {
        found.extend([(4, 4), (2, 2), (4, 1), (1, 4)].map(|(rows, columns)| {
            let shape = ContractionShape::square(rows, columns);
            let params =
                ScheduleParams { template: Template::Contraction(shape), tile: shape.tile(body, &contraction) };
            Kernel::unchecked(Arc::clone(body), params)
        }));
    }
    found
}

/// A kernel to be priced, and the cycles of one of its tiles.
pub(crate) struct Timed {
    pub(crate) kernel: Kernel,
    pub(crate) tile_cycles: f64,
}

/// Kernels to be priced for a body; never empty.
pub(crate) fn shortlist(body: &Arc<GroupBody>, arch: &GpuArch, known: &KnownSums) -> Vec<Timed> {
    let simple = simple_candidates(body).into_iter().map(|kernel| {
        let counts = kernel_counts(&kernel, Sampling::COARSE);
        let tile_cycles = pricing(kernel.template()).tile_cycles(&CountedKernel { arch, kernel: &kernel, counts });
        Timed { kernel, tile_cycles }
    });
    let mut found: Vec<Timed> = simple.collect();
    if let Some(contraction) = Contraction::of(body) {
        let contractions = contractions(body, &contraction, arch, known).into_iter();
        found.extend(contractions.map(|(kernel, tile_cycles)| Timed { kernel, tile_cycles }));
    }
    found
}
