//! Windows: depthwise convolutions and pooling.
//!
//! What the windows of a chunk cover is copied once, a plane for each residue of its coordinates by the steps of the windows, with
//! the fill value beyond edges. Rows of planes are as far apart as rows of lanes. So the value that a tap has for all lanes lies in
//! one slice, and the sums of all taps stay in vector registers.

use warpweave_graph::ElementType;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, BinaryOp, Index, ReadId, Reducer, Scalar};

use super::arithmetic::functions::{maximum, minimum};
use super::arithmetic::mathematics::multiply_add;
use super::arithmetic::processor::vectorised;
use super::frame::{CAPACITY, Frame, Kind, Slot};
use super::lanes::{Extent, Order};
use super::load::load_singles;
use super::place::{Chunk, Here, Indirect, LaneAxes, Line, Place};
use super::stage::{Source, StageReads};
use crate::host::memory::{Base, HostSpace, Memory};

/// Values of all planes of a chunk.
pub(crate) const PLANE: usize = 16 << 10;
/// Values of a plane beyond its last that are read and mean nothing; lanes of a block.
pub(crate) const BLOCK: usize = 32;
/// Lanes of a small block.
const SMALL_BLOCK: usize = 8;
/// The most taps of a window.
const MOST_TAPS: usize = 128;

/// A reduction of one read along few taps, with a factor a tap if it is a sum.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    values: Values,
    rows: Side,
    columns: Side,
    taps: Vec<Tap>,
    factors: Option<Factors>,
    reducer: Reducer,
    accumulators: Slot,
    lanes: LaneAxes,
}

/// What windows are moved over.
#[derive(Clone, Debug)]
struct Values {
    space: HostSpace,
    element: ElementType,
    base: Base,
    line: Line,
    fill: f32,
}

/// One dimension of the windows.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// The axis of the lanes; none for the single row of one dimension.
    axis: Option<usize>,
    /// Coordinates from one window to the next.
    step: i64,
    /// Elements from one coordinate to the next.
    stride: i64,
    /// The first coordinate of the first tap of the window at 0, and that of the tap whose coordinates are all 0.
    first: i64,
    origin: i64,
    /// The coordinates that are read.
    lower: i64,
    upper: i64,
    /// Planes beyond the first, and whole steps, that taps reach.
    residues: usize,
    reach: usize,
}

/// A tap: its residues, and whole steps beyond them.
#[derive(Clone, Copy, Debug)]
struct Tap {
    plane: [usize; 2],
    steps: [usize; 2],
}

/// A factor a tap.
#[derive(Clone, Debug)]
struct Factors {
    space: HostSpace,
    element: ElementType,
    base: Base,
    line: Line,
    /// Elements from the first tap's to each.
    places: Vec<i64>,
    are_dense: bool,
}

/// One dimension of an index: `step · axis + Σ factor · tap + origin`.
struct Dimension {
    axis: Option<usize>,
    step: i64,
    origin: i64,
    taps: Vec<(usize, i64)>,
}

impl Dimension {
    fn of(index: &Index, rank: usize, lanes: &[usize]) -> Option<Self> {
        let mut found = Self { axis: None, step: 1, origin: index.offset(), taps: Vec::new() };
        for (atom, coefficient) in index.terms() {
            let warpweave_graph::expr::Atom::Axis(axis) = atom else { return None };
            let axis = axis.index();
            if axis >= rank {
                found.taps.push((axis, *coefficient));
            } else if lanes.contains(&axis) && found.axis.is_none() && *coefficient > 0 {
                (found.axis, found.step) = (Some(axis), *coefficient);
            } else {
                return None;
            }
        }
        Some(found)
    }
}

