//! A phase that is a sum of products of halves, a block of rows and columns a warp.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::Read;

use crate::cost::counts::evaluation::{Address, Evaluation, Lanes, WARP, stored};
use crate::cost::counts::tiles::set;
use crate::cost::counts::{KernelCounts, Sampling};
use crate::template::staged::counts::PhaseBox;
use warpweave_plan::body::Stage;
use warpweave_plan::template::contraction::unit::mma;
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::staged::StagedBox;
use warpweave_plan::template::staged::blocked::dense;
use warpweave_plan::template::staged::matrices::{
    FactorPath, Held, MATRIX, MatrixPhase, MatrixProduct, MatrixSide, PhaseSpan, Walk, WarpBlock,
};
use warpweave_plan::tensor_core::fragment::{COLUMNS, ROWS};

/// Elements of a word.
const HALVES: f64 = 2.0;
/// Lanes that hold parts of one row, or column.
const QUAD: usize = WARP / MATRIX;

/// The model of a phase under a block a warp.
pub(crate) struct MatrixModel<'b> {
    stage: &'b Stage,
    product: MatrixProduct,
    walk: Walk,
    batch: Vec<usize>,
    factors: [Evaluation; 2],
    /// Reduced axes and their extents.
    reduction: Vec<(usize, usize)>,
    /// What follows the reduction, stage by stage.
    after: Vec<(Evaluation, Option<Address>)>,
}

/// A block of a warp.
struct Placed<'p> {
    place: &'p PhaseBox,
    batch: usize,
    /// The first row and the first column.
    first: [usize; 2],
}

impl<'b> MatrixModel<'b> {
    /// The model of a phase for which the block was chosen.
    pub(crate) fn new(
        stage: &'b Stage,
        (spans, boxes): (&[PhaseSpan], &[StagedBox]),
        (block, walk): (WarpBlock, Walk),
        after: Vec<(Evaluation, Option<Address>)>,
    ) -> Self {
        let expr = &stage.expr;
        let phase = MatrixPhase { stage, spans, boxes, walk };
        let product = phase.product(block, &|read: &Read| dense(expr, read));
        let product = product.expect("blocks are chosen for what tensor cores can multiply");
        let contraction = Contraction::of_expression(expr).expect("only contractions are multiplied");
        let parallel = expr.parallel().enumerate();
        let batch = parallel.filter(|(_, axis)| contraction.class(*axis) == AxisClass::Batch);
        Self {
            batch: batch.map(|(position, _)| position).collect(),
            factors: [0, 1].map(|at| Evaluation::of_reads(stage, boxes, [product.sides[at].read])),
            reduction: expr.reduced().map(|axis| (axis.index(), expr.axes[axis].extent)).collect(),
            stage,
            product,
            walk,
            after,
        }
    }

    /// What one tile's phase takes.
    pub(crate) fn counts(&self, place: &PhaseBox, sampling: Sampling) -> KernelCounts {
        self.blocks(place, sampling, &|placed| self.products(placed, sampling) + self.finished(placed, sampling))
    }

    /// What every lane does once for each of its rows.
    pub(crate) fn of_rows(
        &self,
        place: &PhaseBox,
        sampling: Sampling,
        of_row: &dyn Fn(&Lanes) -> KernelCounts,
    ) -> KernelCounts {
        self.blocks(place, sampling, &|placed| {
            let mut lanes = Lanes::new(self.stage.expr.axes.len());
            let mut counts = KernelCounts::default();
            for row in 0..self.product.block.lane_rows() {
                lanes.place(|lane, point| {
                    self.place(placed, (0, self.product.sum_row(lane / QUAD, row)), point);
                    true
                });
                counts += of_row(&lanes);
            }
            counts
        })
    }

