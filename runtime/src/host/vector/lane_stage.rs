//! Stages whose lanes are points of the axes that a group shares.

use warpweave_graph::arena::Id;

use super::chained::Chained;
use super::frame::{Counts, Frame, Kind, Number, Registers, Slot};
use super::lanes::{Extent, Order};
use super::loops::advance;
use super::place::{Chunk, LaneAxes};
use super::program::{Ending, Program, Scope};
use super::reduce::{Combination, accumulate_products};
use super::rows::RowReduction;
use super::stage::{Source, StageReads};
use super::store::{Store, Target};
use super::window::Window;
use crate::host::memory::Memory;

/// What a reduction along its own axes takes beyond its values, in the time of so many steps on one value.
const POINT: f64 = 60.0;

/// A stage, prepared.
pub(crate) struct LaneStage {
    reads: StageReads,
    value: LaneValue,
    /// All that follows its sums, where no other stage takes part.
    chained: Option<(Chained, Slot)>,
    finish: Program,
    store: Option<Store>,
}

enum LaneValue {
    Direct,
    /// One value of the stage's own axes after another, for all lanes at once.
    Across {
        axes: Vec<Extent>,
        summand: Ending,
        combination: Combination,
        accumulators: Slot,
    },
    /// One lane after another. Of each pair of registers, the second takes a lane's value of the first.
    Along {
        reduction: RowReduction,
        inputs: Vec<[Slot; 2]>,
        accumulators: Slot,
    },
    Window(Box<Window>),
}

impl LaneStage {
    /// Prepares a stage on lanes along these axes, of which a box has these extents at most; `is_only` says whether its group has
    /// no other.
    pub(crate) fn new(
        reads: StageReads,
        order: &Order,
        tile: &[Extent],
        is_only: bool,
        registers: &mut Registers,
    ) -> Self {
        let lanes = order.lanes();
        let mut pinned = registers.pinned;
        let (value, reduced) = match reads.expr.reducer {
            None => (LaneValue::Direct, None),
            Some(reducer) => {
                let element = reads.expr.body_element();
                let combination = Combination { reducer, element };
                let accumulators = pinned.next(Kind::of(element), false);
                let value = match Window::new(&reads, order, tile, accumulators, pinned) {
                    Some((window, counts)) => {
                        registers.most = registers.most.most(counts);
                        LaneValue::Window(Box::new(window))
                    }
                    None => LaneValue::new(&reads, order, combination, accumulators, pinned, registers),
                };
                (value, Some(accumulators))
            }
        };
        let scope = Scope { reads: &reads, lanes, merged: &order.merged, values: &registers.values, reduced, pinned };
        let (finish, counts) = Program::stored(&reads.result(), &scope);
        registers.most = registers.most.most(counts);
        registers.pinned = counts;
        registers.values.push(Some(finish.result));
        let chained = reduced.filter(|_| is_only).and_then(|sums| Some((Chained::new(&reads, lanes)?, sums)));
        Self { value, chained, finish, store: reads.store(lanes), reads }
    }

    /// Whether its value is that of windows.
    pub(crate) fn has_windows(&self) -> bool {
        matches!(self.value, LaneValue::Window(_))
    }

    #[expect(clippy::too_many_arguments, reason = "a chunk, and what it is computed in")]
    /// Computes a chunk.
    pub(crate) fn run(
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
            LaneValue::Along { reduction, inputs, accumulators } => {
                reduction.totals(lanes, point, chunk, inputs, *accumulators, memory, &self.reads.checks, frame);
            }
            LaneValue::Across { axes, summand, combination, accumulators } => {
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
        if let (Some((chained, sums)), Target::Arena(_)) = (&self.chained, &*target)
            && chained.run(*sums, lanes, point, chunk, memory, frame)
        {
            return;
        }
        self.finish.run(point, chunk, memory, &self.reads.checks, frame);
        if let Some(store) = &self.store {
            store.run(self.finish.result, point, lanes, chunk, (memory, frame), target);
        }
    }
}

impl LaneValue {
    /// The reduction of a stage, the way that is cheaper.
    fn new(
        reads: &StageReads,
        order: &Order,
        combination: Combination,
        accumulators: Slot,
        pinned: Counts,
        registers: &mut Registers,
    ) -> Self {
        let own = own_axes(reads);
        let length: usize = own.iter().map(|(_, extent)| extent).product();
        let along = length as f64 * Order::of(&own, &[reads], &|_| true).cost(&[reads]) + POINT;
        if along < length as f64 * order.cost(&[reads]) {
            let (mut pinned, mut inputs) = (pinned, Vec::new());
            let mut values = registers.values.clone();
            for source in reads.sources.values() {
                let Source::Stage(earlier) = source else { continue };
                if let Some(from) = values[*earlier].filter(|slot| !slot.is_uniform) {
                    let to = pinned.next(from.kind, true);
                    values[*earlier] = Some(to);
                    inputs.push([from, to]);
                }
            }
            let (reduction, counts) = RowReduction::new(reads, &own, combination, &values, pinned);
            registers.most = registers.most.most(counts);
            return Self::Along { reduction, inputs, accumulators };
        }
        let scope = Scope {
            reads,
            lanes: order.lanes(),
            merged: &order.merged,
            values: &registers.values,
            reduced: None,
            pinned,
        };
        let (summand, counts) = Ending::new(combination, &reads.expr.body, &scope);
        registers.most = registers.most.most(counts);
        Self::Across { axes: own, summand, combination, accumulators }
    }
}

/// The axes that a stage reduces.
fn own_axes(stage: &StageReads) -> Vec<Extent> {
    stage.expr.reduced().map(|axis| (axis.index(), stage.expr.axes[axis].extent)).collect()
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