/// The read that windows are moved over, and that of the factors.
fn parts(reads: &StageReads) -> Option<(ReadId, Option<ReadId>)> {
    let expr = &reads.expr;
    let is_single = Kind::of(expr.body_element()) == Kind::Single;
    let reducer = expr.reducer.filter(|_| is_single)?;
    match (&expr.body, reducer) {
        (Scalar::Read(read), Reducer::Sum | Reducer::Maximum | Reducer::Minimum) => Some((*read, None)),
        (Scalar::Binary(BinaryOp::Multiply, left, right), Reducer::Sum) => {
            let (Scalar::Read(left), Scalar::Read(right)) = (left.as_ref(), right.as_ref()) else { return None };
            let spread = |read: ReadId| {
                let lanes =
                    expr.parallel().filter(|axis| expr.reads[read].index.iter().any(|at| at.coefficient(*axis) != 0));
                lanes.count()
            };
            Some(if spread(*left) > spread(*right) { (*left, Some(*right)) } else { (*right, Some(*left)) })
        }
        _ => None,
    }
}

impl Window {
    /// The order of the axes in which a stage's windows are moved, and lanes between rows; none if it has no windows.
    pub(crate) fn order(reads: &StageReads, shared: &[Extent]) -> Option<(Order, usize)> {
        let found = Self::found(reads, shared)?;
        let LaneAxes { row, column } = found.lanes;
        let extent = |axis: usize| shared.iter().find(|(other, _)| *other == axis).copied();
        let outer = shared.iter().filter(|(axis, extent)| Some(*axis) != row && Some(*axis) != column && *extent != 1);
        let order = Order {
            outer: outer.copied().collect(),
            row: row.and_then(extent),
            column: column.and_then(extent),
            merged: Vec::new(),
        };
        Some((order, found.columns.reach))
    }

    /// The windows of a stage on lanes along these axes, whose values go to a register.
    pub(crate) fn new(reads: &StageReads, lanes: LaneAxes, shared: &[Extent], accumulators: Slot) -> Option<Self> {
        let found = Self::found(reads, shared).filter(|found| found.lanes == lanes)?;
        Some(Self { accumulators, ..found })
    }

    fn found(reads: &StageReads, shared: &[Extent]) -> Option<Self> {
        Self::found_in(reads, shared, true).or_else(|| Self::found_in(reads, shared, false))
    }

