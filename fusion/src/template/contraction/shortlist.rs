//! The parameters that the search prices: all of the rules' contractions are scored by the bound, the best are kept. Groups that differ
//! only in what follows the sum share what a search has found out about it.

use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::cost::arch::GpuArch;
use crate::cost::bound::{Overlap, counted_bound};
use crate::cost::counts::{KernelCounts, Sampling};
use crate::template::contraction::cost::FactorLoads;
use crate::template::contraction::cost::tile_cycles;
use crate::template::contraction::counts::ContractionModel;
use crate::template::pricing::CountedKernel;
use crate::tuning::SearchTuning;
use rustc_hash::FxHashMap;
use warpweave_graph::Numerics;
use warpweave_graph::numerics::WORD_BYTES;
use warpweave_plan::body::{GroupBody, Stage};
use warpweave_plan::kernel::{Kernel, ScheduleParams};
use warpweave_plan::template::Template;
use warpweave_plan::template::contraction::shape::{ContractionShape, Pipeline};
use warpweave_plan::template::contraction::unit::{ComputeUnit, mma};
use warpweave_plan::template::contraction::{AxisClass, Contraction};

/// The bound of a kernel by its products alone, the kernel, and its shape.
type Candidate = (f64, Kernel, ContractionShape);

/// A candidate by its number that is kept, with its bound and what it does before the epilogue and altogether.
struct Scored {
    bound: f64,
    number: usize,
    before: KernelCounts,
    counts: KernelCounts,
}

/// How many candidates are kept: so many, and with those that the bound does not tell apart from the last at most so many.
#[derive(Clone, Copy)]
struct Lengths {
    kept: usize,
    longest: usize,
}

impl Lengths {
    /// The lengths of a list of which everything is priced, out of so many candidates.
    fn of(candidates: usize) -> Self {
        let tuning = &SearchTuning::DEFAULT.partition;
        let share = (candidates as f64 * tuning.shortlist_share).ceil() as usize;
        Self { kept: share.clamp(tuning.shortest_list, tuning.longest_list), longest: tuning.longest_list }
    }

    /// The lengths of the list of a sum alone, among which are the best with any epilogue.
    fn of_sum(candidates: usize) -> Self {
        let times = SearchTuning::DEFAULT.partition.sum_lists;
        let Self { kept, longest } = Self::of(candidates);
        Self { kept: kept * times, longest: longest * times }
    }
}

/// The kernels with the largest bounds, in the order of the bounds, with those that the bound does not tell apart from the last of
/// them, and the cycles of a tile of each. Shapes are ranked once for all contractions with the same sum.
pub(crate) fn contractions(
    body: &Arc<GroupBody>,
    contraction: &Contraction,
    arch: &GpuArch,
    known: &KnownSums,
) -> Vec<(Kernel, f64)> {
    let found = known.ranked(body, |alone| rank(&alone, arch), |ranked| among(body, arch, ranked));
    found.unwrap_or_else(|| {
        let (model, bound) = (ContractionModel::new(body), bound_on(body, arch));
        let candidates = candidates(body, contraction, arch, &model, &bound);
        let before =
            |number: usize| model.before_epilogue(&candidates[number].1, &candidates[number].2, Sampling::COARSE);
        let timed = |scored: Scored| {
            let (_, kernel, shape) = &candidates[scored.number];
            timed(arch, kernel, scored.counts, (shape, &FactorLoads::new(arch, kernel, shape)))
        };
        best(&model, &candidates, Lengths::of(candidates.len()), before, &bound).into_iter().map(timed).collect()
    })
}

/// The shapes with the largest bounds of a sum alone.
fn rank(alone: &Arc<GroupBody>, arch: &GpuArch) -> RankedShapes {
    let contraction = Contraction::of(alone).expect("the sum of a contraction is one");
    let (model, bound) = (ContractionModel::new(alone), bound_on(alone, arch));
    let candidates = candidates(alone, &contraction, arch, &model, &bound);
    let before = |number: usize| model.before_epilogue(&candidates[number].1, &candidates[number].2, Sampling::COARSE);
    let mut found = best(&model, &candidates, Lengths::of_sum(candidates.len()), before, &bound);
    found.sort_by_key(|scored| scored.number);
    let ranked = |Scored { number, before, .. }: Scored| {
        let (_, kernel, shape) = &candidates[number];
        RankedShape { params: kernel.params().clone(), shape: *shape, before, loads: OnceLock::new() }
    };
    RankedShapes { all: candidates.len(), shapes: found.into_iter().map(ranked).collect() }
}

