//! Windows: depthwise convolutions and pooling.
//!
//! What the windows of a chunk cover is copied or computed once, with the fill value beyond edges. There is a plane for
//! each residue of its coordinates by the steps of the windows. So the value that a tap has for neighbouring windows
//! lies in one slice, and the sums of all taps stay in vector registers. The rows of a chunk are rows of windows, or
//! whole planes one after another.

mod factors;
mod form;
mod stack;
mod tapping;
mod taps;
mod values;

use std::ops::Range as Numbers;
use std::sync::OnceLock;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, Reducer, Scalar, TensorExpr};

use super::frame::{CAPACITY, Counts, Frame, Kind, Slot};
use super::lanes::{Extent, Order};
use super::place::{Chunk, LaneAxes};
use super::stage::{StageReads, scalar_indices};
use super::table::Table;
use crate::host::cover::MOST_PHASES;
use crate::host::memory::Memory;
use crate::host::window_dimension::WindowDimension;
use factors::Factors;
use form::Form;
use stack::Stack;
use tapping::{MOST_TAPS, Tap, Tapping, Windows};
use taps::{BLOCK, Tapped};
use values::{Values, move_together};

/// Singles that windows are reduced in.
pub(crate) const BUFFER: usize = PLANE + BLOCK + TOGETHER;
/// Most values of all planes of a window's chunk.
const PLANE: usize = 16 << 10;
/// Most dimensions behind those that windows move over.
const MOST_BEHIND: usize = 1;
/// Values that are copied before any is reduced: a processor reads again what it has written a while ago.
const TOGETHER: usize = 4 << 10;

/// A reduction of values along few taps, with a factor a tap if it is a sum.
pub(crate) struct Window {
    rows: WindowDimension,
    columns: WindowDimension,
    values: Values,
    fill: f32,
    taps: Vec<Tap>,
    factors: Option<Factors>,
    reducer: Reducer,
    accumulators: Slot,
    /// What the rows of a chunk are.
    chunks: Chunks,
    /// Where the windows of the first chunk lie. Chunks of other planes have the same.
    known: OnceLock<(Windows, Tapping)>,
}

#[derive(Clone, Copy, Debug)]
enum Chunks {
    /// Rows of windows.
    Rows,
    /// Planes along an axis, each of rows of so many windows, or of one.
    Planes { axis: Option<usize>, width: Option<usize> },
}

/// Windows that a stage has.
struct Found<'s> {
    form: Form<'s>,
    rows: WindowDimension,
    columns: WindowDimension,
    /// Whether columns are the last dimension of what windows move over.
    is_last: bool,
    /// The points of the taps.
    points: Vec<Vec<i64>>,
}

/// The order of axes that suits the windows of stages that are evaluated together; none if there is none.
pub(crate) fn order(stages: &[&StageReads], tile: &[Extent], is_whole: &dyn Fn(usize) -> bool) -> Option<Order> {
    let found: Vec<Option<Found>> = stages.iter().map(|stage| Found::new(stage, tile)).collect();
    let axes = found.iter().flatten().next()?.axes();
    // Where neighbouring elements are of other windows, lanes along them may cost less than copies.
    let is_apart = found.iter().flatten().any(|found| found.axes() == axes && !found.is_last);
    if is_apart && Order::of(tile, stages, is_whole).lanes().column != axes.column {
        return None;
    }
    let own = |found: &'_ Option<Found>| found.as_ref().is_some_and(|found| found.axes() == axes);
    let mut indices: Vec<&Index> = Vec::new();
    for (stage, found) in stages.iter().zip(&found) {
        match found.as_ref().filter(|found| found.axes() == axes) {
            Some(found) => indices.extend(found.other_indices(stage)),
            None => indices.extend(stage.indices()),
        }
    }
    let order = Order::of_windows(tile, axes, &indices, is_whole);
    // What windows move over does not move along planes as other reads do: such an order suits nothing but windows.
    let accumulators = Slot { kind: Kind::Single, number: 0, is_uniform: false };
    let is_window = |stage: &StageReads| Window::new(stage, &order, tile, accumulators, Counts::default()).is_some();
    let mut windows = stages.iter().zip(&found).filter(|(_, found)| own(found));
    let suits = order.merged.is_empty() || windows.all(|(stage, _)| is_window(stage));
    suits.then_some(order)
}

impl<'s> Found<'s> {
    fn new(reads: &'s StageReads, tile: &[Extent]) -> Option<Self> {
        let forms = || Form::all(reads).into_iter();
        let found = |has_rows: bool, behind: usize| {
            forms().find_map(|form| Self::in_dimensions(reads, form, tile, (has_rows, behind)))
        };
        (0..=MOST_BEHIND).find_map(|behind| found(true, behind).or_else(|| found(false, behind)))
    }

