//! Where a chunk of points lies: indices whose parts are prepared, and the points themselves.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Atom, AxisId, Condition, Index, IndirectIndex, ReadId};

use super::frame::{Frame, Slot};
use super::segment::Segment;

/// The axes along which the points of a chunk lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LaneAxes {
    /// Rows follow each other along it.
    pub(crate) row: Option<usize>,
    /// The points of a row follow each other along it.
    pub(crate) column: Option<usize>,
}

/// Points in rows. The point of a row and a column is lane `row · columns + column`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Chunk {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl Chunk {
    pub(crate) const POINT: Self = Self { rows: 1, columns: 1 };

    /// The number of points.
    pub(crate) fn lanes(self) -> usize {
        self.rows * self.columns
    }
}

/// A read that indices use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) read: ReadId,
    pub(crate) slot: Slot,
    /// Whether its values are the same for all columns of a row.
    pub(crate) is_still: bool,
}

/// The reads that indices use.
pub(crate) type Indirect = Vec<Named>;

/// The read that names a place.
pub(crate) fn named(indirect: &Indirect, index: IndirectIndex) -> &Named {
    let found = indirect.iter().find(|named| named.read == index.read);
    found.expect("indirect reads are loaded before the indices that use them")
}

/// An index on the points of a chunk.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// It moves by a constant from one row, and from one column, to the next.
    Line(Line),
    /// Any other.
    Scattered(Index),
}

/// An index that is linear in the axes of the lanes.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    constant: i64,
    /// Coefficients of axes.
    axes: Vec<(usize, i64)>,
    /// What is not linear, but the same for all points of a chunk.
    rest: Option<Index>,
    pub(crate) row: i64,
    pub(crate) column: i64,
}

impl Place {
    /// An index, on chunks along these axes; `is_uniform` tells of a read whether its value is the same for all points.
    pub(crate) fn new(index: &Index, lanes: LaneAxes, is_uniform: &dyn Fn(ReadId) -> bool) -> Self {
        let varies = |axis: AxisId| Some(axis.index()) == lanes.row || Some(axis.index()) == lanes.column;
        let mut axes = Vec::new();
        let (mut rest, mut is_line) = (index.plus(-index.offset()), true);
        for (atom, coefficient) in index.terms() {
            if let Atom::Axis(axis) = atom {
                axes.push((axis.index(), *coefficient));
                rest = rest.add(&Index::axis(*axis).times(-coefficient));
            }
        }
        let mut is_scattered = false;
        rest.visit(&mut |axis| is_scattered |= varies(axis), &mut |read| is_line &= is_uniform(read));
        if is_scattered || !is_line {
            return Self::Scattered(index.clone());
        }
        let along = |axis: Option<usize>| axis.map_or(0, |axis| index.coefficient(AxisId::from_index(axis)));
        let rest = (!rest.terms().is_empty()).then_some(rest);
        Self::Line(Line { constant: index.offset(), axes, rest, row: along(lanes.row), column: along(lanes.column) })
    }

    /// Whether it is the same for all points of a chunk.
    pub(crate) fn is_uniform(&self) -> bool {
        matches!(self, Self::Line(Line { row: 0, column: 0, .. }))
    }

    /// Whether it is the same for all columns of a row.
    pub(crate) fn is_still(&self) -> bool {
        matches!(self, Self::Line(Line { column: 0, .. }))
    }

    /// The values from a row and a column on.
    pub(crate) fn segment(&self, here: &Here, row: usize, column: usize, lane: usize) -> Segment {
        match self {
            Self::Line(line) => {
                Segment { value: self.at(here, row, column, lane), step: line.column, length: i64::MAX }
            }
            Self::Scattered(index) => here.segment(index, row, column, lane),
        }
    }

    /// The value at a row and a column.
    pub(crate) fn at(&self, here: &Here, row: usize, column: usize, lane: usize) -> i64 {
        match self {
            Self::Line(line) => line.first(here) + row as i64 * line.row + column as i64 * line.column,
            Self::Scattered(index) => here.index(index, row, column, lane),
        }
    }
}

