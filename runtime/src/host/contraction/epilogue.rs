//! What follows a contraction's sums: the epilogue and later stages, on neighbouring elements at once.

use warpweave_graph::ElementType;
use warpweave_graph::expr::Range;

use super::chain::{Chain, Sheet};
use super::evaluated::finish_run;
use super::slices::{Chunk, Program, Registers};
use crate::host::lanes::LANES;
use crate::host::memory::Memory;
use crate::host::points::for_each_point;
use crate::host::stage::HostStage;
use crate::host::vector::{StageReads, chain};

/// The sums of a tile.
pub(super) struct Sums<'s> {
    /// Row-major.
    pub(super) values: &'s [f32],
    /// Elements from one row to the next.
    pub(super) stride: usize,
    /// The tile axes that number the rows, the last fastest.
    pub(super) rows: &'s [usize],
    /// The tile axes that number the columns.
    pub(super) columns: &'s [usize],
}

impl Sums<'_> {
    /// The sum at a point of a tile.
    fn place(&self, tile: &[Range], point: &[i64]) -> usize {
        let number = |axes: &[usize]| {
            axes.iter().fold(0, |number, &axis| {
                let Range { minimum, maximum } = tile[axis];
                number * (maximum - minimum + 1) as usize + (point[axis] - minimum) as usize
            })
        };
        number(self.rows) * self.stride + number(self.columns)
    }

    /// From one element along an axis of a side to the next.
    fn along(&self, tile: &[Range], axis: usize) -> usize {
        let length = |axis: &usize| (tile[*axis].maximum - tile[*axis].minimum + 1) as usize;
        let inside = |axes: &[usize]| {
            let place = axes.iter().position(|other| *other == axis)?;
            Some(axes[place + 1..].iter().map(length).product::<usize>())
        };
        inside(self.columns).or_else(|| Some(inside(self.rows)? * self.stride)).unwrap_or(0)
    }

    /// From one element along an axis to the next, if it is the innermost that has more than one on its side.
    fn step(&self, tile: &[Range], axis: usize) -> Option<usize> {
        let innermost =
            |axes: &[usize]| axes.iter().rev().find(|&&axis| tile[axis].minimum != tile[axis].maximum).copied();
        match (innermost(self.columns) == Some(axis), innermost(self.rows) == Some(axis)) {
            (true, _) => Some(1),
            (_, true) => Some(self.stride),
            (false, false) => None,
        }
    }
}

/// What a thread goes through the elements of a tile with.
#[derive(Default)]
pub(super) struct Walk {
    /// The axes outside of lines.
    axes: Vec<usize>,
    point: Vec<i64>,
    /// Of the outer axes.
    ranges: Vec<Range>,
    counter: Vec<i64>,
}

/// The stages of a contraction after its sums.
pub(super) struct Epilogue {
    /// All of it, if it is of singles at linear indices.
    program: Option<Program>,
    /// The same as a chain, if it is one.
    chain: Option<Chain>,
    /// The type of the sums.
    element: ElementType,
}

impl Epilogue {
    /// That of an operator's stages, of sums of a type.
    pub(super) fn new(stages: &[StageReads], element: ElementType) -> Self {
        let program = Program::new(stages);
        let chain = program.as_ref().filter(|_| element == ElementType::F32).and_then(Chain::new);
        Self { chain, program, element }
    }

    /// Whether the operator's stages compute it.
    pub(super) fn takes_stages(&self) -> bool {
        self.program.is_none()
    }

