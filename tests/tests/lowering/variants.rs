//! Parameters for a group: every template that takes it, with even and with ragged tiles.

use std::sync::Arc;
use warpweave::fusion::template::candidates::candidates;
use warpweave::plan::body::GroupBody;
use warpweave::plan::kernel::{Kernel, ScheduleParams};
use warpweave::plan::template::Template;
use warpweave::plan::template::contraction::Contraction;
use warpweave::plan::template::contraction::shape::{ContractionShape, Pipeline};
use warpweave::plan::template::contraction::unit::ComputeUnit;

/// All variants for a group; never empty.
pub fn of(body: &Arc<GroupBody>) -> Vec<ScheduleParams> {
    let mut variants = Vec::new();
    let candidates = candidates(body).into_iter().map(|kernel| kernel.params().clone());
    for params in candidates.chain(contractions(body)) {
        let ragged = |side: usize| params.tile.iter().map(|&extent| (extent * side / 8).max(1)).collect();
        let smaller = [7, 3].map(|side| ScheduleParams { tile: ragged(side), ..params.clone() });
        for variant in [params].into_iter().chain(smaller) {
            // A plan has a reduction in parts as two kernels.
            if let Err(refused) = Kernel::of(Arc::clone(body), variant.clone().in_one_part()) {
                panic!("{variant}: {refused}: {body}");
            }
            if !variants.contains(&variant) {
                variants.push(variant);
            }
        }
    }
    variants
}

/// Contractions of other shapes than the fixed candidates: every pipeline, thread layout, width and
/// step once; square ones in two parts.
fn contractions(body: &GroupBody) -> Vec<ScheduleParams> {
    let Some(contraction) = Contraction::of(body) else { return Vec::new() };
    let shape = |rows, columns, row_threads, column_width, step, pipeline| {
        let parts = if rows == columns { 2 } else { 1 };
        ContractionShape {
            rows,
            columns,
            row_threads,
            column_width,
            k_tile: step,
            pipeline,
            k_slices: 1,
            split_k: parts,
            unit: ComputeUnit::Simt,
        }
    };
    let shapes = [
        shape(1, 1, 16, 1, 16, Pipeline::RegisterPrefetch),
        shape(1, 2, 32, 2, 8, Pipeline::Unpipelined),
        shape(2, 1, 8, 1, 32, Pipeline::RegisterPrefetch),
        shape(2, 4, 16, 1, 16, Pipeline::Asynchronous { depth: 2 }),
        shape(4, 2, 32, 2, 16, Pipeline::Asynchronous { depth: 3 }),
        shape(8, 4, 8, 4, 8, Pipeline::RegisterPrefetch),
        shape(4, 8, 16, 4, 16, Pipeline::Asynchronous { depth: 5 }),
        shape(8, 8, 16, 4, 8, Pipeline::Asynchronous { depth: 4 }),
        shape(2, 3, 16, 1, 16, Pipeline::RegisterPrefetch),
        shape(4, 6, 16, 2, 16, Pipeline::Unpipelined),
        shape(4, 12, 32, 4, 8, Pipeline::RegisterPrefetch),
        shape(1, 6, 32, 1, 8, Pipeline::Asynchronous { depth: 2 }),
    ];
    let sliced = |shape: ContractionShape, k_slices| ContractionShape { k_slices, ..shape };
    let slices = [
        sliced(shape(4, 4, 4, 4, 16, Pipeline::RegisterPrefetch), 4),
        sliced(shape(4, 8, 4, 4, 32, Pipeline::Asynchronous { depth: 3 }), 8),
        sliced(shape(4, 8, 4, 4, 64, Pipeline::RegisterPrefetch), 8),
        sliced(shape(4, 8, 4, 4, 32, Pipeline::RegisterPrefetch), 8),
        sliced(shape(4, 12, 16, 4, 64, Pipeline::RegisterPrefetch), 4),
        sliced(shape(8, 4, 4, 4, 32, Pipeline::RegisterPrefetch), 4),
        sliced(shape(2, 2, 16, 1, 16, Pipeline::Unpipelined), 2),
        sliced(shape(1, 8, 8, 4, 8, Pipeline::Asynchronous { depth: 2 }), 2),
    ];
    let params = shapes
        .into_iter()
        .chain(slices)
        .map(|shape| ScheduleParams { template: Template::Contraction(shape), tile: shape.tile(body, &contraction) });
    params.collect()
}