/// The kernels of a body with the largest bounds, of the shapes that are ranked for its sum.
fn among(body: &Arc<GroupBody>, arch: &GpuArch, ranked: &RankedShapes) -> Vec<(Kernel, f64)> {
    let Some(first) = ranked.shapes.first() else { return Vec::new() };
    let (model, bound) = (ContractionModel::new(body), bound_on(body, arch));
    let first = Kernel::unchecked(Arc::clone(body), first.params.clone());
    let candidate = |RankedShape { params, shape, before, .. }: &RankedShape| {
        let kernel = first.with_params(params.clone());
        (bound(&kernel, shape, before), kernel, *shape)
    };
    let candidates: Vec<Candidate> = ranked.shapes.iter().map(candidate).collect();
    let timed = |scored: Scored| {
        let (_, kernel, shape) = &candidates[scored.number];
        let loads = ranked.shapes[scored.number].loads.get_or_init(|| FactorLoads::new(arch, kernel, shape));
        timed(arch, kernel, scored.counts, (shape, loads))
    };
    let before = |number: usize| ranked.shapes[number].before;
    best(&model, &candidates, Lengths::of(ranked.all), before, &bound).into_iter().map(timed).collect()
}

/// A kernel with the cycles of a tile.
fn timed(
    arch: &GpuArch,
    kernel: &Kernel,
    counts: KernelCounts,
    (shape, loads): (&ContractionShape, &FactorLoads),
) -> (Kernel, f64) {
    (kernel.clone(), tile_cycles(&CountedKernel { arch, kernel, counts }, shape, loads))
}

/// What a kernel with these counts reaches at most, as a share of the peak of the device's lanes.
fn bound_on(body: &GroupBody, arch: &GpuArch) -> impl Fn(&Kernel, &ContractionShape, &KernelCounts) -> f64 {
    let useful = body.operations() as f64;
    let of_lanes = arch.peaks.simt_single.operations_per_microsecond.value;
    move |kernel, shape, counts| {
        let rates = arch.rates_of(kernel);
        let fraction = counted_bound(counts, useful, kernel.tiles(), overlap(shape.pipeline), (arch, &rates)).fraction;
        fraction * (rates.operations_per_microsecond / of_lanes)
    }
}

/// The candidates: all shapes that the rules allow, with the bounds of their products.
fn candidates(
    body: &Arc<GroupBody>,
    contraction: &Contraction,
    arch: &GpuArch,
    model: &ContractionModel<'_>,
    bound: &impl Fn(&Kernel, &ContractionShape, &KernelCounts) -> f64,
) -> Vec<Candidate> {
    let mut tiles: FxHashMap<[usize; 2], Vec<Vec<usize>>> = FxHashMap::default();
    let base = Kernel::unchecked(Arc::clone(body), ScheduleParams { template: Template::Opaque, tile: Vec::new() });
    let with_limits = |shape: ContractionShape| {
        let lengths = [AxisClass::Row, AxisClass::Column].map(|class| shape.length(class));
        let tiles = tiles.entry(lengths).or_insert_with(|| shape.tiles(body, contraction));
        let with_limit = |tile: Vec<usize>| {
            let params = ScheduleParams { template: Template::Contraction(shape), tile };
            let kernel = base.with_params(params);
            (bound(&kernel, &shape, &model.products(&kernel, &shape)), kernel, shape)
        };
        tiles.iter().cloned().map(with_limit).collect::<Vec<_>>()
    };
    contraction_shapes(body, contraction, arch).into_iter().flat_map(with_limits).collect()
}

/// The candidates with the largest bounds, best first, by branch and bound.
///
/// A bound is computed from the products first, then with the fetches of the factors, then with the stores; each step can only lower
/// it. A candidate whose partial bound is below that of every kept one is pruned.
fn best(
    model: &ContractionModel<'_>,
    candidates: &[Candidate],
    lengths: Lengths,
    before: impl Fn(usize) -> KernelCounts,
    bound: &impl Fn(&Kernel, &ContractionShape, &KernelCounts) -> f64,
) -> Vec<Scored> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| candidates[*b].0.total_cmp(&candidates[*a].0));
    // Best first, and in the order of the rules among equals.
    let mut scored: Vec<Scored> = Vec::new();
    for number in order {
        let (limit, kernel, shape) = &candidates[number];
        let least = scored.get(lengths.kept - 1).map_or(0.0, |last| last.bound);
        if *limit < least {
            break;
        }
        let before = before(number);
        if bound(kernel, shape, &before) < least {
            continue;
        }
        let counts = before + model.after_reduction(kernel, shape, Sampling::COARSE);
        let new = Scored { bound: bound(kernel, shape, &counts), number, before, counts };
        let better = |other: &Scored| other.bound.total_cmp(&new.bound).then(number.cmp(&other.number)).is_gt();
        let place = scored.partition_point(better);
        scored.insert(place, new);
    }
    let last = scored.get(lengths.kept - 1).map_or(0.0, |last| last.bound);
    scored.into_iter().take(lengths.longest).take_while(|scored| scored.bound >= last).collect()
}