    /// The windows over the last dimension, and over the one before it if it has an axis of the lanes.
    fn found_in(reads: &StageReads, shared: &[Extent], has_rows: bool) -> Option<Self> {
        let expr = &reads.expr;
        let (moved, factors) = parts(reads)?;
        let (rank, read) = (shared.len(), &expr.reads[moved]);
        let long: Vec<usize> = shared.iter().filter(|(_, extent)| *extent > 1).map(|(axis, _)| *axis).collect();
        let (column_index, outer) = read.index.split_last()?;
        let columns = Dimension::of(column_index, rank, &long)?;
        let is_windowed = |index: &Index| {
            let (mut is_tap, mut is_read) = (false, false);
            index.visit(&mut |axis| is_tap |= axis.index() >= rank, &mut |_| is_read = true);
            is_tap || is_read
        };
        let (row_index, others) = match outer.split_last() {
            Some((row, others)) if has_rows && (is_windowed(row) || Dimension::of(row, rank, &long).is_some()) => {
                (Some(row), others)
            }
            _ => (None, outer),
        };
        let rows = match row_index {
            Some(index) => Dimension::of(index, rank, &long)?,
            None => Dimension { axis: None, step: 1, origin: 0, taps: Vec::new() },
        };
        columns.axis?;
        let lanes = LaneAxes { row: rows.axis, column: columns.axis };
        let moves = |index: &Index| {
            let mut moves = false;
            let mut of = |axis: AxisId| moves |= Some(axis.index()) == lanes.row || Some(axis.index()) == lanes.column;
            index.visit(&mut of, &mut |_| {});
            moves
        };
        if others.iter().any(|index| is_windowed(index) || moves(index)) || rows.axis == columns.axis {
            return None;
        }
        let Source::Memory { space, element, base, index } = &reads.sources[moved] else { return None };
        let Place::Line(line) = Place::new(index, lanes, &|_| false) else { return None };
        let extents: Vec<i64> = expr.operands[read.operand].shape.iter().map(|&extent| extent as i64).collect();
        let (mut row_bounds, mut column_bounds) =
            ((0, extents.iter().rev().nth(1).copied().unwrap_or(1)), (0, *extents.last()?));
        for condition in read.guard.conditions() {
            let shift = |of: Option<&Index>| {
                let difference = condition.index.add(&of?.times(-1));
                difference.as_constant()
            };
            let narrow = |(lower, upper): (i64, i64), shift: i64| {
                (lower.max(condition.lower - shift), upper.min(condition.upper - shift))
            };
            if let Some(shift) = shift(Some(column_index)) {
                column_bounds = narrow(column_bounds, shift);
            } else if let Some(shift) = shift(row_index) {
                row_bounds = narrow(row_bounds, shift);
            } else {
                return None;
            }
        }
        let reduced: Vec<Extent> = expr.reduced().map(|axis| (axis.index(), expr.axes[axis].extent)).collect();
        let count: usize = reduced.iter().map(|(_, extent)| extent).product();
        let is_covered = |axis: usize| rows.taps.iter().chain(&columns.taps).any(|(tap, _)| *tap == axis);
        if !(1..=MOST_TAPS).contains(&count) || !reduced.iter().all(|&(axis, extent)| extent == 1 || is_covered(axis)) {
            return None;
        }
        let points: Vec<Vec<i64>> = (0..count).map(|number| tap_point(expr.axes.len(), &reduced, number)).collect();
        let coordinate = |dimension: &Dimension, point: &[i64]| {
            dimension.taps.iter().map(|(axis, factor)| point[*axis] * factor).sum::<i64>() + dimension.origin
        };
        let coefficient = |axis: Option<usize>| axis.map_or(0, |axis| index.coefficient(AxisId::from_index(axis)));
        let side = |dimension: &Dimension, (lower, upper): (i64, i64), stride: i64| {
            let all = points.iter().map(|point| coordinate(dimension, point));
            let (first, last) = (all.clone().min()?, all.max()?);
            let step = dimension.step;
            let reach = ((last - first) / step) as usize;
            let residues = (last - first).min(step - 1) as usize;
            let Dimension { axis, origin, .. } = *dimension;
            Some(Side { axis, step, stride, first, origin, lower, upper, residues, reach })
        };
        let row_stride = match rows.axis {
            Some(_) => coefficient(rows.axis) / rows.step,
            None => {
                let along = |(axis, factor): &(usize, i64)| coefficient(Some(*axis)).checked_div(*factor);
                rows.taps.first().and_then(along).unwrap_or(0)
            }
        };
        let rows_side = side(&rows, row_bounds, row_stride)?;
        let columns_side = side(&columns, column_bounds, coefficient(columns.axis) / columns.step)?;
        let tap = |point: &Vec<i64>| {
            let split = |side: &Side, dimension: &Dimension| {
                let beyond = coordinate(dimension, point) - side.first;
                ((beyond % side.step) as usize, (beyond / side.step) as usize)
            };
            let (row, column) = (split(&rows_side, &rows), split(&columns_side, &columns));
            Tap { plane: [row.0, column.0], steps: [row.1, column.1] }
        };
        let factors = match factors {
            Some(read) => Some(Factors::new(reads, read, lanes, &points)?),
            None => None,
        };
        let found = Self {
            values: Values { space: *space, element: *element, base: *base, line, fill: read.fill.to_f64() as f32 },
            rows: rows_side,
            columns: columns_side,
            taps: points.iter().map(tap).collect(),
            factors,
            reducer: expr.reducer?,
            accumulators: Slot { kind: Kind::Single, number: 0, is_uniform: false },
            lanes,
        };
        let extent = |axis: Option<usize>| {
            shared.iter().find(|(other, _)| Some(*other) == axis).map_or(1, |(_, extent)| *extent)
        };
        let pitch = (extent(lanes.column) + columns_side.reach).min(CAPACITY);
        let most_rows = (CAPACITY / pitch).min(extent(lanes.row)).max(1);
        let is_small =
            columns_side.reach * 2 < CAPACITY && found.plane_length(most_rows, pitch) * found.planes() <= PLANE;
        is_small.then_some(found)
    }

    /// Lanes between rows that the windows reach into.
    pub(crate) fn reach(&self) -> usize {
        self.columns.reach
    }

