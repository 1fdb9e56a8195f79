//! The 48 matrix products of BERT-base, 128 tokens, in half precision, as programs that differ in geometry and edges. What
//! a task takes follows from the bytes that its unit loads and the multiply-adds that it does, so nothing is taken from
//! the programs' own measurements.

use std::collections::BTreeMap;

use warpweave_fusion::cost::arch::GpuArch;
use warpweave_graph::arena::Id;
use warpweave_plan::plan::{CounterId, OperatorId};
use warpweave_plan::plan::{Instruction, RTask};
use warpweave_plan::streams::polls::Polls;

use super::check;
use super::sketch::Sketch;

const LAYERS: usize = 12;
const ROWS: usize = 128;
const UNITS: usize = 132;
const HALF_BYTES: usize = 2;
const PARTIAL_BYTES: usize = 4;

/// Cycles until a load from device memory returns, where every layer's weights come from.
const MEMORY_LATENCY_CYCLES: f64 = 695.0;

/// Multiply-adds a cycle and unit by `mma.sync` fed from shared memory, by rows and columns of a warp's tile. They are
/// measured at 567, 434 and 293 TFLOP/s, where 610 are 1,310 a cycle.
const MULTIPLY_ADDS: [(usize, usize, f64); 3] =
    [(64, 32, 1310.0 * 567.0 / 610.0), (32, 32, 1310.0 * 434.0 / 610.0), (32, 16, 1310.0 * 293.0 / 610.0)];

/// A product's columns and the length of its reduction.
#[derive(Clone, Copy)]
struct Product {
    columns: usize,
    reduction: usize,
}

/// A layer: queries, keys and values at once; output; both of the feed-forward network.
const LAYER: [Product; 4] = [
    Product { columns: 2304, reduction: 768 },
    Product { columns: 768, reduction: 768 },
    Product { columns: 3072, reduction: 768 },
    Product { columns: 768, reduction: 3072 },
];

/// How a product is cut into tasks.
#[derive(Clone, Copy)]
struct Geometry {
    product: Product,
    /// Rows and columns of a tile.
    tile: (usize, usize),
    /// Units among which a tile's reduction is split.
    parts: usize,
}

/// How the products' tasks learn that what they read is there.
#[derive(Clone, Copy)]
enum Edges {
    /// Not at all: the results are wrong.
    None,
    /// By polling the values.
    TaggedValues,
    /// One counter for the whole of a product.
    WholeCounter,
    /// A counter for each row of tiles.
    TileCounters,
}

impl Geometry {
    /// The geometry of least task time among those whose tasks all run at once.
    fn best(product: Product, parts: usize) -> Self {
        let rows = [16, 32, 64, 128].into_iter();
        let columns = (8..=product.columns).step_by(8).filter(|columns| product.columns.is_multiple_of(*columns));
        let all =
            rows.flat_map(|rows| columns.clone().map(move |columns| Self { product, tile: (rows, columns), parts }));
        all.filter(|geometry| geometry.tasks() <= UNITS)
            .min_by(|a, b| (a.multiply() + a.reduce()).total_cmp(&(b.multiply() + b.reduce())))
            .expect("a tile may be the whole product")
    }

    fn row_blocks(&self) -> usize {
        ROWS / self.tile.0
    }

    fn tiles(&self) -> usize {
        self.row_blocks() * self.product.columns / self.tile.1
    }

    fn tasks(&self) -> usize {
        self.tiles() * self.parts
    }

    /// The row of tiles that a unit's tile is in.
    fn row_block(&self, unit: usize) -> usize {
        unit / self.parts % self.row_blocks()
    }

    /// The rows of tiles of `self` that a row of tiles of `reader` reads.
    fn read_by(&self, reader: &Self, block: usize) -> std::ops::Range<usize> {
        let (from, to) = (block * reader.tile.0, (block + 1) * reader.tile.0);
        from / self.tile.0..to.div_ceil(self.tile.0)
    }

