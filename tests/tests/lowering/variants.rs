//! Parameters for a group: every template that takes it, with even and with ragged tiles.

use std::sync::Arc;
use warpweave::fusion::template::candidates::candidates;
use warpweave::plan::body::GroupBody;
use warpweave::plan::kernel::{Kernel, ScheduleParams};
use warpweave::plan::template::Template;
use warpweave::plan::template::contraction::Contraction;
use warpweave::plan::template::contraction::shape::{ContractionShape, Pipeline};
use warpweave::plan::template::contraction::unit::{ComputeUnit, mma};
use warpweave_tests::suite::is_full;

/// Of the shapes on tensor cores one in so many is a variant by default.
const MATRIX_STRIDE: usize = 4;

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
    let of_halves = ComputeUnit::Mma.multiplies(contraction.numerics());
    let matrices = if of_halves { matrices() } else { Vec::new() };
    let matrices = matrices.into_iter().step_by(if is_full() { 1 } else { MATRIX_STRIDE });
    let params = shapes
        .into_iter()
        .chain(slices)
        .chain(matrices)
        .map(|shape| ScheduleParams { template: Template::Contraction(shape), tile: shape.tile(body, &contraction) });
    params.collect()
}

/// Shapes of products on tensor cores: every tile of a warp once, and by turns every pipeline, number of slices, points of a slice, and
/// every way in which warps can lie.
pub fn matrices() -> Vec<ContractionShape> {
    let pipelines = [
        Pipeline::Asynchronous { depth: 3 },
        Pipeline::RegisterPrefetch,
        Pipeline::Asynchronous { depth: 2 },
        Pipeline::Unpipelined,
        Pipeline::Asynchronous { depth: 5 },
    ];
    let mut found = Vec::new();
    for (rows, columns) in [2, 4, 8].into_iter().flat_map(|rows| [2, 4, 6, 8, 12, 16].map(|columns| (rows, columns))) {
        let turn = found.len();
        let square = ContractionShape::square(rows, columns);
        let possible = [1, 4, 2, 8].into_iter().cycle().skip(turn % 4).take(4).find_map(|k_slices| {
            let warps = square.block_size().warps() / k_slices;
            let shape = ContractionShape {
                row_threads: mma::LANES.rows << (turn % (warps.ilog2() as usize + 1)),
                column_width: mma::LANE_COLUMNS,
                k_tile: (mma::DEPTH * k_slices * [1, 2, 4][turn % 3]).min(128),
                pipeline: pipelines[turn % pipelines.len()],
                k_slices,
                unit: ComputeUnit::Mma,
                ..square
            };
            shape.is_possible().then_some(shape)
        });
        found.push(possible.expect("one slice is always possible"));
    }
    found
}