    fn planes(&self) -> usize {
        (self.rows.residues + 1) * (self.columns.residues + 1)
    }

    fn plane_length(&self, rows: usize, pitch: usize) -> usize {
        (rows + self.rows.reach) * pitch
    }

    /// Reduces the windows of a chunk.
    pub(crate) fn run(&self, point: &mut [i64], chunk: Chunk, memory: &Memory, frame: &mut Frame, plane: &mut [f32]) {
        let length = self.plane_length(chunk.rows, chunk.pitch);
        self.copy(point, chunk, length, memory, frame, plane);
        let mut offsets = [0usize; MOST_TAPS];
        for (offset, tap) in offsets.iter_mut().zip(&self.taps) {
            let [row, column] = tap.plane;
            let number = row * (self.columns.residues + 1) + column;
            *offset = number * length + tap.steps[0] * chunk.pitch + tap.steps[1];
        }
        let offsets = &offsets[..self.taps.len()];
        let mut factors = [1f32; MOST_TAPS];
        if let Some(own) = &self.factors {
            own.load(point, self.lanes, memory, frame, &mut factors[..self.taps.len()]);
        }
        let factors = &factors[..self.taps.len()];
        let mut out = frame.take::<f32>(self.accumulators);
        combine(frame.processor(), self.reducer, &mut out, chunk.lanes(), plane, offsets, factors);
        frame.put(self.accumulators, out);
    }

    /// Copies what the windows of a chunk cover.
    fn copy(&self, point: &[i64], chunk: Chunk, length: usize, memory: &Memory, frame: &Frame, plane: &mut [f32]) {
        let Values { space, element, base, line, fill } = &self.values;
        let (rows, columns) = (&self.rows, &self.columns);
        let indirect = Indirect::new();
        let start = line.first(&Here { point, lanes: self.lanes, indirect: &indirect, frame });
        let at = |side: &Side| side.axis.map_or(0, |axis| point[axis]) * side.step;
        let (row_start, column_start) = (at(rows), at(columns));
        let (size, base) = (element.bytes() as i64, memory.base(*base));
        for row_residue in 0..=rows.residues {
            for column_residue in 0..=columns.residues {
                let number = row_residue * (columns.residues + 1) + column_residue;
                let plane = &mut plane[number * length..][..length];
                let first = column_start + columns.first + column_residue as i64;
                let ceil = |value: i64| value.div_euclid(columns.step) + i64::from(value.rem_euclid(columns.step) != 0);
                let clamp = |value: i64| value.clamp(0, chunk.pitch as i64);
                let from = clamp(ceil(columns.lower - first));
                let to = clamp(ceil(columns.upper - first)).max(from);
                let column = first + from * columns.step - (column_start + columns.origin);
                let step = columns.step * columns.stride * size;
                for (number, out) in plane.chunks_exact_mut(chunk.pitch).enumerate() {
                    let row = row_start + rows.first + row_residue as i64 + number as i64 * rows.step;
                    if !(rows.lower..rows.upper).contains(&row) || from >= to {
                        out.fill(*fill);
                        continue;
                    }
                    let element_number =
                        start + (row - row_start - rows.origin) * rows.stride + column * columns.stride;
                    let (from, to) = (from as usize, to as usize);
                    out[..from].fill(*fill);
                    out[to..].fill(*fill);
                    let (at, out) = (base + element_number * size, &mut out[from..to]);
                    // Every other value belongs to the next plane, so the same rTask reads it, too.
                    let is_paired = columns.step == 2 && columns.residues > 0;
                    if *element == ElementType::F32
                        && step == size
                        && let Some(values) = memory.singles(*space, at, out.len())
                    {
                        out.copy_from_slice(values);
                    } else if *element == ElementType::F32
                        && is_paired
                        && step == 2 * size
                        && let Some(values) = memory.singles(*space, at, 2 * out.len() - 1)
                    {
                        every_other(frame.processor(), values, out);
                    } else {
                        load_singles(frame.processor(), memory, *space, *element, at, step, out);
                    }
                }
            }
        }
    }
}

