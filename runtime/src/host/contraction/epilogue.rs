//! What follows a contraction's sums: the epilogue and later stages, on neighbouring elements at once.

use warpweave_graph::expr::Range;
use warpweave_plan::plan::{MemoryPlan, ROperator};
use warpweave_plan::template::staged::StagedBox;

use super::evaluated::finish_run;
use super::slices::{Chunk, Program, Registers};
use crate::host::lanes::LANES;
use crate::host::memory::Memory;
use crate::host::points::for_each_point;
use crate::host::stage::HostStage;

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

/// The stages of a contraction after its sums.
pub(super) struct Epilogue {
    /// All of it, if it is of singles at linear indices.
    program: Option<Program>,
}

impl Epilogue {
    /// That of an operator.
    pub(super) fn new(operator: &ROperator, memory: &MemoryPlan, boxes: &[StagedBox]) -> Self {
        Self { program: Program::new(operator, memory, boxes) }
    }

    /// Computes and stores all outputs of a tile.
    pub(super) fn run(&self, stages: &[HostStage], tile: &[Range], memory: &Memory, sums: &Sums) {
        let long = |axis: &usize| tile[*axis].minimum != tile[*axis].maximum;
        let mut axes: Vec<usize> = (0..tile.len()).filter(long).collect();
        let mut point: Vec<i64> = tile.iter().map(|range| range.minimum).collect();
        let Some(innermost) = axes.pop() else {
            let value = &sums.values[sums.place(tile, &point)..][..1];
            return self.chunk(stages, memory, &point, (None, 1), value);
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
        let ranges: Vec<Range> = axes.iter().map(|&axis| tile[axis]).collect();
        let mut counter = vec![0; axes.len()];
        let mut gathered = [0f32; LANES];
        let most = match &self.program {
            Some(program) if program.is_linear_along(innermost) => LANES.min(Registers::LENGTH),
            Some(_) => 1,
            None => LANES,
        };
        for_each_point(&ranges, &mut counter, &mut |outer| {
            axes.iter().zip(outer.iter()).for_each(|(axis, value)| point[*axis] = *value);
            let start = sums.place(tile, &point);
            match step {
                Some(1) => {
                    for (number, values) in sums.values[start..][..count].chunks(most).enumerate() {
                        point[innermost] = tile[innermost].minimum + (number * most) as i64;
                        self.chunk(stages, memory, &point, (Some(innermost), values.len()), values);
                    }
                }
                _ => {
                    for first in (0..count).step_by(most) {
                        let values = &mut gathered[..most.min(count - first)];
                        for (at, value) in values.iter_mut().enumerate() {
                            *value = sums.values[start + (first + at) * step.unwrap_or(0)];
                        }
                        point[innermost] = tile[innermost].minimum + first as i64;
                        self.chunk(stages, memory, &point, (Some(innermost), values.len()), values);
                    }
                }
            }
            point[innermost] = tile[innermost].minimum;
        });
    }

    fn chunk(
        &self,
        stages: &[HostStage],
        memory: &Memory,
        point: &[i64],
        (axis, count): (Option<usize>, usize),
        sums: &[f32],
    ) {
        let Some(program) = &self.program else { return finish_run(stages, memory, point, axis, count, sums) };
        Registers::with(|registers| {
            let chunk = Chunk { point, axis, sums };
            registers.run(program, &chunk, memory);
        });
    }
}
