//! Stages that are computed together on a box of axes, prepared for registers.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Range, Reducer, Scalar};

use super::frame::{CAPACITY, Counts, Frame, Kind, Number, Slot};
use super::lanes::{Extent, Order};
use super::place::{Chunk, LaneAxes};
use super::program::{Ending, Program, Scope};
use super::reduce::{Combination, Total, accumulate_products};
use super::stage::StageReads;
use super::store::{Store, Target};
use super::window::Window;
use crate::host::memory::Memory;

/// Bytes of the registers of a program that stay in the first-level cache.
const CACHED_BYTES: usize = 24 << 10;
/// What a reduction takes beyond its values where its points are taken one at a time, in the time of so many steps on one
/// value.
const POINT: f64 = 150.0;

/// An axis of the boxes that a group computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shared {
    /// The most values that a box has along it.
    pub(crate) most: usize,
    /// Whether every box has all values.
    pub(crate) is_whole: bool,
}

/// Stages over shared axes, in an order of evaluation.
pub(crate) struct Group {
    axes: usize,
    plan: Plan,
    /// The registers that it takes.
    pub(crate) counts: Counts,
}

enum Plan {
    /// Points of the shared axes are lanes.
    Lanes { order: Order, capacity: usize, padding: usize, stages: Vec<LaneStage> },
    /// Points of the shared axes are taken one at a time, and each stage's own axes are lanes.
    Points { axes: Vec<Extent>, stages: Vec<PointStage> },
}

struct LaneStage {
    reads: StageReads,
    value: LaneValue,
    finish: Program,
    store: Option<Store>,
}

enum LaneValue {
    Direct,
    Reduced { axes: Vec<Extent>, summand: Ending, combination: Combination, accumulators: Slot },
    Window(Window),
}

struct PointStage {
    reads: StageReads,
    value: PointValue,
    store: Option<Store>,
}

enum PointValue {
    /// A value a point of the stage's own axes.
    Own { order: Order, capacity: usize, program: Program },
    /// One value, combined along the stage's own axes.
    Reduced { order: Order, capacity: usize, summand: Ending, combination: Combination, total: Slot, finish: Program },
}

/// What a thread computes groups in.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) frame: Frame,
    pub(crate) point: Vec<i64>,
    pub(crate) plane: Vec<f32>,
}

impl Group {
    /// Stages that share their first `shared` axes.
    pub(crate) fn new(stages: Vec<StageReads>, shared: &[Shared]) -> Self {
        let rank = shared.len();
        let axes: Vec<Extent> = shared.iter().map(|shared| shared.most).enumerate().collect();
        let most_axes = stages.iter().map(|stage| stage.expr.axes.len()).max().unwrap_or(0);
        let is_wide = stages.iter().any(|stage| stage.expr.parallel().count() > rank);
        let by_points = is_wide || {
            let all: Vec<&StageReads> = stages.iter().collect();
            stages.iter().any(|stage| stage.expr.reducer.is_some()) && points_are_cheaper(&all, shared)
        };
        let (plan, counts) = if by_points { points(stages, axes) } else { lanes(stages, shared) };
        Self { axes: most_axes, plan, counts }
    }

    /// The most axes of a stage.
    pub(crate) fn axes(&self) -> usize {
        self.axes
    }

    /// Computes a box of the shared axes.
    pub(crate) fn run(&self, ranges: &[Range], memory: &Memory, scratch: &mut Scratch, target: &mut Target) {
        if ranges.iter().any(|range| range.minimum > range.maximum) {
            return;
        }
        let Scratch { frame, point, plane } = scratch;
        point[..self.axes].fill(0);
        for (at, range) in point.iter_mut().zip(ranges) {
            *at = range.minimum;
        }
        match &self.plan {
            Plan::Lanes { order, capacity, padding, stages } => loop {
                each_chunk(order, Some(ranges), *capacity, *padding, point, &mut |point, chunk| {
                    for stage in stages {
                        stage.run(order.lanes(), point, chunk, memory, frame, plane, target);
                    }
                });
                if !advance(point, &order.outer, Some(ranges)) {
                    break;
                }
            },
            Plan::Points { axes, stages } => loop {
                for stage in stages {
                    stage.run(point, memory, frame, target);
                }
                if !advance(point, axes, Some(ranges)) {
                    break;
                }
            },
        }
    }
}

