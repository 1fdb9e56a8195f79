//! What windows are moved over, copied to planes.

use warpweave_graph::ElementType;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Guard, Index, ReadId, Scalar, TensorExpr};

use super::super::arithmetic::processor::of_vectors;
use super::super::frame::{CAPACITY, Counts, Frame};
use super::super::load::load_singles;
use super::super::place::{Chunk, Here, Indirect, LaneAxes, Line, Place};
use super::super::program::{Program, Scope};
use super::super::stage::{Source, StageReads};
use super::cover::Cover;
use super::form::Form;
use crate::host::indices::HostIndexChecks;
use crate::host::memory::{Base, HostSpace, Memory, Singles};
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
            return are_lines.then(|| (Self::Memory { space: *space, element: *element, base: *base, line }, pinned));
        }
        let shifts = [shifts(rows)?, shifts(columns)?];
        let mut expr = stage.expr.clone();
        expr.reads.values_mut().for_each(|read| read.guard = Guard::always());
        let bare = StageReads::bare(expr, stage.sources.clone());
        let scope = Scope { reads: &bare, lanes, values: &[], reduced: None, pinned };
        let (program, counts) = Program::new(form.moved, &scope);
        let computed = Computed { program, checks: HostIndexChecks::default(), shifts };
        Some((Self::Computed(Box::new(computed)), counts))
    }

    /// Copies what a chunk covers from a point on.
    pub(super) fn copy(
        &self,
        [rows, columns]: [&WindowDimension; 2],
        cover: &Cover,
        point: &mut [i64],
        memory: &Memory,
        frame: &mut Frame,
        planes: &mut [f32],
    ) {
        if cover.rows.inside.is_empty() || cover.columns.inside.is_empty() {
            return;
        }
        let (space, element, base, line) = match self {
            Self::Memory { space, element, base, line } => (*space, *element, *base, line),
            Self::Computed(computed) => return computed.copy([rows, columns], cover, point, memory, frame, planes),
        };
        let indirect = Indirect::new();
        let lanes = LaneAxes { row: rows.axis, column: columns.axis };
        let at = |of: &WindowDimension, coordinate: usize| (of.first - of.origin + coordinate as i64) * of.stride;
        let start = line.first(&Here { point, lanes, indirect: &indirect, frame });
        let (size, base) = (element.bytes() as i64, memory.base(base));
        let [row_step, column_step] = [rows.step as usize, columns.step as usize];
        if element == ElementType::F32
            && columns.stride == 1
            && let Ok(stride) = usize::try_from(rows.stride)
        {
            let first = start + at(rows, cover.rows.inside.start) + at(columns, cover.columns.inside.start);
            let length = (cover.rows.inside.len() - 1) * stride + cover.columns.inside.len();
            if let Some(singles) = memory.singles_apart(space, base + first * size, length) {
                let steps = [row_step, column_step];
                return copy_rows(frame.processor(), cover, singles, stride, steps, planes);
            }
        }
        for (row_phase, row_span) in cover.rows.spans() {
            for (column_phase, column_span) in cover.columns.spans() {
                let plane = &mut planes[cover.plane(row_phase, column_phase)..];
                let column = column_phase + column_span.start * column_step;
                for row in row_span.clone() {
                    let element_number = start + at(rows, row_phase + row * row_step) + at(columns, column);
                    let out = &mut plane[row * cover.pitch..][column_span.clone()];
                    let step = columns.step * columns.stride * size;
                    load_singles(frame.processor(), memory, space, element, base + element_number * size, step, out);
                }
            }
        }
    }
}

of_vectors! {
/// Copies rows of singles, which begin with the first coordinates that are read, `stride` apart.
fn copy_rows<V>(processor, cover: &Cover, singles: Singles<'_>, stride: usize, steps: [usize; 2], planes: &mut [f32]) {
    let (rows, columns) = (&cover.rows, &cover.columns);
    for (row_phase, row_span) in rows.spans() {
        for row in row_span {
            let coordinate = row_phase + row * steps[0] - rows.inside.start;
            let source = singles.slice(coordinate * stride, columns.inside.len());
            for (column_phase, span) in columns.spans() {
                let out = &mut planes[cover.plane(row_phase, column_phase) + row * cover.pitch..][span.clone()];
                if steps[1] == 1 {
                    V::copy(source, out);
                } else if !out.is_empty() {
                    every(&source[column_phase + span.start * steps[1] - columns.inside.start..], steps[1], out);
                }
            }
        }
    }
}
}

/// Copies one value of every so many.
#[inline(always)]
fn every(values: &[f32], step: usize, out: &mut [f32]) {
    if step != 2 {
        return out.iter_mut().zip(values.iter().step_by(step)).for_each(|(out, value)| *out = *value);
    }
    let (pairs, rest) = values.as_chunks::<2>();
    out.iter_mut().zip(pairs).for_each(|(out, pair)| *out = pair[0]);
    if let (Some(value), Some(out)) = (rest.first(), out.get_mut(pairs.len())) {
        *out = *value;
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
        let number = (0..dimension.tap_count()).find(|&number| dimension.place(number).0 == phase)?;
        let (mut rest, mut taps) = (number, Vec::new());
        for tap in dimension.taps.iter().rev() {
            taps.push((tap.axis, (rest % tap.extent) as i64));
            rest /= tap.extent;
        }
        Some(Shift { windows: dimension.place(number).1 as i64, taps })
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
