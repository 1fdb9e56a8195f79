//! A phase that is a sum of products, a block of rows and columns a thread.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Index, ReadId, Scalar};

use crate::cost::counts::evaluation::{Address, Evaluation, Lanes, WARP, stored};
use crate::cost::counts::tiles::set;
use crate::cost::counts::{KernelCounts, Sampling};
use crate::template::staged::counts::PhaseBox;
use warpweave_plan::body::{Stage, StageSource};
use warpweave_plan::template::block::BlockSize;
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::staged::blocked::{
    Across, WRITTEN_OUT, dense, is_fetched_ahead, is_wide, reads, steps_a_trip,
};
use warpweave_plan::template::staged::{StagedBox, is_wide_in_box};

/// The block of a thread, how threads lie, and how many there are.
#[derive(Clone, Copy)]
pub(crate) struct BlockSides {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) across: Across,
    pub(crate) block_size: BlockSize,
    /// Whether the last trip along the reduction fetches its own steps again where it would fetch the next.
    pub(crate) again: bool,
}

/// The model of a phase under a block a thread.
pub(crate) struct BlockedModel<'b> {
    stage: &'b Stage,
    batch: Vec<usize>,
    rows: Side,
    columns: Side,
    across: Across,
    block_size: BlockSize,
    /// Reduced axes and their extents.
    reduction: Vec<(usize, usize)>,
    /// Steps of a trip.
    steps: usize,
    /// What follows the reduction, stage by stage.
    after: Vec<(Evaluation, Option<Address>)>,
}

/// The rows, or the columns, of a thread.
struct Side {
    class: AxisClass,
    /// Positions among the parallel axes.
    axes: Vec<usize>,
    per_thread: usize,
    /// What a step takes, and what four steps take together.
    each: Evaluation,
    wide: Evaluation,
    /// Of what is fetched ahead, the parts of both.
    ahead: Option<[Evaluation; 2]>,
}

/// A warp of the threads that cover a box, numbered by batch and by blocks of both sides.
struct Warp<'p> {
    place: &'p PhaseBox,
    /// The number of its first thread.
    first: usize,
    /// Threads that have a block.
    total: usize,
    /// Blocks along rows and along columns.
    blocks: [usize; 2],
}

impl<'b> BlockedModel<'b> {
    pub(crate) fn new(
        stage: &'b Stage,
        boxes: &[StagedBox],
        sides: BlockSides,
        after: Vec<(Evaluation, Option<Address>)>,
    ) -> Self {
        let expr = &stage.expr;
        let contraction = Contraction::of_expression(expr).expect("only contractions are blocked");
        let axes_of = |class: AxisClass| -> Vec<usize> {
            let parallel = expr.parallel().enumerate();
            parallel.filter(|(_, axis)| contraction.class(*axis) == class).map(|(position, _)| position).collect()
        };
        let side = |class: AxisClass, per_thread: usize| {
            let factor = contraction.factor(class);
            let wide = wide_reads(stage, factor, boxes);
            let own = in_memory(stage, factor);
            let ahead = sides.again && !own.is_empty() && is_fetched_ahead(own.len() * per_thread);
            let part = |is_wide: bool| {
                let own = own.iter().copied().filter(|read| wide.contains(read) == is_wide);
                Evaluation::of_reads(stage, boxes, own)
            };
            Side {
                class,
                axes: axes_of(class),
                per_thread,
                ahead: ahead.then(|| [part(true), part(false)]),
                each: Evaluation::without(stage, factor, boxes, &wide),
                wide: Evaluation::of_reads(stage, boxes, wide),
            }
        };
        let fetched = [(AxisClass::Row, sides.rows), (AxisClass::Column, sides.columns)].map(|(class, per_thread)| {
            let elements = in_memory(stage, contraction.factor(class)).len() * per_thread;
            if is_fetched_ahead(elements) { elements } else { 0 }
        });
        let inner = expr.reduced().last().map_or(1, |axis| expr.axes[axis].extent);
        Self {
            batch: axes_of(AxisClass::Batch),
            steps: steps_a_trip(inner, fetched),
            rows: side(AxisClass::Row, sides.rows),
            columns: side(AxisClass::Column, sides.columns),
            across: sides.across,
            block_size: sides.block_size,
            reduction: expr.reduced().map(|axis| (axis.index(), expr.axes[axis].extent)).collect(),
            stage,
            after,
        }
    }