fn overlap(pipeline: Pipeline) -> Overlap {
    match pipeline {
        Pipeline::Unpipelined => Overlap::InTurn,
        Pipeline::RegisterPrefetch | Pipeline::Asynchronous { .. } => Overlap::Together,
    }
}

/// The shapes that the rules leave for a contraction: powers of two, and three times a power of two columns a thread. No side is
/// twice as long as it needs to be. Every thread fetches at least one element of each side a step. Behind them come those of tensor
/// cores, where the device has some for the contraction's types.
fn contraction_shapes(body: &GroupBody, contraction: &Contraction, arch: &GpuArch) -> Vec<ContractionShape> {
    let extents = body.tile_extents();
    let side = |class: AxisClass| -> usize {
        let of_class = extents.iter().zip(&contraction.classes).filter(|(_, other)| **other == class);
        of_class.map(|(extent, _)| *extent).product()
    };
    let needed = [AxisClass::Row, AxisClass::Column].map(|class| side(class).next_power_of_two().max(16));
    let reduced = &body.stages[0].expr;
    let reduction: usize = reduced.reduced().map(|axis| reduced.axes[axis].extent).product();
    let asynchronous = contraction.is_plain(body) && contraction.storage.bytes() >= WORD_BYTES;
    let pipelines = move |shape: ContractionShape| {
        let copies = asynchronous.then_some(Pipeline::Asynchronous { depth: 3 });
        let pipelines = [Pipeline::Unpipelined, Pipeline::RegisterPrefetch].into_iter().chain(copies);
        pipelines.map(move |pipeline| ContractionShape { pipeline, ..shape })
    };
    let on_lanes = thread_tiles().flat_map(slices).flat_map(pipelines).filter(move |shape| {
        let lengths = [AxisClass::Row, AxisClass::Column].map(|class| shape.length(class));
        let fits = lengths.iter().zip(needed).all(|(length, needed)| *length <= needed);
        let threads = shape.block_size().threads();
        let fetches = lengths.iter().all(|length| (threads..=4096).contains(&(length * shape.k_tile)));
        let useful = shape.k_tile == 8 || shape.k_tile < 2 * reduction;
        fits && fetches && useful
    });
    let has_matrices = arch.peaks.mma.is_some() && ComputeUnit::Mma.multiplies(contraction.numerics());
    let matrices = if has_matrices { matrix_shapes(body, contraction, needed, reduction) } else { Vec::new() };
    on_lanes.chain(matrices).collect()
}

/// The tiles of a thread, its block's threads along rows, and steps, of blocks that are one slice and not pipelined.
fn thread_tiles() -> impl Iterator<Item = ContractionShape> {
    let widths = |columns: usize| {
        let widest = if columns.is_multiple_of(4) { 4 } else { columns.min(2) };
        if widest == 1 { vec![1] } else { vec![1, widest] }
    };
    let sides = [1, 2, 4, 8].into_iter().flat_map(|rows| [1, 2, 4, 6, 8, 12].map(|columns| (rows, columns)));
    let placed = sides.flat_map(|(rows, columns)| [8, 16, 32].map(|row_threads| (rows, columns, row_threads)));
    let stepped =
        placed.flat_map(|(rows, columns, row_threads)| [8, 16, 32].map(|k_tile| (rows, columns, row_threads, k_tile)));
    stepped.flat_map(move |(rows, columns, row_threads, k_tile)| {
        let of_width = |column_width: usize| ContractionShape {
            row_threads,
            column_width,
            k_tile,
            ..ContractionShape::square(rows, columns)
        };
        widths(columns).into_iter().map(of_width).collect::<Vec<_>>()
    })
}

/// The shape, and the same of several slices, where each multiplies several points a step and a thread has many elements. With as
/// many elements a thread, tiles are smaller by the number of slices.
fn slices(shape: ContractionShape) -> impl Iterator<Item = ContractionShape> {
    let is_large = shape.rows * shape.columns >= FEWEST_SLICED && shape.column_width == shape.columns.min(4);
    let of_count = move |k_slices: usize| {
        let (row_threads, k_tile) = match k_slices {
            1 => (shape.row_threads, shape.k_tile),
            _ => (shape.row_threads / 2, shape.k_tile * 2),
        };
        ContractionShape { k_slices, row_threads, k_tile, ..shape }
    };
    let takes = move |sliced: &ContractionShape| {
        sliced.k_slices == 1
            || is_large
                && sliced.k_tile >= FEWEST_SLICED_POINTS * sliced.k_slices
                && sliced.is_possible()
                && sliced.tile_bytes(Numerics::SINGLE) <= MOST_SLICED_BYTES
    };
    [1, 2, 4, 8].into_iter().map(of_count).filter(takes)
}