    /// The windows over a dimension with so many behind it, and over the one before it, or several as one, if there are any or it has
    /// an axis of several values.
    fn in_dimensions(
        reads: &'s StageReads,
        form: Form<'s>,
        tile: &[Extent],
        (has_rows, behind): (bool, usize),
    ) -> Option<Self> {
        let (expr, rank) = (&reads.expr, tile.len());
        let read = &expr.reads[form.reads[0]];
        let extents: Vec<usize> = expr.axes.values().map(|axis| axis.extent).collect();
        let shape = &*expr.operands[read.operand].shape;
        // Several dimensions are one where their indices together are those of one.
        let joined = |at: &Numbers<usize>| {
            let strides: Vec<usize> = at.clone().map(|at_one| shape[at_one + 1..at.end].iter().product()).collect();
            Index::linear(&read.index[at.clone()], &strides, 0)
        };
        let dimension =
            |at: &Numbers<usize>| WindowDimension::new(&joined(at), shape[at.clone()].iter().product(), &extents, rank);
        let is_long = |axis: Option<usize>| tile.iter().any(|of| Some(of.0) == axis && of.1 > 1);
        let last = read.index.len().checked_sub(1 + behind)?;
        let mut columns = dimension(&(last..last + 1)).filter(|columns| is_long(columns.axis))?;
        // Values that are computed are so in lines of one dimension.
        let is_read = matches!(form.moved, Scalar::Read(_));
        let mut before = (0..last).rev().map(|first| first..last).filter(|at| has_rows && (is_read || at.len() == 1));
        let found = before.find_map(|at| dimension(&at).map(|rows| (at, rows)));
        let (row, mut rows) = match found.filter(|(_, rows)| is_long(rows.axis) || rows.tap_count() > 1) {
            Some((at, rows)) => (at, rows),
            None => (0..0, WindowDimension::SINGLE),
        };
        let row_index = joined(&row);
        let are_bounds = form.conditions.iter().all(|condition| {
            let of_rows = !row.is_empty() && rows.narrow(&row_index, condition);
            of_rows || columns.narrow(&read.index[last], condition)
        });
        let is_other = |at: &usize| *at != last && !row.contains(at);
        let mut others = (0..read.index.len()).filter(is_other).map(|at| &read.index[at]);
        let are_still = others.all(|index| is_still(index, rank, [&rows, &columns]));
        let points =
            tap_points(expr, [&rows, &columns]).filter(|_| are_bounds && are_still && rows.axis != columns.axis)?;
        let is_window = move_together(expr, &form, [&rows, &columns]);
        is_window.then_some(Self { form, rows, columns, is_last: behind == 0, points })
    }

    /// The axes along which windows move.
    fn axes(&self) -> LaneAxes {
        LaneAxes { row: self.rows.axis, column: self.columns.axis }
    }

    /// The indices of the stage that have to move along lanes: not those of what windows move over, nor those in tables.
    fn other_indices<'r>(&self, stage: &'r StageReads) -> Vec<&'r Index> {
        let is_moved = |read| self.form.reads.contains(&read);
        let extent = |axis: usize| (axis, stage.expr.axes[AxisId::from_index(axis)].extent);
        let axes: Vec<Extent> = self.rows.axis.into_iter().chain(self.columns.axis).map(extent).collect();
        let mut found = stage.indices_of(&|read| !is_moved(read));
        let mut add = |index: &'r Index, is_value: bool| {
            if !is_value || Table::new(index, None, &axes).is_none() {
                found.push(index);
            }
        };
        stage.expr.epilogue.iter().for_each(|epilogue| scalar_indices(epilogue, &mut add));
        found
    }
}

impl Window {
    /// The windows of a stage on lanes of an order, whose values go to a register; and how many registers there must be.
    pub(crate) fn new(
        reads: &StageReads,
        order: &Order,
        tile: &[Extent],
        accumulators: Slot,
        pinned: Counts,
    ) -> Option<(Self, Counts)> {
        let Found { form, mut rows, mut columns, points, .. } = Found::new(reads, tile)?;
        let extent = |axis: Option<usize>| tile.iter().find(|of| Some(of.0) == axis).map_or(1, |(_, extent)| *extent);
        let (height, width) = (extent(rows.axis), extent(columns.axis));
        let lanes = order.lanes();
        let chunks = match (rows.axis, &order.merged[..]) {
            _ if lanes.column != columns.axis => return None,
            (Some(row), [merged]) if row == *merged => Chunks::Planes { axis: lanes.row, width: Some(width) },
            (Some(row), []) if lanes.row == Some(row) => Chunks::Rows,
            (None, []) => Chunks::Planes { axis: lanes.row, width: None },
            _ => return None,
        };
        let (values, counts) = Values::new(reads, &form, [&mut rows, &mut columns], pinned)?;
        let windows = LaneAxes { row: rows.axis, column: columns.axis };
        let factors = match form.factor {
            Some(read) => Some(Factors::new(reads, read, windows, &points)?),
            None => None,
        };
        let tap = |point: &Vec<i64>| {
            let (row, column) = (rows.place_at(point), columns.place_at(point));
            Tap { plane: [row.0, column.0], steps: [row.1, column.1] }
        };
        let taps = points.iter().map(tap).collect();
        let wide = width.min(CAPACITY);
        let high = height.min(CAPACITY / wide).max(1);
        let plane = (high + rows.reach()) * (wide + columns.reach()) * rows.phases() * columns.phases();
        let (reducer, known) = (reads.expr.reducer?, OnceLock::new());
        let found =
            Self { rows, columns, values, fill: form.fill, taps, factors, reducer, accumulators, chunks, known };
        (plane <= PLANE).then_some((found, counts))
    }