impl Factors {
    fn new(reads: &StageReads, read: ReadId, lanes: LaneAxes, points: &[Vec<i64>]) -> Option<Self> {
        let Source::Memory { space, element, base, index } = &reads.sources[read] else { return None };
        let place = Place::new(index, lanes, &|_| false);
        let is_uniform = place.is_uniform();
        let Place::Line(line) = place else { return None };
        if !is_uniform || !index.is_affine() || !reads.expr.reads[read].guard.is_always() {
            return None;
        }
        let at = |point: &Vec<i64>| -> i64 {
            (0..point.len()).map(|axis| point[axis] * index.coefficient(AxisId::from_index(axis))).sum()
        };
        let places: Vec<i64> = points.iter().map(at).collect();
        let are_dense = places.iter().enumerate().all(|(number, place)| *place == number as i64);
        Some(Self { space: *space, element: *element, base: *base, line, places, are_dense })
    }

    fn load(&self, point: &[i64], lanes: LaneAxes, memory: &Memory, frame: &Frame, out: &mut [f32]) {
        let indirect = Indirect::new();
        let first = self.line.first(&Here { point, lanes, indirect: &indirect, frame });
        let size = self.element.bytes() as i64;
        let start = memory.base(self.base) + first * size;
        if self.are_dense {
            return load_singles(frame.processor(), memory, self.space, self.element, start, size, out);
        }
        for (out, place) in out.iter_mut().zip(&self.places) {
            load_singles(
                frame.processor(),
                memory,
                self.space,
                self.element,
                start + place * size,
                0,
                std::slice::from_mut(out),
            );
        }
    }
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

vectorised! {
fn combine<I>(processor, reducer: Reducer, out: &mut [f32], count: usize, plane: &[f32], offsets: &[usize], factors: &[f32]) {
    match reducer {
        Reducer::Minimum => taps(out, count, plane, offsets, factors, |best, x, _| minimum(best, x)),
        Reducer::Maximum => taps(out, count, plane, offsets, factors, |best, x, _| maximum(best, x)),
        Reducer::Sum | Reducer::Product => {
            taps(out, count, plane, offsets, factors, |sum, x, factor| multiply_add::<I>(x, factor, sum));
        }
    }
}
}

vectorised! {
/// Copies the first value, the third, and so on.
fn every_other<I>(processor, values: &[f32], out: &mut [f32]) {
    let (pairs, rest) = values.as_chunks::<2>();
    out.iter_mut().zip(pairs).for_each(|(out, pair)| *out = pair[0]);
    if let ([value], Some(out)) = (rest, out.get_mut(pairs.len())) {
        *out = *value;
    }
}
}

/// Combines, lane by lane, the values that lie so far apart.
#[inline(always)]
fn taps(
    out: &mut [f32],
    count: usize,
    plane: &[f32],
    offsets: &[usize],
    factors: &[f32],
    combine: impl Fn(f32, f32, f32) -> f32,
) {
    let mut at = 0;
    while count - at > SMALL_BLOCK {
        block::<BLOCK>(out, at, plane, offsets, factors, &combine);
        at += BLOCK;
        if at >= count {
            return;
        }
    }
    block::<SMALL_BLOCK>(out, at, plane, offsets, factors, &combine);
}

#[inline(always)]
fn block<const N: usize>(
    out: &mut [f32],
    at: usize,
    plane: &[f32],
    offsets: &[usize],
    factors: &[f32],
    combine: &impl Fn(f32, f32, f32) -> f32,
) {
    let value = |tap: usize| plane[offsets[tap] + at..].first_chunk::<N>().expect("a plane ends with a block");
    let mut sums = [0f32; N];
    sums.iter_mut().zip(value(0)).for_each(|(sum, x)| *sum = x * factors[0]);
    for (tap, &factor) in factors.iter().enumerate().skip(1) {
        sums.iter_mut().zip(value(tap)).for_each(|(sum, x)| *sum = combine(*sum, *x, factor));
    }
    let left = (out.len() - at).min(N);
    out[at..][..left].copy_from_slice(&sums[..left]);
}
