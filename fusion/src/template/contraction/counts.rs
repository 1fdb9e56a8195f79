//! The contraction template: tiles of both factors through shared memory, and an epilogue on each element.

use std::cell::RefCell;
use std::rc::Rc;
use warpweave_graph::numerics::WORD_BYTES;

use rustc_hash::FxHashMap;
use warpweave_graph::ElementType;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, ReadId};

use crate::cost::counts::evaluation::{Address, Evaluation, Lanes, WARP, element_of_output, stored};
use crate::cost::counts::tiles::{PlaceInBox, Tiles, set};
use crate::cost::counts::{KernelCounts, Sampling};
use warpweave_plan::body::{GroupBody, StageSource};
use warpweave_plan::kernel::Kernel;
use warpweave_plan::shared_memory::{SharedWidth, conflict_degree};
use warpweave_plan::template::contraction::column_runs::ColumnRuns;
use warpweave_plan::template::contraction::shape::{ContractionShape, Pipeline};
use warpweave_plan::template::contraction::tile_load::{SideLoad, plain_read, run_axis};
use warpweave_plan::template::contraction::unit::{ComputeUnit, mma};
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::tensor_core::fragment::{FragmentKind, MatrixOperand};

/// Counts that several shapes share.
type Known<K> = FxHashMap<K, KernelCounts>;

/// What fetches of a side follow from: the side, how it is loaded, the tile, and whether words of two elements are.
type FetchKey = (AxisClass, SideLoad, Vec<usize>, bool);

/// What a side's load follows from: its class, its tile along its axes, its length, the step, the slices that fetch for themselves,
/// the unit, and whether copies bring it.
type SideKey = (AxisClass, Vec<usize>, usize, usize, usize, ComputeUnit, bool);

/// What a stage's end follows from: its number, and the width of its runs.
type FinishKey = (usize, Option<usize>);

/// Counts of a contraction under any of its shapes; what shapes have in common is counted once.
pub struct ContractionModel<'b> {
    body: &'b GroupBody,
    contraction: Contraction,
    /// Reduced axes and their extents.
    reduction: Vec<(usize, usize)>,
    factors: [Evaluation; 2],
    /// The tile axes of both sides.
    axes: [Vec<usize>; 2],
    /// What a point of both factors' tiles takes, by the shape as far as that follows from it.
    points: RefCell<FxHashMap<ContractionShape, [PointLoads; 2]>>,
    sides: RefCell<FxHashMap<SideKey, SideLoad>>,
    fetched: RefCell<Known<FetchKey>>,
    finished: RefCell<Known<(ContractionShape, Vec<usize>)>>,
    finishes: RefCell<FxHashMap<FinishKey, Rc<Finish>>>,
}

/// The words that a warp reads of a factor's tile a point of the reduction: as many as there are, and with those of conflicts.
#[derive(Clone, Copy)]
struct PointLoads {
    /// Registers that a lane receives.
    registers: f64,
    ideal: f64,
    served: f64,
}

/// The words that each lane receives of both factors' matrices for a point of the reduction: as many as matrices are loaded.
pub(super) fn matrix_words(shape: &ContractionShape) -> [f64; 2] {
    let words = |operand: MatrixOperand, products: usize| {
        (FragmentKind::HALVES.registers(operand) * products) as f64 / mma::DEPTH as f64
    };
    [
        words(MatrixOperand::Left, shape.rows / mma::LANE_ROWS),
        words(MatrixOperand::Right, shape.columns / mma::LANE_COLUMNS),
    ]
}

const SIDES: [AxisClass; 2] = [AxisClass::Row, AxisClass::Column];

impl<'b> ContractionModel<'b> {
    /// The model of a body that is a contraction.
    ///
    /// # Panics
    /// If it is none.
    pub fn new(body: &'b GroupBody) -> Self {
        let contraction = Contraction::of(body).expect("the template is only chosen for contractions");
        let lead = &body.stages[0].expr;
        let reduction =
            contraction.axes(AxisClass::Reduction).into_iter().map(|axis| (axis.index(), lead.axes[axis].extent));
        Self {
            body,
            reduction: reduction.collect(),
            factors: SIDES.map(|class| Evaluation::new(&body.stages[0], contraction.factor(class), &[])),
            axes: SIDES.map(|class| contraction.tile_axes(body, class)),
            contraction,
            points: RefCell::default(),
            sides: RefCell::default(),
            fetched: RefCell::default(),
            finished: RefCell::default(),
            finishes: RefCell::default(),
        }
    }