impl Line {
    /// Whether it is linear in all axes.
    pub(crate) fn is_affine(&self) -> bool {
        self.rest.is_none()
    }

    /// How far it moves from one value of an axis to the next.
    pub(crate) fn step(&self, axis: usize) -> i64 {
        self.axes.iter().find(|(other, _)| *other == axis).map_or(0, |(_, factor)| *factor)
    }

    /// The value at the first point of a chunk.
    #[inline]
    pub(crate) fn first(&self, here: &Here) -> i64 {
        let linear = self.axes.iter().fold(self.constant, |sum, (axis, factor)| sum + factor * here.point[*axis]);
        match &self.rest {
            None => linear,
            Some(rest) => linear + here.index(rest, 0, 0, 0),
        }
    }
}

/// A condition on the points of a chunk.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) place: Place,
    lower: i64,
    upper: i64,
}

impl Bounds {
    /// A condition, on chunks along these axes.
    pub(crate) fn new(condition: &Condition, lanes: LaneAxes, is_uniform: &dyn Fn(ReadId) -> bool) -> Self {
        let place = Place::new(&condition.index, lanes, is_uniform);
        Self { place, lower: condition.lower, upper: condition.upper }
    }

    /// Whether it holds at a row and a column.
    pub(crate) fn holds(&self, here: &Here, row: usize, column: usize, lane: usize) -> bool {
        (self.lower..self.upper).contains(&self.place.at(here, row, column, lane))
    }

    /// The columns of a row for which it holds, of those from `from` to before `to`; its place is a line.
    pub(crate) fn interval(&self, here: &Here, row: usize, columns: (i64, i64)) -> (i64, i64) {
        let Place::Line(line) = &self.place else { unreachable!("only lines have intervals") };
        self.within(line.first(here) + row as i64 * line.row, line.column, columns)
    }

    /// The numbers for which it holds, of those from `from` to before `to`, of values that begin and move so.
    pub(crate) fn within(&self, first: i64, step: i64, (from, to): (i64, i64)) -> (i64, i64) {
        let ceil = |value: i64, by: i64| value.div_euclid(by) + i64::from(value.rem_euclid(by) != 0);
        match step {
            0 if (self.lower..self.upper).contains(&first) => (from, to),
            0 => (0, 0),
            1 => (from.max(self.lower - first), to.min(self.upper - first)),
            step if step > 0 => (from.max(ceil(self.lower - first, step)), to.min(ceil(self.upper - first, step))),
            step => (
                from.max((first - self.upper).div_euclid(-step) + 1),
                to.min((first - self.lower).div_euclid(-step) + 1),
            ),
        }
    }
}

/// The first point of a chunk, and what indices there may use.
pub(crate) struct Here<'h> {
    pub(crate) point: &'h [i64],
    pub(crate) lanes: LaneAxes,
    pub(crate) indirect: &'h Indirect,
    pub(crate) frame: &'h Frame,
}

impl Here<'_> {
    /// An index at a row and a column.
    pub(crate) fn index(&self, index: &Index, row: usize, column: usize, lane: usize) -> i64 {
        index.evaluate(&|axis| self.axis(axis, row, column), &|place| self.place(place, lane).0)
    }

    /// An axis at a row and a column.
    pub(crate) fn axis(&self, axis: AxisId, row: usize, column: usize) -> i64 {
        let axis = axis.index();
        let in_row = if self.lanes.column == Some(axis) { column as i64 } else { 0 };
        self.point[axis] + in_row + if self.lanes.row == Some(axis) { row as i64 } else { 0 }
    }

    /// The place that a read names, and whether it is the same for all columns.
    pub(crate) fn place(&self, index: IndirectIndex, lane: usize) -> (i64, bool) {
        let Named { slot, is_still, .. } = *named(self.indirect, index);
        (index.nearest(self.frame.integer(slot, lane)), is_still)
    }
}