    /// Computes and stores all outputs of a tile.
    pub(super) fn run(&self, stages: &[HostStage], tile: &[Range], memory: &Memory, sums: &Sums, walk: &mut Walk) {
        let long = |axis: &usize| tile[*axis].minimum != tile[*axis].maximum;
        let Walk { axes, point, ranges, counter } = walk;
        axes.clear();
        axes.extend((0..tile.len()).filter(long));
        point.clear();
        point.extend(tile.iter().map(|range| range.minimum));
        let Some(innermost) = self.take_line(tile, sums, axes) else {
            let value = &sums.values[sums.place(tile, point)..][..1];
            let chunk = Chunk { point, axis: None, row_axis: None, rows: 1, sums: value };
            return Registers::with(|registers| self.chunk(stages, memory, &chunk, registers));
        };
        let length = |axis: usize| (tile[axis].maximum - tile[axis].minimum + 1) as usize;
        let mut count = length(innermost);
        let step = sums.step(tile, innermost);
        if let Some(program) = &self.program {
            let side = if step == Some(1) { sums.columns } else { sums.rows };
            let joins =
                |outer: usize, count: usize| side.contains(&outer) && program.merges(outer, innermost, count as i64);
            while let Some(outer) = axes.pop_if(|outer| joins(*outer, count)) {
                count *= length(outer);
            }
        }
        let chain = self.chain.as_ref().filter(|_| step == Some(1));
        let most = match &self.program {
            Some(program) if chain.is_some() && program.is_linear_along(innermost) => usize::MAX,
            Some(program) if program.is_linear_along(innermost) => Registers::LENGTH,
            Some(_) => 1,
            None => LANES,
        };
        let joins_rows = |axis: &mut usize| self.program.as_ref().is_some_and(|program| program.is_linear_along(*axis));
        let row_axis = Some(&mut *axes).filter(|_| count <= most / 2).and_then(|axes| axes.pop_if(joins_rows));
        let rows = row_axis.map_or(1, length);
        let line = Line { innermost, count, step: step.unwrap_or(0), row_axis, most };
        let row_step = row_axis.map_or(0, |axis| sums.along(tile, axis));
        ranges.clear();
        ranges.extend(axes.iter().map(|&axis| tile[axis]));
        counter.clear();
        counter.resize(axes.len(), 0);
        for_each_point(ranges, counter, &mut |outer| {
            axes.iter().zip(outer.iter()).for_each(|(axis, value)| point[*axis] = *value);
            let start = sums.place(tile, point);
            for first in (0..rows).step_by(line.rows()) {
                let rows = line.rows().min(rows - first);
                if let Some(axis) = row_axis {
                    point[axis] = tile[axis].minimum + first as i64;
                }
                let values = &sums.values[start + first * row_step..];
                let sums = chain::Sheet { rows, columns: count, stride: row_step, sums: values };
                let sheet = Sheet { point, axis: innermost, row_axis, sums };
                if line.most > Registers::LENGTH && chain.is_some_and(|chain| chain.run(&sheet, memory)) {
                    continue;
                }
                let line = Line { most: line.most.min(Registers::LENGTH), ..line };
                for part in (0..rows).step_by(line.rows()) {
                    if let Some(axis) = row_axis {
                        point[axis] = tile[axis].minimum + (first + part) as i64;
                    }
                    let rows = line.rows().min(rows - part);
                    self.lines(stages, memory, point, (&line, rows), (&values[part * row_step..], row_step));
                }
            }
            row_axis.into_iter().for_each(|axis| point[axis] = tile[axis].minimum);
        });
    }

    /// Takes the axis of lines out: the last one, or that along which a chain finds its sums side by side.
    fn take_line(&self, tile: &[Range], sums: &Sums, axes: &mut Vec<usize>) -> Option<usize> {
        let is_linear = |axis: usize| self.program.as_ref().is_some_and(|program| program.is_linear_along(axis));
        let suits =
            |chain: &Chain, axis: usize| sums.step(tile, axis) == Some(1) && is_linear(axis) && chain.reads_along(axis);
        let place = self.chain.as_ref().and_then(|chain| axes.iter().rposition(|&axis| suits(chain, axis)));
        let last = axes.len().checked_sub(1)?;
        Some(axes.remove(place.unwrap_or(last)))
    }

    /// Some rows of elements, the first of whose sums begin those given.
    fn lines(
        &self,
        stages: &[HostStage],
        memory: &Memory,
        point: &mut [i64],
        (line, rows): (&Line, usize),
        (sums, row_step): (&[f32], usize),
    ) {
        let Line { innermost, count, step, row_axis, most } = *line;
        let start = point[innermost];
        Registers::with(|registers| {
            registers.with_room(|registers, room| {
                for first in (0..count).step_by(most) {
                    let columns = most.min(count - first);
                    point[innermost] = start + first as i64;
                    let sums = if rows == 1 && step == 1 {
                        &sums[first..][..columns]
                    } else {
                        let room = &mut room[..rows * columns];
                        gather(&sums[first * step..], (step, row_step), columns, room);
                        room
                    };
                    let chunk = Chunk { point, axis: Some(innermost), row_axis, rows, sums };
                    self.chunk(stages, memory, &chunk, registers);
                }
            });
        });
        point[innermost] = start;
    }

    fn chunk(&self, stages: &[HostStage], memory: &Memory, chunk: &Chunk, registers: &mut Registers) {
        match &self.program {
            Some(program) => registers.run(program, chunk, memory),
            None if self.element == ElementType::I32 => {
                let sums: &[i32] = bytemuck::cast_slice(chunk.sums);
                finish_run(stages, memory, chunk.point, chunk.axis, sums.len(), sums);
            }
            None => finish_run(stages, memory, chunk.point, chunk.axis, chunk.sums.len(), chunk.sums),
        }
    }
}

/// Copies rows of sums that lie a step from each other.
fn gather(sums: &[f32], (step, row_step): (usize, usize), columns: usize, out: &mut [f32]) {
    for (row, out) in out.chunks_exact_mut(columns).enumerate() {
        let sums = &sums[row * row_step..];
        match step {
            1 => out.copy_from_slice(&sums[..columns]),
            _ => out.iter_mut().enumerate().for_each(|(at, out)| *out = sums[at * step]),
        }
    }
}

/// How the elements of a tile are taken.
#[derive(Clone, Copy)]
struct Line {
    innermost: usize,
    /// Elements along the innermost axis.
    count: usize,
    /// From one of their sums to the next.
    step: usize,
    /// The axis along which rows of them follow each other.
    row_axis: Option<usize>,
    /// Most elements at once.
    most: usize,
}

impl Line {
    /// Rows that are taken at once.
    fn rows(&self) -> usize {
        self.row_axis.map_or(1, |_| (self.most / self.count.max(1)).max(1))
    }
}