    /// What the products of all tiles take alone: a part of what the kernel does, and quickly counted.
    pub fn products(&self, kernel: &Kernel, shape: &ContractionShape) -> KernelCounts {
        self.products_of_tile(shape) * kernel.tiles() as f64
    }

    /// What the kernel with this shape does, over all tiles.
    pub fn counts(&self, kernel: &Kernel, shape: ContractionShape, sampling: Sampling) -> KernelCounts {
        self.before_epilogue(kernel, &shape, sampling) + self.after_reduction(kernel, &shape, sampling)
    }

    /// What the products of all tiles take, and bringing their factors.
    pub fn before_epilogue(&self, kernel: &Kernel, shape: &ContractionShape, sampling: Sampling) -> KernelCounts {
        let tiles = Tiles::new(kernel);
        let mut counts = self.products_of_tile(shape) * tiles.count() as f64;
        for (class, (factor, axes)) in SIDES.into_iter().zip(self.factors.iter().zip(&self.axes)) {
            let tile: Vec<usize> = axes.iter().map(|&axis| kernel.tile()[axis]).collect();
            let side = self.side(class, shape, kernel, &tile);
            let is_word = side.are_words(self.body, &self.contraction, (class, shape));
            let key = (class, side, tile, is_word);
            let known = self.fetched.borrow().get(&key).copied();
            let is_run =
                side.width > 1 && plain_read(&self.body.stages[0].expr, self.contraction.factor(class)).is_none();
            let run = is_run.then(|| run_axis(self.body, &self.contraction, class, side.fetch)).flatten();
            let count = || {
                let mut counts = self.fetches(&tiles, &side, (factor, run), axes, sampling);
                counts.global_loads /= if is_word { 2.0 } else { 1.0 };
                counts
            };
            let of_tile = known.unwrap_or_else(count);
            self.fetched.borrow_mut().insert(key, of_tile);
            counts += of_tile * tiles.count() as f64;
        }
        counts
    }

    /// What follows the reduction, over all tiles.
    pub fn after_reduction(&self, kernel: &Kernel, shape: &ContractionShape, sampling: Sampling) -> KernelCounts {
        let tiles = Tiles::new(kernel);
        let key = (ContractionShape { k_tile: 0, pipeline: Pipeline::Unpipelined, ..*shape }, kernel.tile().to_vec());
        let known = self.finished.borrow().get(&key).copied();
        let new = || {
            let runs = ColumnRuns::of(self.body, &self.contraction, shape, kernel.tile());
            self.epilogue(&tiles, (shape, runs), sampling)
        };
        let of_tile = known.unwrap_or_else(new);
        self.finished.borrow_mut().insert(key, of_tile);
        of_tile * tiles.count() as f64
    }

    fn side(&self, class: AxisClass, shape: &ContractionShape, kernel: &Kernel, tile: &[usize]) -> SideLoad {
        let copies = matches!(shape.pipeline, Pipeline::Asynchronous { .. });
        let key =
            (class, tile.to_vec(), shape.length(class), shape.k_tile, shape.fetching_slices(), shape.unit, copies);
        let new = || SideLoad::new(self.body, &self.contraction, class, shape, kernel.tile());
        *self.sides.borrow_mut().entry(key).or_insert_with(new)
    }

    fn length(&self) -> usize {
        self.reduction.iter().map(|reduced| reduced.1).product()
    }

    /// The products of one tile, and the loads from shared memory that they take.
    fn products_of_tile(&self, shape: &ContractionShape) -> KernelCounts {
        let steps = (self.length().div_ceil(shape.k_tile) * shape.k_tile / shape.k_slices) as f64;
        let [rows, columns] = match shape.unit {
            ComputeUnit::Simt => self.point_loads(shape),
            // No two rows of a matrix begin at one bank; see `SideLoad::place`.
            ComputeUnit::Mma => {
                matrix_words(shape).map(|words| PointLoads { registers: words, ideal: words, served: words })
            }
        };
        let (threads, warps) = (shape.block_size().threads() as f64, shape.block_size().warps() as f64);
        let finish = shape.finish().expect("slices divide a thread's elements");
        // What all slices have left of the elements that a thread finishes.
        let parts = if shape.k_slices > 1 { (finish.rows * finish.columns * shape.k_slices) as f64 } else { 0.0 };
        let additions = parts - parts / shape.k_slices as f64;
        let products = threads * (2.0 * steps * (shape.rows * shape.columns) as f64 + additions);
        // What is loaded ahead in the last step is multiplied by nothing.
        let loaded = steps + shape.points_ahead() as f64;
        let is_integer = self.contraction.element == ElementType::I32;
        KernelCounts {
            operations: if is_integer { 0.0 } else { products },
            integer_operations: if is_integer { products } else { 0.0 },
            shared_loads: threads * (loaded * (rows.registers + columns.registers) + parts),
            shared_ideal: warps * (loaded * (rows.ideal + columns.ideal) + parts),
            shared_wavefronts: warps * (loaded * (rows.served + columns.served) + parts),
            ..KernelCounts::default()
        }
    }

