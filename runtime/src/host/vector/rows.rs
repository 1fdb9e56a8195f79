//! Reductions along the axes that they reduce, one row after another.

use warpweave_graph::ElementType;
use warpweave_graph::expr::{BinaryOp, Reducer, Scalar};

use super::arithmetic::mathematics::multiply_add;
use super::arithmetic::processor::vectorised;
use super::frame::{Counts, Frame, Number, Slot};
use super::lanes::{Extent, Order};
use super::loops::{advance, each_chunk};
use super::place::{Chunk, Here, Indirect, LaneAxes, Line, Place};
use super::program::{Ending, Scope};
use super::reduce::{Combination, Total};
use super::stage::{Source, StageReads};
use crate::host::indices::HostIndexChecks;
use crate::host::memory::{HostSpace, Memory, SINGLE_BYTES};

/// Rows whose products are summed at once.
const ROWS: usize = 4;
/// Partial sums of a row.
const PARTS: usize = 16;

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
    offset: i64,
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
        let scope = Scope { reads, lanes: order.lanes(), values, reduced: None, pinned };
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
                let mut sums = [0.0; ROWS];
                self.add_rows(products, point, None, &mut sums, memory, frame);
                total.add(sums[0]);
            }
            Summand::Evaluated(_) if order.is_empty() => {}
            Summand::Evaluated(ending) => loop {
                each_chunk(order, None, *capacity, 0, point, &mut |point, chunk| match ending {
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
            let mut column = 0;
            while column < chunk.columns {
                go(point, row, column);
                let lane = row * chunk.pitch + column;
                match &self.summand {
                    Summand::Products(products) if chunk.columns - column >= ROWS => {
                        let mut sums = [0.0; ROWS];
                        self.add_rows(products, point, lanes.column, &mut sums, memory, frame);
                        let out = &mut f32::registers_mut(frame)[usize::from(to.number)][lane..][..ROWS];
                        out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum as f32);
                        column += ROWS;
                    }
                    _ => {
                        inputs.iter().for_each(|[from, into]| frame.pick(*from, lane, *into));
                        let total = self.total(point, memory, checks, frame);
                        total.keep(to, lane, frame);
                        column += 1;
                    }
                }
            }
        }
        go(point, 0, 0);
    }

    /// Adds the products of neighbouring points along an axis.
    fn add_rows(
        &self,
        products: &[[Side; 2]],
        point: &mut [i64],
        axis: Option<usize>,
        sums: &mut [f64; ROWS],
        memory: &Memory,
        frame: &mut Frame,
    ) {
        loop {
            for sides in products {
                let starts = sides.each_ref().map(|side| side.at(point, frame));
                let steps = match axis {
                    Some(axis) => sides.each_ref().map(|side| side.line.step(axis) * SINGLE_BYTES as i64),
                    None => [0, 0],
                };
                let count = self.order.column.map_or(1, |(_, extent)| extent);
                let slice = |side: usize, row: usize| {
                    let side_start = starts[side] + row as i64 * steps[side];
                    memory.singles(sides[side].space, side_start, count).unwrap_or(&[])
                };
                let mut found = [0f32; ROWS];
                let rows = |side: usize| std::array::from_fn(|row| slice(side, row));
                match steps {
                    [0, 0] => dot_pairs(
                        frame.processor(),
                        &[slice(0, 0), &[], &[], &[]],
                        &[slice(1, 0), &[], &[], &[]],
                        &mut found,
                    ),
                    [0, _] => dot_rows(frame.processor(), slice(0, 0), &rows(1), &mut found),
                    [_, 0] => dot_rows(frame.processor(), slice(1, 0), &rows(0), &mut found),
                    _ => dot_pairs(frame.processor(), &rows(0), &rows(1), &mut found),
                }
                sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += f64::from(found));
            }
            if !advance(point, &self.order.outer, None) {
                return;
            }
        }
    }
}

impl Side {
    fn at(&self, point: &[i64], frame: &Frame) -> i64 {
        let indirect = Indirect::new();
        let here = Here { point, lanes: LaneAxes::default(), indirect: &indirect, frame };
        self.offset + self.line.first(&here) * SINGLE_BYTES as i64
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
    let Source::Memory { space, element, offset, index } = &reads.sources[*read] else { return None };
    let Place::Line(line) = Place::new(index, order.lanes(), &|_| false) else { return None };
    let is_plain = *element == ElementType::F32 && reads.expr.reads[*read].guard.is_always() && line.is_affine();
    (is_plain && line.column == 1 && *offset % SINGLE_BYTES as i64 == 0).then_some(Side {
        space: *space,
        offset: *offset,
        line,
    })
}

vectorised! {
/// The sums of the products of a slice with several.
fn dot_rows<I>(processor, shared: &[f32], rows: &[&[f32]; ROWS], out: &mut [f32; ROWS]) {
    let mut sums = [[0f32; PARTS]; ROWS];
    let length = rows.iter().map(|row| row.len()).min().unwrap_or(0).min(shared.len());
    let (shared, rest) = shared[..length].as_chunks::<PARTS>();
    let [a, b, c, d] = rows.map(|row| row[..length].as_chunks::<PARTS>());
    for (x, (((a, b), c), d)) in shared.iter().zip(a.0.iter().zip(b.0).zip(c.0).zip(d.0)) {
        for part in 0..PARTS {
            sums[0][part] = multiply_add::<I>(a[part], x[part], sums[0][part]);
            sums[1][part] = multiply_add::<I>(b[part], x[part], sums[1][part]);
            sums[2][part] = multiply_add::<I>(c[part], x[part], sums[2][part]);
            sums[3][part] = multiply_add::<I>(d[part], x[part], sums[3][part]);
        }
    }
    for ((out, sums), row) in out.iter_mut().zip(&sums).zip([a.1, b.1, c.1, d.1]) {
        let rest = rest.iter().zip(row).fold(0f32, |sum, (a, b)| multiply_add::<I>(*a, *b, sum));
        *out = sums.iter().sum::<f32>() + rest;
    }
}
}

vectorised! {
/// The sums of the products of pairs of slices.
fn dot_pairs<I>(processor, left: &[&[f32]; ROWS], right: &[&[f32]; ROWS], out: &mut [f32; ROWS]) {
    for ((out, left), right) in out.iter_mut().zip(left).zip(right) {
        let mut sums = [0f32; PARTS];
        let ((left, left_rest), (right, right_rest)) = (left.as_chunks::<PARTS>(), right.as_chunks::<PARTS>());
        for (a, b) in left.iter().zip(right) {
            for part in 0..PARTS {
                sums[part] = multiply_add::<I>(a[part], b[part], sums[part]);
            }
        }
        let rest = left_rest.iter().zip(right_rest).fold(0f32, |sum, (a, b)| multiply_add::<I>(*a, *b, sum));
        *out = sums.iter().sum::<f32>() + rest;
    }
}
}