/// The next point along axes, the last fastest; after the last point the first again, and false.
fn advance(point: &mut [i64], axes: &[Extent], ranges: Option<&[Range]>) -> bool {
    for &(axis, extent) in axes.iter().rev() {
        let Range { minimum, maximum } = range(axis, extent, ranges);
        if point[axis] < maximum {
            point[axis] += 1;
            return true;
        }
        point[axis] = minimum;
    }
    false
}

fn range(axis: usize, extent: usize, ranges: Option<&[Range]>) -> Range {
    ranges.map_or(Range { minimum: 0, maximum: extent as i64 - 1 }, |ranges| ranges[axis])
}

/// The chunks of the rows and columns of an order from a point on.
fn each_chunk(
    order: &Order,
    ranges: Option<&[Range]>,
    capacity: usize,
    padding: usize,
    point: &mut [i64],
    body: &mut impl FnMut(&mut [i64], Chunk),
) {
    let Some((column, extent)) = order.column else { return body(point, Chunk::POINT) };
    let first = point[column];
    let columns = match ranges {
        Some(ranges) => {
            let merged = order.merged.iter().chain([&column]).map(|&axis| ranges[axis]);
            merged.map(|range| (range.maximum - range.minimum + 1) as usize).product()
        }
        None => extent,
    };
    let row = order.row.map(|(axis, extent)| (axis, range(axis, extent, ranges)));
    let fits = columns + padding <= capacity;
    match row {
        Some((row, range)) if fits => {
            let pitch = columns + padding;
            let most = (capacity / pitch) as i64;
            let mut at = range.minimum;
            while at <= range.maximum {
                let rows = (range.maximum - at + 1).min(most);
                point[row] = at;
                body(point, Chunk { rows: rows as usize, columns, pitch });
                at += rows;
            }
            point[row] = range.minimum;
        }
        _ => {
            let rows = row.map_or(0..=0, |(_, range)| range.minimum..=range.maximum);
            let most = if fits { columns } else { capacity - padding };
            for at in rows.clone() {
                if let Some((row, _)) = row {
                    point[row] = at;
                }
                for start in (0..columns).step_by(most.max(1)) {
                    point[column] = first + start as i64;
                    let columns = (columns - start).min(most);
                    body(point, Chunk { rows: 1, columns, pitch: columns + padding });
                }
                point[column] = first;
            }
            if let Some((row, range)) = row {
                point[row] = range.minimum;
            }
        }
    }
}

/// As many lanes as registers of a program fit in the first-level cache.
fn capacity(counts: Counts) -> usize {
    let registers = usize::from(counts.singles.max(1)) * 4
        + usize::from(counts.words) * 4
        + usize::from(counts.doubles + counts.longs) * 8;
    (CACHED_BYTES / registers / 64 * 64).clamp(128, CAPACITY)
}

fn own_axes(stage: &StageReads, rank: usize) -> Vec<Extent> {
    let own = stage.expr.axes.iter().skip(rank);
    own.map(|(axis, of)| (axis.index(), of.extent)).collect()
}

/// Whether the reductions of stages are cheaper along their own axes than across the points of the shared ones.
fn points_are_cheaper(stages: &[&StageReads], shared: &[Shared]) -> bool {
    let rank = shared.len();
    let (mut across, mut along) = (0.0, 0.0);
    let order = shared_order(shared, stages);
    for stage in stages.iter().filter(|stage| stage.expr.reducer.is_some()) {
        let own = own_axes(stage, rank);
        let length: usize = own.iter().map(|(_, extent)| extent).product();
        across += length as f64 * order.cost(&[stage]);
        along += length as f64 * own_order(&own, stage).cost(&[stage]) + POINT;
    }
    along < across
}

/// The order of shared axes.
fn shared_order(shared: &[Shared], stages: &[&StageReads]) -> Order {
    let axes: Vec<Extent> = shared.iter().map(|shared| shared.most).enumerate().collect();
    Order::of(&axes, stages, &|axis| shared[axis].is_whole)
}

/// The order of a stage's own axes.
fn own_order(axes: &[Extent], stage: &StageReads) -> Order {
    Order::of(axes, &[stage], &|_| true)
}