    /// What one tile's phase takes.
    pub(crate) fn counts(&self, place: &PhaseBox, sampling: Sampling) -> KernelCounts {
        self.warps(place, sampling, &|warp| self.products(warp, sampling) + self.finished(warp, sampling))
    }

    /// What every thread does once for each of its rows.
    pub(crate) fn of_rows(
        &self,
        place: &PhaseBox,
        sampling: Sampling,
        of_row: &dyn Fn(&Lanes) -> KernelCounts,
    ) -> KernelCounts {
        self.warps(place, sampling, &|warp| {
            let mut lanes = Lanes::new(self.stage.expr.axes.len());
            let mut counts = KernelCounts::default();
            for at in 0..self.rows.per_thread {
                lanes.place(|lane, point| {
                    self.place(warp, lane, &self.rows, at, point);
                    warp.first + lane < warp.total
                });
                counts += of_row(&lanes);
            }
            counts
        })
    }

    /// What the warps do that have blocks.
    fn warps(&self, place: &PhaseBox, sampling: Sampling, of_warp: &dyn Fn(&Warp<'_>) -> KernelCounts) -> KernelCounts {
        let blocks = [&self.rows, &self.columns].map(|side| place.points(&side.axes).div_ceil(side.per_thread));
        let total = place.points(&self.batch) * blocks[0] * blocks[1];
        let mut counts = KernelCounts::default();
        let warps = total.div_ceil(self.block_size.threads()) * self.block_size.warps();
        let (picked, weight) = Sampling::picks(warps, sampling.warps);
        for warp in picked.filter(|warp| warp * WARP < total) {
            counts += of_warp(&Warp { place, first: warp * WARP, total, blocks }) * weight;
        }
        counts
    }

    /// The fetches and products of a warp.
    fn products(&self, warp: &Warp<'_>, sampling: Sampling) -> KernelCounts {
        let length: usize = self.reduction.iter().map(|reduced| reduced.1).product();
        let mut counts = KernelCounts::default();
        for side in [&self.rows, &self.columns] {
            let (picked, weight) = Sampling::picks(side.per_thread, sampling.warps);
            for at in picked {
                counts += self.fetches(warp, side, at, sampling) * weight;
            }
        }
        let active = (warp.total - warp.first).min(WARP);
        let products = 2 * active * length * self.rows.per_thread * self.columns.per_thread;
        counts += KernelCounts { operations: products as f64, ..KernelCounts::default() };
        counts
    }

    /// What bringing one row or column of each thread takes.
    fn fetches(&self, warp: &Warp<'_>, side: &Side, at: usize, sampling: Sampling) -> KernelCounts {
        let mut lanes = Lanes::new(self.stage.expr.axes.len());
        lanes.place(|lane, point| {
            self.place(warp, lane, side, at, point);
            warp.first + lane < warp.total
        });
        let length: usize = self.reduction.iter().map(|reduced| reduced.1).product();
        let inner = self.reduction.last().map_or(1, |reduced| reduced.1);
        let run = if inner.is_multiple_of(WRITTEN_OUT) { WRITTEN_OUT } else { 1 };
        let mut counts = KernelCounts::default();
        let (picked, weight) = Sampling::picks(length / run, sampling.steps);
        for trip in picked {
            lanes.each(|point| set(&self.reduction, trip * run, point));
            counts += side.wide.loads(&lanes, WRITTEN_OUT) * weight;
            let (picked, of_step) = Sampling::picks(run, sampling.steps);
            for step in picked {
                lanes.each(|point| set(&self.reduction, trip * run + step, point));
                counts += side.each.counts(&lanes) * (of_step * weight);
            }
        }
        if let (Some(ahead), true) = (&side.ahead, inner.is_multiple_of(WRITTEN_OUT)) {
            let (picked, weight) = Sampling::picks(length / inner, sampling.steps);
            for walk in picked {
                counts += self.last_trip(ahead, &mut lanes, (walk + 1) * inner - self.steps) * weight;
            }
        }
        counts
    }

    /// What the last trip of a walk along the innermost axis fetches again, from its first step on.
    fn last_trip(&self, [wide, each]: &[Evaluation; 2], lanes: &mut Lanes, first: usize) -> KernelCounts {
        let mut counts = KernelCounts::default();
        for step in 0..self.steps {
            lanes.each(|point| set(&self.reduction, first + step, point));
            if step.is_multiple_of(WRITTEN_OUT) {
                counts += wide.loads(lanes, WRITTEN_OUT);
            }
            counts += each.loads(lanes, 1);
        }
        counts
    }

    /// What follows the reduction, for every element of the warp's blocks that is stored.
    fn finished(&self, warp: &Warp<'_>, sampling: Sampling) -> KernelCounts {
        let elements = self.rows.per_thread * self.columns.per_thread;
        let mut lanes = Lanes::new(self.stage.expr.axes.len());
        let mut counts = KernelCounts::default();
        let (picked, weight) = Sampling::picks(elements, sampling.warps.saturating_mul(2));
        for at in picked {
            let (row, column) = (at / self.columns.per_thread, at % self.columns.per_thread);
            lanes.place(|lane, point| {
                let row = self.place(warp, lane, &self.rows, row, point);
                let column = self.place(warp, lane, &self.columns, column, point);
                row && column && warp.first + lane < warp.total
            });
            for (after, output) in &self.after {
                counts += after.counts(&lanes) * weight;
                output.iter().for_each(|output| counts += stored(output, &lanes, 1) * weight);
            }
        }
        counts
    }

    /// Sets the coordinates of a lane's `at`-th row or column and of its batch; whether the element is stored.
    fn place(&self, warp: &Warp<'_>, lane: usize, side: &Side, at: usize, point: &mut [i64]) -> bool {
        let [rows, columns] = warp.blocks;
        let thread = (warp.first + lane).min(warp.total - 1);
        let (row, column) = match self.across {
            Across::Columns => (thread / columns % rows, thread % columns),
            Across::Rows => (thread % rows, thread / rows % columns),
        };
        let number = match side.class {
            AxisClass::Row => row + at * rows,
            AxisClass::Column | AxisClass::Batch | AxisClass::Reduction => column + at * columns,
        };
        let length = warp.place.points(&side.axes);
        let real = warp.place.place(&side.axes, number.min(length - 1), point) && number < length;
        warp.place.place(&self.batch, thread / columns / rows, point) && real
    }
}

/// The reads of a factor that are of singles in memory, at places that no data name.
fn in_memory(stage: &Stage, factor: &Scalar) -> Vec<ReadId> {
    let mut found = reads(factor);
    found.retain(|&id| {
        let read = &stage.expr.reads[id];
        let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
        matches!(stage.sources[read.operand], StageSource::Operand(_))
            && stage.expr.operands[read.operand].element.is_single()
            && read.index.iter().chain(conditions).all(Index::is_free_of_reads)
    });
    found
}

/// The reads of a factor of which four steps are loaded at once.
fn wide_reads(stage: &Stage, factor: &Scalar, boxes: &[StagedBox]) -> Vec<ReadId> {
    let mut found = reads(factor);
    found.retain(|&id| {
        let read = &stage.expr.reads[id];
        match stage.sources[read.operand] {
            StageSource::Stage(_) => false,
            StageSource::Operand(_) => is_wide(&stage.expr, read, &dense(&stage.expr, read)),
            StageSource::Staged(earlier) => is_wide_in_box(&stage.expr, read, &boxes[earlier]),
        }
    });
    found
}
