//! Along which axes points are taken together.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Atom, AxisId, Index};

use super::frame::CAPACITY;
use super::place::{LaneAxes, Line, Place};
use super::stage::{Source, StageReads};

/// What an instruction takes beyond its values, in the time of so many of them.
const INSTRUCTION: f64 = 30.0;

/// An axis and how many values it takes.
pub(crate) type Extent = (usize, usize);

/// Axes in the order of their loops, some of them taken together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    /// One value after another.
    pub(crate) outer: Vec<Extent>,
    pub(crate) row: Option<Extent>,
    /// Its extent is that of all axes that it stands for: indices move along them as along the last of them.
    pub(crate) column: Option<Extent>,
    /// The axes before it that it stands for.
    pub(crate) merged: Vec<usize>,
}

impl Order {
    /// The axes of the lanes.
    pub(crate) fn lanes(&self) -> LaneAxes {
        LaneAxes { row: self.row.map(|(axis, _)| axis), column: self.column.map(|(axis, _)| axis) }
    }

    /// The cheapest order of these axes for stages that are evaluated together; `is_whole` tells of an axis whether all its
    /// values are always taken.
    pub(crate) fn of(axes: &[Extent], stages: &[&StageReads], is_whole: &dyn Fn(usize) -> bool) -> Self {
        let axes: Vec<Extent> = axes.iter().copied().filter(|(_, extent)| *extent != 1).collect();
        let Some(&last) = axes.last() else { return Self::default() };
        let cost = |&(axis, extent): &Extent| {
            let lanes = LaneAxes { row: None, column: Some(axis) };
            accesses(stages, lanes) + INSTRUCTION / extent.clamp(1, CAPACITY) as f64
        };
        let column =
            axes.iter().copied().rev().reduce(|best, other| if cost(&other) < cost(&best) { other } else { best });
        let mut column = column.unwrap_or(last);
        let mut outer: Vec<Extent> = axes.into_iter().filter(|(axis, _)| *axis != column.0).collect();
        let mut merged = Vec::new();
        let indices: Vec<&Index> = stages.iter().flat_map(|stage| stage.indices()).collect();
        while let Some(&(axis, extent)) = outer.iter().rfind(|(axis, _)| *axis < column.0)
            && merged.iter().chain([&column.0]).all(|&axis| is_whole(axis))
            && indices.iter().all(|index| moves_as(index, axis, column))
        {
            merged.push(axis);
            column.1 *= extent;
            outer.retain(|(other, _)| *other != axis);
        }
        let row = (column.1 * 2 <= CAPACITY).then(|| nearest(&outer, column.0)).flatten();
        outer.retain(|other| Some(*other) != row);
        Self { outer, row, column: Some(column), merged }
    }

    /// The order for windows that move along two axes: whole planes side by side, or else rows of windows. Planes stand side by
    /// side if columns are whole, a plane fits, and every index moves from one row to the next as along a row.
    pub(crate) fn of_windows(
        axes: &[Extent],
        windows: LaneAxes,
        indices: &[&Index],
        is_whole: &dyn Fn(usize) -> bool,
    ) -> Self {
        let own = |axis: Option<usize>| axes.iter().copied().find(|of| Some(of.0) == axis);
        let (row, column) = (own(windows.row), own(windows.column));
        let is_other = |of: &&Extent| Some(of.0) != windows.row && Some(of.0) != windows.column && of.1 != 1;
        let outer: Vec<Extent> = axes.iter().filter(is_other).copied().collect();
        let joins = |(row, extent): Extent, column: Extent| {
            let is_plane = is_whole(column.0) && extent * column.1 <= CAPACITY;
            is_plane && indices.iter().all(|index| moves_as(index, row, column))
        };
        let (mut column, mut merged) = (column, Vec::new());
        if let (Some(own), Some(column)) = (row, &mut column) {
            if !joins(own, *column) {
                return Self { outer, row, column: Some(*column), merged };
            }
            (column.1, merged) = (column.1 * own.1, vec![own.0]);
        }
        let row = column.and_then(|(column, _)| nearest(&outer, column));
        let outer = outer.into_iter().filter(|other| Some(*other) != row).collect();
        Self { outer, row, column, merged }
    }

    /// Whether there is no point.
    pub(crate) fn is_empty(&self) -> bool {
        self.outer.iter().chain(&self.row).chain(&self.column).any(|(_, extent)| *extent == 0)
    }

    /// What an evaluation takes per value, in the time of one step on one value.
    pub(crate) fn cost(&self, stages: &[&StageReads]) -> f64 {
        let extent = |axis: Option<Extent>| axis.map_or(1, |(_, extent)| extent);
        let count = (extent(self.row) * extent(self.column)).clamp(1, CAPACITY);
        accesses(stages, self.lanes()) + INSTRUCTION / count as f64
    }
}

/// The last axis before another, or the last of all.
fn nearest(axes: &[Extent], column: usize) -> Option<Extent> {
    axes.iter().rfind(|(axis, _)| *axis < column).or(axes.last()).copied()
}

/// Whether a step along an axis moves an index as far as all steps along the column do, so that the column may go on beyond
/// its end.
fn moves_as(index: &Index, axis: usize, (column, extent): Extent) -> bool {
    let coefficient = |axis: usize| index.coefficient(AxisId::from_index(axis));
    let linear = coefficient(axis) == coefficient(column) * extent as i64;
    let mut rest = index.clone();
    for (atom, coefficient) in index.terms() {
        if let Atom::Axis(axis) = atom {
            rest = rest.add(&Index::axis(*axis).times(-coefficient));
        }
    }
    let mut is_inside = false;
    rest.visit(&mut |inner| is_inside |= inner.index() == axis || inner.index() == column, &mut |_| {});
    linear && !is_inside
}

/// What the reads and writes of memory of stages take per value.
fn accesses(stages: &[&StageReads], lanes: LaneAxes) -> f64 {
    let class = |index: &Index| match Place::new(index, lanes, &|_| true) {
        Place::Scattered(_) => 6.0,
        Place::Line(Line { row: 0, column: 0, .. }) => 0.1,
        Place::Line(Line { column: 0 | 1, .. }) => 1.0,
        Place::Line(_) => 4.0,
    };
    let of = |stage: &&StageReads| {
        let reads = stage.sources.values().map(|source| match source {
            Source::Memory { index, .. } => class(index),
            Source::Stage(_) => 0.0,
        });
        reads.sum::<f64>() + stage.output.as_ref().map_or(0.0, |output| class(&output.index))
    };
    stages.iter().map(of).sum()
}