    /// What a warp reads of both factors' tiles a point of the reduction.
    fn point_loads(&self, shape: &ContractionShape) -> [PointLoads; 2] {
        let key = ContractionShape { k_tile: 0, pipeline: Pipeline::Unpipelined, ..*shape };
        if let Some(known) = self.points.borrow().get(&key) {
            return *known;
        }
        let storage = self.contraction.numerics().storage;
        let per_warp = |place: &dyn Fn(usize) -> usize, width: usize, elements: usize| {
            let first: [u64; WARP] =
                std::array::from_fn(|lane| (place(lane) * width * storage.bytes() / WORD_BYTES) as u64);
            let degree = conflict_degree(&first, SharedWidth::of_elements(width, storage));
            let ideal = (elements * storage.bytes()).div_ceil(WORD_BYTES) as f64;
            PointLoads { registers: elements as f64, ideal, served: ideal * degree }
        };
        let loads = [
            per_warp(&|lane| shape.place_of(lane).0, shape.row_width(), shape.rows),
            per_warp(&|lane| shape.place_of(lane).1, shape.column_width, shape.columns),
        ];
        self.points.borrow_mut().insert(key, loads);
        loads
    }

    /// What bringing one side's tiles takes, for an average tile; with the axis along which neighbours lie that are evaluated together.
    fn fetches(
        &self,
        tiles: &Tiles,
        side: &SideLoad,
        (factor, run): (&Evaluation, Option<AxisId>),
        axes: &[usize],
        sampling: Sampling,
    ) -> KernelCounts {
        let (length, warps) = (self.length(), side.threads / WARP);
        let mut lanes = Lanes::new(self.body.stages[0].expr.axes.len());
        let mut counts = KernelCounts::default();
        let (picked, tile_weight) = Sampling::picks(tiles.count(), sampling.tiles);
        for tile in picked {
            let origin = tiles.origin(tile);
            lanes.place(|_, point| {
                point[..origin.len()].copy_from_slice(&origin);
                true
            });
            let (picked, weight) = Sampling::picks(length.div_ceil(side.step), sampling.steps);
            let mut of_steps = KernelCounts::default();
            for step in picked {
                let (picked, weight) = Sampling::picks(side.trips() * warps, sampling.warps.saturating_mul(2));
                let mut of_warps = KernelCounts::default();
                for (trip, warp) in picked.map(|number| (number / warps, number % warps)) {
                    lanes.place(|lane, point| {
                        let Some((in_step, element)) = side.unit(warp * WARP + lane, trip) else { return false };
                        let number = step * side.step + in_step;
                        let inside = tiles.place(&origin, axes, element, point);
                        set(&self.reduction, number, point);
                        inside && number < length
                    });
                    of_warps += match run {
                        _ if side.width == 1 => factor.counts(&lanes),
                        Some(axis) => factor.of_neighbours(&lanes, (side.width, axis)),
                        None => factor.loads(&lanes, side.width),
                    };
                }
                of_steps += of_warps * weight;
            }
            counts += of_steps * weight;
        }
        counts * (tile_weight / tiles.count() as f64)
    }

    /// What follows the reduction, for an average tile.
    fn epilogue(
        &self,
        tiles: &Tiles,
        (shape, runs): (&ContractionShape, Option<ColumnRuns>),
        sampling: Sampling,
    ) -> KernelCounts {
        let mut counts = KernelCounts::default();
        let (picked, weight) = Sampling::picks(tiles.count(), sampling.tiles);
        let origins: Vec<Vec<i64>> = picked.map(|tile| tiles.origin(tile)).collect();
        let (elements, element_weight) = self.finished_elements(tiles, (shape, runs), sampling);
        for stage in 0..self.body.stages.len() {
            let finish = self.finish(stage, runs);
            let mut lanes = Lanes::new(self.body.stages[stage].expr.axes.len());
            for origin in &origins {
                let mut of_warps = KernelCounts::default();
                for element in &elements {
                    lanes.place(|lane, point| tiles.place_box(origin, &element.places[lane], point));
                    of_warps += finish.of_element(&lanes);
                    if let Some((width, places)) = &element.run {
                        // Each element bears its share of its run.
                        lanes.place(|lane, point| tiles.place_box(origin, &places[lane], point));
                        of_warps += finish.of_run(&lanes, *width) * (1.0 / *width as f64);
                    }
                }
                counts += of_warps * element_weight;
            }
        }
        counts * (weight / tiles.count() as f64)
    }