/// Elements of a thread below which slices share too little of what they load.
const FEWEST_SLICED: usize = 16;
/// Points that a slice multiplies a step.
const FEWEST_SLICED_POINTS: usize = 4;
/// Bytes of shared memory that tiles and sums of slices take at most.
const MOST_SLICED_BYTES: usize = 64 << 10;

/// Rows of a thread: 16 to 64 of a warp.
const MATRIX_ROWS: [usize; 3] = [2, 4, 8];

/// Columns of a thread: 8 to 64 of a warp.
const MATRIX_COLUMNS: [usize; 6] = [2, 4, 6, 8, 12, 16];

/// Slices of a block's warps.
const MATRIX_SLICES: [usize; 4] = [1, 2, 4, 8];

/// Points of the reduction that a slice multiplies a step.
const MATRIX_POINTS: [usize; 3] = [16, 32, 64];

/// Buffers of tiles that asynchronous copies fill.
const MATRIX_DEPTHS: [usize; 2] = [3, 4];

/// Bytes of shared memory that tiles and sums of slices take at most: half of what a block may have.
const MOST_MATRIX_BYTES: usize = 112 << 10;

/// The shapes in which warps can multiply matrices for a contraction. No side is twice as long as it needs to be, and `needed` says
/// how long that is; of the reduction's `points` no step has twice as many, unless there is no smaller one.
fn matrix_shapes(
    body: &GroupBody,
    contraction: &Contraction,
    needed: [usize; 2],
    points: usize,
) -> Vec<ContractionShape> {
    let is_plain = [AxisClass::Row, AxisClass::Column].map(|class| contraction.is_plain_side(body, class));
    let pipelines: Vec<Pipeline> = match is_plain {
        [true, true] => MATRIX_DEPTHS.map(|depth| Pipeline::Asynchronous { depth }).to_vec(),
        [true, false] | [false, true] => vec![Pipeline::Asynchronous { depth: 2 }],
        [false, false] => vec![Pipeline::RegisterPrefetch],
    };
    let numerics = contraction.numerics();
    let fits = |shape: &ContractionShape| {
        let lengths = [AxisClass::Row, AxisClass::Column].map(|class| shape.length(class));
        shape.is_possible()
            && lengths.iter().zip(needed).all(|(length, needed)| *length <= needed)
            && (shape.k_tile == mma::DEPTH * shape.k_slices || shape.k_tile < 2 * points)
            && shape.tile_bytes(numerics) <= MOST_MATRIX_BYTES
    };
    let mut found = Vec::new();
    for (rows, columns) in MATRIX_ROWS.into_iter().flat_map(|rows| MATRIX_COLUMNS.map(|columns| (rows, columns))) {
        for (k_slices, of_slice) in
            MATRIX_SLICES.into_iter().flat_map(|slices| MATRIX_POINTS.map(|points| (slices, points)))
        {
            let square = ContractionShape::square(rows, columns);
            let warps = square.block_size().warps() / k_slices;
            let along_rows =
                std::iter::successors(Some(1), |warps| Some(warps * 2)).take_while(|count| *count <= warps);
            let shapes = along_rows.flat_map(|row_warps| {
                let shape = ContractionShape {
                    row_threads: mma::LANES.rows * row_warps,
                    column_width: mma::LANE_COLUMNS,
                    k_tile: k_slices * of_slice,
                    k_slices,
                    unit: ComputeUnit::Mma,
                    ..square
                };
                pipelines.iter().map(move |pipeline| ContractionShape { pipeline: *pipeline, ..shape })
            });
            found.extend(shapes.filter(fits));
        }
    }
    found
}

/// Results of one cost model on one device, each computed once, by any thread.
#[derive(Default)]
pub struct KnownSums {
    ranked: Known<Sum, RankedShapes>,
    /// By the stage of the parts, and the bytes that they move.
    parts: Known<(Sum, u64), Option<ScheduleParams>>,
}

/// Values by key. The first thread that asks for a value computes it, and others wait for it.
type Known<K, V> = Mutex<FxHashMap<K, Arc<OnceLock<V>>>>;

