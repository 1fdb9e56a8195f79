//! Evaluation of one rTask: the group's expressions on the tile's box.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Range, Reducer};
use warpweave_graph::{ElementType, arithmetic};
use warpweave_plan::plan::MemoryPlan;
use warpweave_plan::plan::ROperator;
use warpweave_plan::region::tile_ranges;
use warpweave_plan::template::staged::tile_coordinates;

use super::contraction::HostContraction;
use super::lanes::{LANES, Lanes, binary, splat, spread, stored};
use super::memory::Memory;
use super::opaque::HostOpaque;
use super::product::HostProduct;
use super::stage::{HostStage, Run};
use super::staged::{HostStaged, boxes};

/// An rOperator prepared for the host.
pub(super) struct HostOperator {
    operator: ROperator,
    staged: Vec<HostStaged>,
    stages: Vec<HostStage>,
    contraction: Option<HostContraction>,
    opaque: Option<HostOpaque>,
    /// Per stage, the product that it sums, if it is done natively.
    products: Vec<Option<HostProduct>>,
    /// Whether the tile's points are taken one at a time.
    by_rows: bool,
}

impl HostOperator {
    /// Prepares an operator of a verified plan.
    pub(super) fn new(operator: &ROperator, memory: &MemoryPlan) -> Self {
        let boxes = boxes(&operator.body, &operator.params);
        let stage = |stage| HostStage::new(operator, stage, memory, &boxes);
        let staged = operator.body.staged.iter().map(stage).zip(boxes.iter().cloned());
        let staged =
            staged.map(|(stage, spans)| HostStaged { product: HostProduct::new(&stage), stage, spans }).collect();
        let stages: Vec<HostStage> = operator.body.stages.iter().map(stage).collect();
        let blocked = operator.params.rules().multiplies_blocks();
        let contraction = blocked.then(|| HostContraction::new(&operator.body, &stages[0])).flatten();
        let opaque = HostOpaque::new(operator, memory);
        let products: Vec<Option<HostProduct>> = stages.iter().map(HostProduct::new).collect();
        let wide = (0..stages.len()).any(|stage| !operator.body.extra_axes(stage).is_empty());
        let by_rows = wide || products.iter().flatten().any(HostProduct::reads_stages);
        Self { operator: operator.clone(), staged, stages, contraction, opaque, products, by_rows }
    }

    /// Runs the rTask of a tile.
    pub(super) fn run(&self, tile: u32, memory: &Memory) {
        if self.staged.is_empty() {
            return self.run_stages(tile, memory);
        }
        let mut memory = Memory { staged: Vec::new(), ..*memory };
        let coordinates = tile_coordinates(&self.operator.body, &self.operator.params, tile);
        for staged in &self.staged {
            let values = staged.compute(&coordinates, &memory);
            memory.staged.push(values);
        }
        self.run_stages(tile, &memory);
    }

    fn run_stages(&self, tile: u32, memory: &Memory) {
        let ranges = tile_ranges(&self.operator, 0, tile);
        let rank = self.operator.body.tile_rank;
        if let Some(opaque) = &self.opaque {
            let mut point = vec![0; rank];
            return for_each_point(&ranges[..rank], &mut point, &mut |point| {
                opaque.run_row(&self.stages[0], point, memory);
            });
        }
        if let Some(contraction) = &self.contraction {
            return contraction.run(&self.stages, &ranges[..rank], memory);
        }
        let length = rank.checked_sub(1).map_or(1, |last| ranges[last].maximum - ranges[last].minimum + 1);
        let mut point: Vec<i64> = ranges[..rank].iter().map(|range| range.minimum).collect();
        if self.by_rows || length < 4 {
            for_each_point(&ranges[..rank], &mut point, &mut |point| self.run_row(point, memory));
        } else {
            let (last, outer) = (ranges[rank - 1], &ranges[..rank - 1]);
            for_each_point(outer, &mut point, &mut |point| {
                let mut first = last.minimum;
                while first <= last.maximum {
                    let count = ((last.maximum - first + 1) as usize).min(LANES);
                    point[rank - 1] = first;
                    self.run_lanes(point, rank - 1, count, memory);
                    first += count as i64;
                }
            });
        }
    }

    /// All stages on neighbouring points of the innermost tile axis.
    fn run_lanes(&self, tile_point: &[i64], axis: usize, count: usize, memory: &Memory) {
        let mut values: Vec<Option<Lanes>> = Vec::with_capacity(self.stages.len());
        for (stage, product) in self.stages.iter().zip(&self.products) {
            let mut point = whole_point(stage, tile_point);
            let product = product.as_ref();
            let value = stage_lanes(stage, product, &mut point, (Some(axis), count), memory, &values);
            stage.store(memory, &Run { point: &point, axis: Some(axis), count }, &value);
            values.push(Some(value));
        }
    }

    /// All stages on one point of the tile axes, along their own axes.
    fn run_row(&self, tile_point: &[i64], memory: &Memory) {
        let rank = self.operator.body.tile_rank;
        let mut values: Vec<Option<Lanes>> = Vec::with_capacity(self.stages.len());
        for (stage, product) in self.stages.iter().zip(&self.products) {
            let mut point = whole_point(stage, tile_point);
            let inner: Vec<usize> = (rank..stage.expr.axes.len()).collect();
            if let Some(reducer) = stage.expr.reducer {
                let reduced = match product {
                    Some(product) => product.sums(stage, memory, &mut point, (None, 1), &values),
                    None => reduce_row(stage, reducer, &inner, &mut point, &values, memory),
                };
                let run = Run { point: &point, axis: None, count: 1 };
                let value = finish(stage, memory, &run, &values, Some(reduced));
                stage.store(memory, &run, &value);
                values.push(Some(spread(&value)));
            } else {
                let mut only = None;
                for_each_run(stage, &inner, &mut point, &mut |run| {
                    let value = finish(stage, memory, run, &values, None);
                    stage.store(memory, run, &value);
                    only = Some(value);
                });
                values.push(only.filter(|_| inner.is_empty()).map(|value| spread(&value)));
            }
        }
    }
}

