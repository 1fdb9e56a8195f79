//! Reductions along the axes that they reduce, one row after another.

use warpweave_graph::ElementType;
use warpweave_graph::expr::{BinaryOp, Reducer, Scalar};
use warpweave_plan::plan::BufferSpace;

use super::arithmetic::products::{Sums, dot, matrix_vector};
use super::frame::{Counts, Frame, Number, Slot};
use super::lanes::{Extent, Order};
use super::loops::{advance, each_chunk};
use super::place::{Chunk, Here, Indirect, LaneAxes, Line, Place};
use super::program::{Ending, Scope};
use super::reduce::{Combination, Total};
use super::stage::{Source, StageReads};
use crate::host::indices::HostIndexChecks;
use crate::host::memory::{Base, HostSpace, Memory, SINGLE_BYTES};

/// A reduction along a stage's own axes.
pub(crate) struct RowReduction {
    order: Order,
    capacity: usize,
    summand: Summand,
    combination: Combination,
}

enum Summand {
    /// What a program gives.
    Evaluated(Ending),
    /// Products of singles that lie side by side in memory along all that is reduced but outer axes.
    Products(Vec<[Side; 2]>),
}

/// Singles side by side in memory.
struct Side {
    space: HostSpace,
    base: Base,
    line: Line,
}

impl RowReduction {
    /// The reduction of a stage along these axes, and the registers that it takes.
    pub(crate) fn new(
        reads: &StageReads,
        axes: &[Extent],
        combination: Combination,
        values: &[Option<Slot>],
        pinned: Counts,
    ) -> (Self, Counts) {
        let order = Order::of(axes, &[reads], &|_| true);
        if combination.reducer == Reducer::Sum
            && combination.element == ElementType::F32
            && let Some(products) = products(reads, &order)
        {
            let summand = Summand::Products(products);
            return (Self { order, capacity: 0, summand, combination }, pinned);
        }
        let scope = Scope { reads, lanes: order.lanes(), merged: &order.merged, values, reduced: None, pinned };
        let (ending, counts) = Ending::new(combination, &reads.expr.body, &scope);
        let capacity = counts.capacity();
        (Self { order, capacity, summand: Summand::Evaluated(ending), combination }, counts)
    }

    /// The value at one point.
    pub(crate) fn total(
        &self,
        point: &mut [i64],
        memory: &Memory,
        checks: &HostIndexChecks,
        frame: &mut Frame,
    ) -> Total {
        let Self { order, capacity, summand, combination } = self;
        let mut total = Total::new(*combination);
        match summand {
            Summand::Products(products) => {
                total.add(self.sum(products, point, memory, frame));
            }
            Summand::Evaluated(_) if order.is_empty() => {}
            Summand::Evaluated(ending) => loop {
                each_chunk(order, None, *capacity, point, &mut |point, chunk| match ending {
                    Ending::Value(program) => {
                        program.run(point, chunk, memory, checks, frame);
                        combination.fold(&mut total, program.result, chunk.lanes(), frame);
                    }
                    Ending::Product(program, factors) => {
                        program.run(point, chunk, memory, checks, frame);
                        total.add_products(*factors, chunk.lanes(), frame);
                    }
                });
                if !advance(point, &order.outer, None) {
                    break;
                }
            },
        }
        total
    }

    /// The values at all points of a chunk along these axes, to a register. Of each pair of registers, the second takes the
    /// point's value of the first.
    #[expect(clippy::too_many_arguments, reason = "a chunk, and what it is computed in")]
    pub(crate) fn totals(
        &self,
        lanes: LaneAxes,
        point: &mut [i64],
        chunk: Chunk,
        inputs: &[[Slot; 2]],
        to: Slot,
        memory: &Memory,
        checks: &HostIndexChecks,
        frame: &mut Frame,
    ) {
        let first = [lanes.row, lanes.column].map(|axis| axis.map_or(0, |axis| point[axis]));
        let go = |point: &mut [i64], row: usize, column: usize| {
            for (axis, first, at) in [(lanes.row, first[0], row), (lanes.column, first[1], column)] {
                if let Some(axis) = axis {
                    point[axis] = first + at as i64;
                }
            }
        };
        for row in 0..chunk.rows {
            if let Summand::Products(products) = &self.summand {
                go(point, row, 0);
                let lane = row * chunk.columns;
                self.sums(products, point, (lanes.column, chunk.columns), (to, lane), memory, frame);
                continue;
            }
            for column in 0..chunk.columns {
                go(point, row, column);
                let lane = row * chunk.columns + column;
                inputs.iter().for_each(|[from, into]| frame.pick(*from, lane, *into));
                let total = self.total(point, memory, checks, frame);
                total.keep(to, lane, frame);
            }
        }
        go(point, 0, 0);
    }