fn lanes(stages: Vec<StageReads>, shared: &[Shared]) -> (Plan, Counts) {
    let all: Vec<&StageReads> = stages.iter().collect();
    let tile: Vec<Extent> = shared.iter().map(|shared| shared.most).enumerate().collect();
    let mut order = shared_order(shared, &all);
    let (mut padding, mut windows) = (0, false);
    if let [only] = all.as_slice()
        && let Some((windowed, pad)) = Window::order(only, &tile)
    {
        (order, padding, windows) = (windowed, pad, true);
    }
    let lanes = order.lanes();
    let (mut pinned, mut most) = (Counts::default(), Counts::default());
    let mut values: Vec<Option<Slot>> = Vec::new();
    let mut prepared = Vec::new();
    for reads in stages {
        let mut own = pinned;
        let (value, reduced) = match reads.expr.reducer {
            None => (LaneValue::Direct, None),
            Some(reducer) => {
                let element = reads.expr.body_element();
                let combination = Combination { reducer, element };
                let accumulators = own.next(Kind::of(element), false);
                let window = windows.then(|| Window::new(&reads, &tile, accumulators)).flatten();
                let value = match window {
                    Some(window) => LaneValue::Window(window),
                    None => {
                        let scope = Scope { reads: &reads, lanes, values: &values, reduced: None, pinned: own };
                        let (summand, counts) = summand(combination, &reads.expr.body, &scope);
                        most = most.most(counts);
                        let axes = own_axes(&reads, shared.len());
                        LaneValue::Reduced { axes, summand, combination, accumulators }
                    }
                };
                (value, Some(accumulators))
            }
        };
        let scalar = result(&reads);
        let scope = Scope { reads: &reads, lanes, values: &values, reduced, pinned: own };
        let (finish, counts) = Program::stored(&scalar, &scope);
        most = most.most(counts);
        pinned = counts;
        values.push(Some(finish.result));
        prepared.push(LaneStage { value, finish, store: reads.store(lanes), reads });
    }
    let capacity = if padding > 0 { CAPACITY } else { capacity(most) };
    (Plan::Lanes { order, capacity, padding, stages: prepared }, most)
}

fn points(stages: Vec<StageReads>, axes: Vec<Extent>) -> (Plan, Counts) {
    let rank = axes.len();
    let (mut pinned, mut most) = (Counts::default(), Counts::default());
    let mut values: Vec<Option<Slot>> = Vec::new();
    let mut prepared = Vec::new();
    for reads in stages {
        let own_axes = own_axes(&reads, rank);
        let order = own_order(&own_axes, &reads);
        let lanes = order.lanes();
        match reads.expr.reducer {
            None => {
                let scope = Scope { reads: &reads, lanes, values: &values, reduced: None, pinned };
                let (program, counts) = Program::stored(&reads.expr.body, &scope);
                most = most.most(counts);
                let only = own_axes.is_empty().then_some(program.result);
                pinned = if only.is_some() { counts } else { pinned };
                values.push(only);
                let store = reads.store(lanes);
                let value = PointValue::Own { order, capacity: capacity(counts), program };
                prepared.push(PointStage { reads, value, store });
            }
            Some(reducer) => {
                let element = reads.expr.body_element();
                let combination = Combination { reducer, element };
                let mut own = pinned;
                let total = own.next(Kind::of(element), true);
                let scope = Scope { reads: &reads, lanes, values: &values, reduced: None, pinned: own };
                let (summand, counts) = summand(combination, &reads.expr.body, &scope);
                most = most.most(counts);
                let capacity = capacity(counts);
                let lanes = LaneAxes::default();
                let scope = Scope { reads: &reads, lanes, values: &values, reduced: Some(total), pinned: own };
                let (finish, counts) = Program::stored(&result(&reads), &scope);
                most = most.most(counts);
                pinned = counts;
                values.push(Some(finish.result));
                let store = reads.store(lanes);
                let value = PointValue::Reduced { order, capacity, summand, combination, total, finish };
                prepared.push(PointStage { reads, value, store });
            }
        }
    }
    (Plan::Points { axes, stages: prepared }, most)
}

/// What a stage gives of its reduced value, or its body.
fn result(reads: &StageReads) -> Scalar {
    match (&reads.expr.epilogue, reads.expr.reducer) {
        (Some(epilogue), _) => epilogue.clone(),
        (None, Some(_)) => Scalar::Reduced,
        (None, None) => reads.expr.body.clone(),
    }
}