/// A stage's reduced value at one point of the tile axes; floating point is combined in doubles.
fn reduce_row(
    stage: &HostStage,
    reducer: Reducer,
    inner: &[usize],
    point: &mut [i64],
    values: &[Option<Lanes>],
    memory: &Memory,
) -> Lanes {
    let (op, element) = (reducer.op(), stage.expr.body_element());
    let identity = reducer.identity(element);
    let (mut float, mut integer) = (identity.to_f64(), identity.to_i64());
    let add = |total: f64, value: f64| arithmetic::float_binary(op, total, value);
    for_each_run(stage, inner, point, &mut |run| match stage.evaluate(&stage.body, memory, run, values, None) {
        Lanes::Float(lanes) => {
            float = lanes[..run.count].iter().fold(float, |total, &value| add(total, f64::from(value)));
        }
        Lanes::Double(lanes) => float = lanes[..run.count].iter().fold(float, |total, &value| add(total, value)),
        Lanes::Integer(lanes) => {
            let add = |total: i64, &value: &i64| arithmetic::integer_binary(op, element, total, value);
            integer = lanes[..run.count].iter().fold(integer, add);
        }
    });
    match element {
        ElementType::F64 => Lanes::Double([float; LANES]),
        element if element.is_float() => Lanes::Float([float as f32; LANES]),
        _ => Lanes::Integer([integer; LANES]),
    }
}

/// A stage's value on this many neighbouring points along an axis, its reductions one value after another.
pub(super) fn stage_lanes(
    stage: &HostStage,
    product: Option<&HostProduct>,
    point: &mut [i64],
    (axis, count): (Option<usize>, usize),
    memory: &Memory,
    values: &[Option<Lanes>],
) -> Lanes {
    let reduced = stage.expr.reducer.map(|reducer| {
        if let Some(product) = product {
            return product.sums(stage, memory, point, (axis, count), values);
        }
        let element = stage.expr.body_element();
        let mut sum: Option<Lanes> = None;
        let axes: Vec<usize> = stage.expr.reduced().map(Id::index).collect();
        for_each_value(stage, &axes, point, &mut |point| {
            let run = Run { point, axis, count };
            let value = stage.evaluate(&stage.body, memory, &run, values, None);
            sum = Some(sum.take().map_or_else(|| value.clone(), |sum| binary(reducer.op(), element, &sum, &value)));
        });
        sum.unwrap_or_else(|| splat(reducer.identity(element)))
    });
    finish(stage, memory, &Run { point, axis, count }, values, reduced)
}

/// The stage's value, as a store keeps it: its epilogue on the reduced value, the reduced value, or its body.
pub(super) fn finish(
    stage: &HostStage,
    memory: &Memory,
    run: &Run,
    values: &[Option<Lanes>],
    reduced: Option<Lanes>,
) -> Lanes {
    let value = match (&stage.epilogue, reduced) {
        (Some(epilogue), reduced) => stage.evaluate(epilogue, memory, run, values, reduced.as_ref()),
        (None, Some(reduced)) => reduced,
        (None, None) => stage.evaluate(&stage.body, memory, run, values, None),
    };
    stored(stage.expr.element, value)
}

/// The tile point followed by zeros for the stage's other axes.
fn whole_point(stage: &HostStage, tile_point: &[i64]) -> Vec<i64> {
    let mut point = tile_point.to_vec();
    point.resize(stage.expr.axes.len(), 0);
    point
}

/// Every point of a box, the last axis fastest; `point` may be longer than the box.
pub(super) fn for_each_point(ranges: &[Range], point: &mut [i64], body: &mut dyn FnMut(&mut [i64])) {
    if ranges.iter().any(|range| range.minimum > range.maximum) {
        return;
    }
    for (at, range) in ranges.iter().enumerate() {
        point[at] = range.minimum;
    }
    loop {
        body(point);
        let mut axis = ranges.len();
        loop {
            let Some(next) = axis.checked_sub(1) else { return };
            axis = next;
            if point[axis] < ranges[axis].maximum {
                point[axis] += 1;
                break;
            }
            point[axis] = ranges[axis].minimum;
        }
    }
}

/// Every value of some axes of a stage, the last fastest.
pub(super) fn for_each_value(stage: &HostStage, axes: &[usize], point: &mut [i64], body: &mut dyn FnMut(&mut [i64])) {
    let Some((&axis, rest)) = axes.split_first() else { return body(point) };
    let extent = stage.expr.axes[warpweave_graph::expr::AxisId::from_index(axis)].extent as i64;
    for value in 0..extent {
        point[axis] = value;
        for_each_value(stage, rest, point, body);
    }
    point[axis] = 0;
}

/// Every value of some axes of a stage, in runs along the last.
fn for_each_run(stage: &HostStage, axes: &[usize], point: &mut [i64], body: &mut dyn FnMut(&Run)) {
    let Some((&last, outer)) = axes.split_last() else { return body(&Run { point, axis: None, count: 1 }) };
    let extent = stage.expr.axes[warpweave_graph::expr::AxisId::from_index(last)].extent;
    for_each_value(stage, outer, point, &mut |point| {
        for first in (0..extent).step_by(LANES) {
            point[last] = first as i64;
            body(&Run { point, axis: Some(last), count: (extent - first).min(LANES) });
        }
        point[last] = 0;
    });
}