    /// What the warps do that have blocks.
    fn blocks(
        &self,
        place: &PhaseBox,
        sampling: Sampling,
        of_block: &dyn Fn(&Placed<'_>) -> KernelCounts,
    ) -> KernelCounts {
        let lengths = [self.product.block.rows(), self.product.block.columns()];
        let [rows, columns] = [0, 1].map(|at| place.points(&self.product.sides[at].axes).div_ceil(lengths[at]));
        let total = place.points(&self.batch) * rows * columns;
        let mut counts = KernelCounts::default();
        let (picked, weight) = Sampling::picks(total, sampling.warps);
        for number in picked {
            let first = [number / columns % rows * lengths[0], number % columns * lengths[1]];
            counts += of_block(&Placed { place, batch: number / columns / rows, first }) * weight;
        }
        counts
    }

    /// The loads and products of a warp.
    fn products(&self, placed: &Placed<'_>, sampling: Sampling) -> KernelCounts {
        let together = self.product.order.steps();
        let inner = self.reduction.last().map_or(1, |reduced| reduced.1);
        let outer: usize = self.reduction.iter().rev().skip(1).map(|reduced| reduced.1).product();
        let of_stretch = self.walk.steps.div_ceil(together);
        let chunks = inner.div_ceil(self.walk.steps.max(1)) * of_stretch;
        let mut counts = KernelCounts::default();
        let (picked, weight) = Sampling::picks(outer * chunks, sampling.steps);
        for number in picked {
            let (walk, chunk) = (number / chunks, number % chunks);
            let first = chunk / of_stretch * self.walk.steps + chunk % of_stretch * together;
            for at in [0, 1] {
                counts += self.loads(placed, at, (walk * inner, first)) * weight;
            }
        }
        let WarpBlock { down, along } = self.product.block;
        let products = (outer * chunks * self.product.order.products() * down * along) as f64;
        let operations = products * (2 * ROWS * COLUMNS * mma::DEPTH) as f64;
        counts + KernelCounts { operations, ..KernelCounts::default() }
    }

    /// What bringing the steps from `first` on of one factor takes, of a walk along the innermost axis.
    fn loads(&self, placed: &Placed<'_>, at: usize, (walk, first): (usize, usize)) -> KernelCounts {
        let (side, order) = (&self.product.sides[at], self.product.order);
        let inner = self.reduction.last().map_or(1, |reduced| reduced.1);
        let mut lanes = Lanes::new(self.stage.expr.axes.len());
        let mut counts = KernelCounts::default();
        let is_matrix = matches!(side.path, FactorPath::Matrices { .. });
        let last_step = match side.held {
            Held::Reduction => side.last_start(inner).unwrap_or(inner - 1),
            Held::Stretch => usize::MAX,
        };
        let run = side.run();
        let along = side.axes.iter().rfind(|axis| placed.place.extents[**axis] > 1);
        let along = along.and_then(|axis| self.stage.expr.parallel().nth(*axis));
        let mut load = |width: usize, share: f64, of_lane: &dyn Fn(usize) -> Option<(usize, usize)>| {
            lanes.place(|lane, point| {
                let Some((step, element)) = of_lane(lane) else { return false };
                set(&self.reduction, walk, point);
                self.reduction.last().iter().for_each(|(axis, _)| point[*axis] = step.min(last_step) as i64);
                self.place(placed, (at, element), point);
                // Runs beyond an edge are the last one.
                along.iter().for_each(|axis| point[axis.index()] -= point[axis.index()] % run as i64);
                is_matrix || step < inner
            });
            let mut of_load = self.factors[at].loads(&lanes, width);
            of_load.global_loads *= share;
            of_load.shared_loads *= share;
            counts += of_load;
        };
        let words = order.words();
        let together = words / order.products();
        match side.path {
            FactorPath::Steps => {
                let (width, times) = if order.products() > 1 { (2 * words, 1) } else { (together, words) };
                for (group, time) in (0..side.groups).flat_map(|group| (0..times).map(move |time| (group, time))) {
                    load(width, 1.0 / HALVES, &|lane| {
                        Some((first + order.step(lane % QUAD, time), side.loaded(lane / QUAD, group)))
                    });
                }
            }
            FactorPath::Elements(width) => {
                let share = if width == 1 { 1.0 } else { 1.0 / HALVES };
                for (step, group) in (0..2 * words).flat_map(|step| (0..side.groups / width).map(move |at| (step, at)))
                {
                    load(width, share, &|lane| {
                        let step = first + order.step(lane % QUAD, step / 2) + step % 2;
                        Some((step, side.loaded(lane / QUAD, group)))
                    });
                }
            }
            FactorPath::Matrices { transposed } => {
                // Each matrix takes passes of its own.
                let matrices = (0..side.groups).flat_map(|group| [(group, 0), (group, 1)]);
                for (group, half) in matrices {
                    load(MATRIX, 1.0 / HALVES, &|lane| {
                        let (step, row) = (first + half * MATRIX, lane % MATRIX);
                        (lane / MATRIX == group % 2 * 2 + half).then_some(match transposed {
                            true => (step + row, group * MATRIX),
                            false => (step, group * MATRIX + row),
                        })
                    });
                }
            }
        }
        counts
    }

    /// What follows the reduction, for every element of the block that is stored.
    fn finished(&self, placed: &Placed<'_>, sampling: Sampling) -> KernelCounts {
        let block = self.product.block;
        let mut lanes = Lanes::new(self.stage.expr.axes.len());
        let mut counts = KernelCounts::default();
        let (picked, weight) =
            Sampling::picks(block.lane_rows() * block.lane_columns(), sampling.warps.saturating_mul(2));
        for at in picked {
            let (row, column) = (at / block.lane_columns(), at % block.lane_columns());
            lanes.place(|lane, point| {
                let row = self.place(placed, (0, self.product.sum_row(lane / QUAD, row)), point);
                row && self.place(placed, (1, self.product.sum_column(lane % QUAD, column)), point)
            });
            for (after, output) in &self.after {
                counts += after.counts(&lanes) * weight;
                output.iter().for_each(|output| counts += stored(output, &lanes, 1) * weight);
            }
        }
        counts
    }

    /// Sets the coordinates of a row or column of the block, and of its batch; whether it is stored.
    fn place(&self, placed: &Placed<'_>, (at, element): (usize, usize), point: &mut [i64]) -> bool {
        let side: &MatrixSide = &self.product.sides[at];
        let (number, length) = (placed.first[at] + element, placed.place.points(&side.axes));
        let real = placed.place.place(&side.axes, number.min(length - 1), point) && number < length;
        placed.place.place(&self.batch, placed.batch, point) && real
    }
}
