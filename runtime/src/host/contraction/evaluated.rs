//! Contractions whose factors are evaluated: both packed, then one native matrix product a tile.

use warpweave_graph::ElementType;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Range, Scalar};
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::contraction::{AxisClass, Contraction};

use crate::host::lane_program::{LaneProgram, Step};
use crate::host::lanes::{LANES, Lanes};
use crate::host::matrix_product::{Number, Packed};
use crate::host::memory::Memory;
use crate::host::points::for_each_point;
use crate::host::stage::{HostStage, Position, ReadSource, Run};

/// A contraction's factors, prepared.
pub(in crate::host) struct Evaluated {
    rows: Factor,
    columns: Factor,
    reduction: Vec<(usize, usize)>,
    element: ElementType,
}

struct Factor {
    /// The tile axes that it varies along.
    axes: Vec<usize>,
    program: LaneProgram,
}

impl Evaluated {
    /// Prepares the contraction that a body is.
    pub(super) fn new(body: &GroupBody, contraction: &Contraction, stage: &HostStage) -> Self {
        let factor = |class: AxisClass, scalar: &Scalar| {
            let axes = contraction.axes(class).into_iter().map(Id::index).filter(|&axis| axis < body.tile_rank);
            Factor { axes: axes.collect(), program: stage.program(scalar) }
        };
        let extent = |axis: AxisId| stage.expr.axes[axis].extent;
        let reduction = contraction.axes(AxisClass::Reduction).into_iter().map(|axis| (axis.index(), extent(axis)));
        Self {
            rows: factor(AxisClass::Row, &contraction.row_factor),
            columns: factor(AxisClass::Column, &contraction.column_factor),
            reduction: reduction.collect(),
            element: contraction.element,
        }
    }

    /// Runs the tile over these ranges of the tile axes.
    pub(super) fn run(&self, stages: &[HostStage], tile: &[Range], memory: &Memory) {
        match self.element {
            ElementType::I32 => self.run_as::<i32>(stages, tile, memory),
            _ => self.run_as::<f32>(stages, tile, memory),
        }
    }

    fn run_as<T: Number>(&self, stages: &[HostStage], tile: &[Range], memory: &Memory) {
        let rows = self.pack::<T>(&self.rows, &stages[0], tile, memory);
        let columns = self.pack::<T>(&self.columns, &stages[0], tile, memory);
        let length: usize = self.reduction.iter().map(|(_, extent)| extent).product();
        let product = T::multiply(&rows, &columns, length);
        self.finish(stages, tile, memory, &product, columns.elements);
    }

    fn pack<T: Number>(&self, factor: &Factor, stage: &HostStage, tile: &[Range], memory: &Memory) -> Packed<T> {
        let elements: usize =
            factor.axes.iter().map(|&axis| (tile[axis].maximum - tile[axis].minimum + 1) as usize).product();
        let length: usize = self.reduction.iter().map(|(_, extent)| extent).product();
        if let Some(packed) = self.pack_contiguous(factor, stage, tile, memory, elements, length) {
            return packed;
        }
        let long = |axis: Option<&usize>| axis.map_or(0, |&axis| tile[axis].maximum - tile[axis].minimum + 1);
        let innermost = self.reduction.last().map_or(0, |(_, extent)| *extent as i64);
        let along_elements = long(factor.axes.last()) >= innermost;
        let (element_stride, step_stride) = if along_elements { (1, elements) } else { (length, 1) };
        let mut packed =
            Packed { values: vec![T::default(); elements * length], elements, element_stride, step_stride };
        let (mut axes, mut ranges) = (Vec::new(), Vec::new());
        let reduced =
            self.reduction.iter().map(|&(axis, extent)| (axis, Range { minimum: 0, maximum: extent as i64 - 1 }));
        let own = factor.axes.iter().map(|&axis| (axis, tile[axis]));
        let order: Vec<(usize, Range)> =
            if along_elements { reduced.chain(own).collect() } else { own.chain(reduced).collect() };
        for (axis, range) in order {
            axes.push(axis);
            ranges.push(range);
        }
        let (Some(last_axis), Some(last)) = (axes.pop(), ranges.pop()) else { return packed };
        let mut point: Vec<i64> = stage_point(stage, tile);
        let mut counter = vec![0; ranges.len()];
        let mut cursor = 0;
        for_each_point(&ranges, &mut counter, &mut |outer| {
            for (axis, value) in axes.iter().zip(outer.iter()) {
                point[*axis] = *value;
            }
            let mut first = last.minimum;
            while first <= last.maximum {
                let count = ((last.maximum - first + 1) as usize).min(LANES);
                point[last_axis] = first;
                let run = Run { point: &point, axis: Some(last_axis), count };
                T::copy(
                    &stage.evaluate(&factor.program, memory, &run, &[], None),
                    &mut packed.values[cursor..][..count],
                );
                cursor += count;
                first += count as i64;
            }
        });
        packed
    }

