//! A phase that is a sum of products, a block of rows and columns a thread.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{ReadId, Scalar};

use super::evaluation::{Address, Evaluation, Lanes, WARP, stored};
use super::staged::PhaseBox;
use super::tiles::{decode, set};
use super::{KernelCounts, Sampling};
use crate::partition::blocked::{WRITTEN_OUT, dense, is_wide, reads};
use crate::partition::body::{Stage, StageSource};
use crate::partition::contraction::{AxisClass, Contraction};
use crate::partition::params::{BLOCK_THREADS, BLOCK_WARPS};
use crate::partition::staged::{StagedBox, is_wide_in_box};

/// The model of a phase under a block a thread.
pub(super) struct BlockedModel<'b> {
    stage: &'b Stage,
    batch: Vec<usize>,
    rows: Side,
    columns: Side,
    /// Reduced axes and their extents.
    reduction: Vec<(usize, usize)>,
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
}

/// Where a thread's block lies in a box.
struct Block<'p> {
    place: &'p PhaseBox,
    /// The numbers of the batch, of the block of rows and of the block of columns.
    numbers: Vec<i64>,
    /// Blocks along rows and along columns.
    blocks: [usize; 2],
}

impl<'b> BlockedModel<'b> {
    pub(super) fn new(
        stage: &'b Stage,
        boxes: &[StagedBox],
        rows: usize,
        columns: usize,
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
            Side {
                class,
                axes: axes_of(class),
                per_thread,
                each: Evaluation::without(stage, factor, boxes, &wide),
                wide: Evaluation::of_reads(stage, boxes, wide),
            }
        };
        Self {
            batch: axes_of(AxisClass::Batch),
            rows: side(AxisClass::Row, rows),
            columns: side(AxisClass::Column, columns),
            reduction: expr.reduced().map(|axis| (axis.index(), expr.axes[axis].extent)).collect(),
            stage,
            after,
        }
    }

    /// What one tile's phase takes.
    pub(super) fn counts(&self, place: &PhaseBox, sampling: Sampling) -> KernelCounts {
        let extents = |axes: &[usize]| axes.iter().map(|&axis| place.extents[axis]).product::<usize>();
        let blocks = [&self.rows, &self.columns].map(|side| extents(&side.axes).div_ceil(side.per_thread));
        let parts = [extents(&self.batch), blocks[0], blocks[1]];
        let total: usize = parts.iter().product();
        let mut counts = KernelCounts::default();
        let warps = total.div_ceil(BLOCK_THREADS) * BLOCK_WARPS;
        let (picked, weight) = Sampling::picks(warps, sampling.warps);
        for warp in picked.filter(|warp| warp * WARP < total) {
            let numbers = |lane: usize| decode(&parts, (warp * WARP + lane).min(total - 1));
            let lane_blocks: Vec<Block<'_>> =
                (0..WARP).map(|lane| Block { place, numbers: numbers(lane), blocks }).collect();
            let active = total - warp * WARP;
            counts += self.products(&lane_blocks, active, sampling) * weight;
            counts += self.finished(&lane_blocks, active, sampling) * weight;
        }
        counts
    }

    /// The fetches and products of a warp, of which this many lanes at most take part.
    fn products(&self, blocks: &[Block<'_>], active: usize, sampling: Sampling) -> KernelCounts {
        let mut lanes = Lanes::new(self.stage.expr.axes.len());
        let length: usize = self.reduction.iter().map(|reduced| reduced.1).product();
        let inner = self.reduction.last().map_or(1, |reduced| reduced.1);
        let run = if inner.is_multiple_of(WRITTEN_OUT) { WRITTEN_OUT } else { 1 };
        let mut counts = KernelCounts::default();
        let (picked, weight) = Sampling::picks(length / run, sampling.steps);
        for trip in picked {
            for side in [&self.rows, &self.columns] {
                for at in 0..side.per_thread {
                    for step in 0..run {
                        lanes.place(|lane, point| {
                            set(&self.reduction, trip * run + step, point);
                            self.place(&blocks[lane], side, at, point);
                            lane < active
                        });
                        if step == 0 {
                            counts += side.wide.loads(&lanes, WRITTEN_OUT) * weight;
                        }
                        counts += side.each.counts(&lanes) * weight;
                    }
                }
            }
        }
        let products = 2 * active.min(WARP) * length * self.rows.per_thread * self.columns.per_thread;
        counts += KernelCounts { operations: products as f64, ..KernelCounts::default() };
        counts
    }

    /// What follows the reduction, for every element of the warp's blocks that is stored.
    fn finished(&self, blocks: &[Block<'_>], active: usize, sampling: Sampling) -> KernelCounts {
        let elements = self.rows.per_thread * self.columns.per_thread;
        let mut lanes = Lanes::new(self.stage.expr.axes.len());
        let mut counts = KernelCounts::default();
        let (picked, weight) = Sampling::picks(elements, sampling.warps.saturating_mul(2));
        for at in picked {
            let (row, column) = (at / self.columns.per_thread, at % self.columns.per_thread);
            lanes.place(|lane, point| {
                let real = [(&self.rows, row), (&self.columns, column)]
                    .map(|(side, at)| self.place(&blocks[lane], side, at, point));
                lane < active && real[0] && real[1]
            });
            for (after, output) in &self.after {
                counts += after.counts(&lanes) * weight;
                output.iter().for_each(|output| counts += stored(output, &lanes, 1) * weight);
            }
        }
        counts
    }

    /// Sets the coordinates of a block's `at`-th row or column and of its batch; whether the element is stored.
    fn place(&self, block: &Block<'_>, side: &Side, at: usize, point: &mut [i64]) -> bool {
        let Block { place, numbers, blocks } = block;
        let (own, apart) = match side.class {
            AxisClass::Row => (numbers[1], blocks[0]),
            AxisClass::Column | AxisClass::Batch | AxisClass::Reduction => (numbers[2], blocks[1]),
        };
        let extents: Vec<usize> = side.axes.iter().map(|&axis| place.extents[axis]).collect();
        let length: usize = extents.iter().product();
        let number = own as usize + at * apart;
        let positions = decode(&extents, number.min(length - 1)).into_iter().map(|position| position as usize);
        let positions: Vec<(usize, usize)> = side.axes.iter().copied().zip(positions).collect();
        let real = place.place(self.stage, &positions, point);
        let batches: Vec<usize> = self.batch.iter().map(|&axis| place.extents[axis]).collect();
        let positions = decode(&batches, numbers[0] as usize).into_iter().map(|position| position as usize);
        let positions: Vec<(usize, usize)> = self.batch.iter().copied().zip(positions).collect();
        place.place(self.stage, &positions, point) && real && number < length
    }
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
