//! What windows are moved over, copied to planes.

use warpweave_graph::ElementType;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Guard, Index, ReadId, Scalar, TensorExpr};

use super::super::frame::{CAPACITY, Counts, Frame};
use super::super::load::load_singles;
use super::super::place::{Chunk, Here, Indirect, LaneAxes, Line, Place};
use super::super::program::{Program, Scope};
use super::super::stage::{Source, StageReads};
use super::form::Form;
use super::stack::Stack;
use crate::host::cover::{Cover, Lines};
use crate::host::indices::HostIndexChecks;
use crate::host::memory::{Base, HostSpace, Memory, SINGLE_BYTES};
use crate::host::window_dimension::WindowDimension;

/// Values by their coordinates.
pub(super) enum Values {
    /// Elements of memory.
    Memory { space: HostSpace, element: ElementType, base: Base, line: Line },
    /// What a program gives of elements.
    Computed(Box<Computed>),
}

/// Values that are computed.
pub(super) struct Computed {
    program: Program,
    checks: HostIndexChecks,
    /// How each residue of rows and of columns is addressed; those of no tap are not.
    shifts: [Vec<Option<Shift>>; 2],
}

/// The tap that reads the coordinates of a residue.
struct Shift {
    /// Windows from the one that reads a coordinate at the first tap to the one that reads it at this.
    windows: i64,
    /// The values of the axes of taps.
    taps: Vec<(usize, i64)>,
}

impl Values {
    /// Those of a form whose windows move along two dimensions, whose strides this finds; and the registers that it takes beyond
    /// those that hold something.
    pub(super) fn new(
        stage: &StageReads,
        form: &Form,
        [rows, columns]: [&mut WindowDimension; 2],
        pinned: Counts,
    ) -> Option<(Self, Counts)> {
        let lanes = LaneAxes { row: rows.axis, column: columns.axis };
        if let (Scalar::Read(read), Source::Memory { space, element, base, index }) =
            (form.moved, &stage.sources[form.reads[0]])
            && form.reads == [*read]
        {
            let along = |axis: usize| index.coefficient(AxisId::from_index(axis));
            let Place::Line(line) = Place::new(index, lanes, &|_| false) else { return None };
            let are_lines = columns.measure(along) && rows.measure(along);
            return are_lines.then_some((Self::Memory { space: *space, element: *element, base: *base, line }, pinned));
        }
        let shifts = [shifts(rows)?, shifts(columns)?];
        let mut expr = stage.expr.clone();
        expr.reads.values_mut().for_each(|read| read.guard = Guard::always());
        let bare = StageReads::bare(expr, stage.sources.clone());
        let scope = Scope { reads: &bare, lanes, merged: &[], values: &[], reduced: None, pinned };
        let (program, counts) = Program::new(form.moved, &scope);
        let computed = Computed { program, checks: HostIndexChecks::default(), shifts };
        Some((Self::Computed(Box::new(computed)), counts))
    }

    /// Copies what chunks of planes cover from a point on, so many one after another along an axis.
    pub(super) fn copy(
        &self,
        planes: &Stack,
        cover: &Cover,
        point: &mut [i64],
        memory: &Memory,
        frame: &mut Frame,
        out: &mut [f32],
    ) {
        let fill = planes.fill;
        if cover.is_empty() {
            return cover.fill(frame.processor(), planes.count, fill, out);
        }
        if let Self::Memory { space, element: ElementType::F32, base, line } = self
            && let Some(lines) = lines(planes, cover, line)
        {
            let first = start(line, point, frame) + cover.first(planes.dimensions);
            let byte = memory.base(*base) + first * SINGLE_BYTES as i64;
            if let Some(singles) = memory.singles_apart(*space, byte, cover.reach(&lines)) {
                return cover.copy(frame.processor(), singles, &lines, fill, out);
            }
        }
        cover.fill(frame.processor(), planes.count, fill, out);
        for (number, out) in out.chunks_exact_mut(cover.length()).enumerate().take(planes.count) {
            planes.enter(number, point);
            match self {
                Self::Memory { space, element, base, line } => {
                    let from = (*space, *element, memory.base(*base), line);
                    copy_elements(planes.dimensions, cover, from, point, memory, frame, out);
                }
                Self::Computed(computed) => computed.copy(planes.dimensions, cover, point, memory, frame, out),
            }
        }
        planes.enter(0, point);
    }
}

/// The lines of planes; `None` if they are none, or if others may write what is between columns that no tap reads.
fn lines(planes: &Stack, cover: &Cover, line: &Line) -> Option<Lines> {
    let [rows, columns] = planes.dimensions;
    let is_dense = columns.stride == 1 && cover.columns.phases() as i64 == columns.step;
    if !is_dense || (planes.count > 1 && !line.is_affine()) {
        return None;
    }
    let along = planes.axis.map_or(0, |axis| line.step(axis));
    let strides = [usize::try_from(along).ok()?, usize::try_from(rows.stride).ok()?];
    Some(Lines { strides, steps: [rows.step as usize, columns.step as usize], count: planes.count })
}

