//! Evaluation of one rTask: the group's expressions on the tile's box.

use warpweave_plan::plan::MemoryPlan;
use warpweave_plan::plan::ROperator;
use warpweave_plan::region::tile_ranges;
use warpweave_plan::template::staged::tile_coordinates;

use super::contraction::HostContraction;
use super::lanes::{LANES, Lanes, spread};
use super::memory::Memory;
use super::opaque::HostOpaque;
use super::points::{for_each_point, for_each_run};
use super::product::HostProduct;
use super::reduction::{reduce_row, stage_lanes};
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
        let contraction = blocked.then(|| HostContraction::new(operator, &stages[0], memory, &boxes)).flatten();
        let opaque = HostOpaque::new(operator, memory);
        let products: Vec<Option<HostProduct>> = stages.iter().map(HostProduct::new).collect();
        let wide = (0..stages.len()).any(|stage| !operator.body.extra_axes(stage).is_empty());
        let by_rows = wide || products.iter().flatten().any(HostProduct::reads_stages);
        Self { operator: operator.clone(), staged, stages, contraction, opaque, products, by_rows }
    }

    /// Packs the constants of a contraction.
    pub(super) fn pack_constants(&mut self, memory: &Memory) {
        if let Some(contraction) = &mut self.contraction {
            contraction.pack_constants(&self.operator, memory);
        }
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
                let value = stage.finish(memory, &run, &values, Some(reduced));
                stage.store(memory, &run, &value);
                values.push(Some(spread(&value)));
            } else {
                let mut only = None;
                for_each_run(stage, &inner, &mut point, &mut |run| {
                    let value = stage.finish(memory, run, &values, None);
                    stage.store(memory, run, &value);
                    only = Some(value);
                });
                values.push(only.filter(|_| inner.is_empty()).map(|value| spread(&value)));
            }
        }
    }
}

/// The tile point followed by zeros for the stage's other axes.
fn whole_point(stage: &HostStage, tile_point: &[i64]) -> Vec<i64> {
    let mut point = tile_point.to_vec();
    point.resize(stage.expr.axes.len(), 0);
    point
}