    fn finish(&self, stage: usize, runs: Option<ColumnRuns>) -> Rc<Finish> {
        let new = || Rc::new(Finish::new(self.body, stage, runs));
        let mut known = self.finishes.borrow_mut();
        Rc::clone(known.entry((stage, runs.map(|runs| runs.width))).or_insert_with(new))
    }

    /// The elements that are followed of those that the warps of a block finish, and how many each stands for.
    fn finished_elements(
        &self,
        tiles: &Tiles,
        (shape, runs): (&ContractionShape, Option<ColumnRuns>),
        sampling: Sampling,
    ) -> (Vec<FinishedElement>, f64) {
        let [row_axes, column_axes] = &self.axes;
        let warps = shape.block_size().warps();
        let own = shape.finish().expect("slices divide a thread's elements");
        let (picked, weight) = Sampling::picks(own.rows * own.columns * warps, sampling.warps.saturating_mul(2));
        let followed = picked.map(|number| {
            let (at, warp) = (number / warps, number % warps);
            let places = |column: usize| -> Vec<Option<PlaceInBox>> {
                let place = |lane: usize| {
                    let thread = warp * WARP + lane;
                    let mut place = tiles.place_in_box(row_axes, shape.row_of(thread, at / own.columns))?;
                    place.extend(tiles.place_in_box(column_axes, shape.column_of(thread, column))?);
                    Some(place)
                };
                (0..WARP).map(place).collect()
            };
            let column = at % own.columns;
            let run = runs.map(|runs| (runs.width, places(column - column % runs.width)));
            FinishedElement { places: places(column), run }
        });
        (followed.collect(), weight)
    }
}

/// Where the lanes of a warp stand in a tile when each finishes an element; and the width of its run, with where that begins.
struct FinishedElement {
    places: Vec<Option<PlaceInBox>>,
    run: Option<(usize, Vec<Option<PlaceInBox>>)>,
}

/// What a stage does after the reduction: element by element, and once a run of columns.
struct Finish {
    after: Evaluation,
    output: Option<Address>,
    run_loads: Evaluation,
    run_output: Option<Address>,
}

impl Finish {
    fn new(body: &GroupBody, stage: usize, runs: Option<ColumnRuns>) -> Self {
        let own = &body.stages[stage];
        let expr = &own.expr;
        let after = if expr.reducer.is_some() { expr.epilogue.as_ref() } else { Some(&expr.body) };
        let in_runs = |id: &ReadId| {
            let read = &expr.reads[*id];
            let element = Index::linear(&read.index, &expr.operands[read.operand].shape.strides(), 0);
            let from_memory = matches!(own.sources[read.operand], StageSource::Operand(_));
            from_memory && runs.is_some_and(|runs| runs.reads_neighbours(expr, read, &element))
        };
        let reads: Vec<ReadId> = after.map(|after| expr.reads_of(after)).unwrap_or_default().into_iter().collect();
        let loaded: Vec<ReadId> = reads.into_iter().filter(in_runs).collect();
        let output = Address::of_output(body, stage);
        let is_stored =
            runs.zip(element_of_output(body, stage)).is_some_and(|(runs, element)| runs.are_neighbours(expr, &element));
        let (run_output, output) = if is_stored { (output, None) } else { (None, output) };
        let run_loads = Evaluation::of_reads(own, &[], loaded.iter().copied());
        let after = after.map_or_else(Evaluation::nothing, |after| Evaluation::without(own, after, &[], &loaded));
        Self { after, output, run_loads, run_output }
    }

    fn of_element(&self, lanes: &Lanes) -> KernelCounts {
        let mut counts = self.after.counts(lanes);
        self.output.iter().for_each(|output| counts += stored(output, lanes, 1));
        counts
    }

    fn of_run(&self, lanes: &Lanes, width: usize) -> KernelCounts {
        let mut counts = self.run_loads.loads(lanes, width);
        self.run_output.iter().for_each(|output| counts += stored(output, lanes, width));
        counts
    }
}