/// The position of a line at a point.
fn start(line: &Line, point: &[i64], frame: &Frame) -> i64 {
    let indirect = Indirect::new();
    line.first(&Here { point, lanes: LaneAxes::default(), indirect: &indirect, frame })
}

/// Copies elements of any type from a space, a byte of it, and a place on.
fn copy_elements(
    [rows, columns]: [&WindowDimension; 2],
    cover: &Cover,
    (space, element, base, line): (HostSpace, ElementType, i64, &Line),
    point: &[i64],
    memory: &Memory,
    frame: &Frame,
    out: &mut [f32],
) {
    let (start, size) = (start(line, point, frame), element.bytes() as i64);
    let step = columns.step * columns.stride * size;
    for (row_phase, row_span) in cover.rows.spans() {
        for (column_phase, span) in cover.columns.spans() {
            let plane = &mut out[cover.plane(row_phase, column_phase)..];
            let column = columns.place(column_phase + span.start * columns.step as usize);
            for row in row_span.clone() {
                let from = base + (start + rows.place(row_phase + row * rows.step as usize) + column) * size;
                let out = &mut plane[row * cover.pitch..][span.clone()];
                load_singles(frame.processor(), memory, space, element, from, step, out);
            }
        }
    }
}

impl Computed {
    fn copy(
        &self,
        [rows, columns]: [&WindowDimension; 2],
        cover: &Cover,
        point: &mut [i64],
        memory: &Memory,
        frame: &mut Frame,
        planes: &mut [f32],
    ) {
        let first = [rows, columns].map(|dimension| dimension.axis.map_or(0, |axis| point[axis]));
        for (row_phase, row_span) in cover.rows.spans() {
            for (column_phase, column_span) in cover.columns.spans() {
                let shifts = (&self.shifts[0][row_phase], &self.shifts[1][column_phase]);
                let ((Some(row_shift), Some(column_shift)), false) = (shifts, column_span.is_empty()) else { continue };
                column_shift.enter(columns, first[1] + column_span.start as i64, point);
                let count = column_span.len();
                let most = (CAPACITY / count).max(1);
                let plane = &mut planes[cover.plane(row_phase, column_phase)..];
                for row in row_span.clone().step_by(most) {
                    row_shift.enter(rows, first[0] + row as i64, point);
                    let together = most.min(row_span.end - row);
                    let chunk = Chunk { rows: together, columns: count };
                    self.program.run(point, chunk, memory, &self.checks, frame);
                    let (result, values) = (self.program.result, frame.values::<f32>(self.program.result));
                    for number in 0..together {
                        let out = &mut plane[(row + number) * cover.pitch..][column_span.clone()];
                        match result.is_uniform {
                            true => out.fill(values[0]),
                            false => out.copy_from_slice(&values[number * count..][..count]),
                        }
                    }
                }
                [(row_shift, rows, first[0]), (column_shift, columns, first[1])]
                    .into_iter()
                    .for_each(|(shift, dimension, first)| shift.leave(dimension, first, point));
            }
        }
    }
}

impl Shift {
    /// Goes to where the coordinate of the first tap of a window is read.
    fn enter(&self, dimension: &WindowDimension, window: i64, point: &mut [i64]) {
        if let Some(axis) = dimension.axis {
            point[axis] = window - self.windows;
        }
        self.taps.iter().for_each(|(axis, value)| point[*axis] = *value);
    }

    fn leave(&self, dimension: &WindowDimension, window: i64, point: &mut [i64]) {
        if let Some(axis) = dimension.axis {
            point[axis] = window;
        }
        self.taps.iter().for_each(|(axis, _)| point[*axis] = 0);
    }
}

/// How the coordinates of each residue are addressed; `None` if windows do not move and have several taps.
fn shifts(dimension: &WindowDimension) -> Option<Vec<Option<Shift>>> {
    if dimension.axis.is_none() && dimension.tap_count() != 1 {
        return None;
    }
    let shift = |phase: usize| {
        let number = (0..dimension.tap_count()).find(|&number| dimension.tap_place(number).0 == phase)?;
        let (mut rest, mut taps) = (number, Vec::new());
        for tap in dimension.taps.iter().rev() {
            taps.push((tap.axis, (rest % tap.extent) as i64));
            rest /= tap.extent;
        }
        Some(Shift { windows: dimension.tap_place(number).1 as i64, taps })
    };
    Some((0..dimension.phases()).map(shift).collect())
}

/// Whether reads move with the windows as the first does, or not at all.
pub(super) fn move_together(expr: &TensorExpr, form: &Form, dimensions: [&WindowDimension; 2]) -> bool {
    let index = |read: ReadId| &expr.reads[read].index;
    let of_windows = |axis: usize| {
        let is_own = |of: &WindowDimension| of.axis == Some(axis) || of.taps.iter().any(|tap| tap.axis == axis);
        dimensions.iter().any(|of| is_own(of))
    };
    let stays = |at: &Index| {
        let (mut stays, mut is_indirect) = (true, false);
        at.visit(&mut |axis| stays &= !of_windows(axis.index()), &mut |_| is_indirect = true);
        stays && !is_indirect
    };
    form.reads.iter().all(|&read| *index(read) == *index(form.reads[0]) || index(read).iter().all(stays))
}
