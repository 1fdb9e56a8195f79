//! The template of attention: phases over blocks of keys.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::Index;

use crate::cost::counts::evaluation::{Address, Evaluation, Lanes, WARP};
use crate::cost::counts::{KernelCounts, Sampling};
use crate::template::staged::blocked::BlockSides;
use crate::template::staged::counts::{PhaseBox, PhaseModel, box_counts, lead_counts, lead_matrices, lead_model};
use warpweave_plan::body::GroupBody;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::attention::AttentionGeometry;
use warpweave_plan::template::attention::phase::{AttentionPhase, phases, spans};
use warpweave_plan::template::staged::phase::ProductStep;

/// Combinations of a value across the lanes of a warp.
const BUTTERFLY: usize = WARP.ilog2() as usize;
/// Operations of a lane for a key: the maximum, a power, the total.
const OF_KEY: usize = 4;
/// Operations of a lane for a row of a block: two combinations across lanes, the new maximum, its reference, the factor.
const OF_ROW: usize = 2 * BUTTERFLY + 4;
/// Operations of a row's first lane for its new total.
const OF_FIRST_LANE: usize = 2;
/// Operations of a thread that finishes the total of a row.
const OF_TOTAL: usize = 3;

/// What each phase of the kernel does, over all tiles and blocks: staged values in order, then what leaves the group.
pub(crate) fn counts(kernel: &Kernel, geometry: &AttentionGeometry, sampling: Sampling) -> Vec<KernelCounts> {
    let (body, grid) = (kernel.body(), kernel.grid());
    let staged = phases(kernel, geometry).into_iter().enumerate().map(|(position, phase)| {
        let stage = &body.staged[position];
        let stream = geometry.attention.streams[position];
        let on_box = |of_box: &dyn Fn(&PhaseBox) -> KernelCounts| {
            box_counts(kernel, &geometry.boxes[position], stage, sampling, &|place| match stream {
                None => of_box(place),
                Some(dimension) => of_blocks(geometry, place, dimension, sampling, of_box),
            })
        };
        match phase {
            AttentionPhase::Before(method) | AttentionPhase::Block(method) => {
                let spans = spans(geometry, position, &grid);
                let model = PhaseModel::new(stage, (&spans, &geometry.boxes), method, geometry.block_size);
                on_box(&|place| model.counts(place, sampling))
            }
            AttentionPhase::Weights => {
                let score = Evaluation::new(stage, &geometry.attention.softmax.score, &geometry.boxes);
                on_box(&|place| weights(body, geometry, &score, place, sampling))
            }
            AttentionPhase::State => KernelCounts::default(),
        }
    });
    let mut counts: Vec<KernelCounts> = staged.collect();
    counts.push(product(kernel, geometry, sampling));
    counts
}

/// What is done on the boxes of all blocks of keys.
fn of_blocks(
    geometry: &AttentionGeometry,
    place: &PhaseBox,
    dimension: usize,
    sampling: Sampling,
    of_box: &dyn Fn(&PhaseBox) -> KernelCounts,
) -> KernelCounts {
    let (picked, weight) = Sampling::picks(geometry.blocks(), sampling.steps);
    let mut counts = KernelCounts::default();
    for block in picked {
        counts += of_box(&place.starting(dimension, (block * geometry.block) as i64)) * weight;
    }
    counts
}

/// What turning the scores of one block into weights takes, a warp a row.
fn weights(
    body: &GroupBody,
    geometry: &AttentionGeometry,
    score: &Evaluation,
    place: &PhaseBox,
    sampling: Sampling,
) -> KernelCounts {
    let attention = &geometry.attention;
    let dimension = attention.streams[attention.weights].expect("weights are computed block by block");
    let axes: Vec<usize> = (0..place.extents.len()).filter(|axis| *axis != dimension).collect();
    let first = place.first(dimension) as usize;
    let count = geometry.block.min(attention.keys - first);
    let steps = geometry.block.div_ceil(WARP);
    let expr = &body.staged[attention.weights].expr;
    let mut lanes = Lanes::new(expr.axes.len());
    let mut counts = KernelCounts::default();
    let (picked, weight) = Sampling::picks(geometry.rows(), sampling.warps);
    for row in picked {
        let mut of_row = state_loads() + operations(WARP * (OF_ROW + steps * OF_KEY) + OF_FIRST_LANE);
        let (picked, of_step) = Sampling::picks(steps, sampling.steps);
        for step in picked {
            lanes.place(|lane, point| {
                place.place(&axes, row, point);
                let at = step * WARP + lane;
                point[attention.softmax.axis.index()] = (first + at) as i64;
                at < count
            });
            of_row += score.counts(&lanes) * of_step;
        }
        counts += of_row * weight;
    }
    counts
}

/// The loads of a row's state: its maximum by all lanes, its total and the factor by the first.
fn state_loads() -> KernelCounts {
    let shared_loads = (WARP + 2) as f64;
    KernelCounts { shared_loads, shared_wavefronts: 3.0, shared_ideal: 3.0, ..KernelCounts::default() }
}

fn operations(count: usize) -> KernelCounts {
    KernelCounts { operations: count as f64, ..KernelCounts::default() }
}

/// The weighted sums over all blocks, their rescaling, and what follows them.
fn product(kernel: &Kernel, geometry: &AttentionGeometry, sampling: Sampling) -> KernelCounts {
    let body = kernel.body();
    let row = Address::of_word(&body.stages[0].expr, &row_number(body, geometry));
    // Every block's factors, and at last the totals, each with one operation an element.
    let times = (geometry.blocks() + 1) as f64;
    let of_rows = |columns: usize| move |lanes: &Lanes| row.wavefronts(lanes, 1) + operations(lanes.count() * columns);
    match &geometry.product {
        ProductStep::Blocked(step) => {
            let (rows, columns, across) = (step.rows, step.columns, step.across);
            let sides = BlockSides { rows, columns, across, block_size: geometry.block_size, again: false };
            let (model, of_row) = (lead_model(body, &geometry.boxes, sides), of_rows(columns));
            lead_counts(kernel, sampling, &|place| {
                model.counts(place, sampling) + model.of_rows(place, sampling, &of_row) * times + totals(geometry)
            })
        }
        ProductStep::Matrices(step) => {
            let block = step.product.block;
            let model = lead_matrices(kernel, &geometry.boxes, (block, geometry.walk()));
            let of_row = of_rows(block.lane_columns());
            lead_counts(kernel, sampling, &|place| {
                model.counts(place, sampling) + model.of_rows(place, sampling, &of_row) * times + totals(geometry)
            })
        }
    }
}

/// The number of the row in the tile to which a point of the first stage belongs, but for a constant.
fn row_number(body: &GroupBody, geometry: &AttentionGeometry) -> Index {
    let extents: Vec<usize> = geometry.row_spans().map(|span| span.extent).collect();
    let stride = |at: usize| if extents[at] == 1 { 0 } else { extents[at + 1..].iter().product() };
    let strides: Vec<usize> = (0..extents.len()).map(stride).collect();
    Index::linear(&geometry.attention.row_of_lead(body), &strides, 0)
}

/// What finishing the totals of a tile's rows takes, a thread a row.
fn totals(geometry: &AttentionGeometry) -> KernelCounts {
    let rows = geometry.rows();
    let warps = (2 * rows.div_ceil(WARP)) as f64;
    KernelCounts {
        operations: (rows * OF_TOTAL) as f64,
        shared_loads: 2.0 * rows as f64,
        shared_wavefronts: warps,
        shared_ideal: warps,
        ..KernelCounts::default()
    }
}