    /// The sums of products at neighbouring points along an axis, to a register from a lane on.
    fn sums(
        &self,
        products: &[[Side; 2]],
        point: &mut [i64],
        (axis, points): (Option<usize>, usize),
        (to, lane): (Slot, usize),
        memory: &Memory,
        frame: &mut Frame,
    ) {
        let processor = frame.processor();
        let mut left = if self.order.outer.is_empty() { products } else { &[] };
        while let Some((sides, rest)) = left.split_first() {
            let streams = Streams::of(sides, point, axis, memory, frame);
            let found = streams.matrix_vector(sides, self.count(), points, memory);
            let Some(MatrixVector { matrix, stride, vector }) = found else { break };
            let out = &mut f32::registers_mut(frame)[usize::from(to.number)][lane..][..points];
            let sums = if left.len() == products.len() { Sums::Begin } else { Sums::GoOn };
            matrix_vector(processor, matrix, stride, vector, out, sums);
            if rest.is_empty() {
                return;
            }
            left = rest;
        }
        let first = axis.map_or(0, |axis| point[axis]);
        for at in 0..points {
            if let Some(axis) = axis {
                point[axis] = first + at as i64;
            }
            let sum = self.sum(products, point, memory, frame);
            f32::registers_mut(frame)[usize::from(to.number)][lane + at] = sum as f32;
        }
    }

    /// The sum of products at a point.
    fn sum(&self, products: &[[Side; 2]], point: &mut [i64], memory: &Memory, frame: &Frame) -> f64 {
        let mut sum = 0.0;
        loop {
            for sides in products {
                let [left, right] = sides
                    .each_ref()
                    .map(|side| memory.singles(side.space, side.at(point, memory, frame), self.count()).unwrap_or(&[]));
                sum += f64::from(dot(frame.processor(), left, right));
            }
            if !advance(point, &self.order.outer, None) {
                return sum;
            }
        }
    }

    /// Products side by side in memory.
    fn count(&self) -> usize {
        self.order.column.map_or(1, |(_, extent)| extent)
    }
}

/// A matrix whose rows begin `stride` elements apart, and a vector.
struct MatrixVector<'m> {
    matrix: &'m [f32],
    stride: usize,
    vector: &'m [f32],
}

/// Where the factors of products lie at a point, and how far those of the next point along an axis are from there.
struct Streams {
    starts: [i64; 2],
    steps: [i64; 2],
}

impl Streams {
    fn of(sides: &[Side; 2], point: &[i64], axis: Option<usize>, memory: &Memory, frame: &Frame) -> Self {
        let step = |side: &Side| axis.map_or(0, |axis| side.line.step(axis) * SINGLE_BYTES as i64);
        Self { starts: sides.each_ref().map(|side| side.at(point, memory, frame)), steps: sides.each_ref().map(step) }
    }

    /// The factors of so many points as a matrix of rows and the vector that all rows share, where they are.
    fn matrix_vector<'m>(
        &self,
        sides: &[Side; 2],
        count: usize,
        points: usize,
        memory: &'m Memory,
    ) -> Option<MatrixVector<'m>> {
        let (shared, rows) = match self.steps {
            [0, step] if step > 0 => (0, 1),
            [step, 0] if step > 0 => (1, 0),
            _ => return None,
        };
        let stride = self.steps[rows] as usize / SINGLE_BYTES;
        // Others may write what lies between rows of the arena.
        if stride > count && sides[rows].space != HostSpace::Plan(BufferSpace::Weights) {
            return None;
        }
        let vector = memory.singles(sides[shared].space, self.starts[shared], count)?;
        let length = stride.checked_mul(points.checked_sub(1)?)?.checked_add(count)?;
        let matrix = memory.singles(sides[rows].space, self.starts[rows], length)?;
        Some(MatrixVector { matrix, stride, vector })
    }
}

impl Side {
    fn at(&self, point: &[i64], memory: &Memory, frame: &Frame) -> i64 {
        let indirect = Indirect::new();
        let here = Here { point, lanes: LaneAxes::default(), indirect: &indirect, frame };
        memory.base(self.base) + self.line.first(&here) * SINGLE_BYTES as i64
    }
}

/// The products of a sum, where all their factors lie side by side in memory.
fn products(reads: &StageReads, order: &Order) -> Option<Vec<[Side; 2]>> {
    order.column?;
    let is_whole = order.row.is_none() && !order.is_empty();
    let mut found = Vec::new();
    let mut open = vec![&reads.expr.body];
    while let Some(scalar) = open.pop() {
        match scalar {
            Scalar::Binary(BinaryOp::Add, left, right) => open.extend([right.as_ref(), left.as_ref()]),
            Scalar::Binary(BinaryOp::Multiply, left, right) => {
                found.push([side(reads, order, left)?, side(reads, order, right)?]);
            }
            _ => return None,
        }
    }
    is_whole.then_some(found)
}

fn side(reads: &StageReads, order: &Order, scalar: &Scalar) -> Option<Side> {
    let Scalar::Read(read) = scalar else { return None };
    let Source::Memory { space, element, base, index } = &reads.sources[*read] else { return None };
    let Place::Line(line) = Place::new(index, order.lanes(), &|_| false) else { return None };
    let is_plain = *element == ElementType::F32 && reads.expr.reads[*read].guard.is_always() && line.is_affine();
    (is_plain && line.column == 1).then_some(Side { space: *space, base: *base, line })
}