    /// Packs a factor that is one unguarded read, contiguous along the whole reduction: a copy an element.
    fn pack_contiguous<T: Number>(
        &self,
        factor: &Factor,
        stage: &HostStage,
        tile: &[Range],
        memory: &Memory,
        elements: usize,
        length: usize,
    ) -> Option<Packed<T>> {
        let [Step::Read(read)] = factor.program.steps.as_slice() else { return None };
        let read = &stage.reads[*read];
        let ReadSource::Memory { space, element, offset, position } = &read.source else { return None };
        let mut stride = 1;
        for &(axis, extent) in self.reduction.iter().rev() {
            if extent > 1 && position.coefficient(axis)? != stride {
                return None;
            }
            stride *= extent as i64;
        }
        let Position::Affine { constant, coefficients } = position else { return None };
        if !read.is_unguarded() {
            return None;
        }
        let size = element.bytes() as i64;
        let mut values = vec![T::default(); elements * length];
        let mut cursor = 0;
        let ranges: Vec<Range> = factor.axes.iter().map(|&axis| tile[axis]).collect();
        let mut point = stage_point(stage, tile);
        let mut counter = vec![0; ranges.len()];
        for_each_point(&ranges, &mut counter, &mut |outer| {
            for (axis, value) in factor.axes.iter().zip(outer.iter()) {
                point[*axis] = *value;
            }
            let start: i64 = constant + coefficients.iter().map(|(axis, factor)| factor * point[*axis]).sum::<i64>();
            for first in (0..length).step_by(LANES) {
                let count = (length - first).min(LANES);
                let at = offset + (start + first as i64) * size;
                T::copy(&memory.load(*space, *element, at, size, count), &mut values[cursor..][..count]);
                cursor += count;
            }
        });
        Some(Packed { values, elements, element_stride: length, step_stride: 1 })
    }

    /// The epilogue and later stages on the product, along the innermost tile axis.
    fn finish<T: Number>(&self, stages: &[HostStage], tile: &[Range], memory: &Memory, product: &[T], columns: usize) {
        let number = |axes: &[usize], point: &[i64]| {
            axes.iter().fold(0, |number, &axis| {
                let range = tile[axis];
                number * (range.maximum - range.minimum + 1) as usize + (point[axis] - range.minimum) as usize
            })
        };
        let Some((last, outer)) = tile.split_last() else {
            return finish_run(stages, memory, &[], None, 1, &[product[0]]);
        };
        let axis = outer.len();
        let in_columns = self.columns.axes.last() == Some(&axis);
        let mut point: Vec<i64> = tile.iter().map(|range| range.minimum).collect();
        for_each_point(outer, &mut point, &mut |point| {
            let mut first = last.minimum;
            while first <= last.maximum {
                let left = (last.maximum - first + 1) as usize;
                point[axis] = first;
                let start = number(&self.rows.axes, point) * columns + number(&self.columns.axes, point);
                let stride = if in_columns { 1 } else { columns };
                let count = left.min(LANES);
                let along = in_columns || self.rows.axes.last() == Some(&axis);
                let values: Vec<T> =
                    (0..count).map(|lane| product[if along { start + lane * stride } else { start }]).collect();
                finish_run(stages, memory, point, Some(axis), count, &values);
                first += count as i64;
            }
        });
    }
}

pub(super) fn finish_run<T: Number>(
    stages: &[HostStage],
    memory: &Memory,
    tile: &[i64],
    axis: Option<usize>,
    count: usize,
    product: &[T],
) {
    let lanes = T::lanes(product);
    let mut values: Vec<Option<Lanes>> = Vec::with_capacity(stages.len());
    for stage in stages {
        let mut point = tile.to_vec();
        point.resize(stage.expr.axes.len(), 0);
        let run = Run { point: &point, axis, count };
        let reduced = stage.expr.reducer.map(|_| lanes.clone());
        let value = stage.finish(memory, &run, &values, reduced);
        stage.store(memory, &run, &value);
        values.push(Some(value));
    }
}

fn stage_point(stage: &HostStage, tile: &[Range]) -> Vec<i64> {
    let mut point: Vec<i64> = tile.iter().map(|range| range.minimum).collect();
    point.resize(stage.expr.axes.len(), 0);
    point
}