    /// Elements of a tile.
    fn elements(&self) -> usize {
        self.tile.0 * self.tile.1
    }

    /// Microseconds of a task: the first load, both factors into the unit, its multiply-adds, and the tile's way out.
    fn multiply(&self) -> f64 {
        let arch = GpuArch::h200();
        let (rows, columns) = self.tile;
        let length = self.product.reduction / self.parts;
        let stored = self.elements() * if self.parts > 1 { PARTIAL_BYTES } else { HALF_BYTES };
        let bytes = (rows + columns) * length * HALF_BYTES + stored;
        let warp = MULTIPLY_ADDS.iter().find(|(height, width, _)| *height <= rows && *width <= columns);
        let rate = warp.unwrap_or(&MULTIPLY_ADDS[2]).2;
        let cycles = MEMORY_LATENCY_CYCLES + (rows * columns * length) as f64 / rate;
        cycles / arch.cycles_per_microsecond.value + transfer(bytes)
    }

    /// Microseconds in which a unit adds up its share of a tile: its partial sums from all parts in, results out.
    fn reduce(&self) -> f64 {
        if self.parts == 1 {
            return 0.0;
        }
        let arch = GpuArch::h200();
        let latency = arch.load_latency_cycles.value / arch.cycles_per_microsecond.value;
        latency + transfer(self.elements() * PARTIAL_BYTES + self.elements() / self.parts * HALF_BYTES)
    }
}

/// Microseconds in which bytes come from the second-level cache into a unit, or leave it, while all units transfer.
fn transfer(bytes: usize) -> f64 {
    bytes as f64 / (GpuArch::h200().cache_bytes_per_microsecond.value / UNITS as f64)
}

/// Microseconds of the products, a geometry for each of a layer's, one layer after another.
fn microseconds(layer: [Geometry; 4], edges: Edges) -> f64 {
    let mut program = Program { sketch: Sketch::new(UNITS), polls: BTreeMap::new(), last: Vec::new(), before: None };
    let times: Vec<f64> = layer.iter().flat_map(|geometry| [geometry.multiply(), geometry.reduce()]).collect();
    for step in 0..LAYERS * layer.len() {
        program.product(step, layer[step % layer.len()], edges);
    }
    let Program { sketch, polls, .. } = program;
    let kinds: Vec<f64> = (0..2 * LAYERS * layer.len()).map(|kind| times[kind % times.len()]).collect();
    sketch.polled(&Polls::new(polls), &kinds)
}

/// A program under construction.
struct Program {
    sketch: Sketch,
    polls: BTreeMap<RTask, Vec<RTask>>,
    /// The tasks that wrote the last product, by row of tiles.
    last: Vec<Vec<RTask>>,
    /// The last product's geometry, and its counters by row of tiles.
    before: Option<(Geometry, Vec<CounterId>)>,
}

impl Program {
    /// Appends a product.
    fn product(&mut self, step: usize, geometry: Geometry, edges: Edges) {
        let multiply = OperatorId::from_index(2 * step);
        let reduce = OperatorId::from_index(2 * step + 1);
        for unit in 0..geometry.tasks() {
            let read = self.before.as_ref().map(|(before, _)| before.read_by(&geometry, geometry.row_block(unit)));
            let blocks = read.unwrap_or(0..0);
            let polled = blocks.clone().flat_map(|block| self.last[block].clone()).collect();
            self.learn(unit, blocks, edges);
            self.run(unit, multiply, polled, edges);
        }
        let writer = if geometry.parts > 1 { reduce } else { multiply };
        if geometry.parts > 1 {
            self.reduction(geometry, multiply, reduce, edges);
        }
        self.announce(geometry, edges);
        let of_block = |block: usize| {
            let units = (0..geometry.tasks()).filter(move |unit| geometry.row_block(*unit) == block);
            units.map(|unit| task(writer, unit)).collect()
        };
        self.last = (0..geometry.row_blocks()).map(of_block).collect();
    }