fn summand(combination: Combination, body: &Scalar, scope: &Scope) -> (Ending, Counts) {
    if combination.reducer == Reducer::Sum {
        return Program::summand(body, scope);
    }
    let (program, counts) = Program::new(body, scope);
    (Ending::Value(program), counts)
}

impl LaneStage {
    #[expect(clippy::too_many_arguments, reason = "a chunk, and what it is computed in")]
    fn run(
        &self,
        lanes: LaneAxes,
        point: &mut [i64],
        chunk: Chunk,
        memory: &Memory,
        frame: &mut Frame,
        plane: &mut [f32],
        target: &mut Target,
    ) {
        let count = chunk.lanes();
        match &self.value {
            LaneValue::Direct => {}
            LaneValue::Window(window) => window.run(point, chunk, memory, frame, plane),
            LaneValue::Reduced { axes, summand, combination, accumulators } => {
                let mut is_first = true;
                if axes.iter().any(|(_, extent)| *extent == 0) {
                    fill(*combination, *accumulators, count, frame);
                } else {
                    loop {
                        match summand {
                            Ending::Value(program) => {
                                program.run(point, chunk, memory, &self.reads.checks, frame);
                                combination.accumulate(*accumulators, program.result, count, is_first, frame);
                            }
                            Ending::Product(program, factors) => {
                                program.run(point, chunk, memory, &self.reads.checks, frame);
                                accumulate_products(*accumulators, *factors, count, is_first, frame);
                            }
                        }
                        is_first = false;
                        if !advance(point, axes, None) {
                            break;
                        }
                    }
                }
            }
        }
        self.finish.run(point, chunk, memory, &self.reads.checks, frame);
        if let Some(store) = &self.store {
            store.run(self.finish.result, point, lanes, chunk, frame, target);
        }
    }
}

/// Sets accumulators to what changes nothing.
fn fill(combination: Combination, accumulators: Slot, count: usize, frame: &mut Frame) {
    fn all<T: Number>(value: T, to: Slot, count: usize, frame: &mut Frame) {
        let mut out = frame.take::<T>(to);
        out[..count].fill(value);
        frame.put(to, out);
    }
    let identity = combination.identity();
    match accumulators.kind {
        Kind::Single => all(identity.to_f64() as f32, accumulators, count, frame),
        Kind::Double => all(identity.to_f64(), accumulators, count, frame),
        Kind::Word => all(identity.to_i64() as i32, accumulators, count, frame),
        Kind::Long => all(identity.to_i64(), accumulators, count, frame),
    }
}

impl PointStage {
    fn run(&self, point: &mut [i64], memory: &Memory, frame: &mut Frame, target: &mut Target) {
        let checks = &self.reads.checks;
        match &self.value {
            PointValue::Own { order, capacity, program } => loop {
                if order.outer.iter().chain(&order.column).any(|(_, extent)| *extent == 0) {
                    break;
                }
                each_chunk(order, None, *capacity, 0, point, &mut |point, chunk| {
                    program.run(point, chunk, memory, checks, frame);
                    if let Some(store) = &self.store {
                        store.run(program.result, point, order.lanes(), chunk, frame, target);
                    }
                });
                if !advance(point, &order.outer, None) {
                    break;
                }
            },
            PointValue::Reduced { order, capacity, summand, combination, total, finish } => {
                let mut found = Total::new(*combination);
                let is_empty =
                    order.outer.iter().chain(&order.row).chain(&order.column).any(|(_, extent)| *extent == 0);
                while !is_empty {
                    each_chunk(order, None, *capacity, 0, point, &mut |point, chunk| match summand {
                        Ending::Value(program) => {
                            program.run(point, chunk, memory, checks, frame);
                            combination.fold(&mut found, program.result, chunk.lanes(), frame);
                        }
                        Ending::Product(program, factors) => {
                            program.run(point, chunk, memory, checks, frame);
                            found.add_products(*factors, chunk.lanes(), frame);
                        }
                    });
                    if !advance(point, &order.outer, None) {
                        break;
                    }
                }
                found.set(*total, frame);
                finish.run(point, Chunk::POINT, memory, checks, frame);
                if let Some(store) = &self.store {
                    store.run(finish.result, point, LaneAxes::default(), Chunk::POINT, frame, target);
                }
            }
        }
    }
}