    /// Where windows lie: as of the first chunk if they are the same, else found in `own`.
    fn tapping<'t>(&'t self, windows: Windows, own: &'t mut Option<Tapping>) -> &'t Tapping {
        let new = || Tapping::new([&self.rows, &self.columns], &self.taps, windows);
        match self.known.get_or_init(|| (windows, new())) {
            (known, tapping) if *known == windows => tapping,
            _ => own.insert(new()),
        }
    }

    /// Reduces the windows of a chunk.
    pub(crate) fn run(&self, point: &mut [i64], chunk: Chunk, memory: &Memory, frame: &mut Frame, buffer: &mut [f32]) {
        let Self { rows, columns, values, fill, taps, factors, reducer, accumulators, chunks, known: _ } = self;
        let (axis, planes, windows) = match *chunks {
            Chunks::Rows => (None, 1, (chunk.rows, chunk.columns)),
            Chunks::Planes { axis, width: None } => (axis, chunk.rows, (1, chunk.columns)),
            Chunks::Planes { axis, width: Some(width) } => (axis, chunk.rows, (chunk.columns / width, width)),
        };
        let coordinate = |dimension: &WindowDimension| dimension.axis.map_or(0, |axis| point[axis]);
        let first = [rows, columns].map(coordinate);
        let mut own = None;
        let tapping = self.tapping(Windows { first, count: windows.into() }, &mut own);
        let (cover, runs, offsets) = (&tapping.cover, &tapping.runs, tapping.offsets(taps.len()));
        let (length, processor) = (cover.length(), frame.processor());
        let together = (TOGETHER / length).clamp(1, planes);
        let (buffer, copied) = buffer.split_at_mut(PLANE + BLOCK);
        let mut out = frame.take::<f32>(*accumulators);
        let first = axis.map_or(0, |axis| point[axis]);
        for start in (0..planes).step_by(together) {
            let count = together.min(planes - start);
            let stack = Stack { axis, first: first + start as i64, count, dimensions: [rows, columns], fill: *fill };
            stack.enter(0, point);
            values.copy(&stack, cover, point, memory, frame, buffer);
            let factors = match factors {
                Some(factors) => factors.of_planes(&stack, point, memory, frame, copied),
                None => (&[1f32; MOST_TAPS][..], 0),
            };
            let tapped = Tapped { runs, planes: buffer, length, offsets, factors, count };
            tapped.reduce(processor, *reducer, &mut out[start * windows.0 * windows.1..]);
        }
        axis.into_iter().for_each(|axis| point[axis] = first);
        frame.put(*accumulators, out);
    }
}

/// Whether an index depends neither on taps nor on the axes of windows.
fn is_still(index: &Index, rank: usize, [rows, columns]: [&WindowDimension; 2]) -> bool {
    let (mut is_still, mut is_indirect) = (true, false);
    let mut of = |axis: usize| is_still &= axis < rank && Some(axis) != rows.axis && Some(axis) != columns.axis;
    index.visit(&mut |axis| of(axis.index()), &mut |_| is_indirect = true);
    is_still && !is_indirect
}

/// The points of the taps, which are all that is reduced; `None` if they are too many.
fn tap_points(expr: &TensorExpr, dimensions: [&WindowDimension; 2]) -> Option<Vec<Vec<i64>>> {
    let own: Vec<usize> = dimensions.iter().flat_map(|of| of.taps.iter().map(|tap| tap.axis)).collect();
    let reduced: Vec<Extent> = expr.reduced().map(|axis| (axis.index(), expr.axes[axis].extent)).collect();
    let count: usize = reduced.iter().map(|(_, extent)| extent).product();
    let are_taps = reduced.iter().all(|(axis, extent)| *extent == 1 || own.contains(axis));
    let are_few = (1..=MOST_TAPS).contains(&count) && dimensions.iter().all(|of| of.phases() <= MOST_PHASES);
    let point = |number: usize| tap_point(expr.axes.len(), &reduced, number);
    (are_taps && are_few).then(|| (0..count).map(point).collect())
}

/// The coordinates of a tap of this number, the last axis fastest.
fn tap_point(axes: usize, reduced: &[Extent], mut number: usize) -> Vec<i64> {
    let mut point = vec![0; axes];
    for &(axis, extent) in reduced.iter().rev() {
        point[axis] = (number % extent) as i64;
        number /= extent;
    }
    point
}