    /// The units of each tile exchange their partial sums and add them up.
    fn reduction(&mut self, geometry: Geometry, multiply: OperatorId, reduce: OperatorId, edges: Edges) {
        for tile in 0..geometry.tiles() {
            let units = tile * geometry.parts..(tile + 1) * geometry.parts;
            match edges {
                Edges::None | Edges::TaggedValues => {}
                Edges::WholeCounter | Edges::TileCounters => self.sketch.meet(units.clone()),
            }
            for unit in units.clone() {
                let polled = units.clone().map(|unit| task(multiply, unit)).collect();
                self.run(unit, reduce, polled, edges);
            }
        }
    }

    fn run(&mut self, unit: usize, operator: OperatorId, polled: Vec<RTask>, edges: Edges) {
        match edges {
            Edges::TaggedValues => drop(self.polls.insert(task(operator, unit), polled)),
            Edges::None | Edges::WholeCounter | Edges::TileCounters => {}
        }
        self.sketch.segment.streams[unit].push(Instruction::Run(task(operator, unit)));
    }

    /// Waits for the rows of tiles of the last product that a task reads.
    fn learn(&mut self, unit: usize, blocks: std::ops::Range<usize>, edges: Edges) {
        let Some((_, counters)) = &self.before else { return };
        match edges {
            Edges::None | Edges::TaggedValues => {}
            Edges::WholeCounter => self.sketch.wait(unit, counters[0]),
            Edges::TileCounters => blocks.for_each(|block| self.sketch.wait(unit, counters[block])),
        }
    }

    /// Signals that a product is there.
    fn announce(&mut self, geometry: Geometry, edges: Edges) {
        let (counters, units) = match edges {
            Edges::None | Edges::TaggedValues => (0, 0),
            Edges::WholeCounter => (1, geometry.tasks()),
            Edges::TileCounters => (geometry.row_blocks(), geometry.tasks()),
        };
        let counters: Vec<_> = (0..counters).map(|_| self.sketch.counter()).collect();
        (0..units).for_each(|unit| self.sketch.signal(unit, counters[geometry.row_block(unit) % counters.len()]));
        self.before = Some((geometry, counters));
    }
}

fn task(operator: OperatorId, unit: usize) -> RTask {
    RTask { operator, tile: unit as u32 }
}

/// A geometry for each product of a layer, the reduction of the last split among 4.
fn mixed() -> [Geometry; 4] {
    let [first @ .., last] = LAYER;
    let [a, b, c] = first.map(|product| Geometry::best(product, 1));
    [a, b, c, Geometry::best(last, 4)]
}

fn split(parts: usize) -> [Geometry; 4] {
    LAYER.map(|product| Geometry::best(product, parts))
}

#[test]
fn the_last_product_split_without_waits() {
    check("no waits", microseconds(mixed(), Edges::None), 181.0);
}

#[test]
fn the_last_product_split_through_sentinels() {
    check("tagged", microseconds(mixed(), Edges::TaggedValues), 221.0);
}

#[test]
fn the_last_product_split_with_a_whole_counter() {
    check("a counter a product", microseconds(mixed(), Edges::WholeCounter), 244.0);
}

#[test]
fn no_product_split_with_tile_counters() {
    check("no split", microseconds(split(1), Edges::TileCounters), 287.0);
}

#[test]
fn every_product_split_with_counters() {
    check("every product split", microseconds(split(4), Edges::TileCounters), 296.0);
}

/// The hand-written programs' tasks draw this much into a unit: 785 KB a layer unsplit, half as much split among 4.
#[test]
fn splitting_halves_the_bytes_into_a_unit() {
    let layer = |parts| -> f64 {
        let bytes = |geometry: Geometry| {
            (geometry.tile.0 + geometry.tile.1) * geometry.product.reduction / geometry.parts * HALF_BYTES
        };
        split(parts).into_iter().map(bytes).sum::<usize>() as f64 / 1000.0
    };
    check("bytes unsplit", layer(1), 785.0);
    check("bytes split among 4", layer(4), 393.0);
}
