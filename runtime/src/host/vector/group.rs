//! Stages that are computed together on a box of axes, prepared for registers.

use warpweave_graph::expr::Range;

use super::frame::{CAPACITY, Counts, Frame, Registers};
use super::lane_stage::LaneStage;
use super::lanes::{Extent, Order};
use super::loops::{advance, each_chunk};
use super::point_stage::PointStage;
use super::stage::StageReads;
use super::store::Target;
use super::window;
use crate::host::memory::Memory;

/// An axis of the boxes that a group computes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Shared {
    /// The most values that a box has along it.
    pub(crate) most: usize,
    /// Whether every box has all values.
    pub(crate) is_whole: bool,
}

/// Stages over shared axes, in an order of evaluation.
pub(crate) struct Group {
    axes: usize,
    plan: Plan,
    /// The registers that it takes.
    pub(crate) counts: Counts,
}

enum Plan {
    /// Points of the shared axes are lanes.
    Lanes { order: Order, capacity: usize, stages: Vec<LaneStage> },
    /// Points of the shared axes are taken one at a time, and each stage's own axes are lanes.
    Points { axes: Vec<Extent>, stages: Vec<PointStage> },
}

/// What a thread computes groups in.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) frame: Frame,
    pub(crate) point: Vec<i64>,
    pub(crate) plane: Vec<f32>,
}

impl Group {
    /// Stages that share their first `shared` axes.
    pub(crate) fn new(stages: Vec<StageReads>, shared: &[Shared]) -> Self {
        let rank = shared.len();
        let axes = stages.iter().map(|stage| stage.expr.axes.len()).max().unwrap_or(0);
        let is_wide = stages.iter().any(|stage| stage.expr.parallel().count() > rank);
        let mut registers = Registers::default();
        let tile: Vec<Extent> = shared.iter().map(|shared| shared.most).enumerate().collect();
        let plan = if is_wide {
            let prepared = stages.into_iter().map(|stage| PointStage::new(stage, rank, &mut registers));
            let stages = prepared.collect();
            Plan::Points { axes: tile, stages }
        } else {
            lanes(stages, shared, &tile, &mut registers)
        };
        Self { axes, plan, counts: registers.most }
    }

    /// The most axes of a stage.
    pub(crate) fn axes(&self) -> usize {
        self.axes
    }

    /// Computes a box of the shared axes.
    pub(crate) fn run(&self, ranges: &[Range], memory: &Memory, scratch: &mut Scratch, target: &mut Target) {
        if ranges.iter().any(|range| range.minimum > range.maximum) {
            return;
        }
        let Scratch { frame, point, plane } = scratch;
        point[..self.axes].fill(0);
        for (at, range) in point.iter_mut().zip(ranges) {
            *at = range.minimum;
        }
        match &self.plan {
            Plan::Lanes { order, capacity, stages } => loop {
                each_chunk(order, Some(ranges), *capacity, point, &mut |point, chunk| {
                    for stage in stages {
                        stage.run(order.lanes(), point, chunk, memory, frame, plane, target);
                    }
                });
                if !advance(point, &order.outer, Some(ranges)) {
                    break;
                }
            },
            Plan::Points { axes, stages } => loop {
                for stage in stages {
                    stage.run(point, memory, frame, target);
                }
                if !advance(point, axes, Some(ranges)) {
                    break;
                }
            },
        }
    }
}

/// A plan whose lanes are points of shared axes.
fn lanes(stages: Vec<StageReads>, shared: &[Shared], tile: &[Extent], registers: &mut Registers) -> Plan {
    let stages: Vec<StageReads> = stages.into_iter().map(StageReads::with_bounds_last).collect();
    let all: Vec<&StageReads> = stages.iter().collect();
    let is_whole = |axis: usize| shared[axis].is_whole;
    let order = window::order(&all, tile, &is_whole).unwrap_or_else(|| Order::of(tile, &all, &is_whole));
    let is_only = stages.len() == 1;
    let prepare = |stage: StageReads| LaneStage::new(stage, &order, tile, is_only, registers);
    let prepared: Vec<LaneStage> = stages.into_iter().map(prepare).collect();
    let has_windows = prepared.iter().any(LaneStage::has_windows);
    let capacity = if has_windows { CAPACITY } else { registers.most.capacity() };
    Plan::Lanes { order, capacity, stages: prepared }
}
