//! The row template: a warp or the block shares a row.

use std::collections::BTreeSet;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, ReadId, Scalar};

use crate::cost::counts::evaluation::{Address, Evaluation, Lanes, WARP, combination, stored};
use crate::cost::counts::tiles::{Tiles, set};
use crate::cost::counts::{KernelCounts, Sampling};
use warpweave_plan::body::{GroupBody, StageSource};
use warpweave_plan::kernel::Kernel;
use warpweave_plan::shared_memory::SharedWidth;
use warpweave_plan::template::row::RowThreads;
use warpweave_plan::template::row::rounds::{Round, is_fixed_along_row, rounds};
use warpweave_plan::template::rules::Rules;

pub(crate) fn counts(kernel: &Kernel, threads: RowThreads, sampling: Sampling) -> KernelCounts {
    let body = kernel.body();
    let tiles = Tiles::new(kernel);
    let rounds = rounds(body);
    let of_round = |round: &Round| -> Vec<StageModel> {
        round.stages.clone().map(|stage| StageModel::new(body, stage, round, threads)).collect()
    };
    let stages: Vec<StageModel> = rounds.iter().flat_map(of_round).collect();
    let warps = threads.block_size().warps();
    let rows = kernel.tile().iter().product::<usize>();
    // Warps with rows of their own, and those that repeat the tile's first.
    let (own, others) = match threads {
        RowThreads::Warp => (0..rows, rows..rows.next_multiple_of(warps)),
        RowThreads::Block => (0..warps, 0..0),
    };
    let mut counts = KernelCounts::default();
    let (picked, weight) = Sampling::picks(tiles.count(), sampling.tiles);
    for tile in picked {
        let origin = tiles.origin(tile);
        for group in [&own, &others] {
            let (picked, weight) = Sampling::picks(group.len(), sampling.warps);
            for warp in picked.map(|number| group.start + number) {
                let row = Row { tiles: &tiles, origin: &origin, warp, threads };
                stages.iter().for_each(|stage| counts += stage.counts(&row, sampling) * weight);
            }
        }
    }
    counts * weight
}

/// A warp of a tile, or one of the rows that warps take one after another.
struct Row<'t> {
    tiles: &'t Tiles,
    origin: &'t [i64],
    warp: usize,
    threads: RowThreads,
}

impl Row<'_> {
    /// The row's coordinates, and whether the warp has a row of its own; without one it repeats the tile's first.
    fn place(&self, point: &mut [i64]) -> bool {
        let axes: Vec<usize> = (0..self.origin.len()).collect();
        let real = match self.threads {
            RowThreads::Warp => self.tiles.place(self.origin, &axes, self.warp, point),
            RowThreads::Block => false,
        };
        if !real {
            point[..self.origin.len()].copy_from_slice(self.origin);
        }
        real || self.threads == RowThreads::Block
    }

    /// The number, among the threads of the row, of the warp's first lane.
    fn first(&self) -> usize {
        match self.threads {
            RowThreads::Warp => 0,
            RowThreads::Block => self.warp * WARP,
        }
    }
}

struct StageModel {
    rank: usize,
    width: usize,
    /// Elements that a lane takes at once.
    run: usize,
    /// The axes along which threads share the work, and whether they reduce.
    along: Vec<(usize, usize)>,
    reduces: bool,
    /// The elements that name the row's places, loaded by every lane once a row.
    places: Vec<Evaluation>,
    points: Evaluation,
    after: Option<Evaluation>,
    combination: usize,
    /// What a warp's load of another warp's accumulator is, one element for all lanes.
    accumulator: SharedWidth,
    output: Option<Address>,
}