/// A stage that sums products, without the names of its tensors: equal sums have equal kernels.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Sum {
    stage: Stage,
    tile_rank: usize,
}

/// The shapes of a sum that may be the best with any epilogue, in the order of the rules.
pub(super) struct RankedShapes {
    /// The number of all shapes that the rules allow.
    pub(super) all: usize,
    pub(super) shapes: Vec<RankedShape>,
}

/// A shape of a sum with what does not depend on the epilogue.
pub(super) struct RankedShape {
    pub(super) params: ScheduleParams,
    pub(super) shape: ContractionShape,
    /// What all tiles do before the epilogue.
    pub(super) before: KernelCounts,
    pub(super) loads: OnceLock<FactorLoads>,
}

impl KnownSums {
    /// The ranked shapes of the sum of a contraction, which `rank` finds for the sum alone. `None` where an index depends on data.
    pub(super) fn ranked<T>(
        &self,
        body: &GroupBody,
        rank: impl FnOnce(Arc<GroupBody>) -> RankedShapes,
        take: impl FnOnce(&RankedShapes) -> T,
    ) -> Option<T> {
        let alone = body.sum_alone()?;
        let key = Sum { stage: alone.stages[0].clone(), tile_rank: alone.tile_rank };
        Some(take(entry(&self.ranked, key).get_or_init(|| rank(Arc::new(alone)))))
    }

    /// The parameters of the cheapest kernel of the parts of a sum that move so many bytes, which `find` finds.
    pub(crate) fn of_parts(
        &self,
        parts: &Arc<GroupBody>,
        moved: u64,
        find: impl FnOnce() -> Option<ScheduleParams>,
    ) -> Option<ScheduleParams> {
        let sum = Sum { stage: parts.stages[0].clone(), tile_rank: parts.tile_rank };
        entry(&self.parts, (sum, moved)).get_or_init(find).clone()
    }
}

fn entry<K: Eq + Hash, V>(known: &Known<K, V>, key: K) -> Arc<OnceLock<V>> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(known.entry(key).or_default())
}

impl fmt::Debug for KnownSums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KnownSums")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use crate::partition::build::{Uses, build};
    use warpweave_graph::arena::Id;
    use warpweave_graph::program::StatementId;
    use warpweave_graph::program::text::parse;
    use warpweave_graph::text::Tensors;

    const PRODUCT: &str = "program\nt0: f32[196x256] = input 0\nt1: f32[256x96] = input 1\n\
        e0 (t0, t1) -> t2: f32[196x96] = [a0<196, a1<96] sum[a2<256] mul(x0[a0, a2], x1[a2, a1])\noutput t2\n";

    #[test]
    fn prunes_before_counting_stores() {
        let program = parse(PRODUCT, &Tensors::new()).expect("a program");
        let all = BTreeSet::from([StatementId::from_index(0)]);
        let body = Arc::new(build(&program, &Uses::new(&program), &all).expect("a body"));
        let contraction = Contraction::of(&body).expect("a contraction");
        let (arch, model) = (GpuArch::h200(), ContractionModel::new(&body));
        let bound = bound_on(&body, &arch);
        let (to_fetches, to_stores) = (Cell::new(0), Cell::new(0));
        let counted = |kernel: &Kernel, shape: &ContractionShape, counts: &KernelCounts| {
            let followed = if counts.store_sectors > 0.0 { &to_stores } else { &to_fetches };
            followed.set(followed.get() + 1);
            bound(kernel, shape, counts)
        };
        let candidates = candidates(&body, &contraction, &arch, &model, &bound);
        let before = |number: usize| {
            let (_, kernel, shape) = &candidates[number];
            model.before_epilogue(kernel, shape, Sampling::COARSE)
        };
        let found = best(&model, &candidates, Lengths::of(candidates.len()), before, &counted);
        assert!(to_stores.get() < to_fetches.get(), "{} of {}", to_stores.get(), to_fetches.get());

        let whole = |(_, kernel, shape): &Candidate| {
            let counts = model.counts(kernel, *shape, Sampling::COARSE);
            (bound(kernel, shape, &counts), kernel.clone(), counts)
        };
        let mut whole: Vec<(f64, Kernel, KernelCounts)> = candidates.iter().map(whole).collect();
        whole.sort_by(|a, b| b.0.total_cmp(&a.0));
        let expected = whole.into_iter().take(found.len()).map(|(_, kernel, counts)| (kernel, counts));
        let found = found.into_iter().map(|scored| (candidates[scored.number].1.clone(), scored.counts));
        assert!(found.eq(expected), "no shape with a larger bound is left out");
    }
}