impl StageModel {
    fn new(body: &GroupBody, stage: usize, round: &Round, threads: RowThreads) -> Self {
        let expr = &body.stages[stage].expr;
        let own: BTreeSet<ReadId> =
            round.reads(body).into_iter().filter(|(at, ..)| *at == stage).map(|(_, id, _)| id).collect();
        let named = named_once(body, stage);
        let is_other = |id: &ReadId| !own.contains(id) || named.contains(id);
        let others: Vec<ReadId> = expr.reads.iter().map(|(id, _)| id).filter(is_other).collect();
        let place = |id: &ReadId| Evaluation::new(&body.stages[stage], &Scalar::Read(*id), &[]);
        let reduces = expr.reducer.is_some();
        let axes: Vec<AxisId> = if reduces { expr.reduced().collect() } else { body.extra_axes(stage) };
        let combination = if reduces { combination(expr) } else { 0 };
        Self {
            rank: expr.axes.len(),
            width: match threads {
                RowThreads::Warp => WARP,
                RowThreads::Block => threads.block_size().threads(),
            },
            run: round.run,
            along: axes.into_iter().map(|axis| (axis.index(), expr.axes[axis].extent)).collect(),
            reduces,
            places: named.iter().map(place).collect(),
            points: Evaluation::without(&body.stages[stage], &expr.body, &[], &others).and_operations(combination),
            after: expr.epilogue.as_ref().map(|epilogue| Evaluation::new(&body.stages[stage], epilogue, &[])),
            combination,
            accumulator: SharedWidth::of_elements(1, expr.body_element().compute()),
            output: Address::of_output(body, stage),
        }
    }

    fn counts(&self, row: &Row, sampling: Sampling) -> KernelCounts {
        let mut counts = KernelCounts::default();
        let mut lanes = Lanes::new(self.rank);
        lanes.place(|_, point| {
            row.place(point);
            true
        });
        self.places.iter().for_each(|place| counts += place.counts(&lanes));
        let once = !self.reduces && self.along.is_empty();
        if !once {
            counts += self.along_row(row, &mut lanes, sampling);
        }
        if self.reduces {
            counts += self.combined(row);
            lanes.place(|_, point| {
                row.place(point);
                true
            });
            self.after.iter().for_each(|after| counts += after.counts(&lanes));
        }
        if once || self.reduces {
            lanes.place(|lane, point| row.place(point) && row.first() + lane == 0);
            if once && lanes.count() > 0 {
                counts += self.points.counts(&lanes);
            }
            self.output.iter().for_each(|output| counts += stored(output, &lanes, 1));
        }
        counts
    }

    /// The points of the row, spread over its threads.
    fn along_row(&self, row: &Row, lanes: &mut Lanes, sampling: Sampling) -> KernelCounts {
        let points: usize = self.along.iter().map(|along| along.1).product();
        let (picked, weight) = Sampling::picks(points.div_ceil(self.width * self.run), sampling.steps);
        let mut counts = KernelCounts::default();
        for trip in picked {
            lanes.place(|lane, point| {
                let real = row.place(point);
                let number = (trip * self.width + row.first() + lane) * self.run;
                set(&self.along, number, point);
                number < points && (real || self.reduces)
            });
            if self.run == 1 {
                counts += self.points.counts(lanes);
            } else {
                counts += self.points.loads(lanes, self.run);
                counts.operations += (lanes.count() * self.run * self.points.operations()) as f64;
            }
            if !self.reduces {
                self.output.iter().for_each(|output| counts += stored(output, lanes, 1));
            }
        }
        counts * weight
    }

    /// What combining across lanes, and for a block across warps, takes.
    fn combined(&self, row: &Row) -> KernelCounts {
        let warps = row.threads.block_size().warps();
        let shuffles = (WARP.ilog2() as usize * WARP * self.combination) as f64;
        match row.threads {
            RowThreads::Warp => KernelCounts { operations: shuffles, ..KernelCounts::default() },
            RowThreads::Block => KernelCounts {
                operations: shuffles + (warps * WARP * self.combination) as f64,
                shared_loads: (warps * WARP) as f64,
                shared_wavefronts: warps as f64,
                shared_ideal: (warps * self.accumulator.words()) as f64,
                ..KernelCounts::default()
            },
        }
    }
}

/// The reads of a stage whose elements name places that are the same all along a row.
fn named_once(body: &GroupBody, stage: usize) -> BTreeSet<ReadId> {
    let (expr, sources) = (&body.stages[stage].expr, &body.stages[stage].sources);
    let reads = expr.reads_of(&expr.body).into_iter().map(|id| &expr.reads[id]);
    let in_memory = reads.filter(|read| matches!(sources[read.operand], StageSource::Operand(_)));
    let mut named = BTreeSet::new();
    for index in in_memory.flat_map(|read| &read.index).filter(|index| is_fixed_along_row(body, expr, index)) {
        index.visit(&mut |_| {}, &mut |read| _ = named.insert(read));
    }
    named
}
