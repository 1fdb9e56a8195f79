//! Stages whose lanes are their own axes, at one point of the axes that a group shares.

use warpweave_graph::arena::Id;

use super::frame::{Frame, Kind, Registers, Slot};
use super::lanes::{Extent, Order};
use super::loops::{advance, each_chunk};
use super::place::{Chunk, LaneAxes};
use super::program::{Program, Scope};
use super::reduce::Combination;
use super::rows::RowReduction;
use super::stage::StageReads;
use super::store::{Store, Target};
use crate::host::memory::Memory;

/// A stage, prepared.
pub(crate) struct PointStage {
    reads: StageReads,
    value: PointValue,
    store: Option<Store>,
}

enum PointValue {
    /// A value a point of the stage's own axes.
    Own { order: Order, capacity: usize, program: Program },
    /// One value, combined along the stage's own axes.
    Reduced { reduction: RowReduction, total: Slot, finish: Program },
}

impl PointStage {
    /// Prepares a stage that shares so many axes.
    pub(crate) fn new(reads: StageReads, rank: usize, registers: &mut Registers) -> Self {
        let own = reads.expr.axes.iter().skip(rank);
        let own: Vec<Extent> = own.map(|(axis, of)| (axis.index(), of.extent)).collect();
        let mut pinned = registers.pinned;
        let Some(reducer) = reads.expr.reducer else {
            let order = Order::of(&own, &[&reads], &|_| true);
            let lanes = order.lanes();
            let scope =
                Scope { reads: &reads, lanes, merged: &order.merged, values: &registers.values, reduced: None, pinned };
            let (program, counts) = Program::stored(&reads.expr.body, &scope);
            registers.most = registers.most.most(counts);
            // Later stages read the value only where it is one.
            let only = own.is_empty().then_some(program.result);
            registers.pinned = if only.is_some() { counts } else { pinned };
            registers.values.push(only);
            let store = reads.store(lanes);
            let value = PointValue::Own { order, capacity: counts.capacity(), program };
            return Self { reads, value, store };
        };
        let element = reads.expr.body_element();
        let combination = Combination { reducer, element };
        let total = pinned.next(Kind::of(element), true);
        let (reduction, counts) = RowReduction::new(&reads, &own, combination, &registers.values, pinned);
        registers.most = registers.most.most(counts);
        let lanes = LaneAxes::default();
        let scope =
            Scope { reads: &reads, lanes, merged: &[], values: &registers.values, reduced: Some(total), pinned };
        let (finish, counts) = Program::stored(&reads.result(), &scope);
        registers.most = registers.most.most(counts);
        registers.pinned = counts;
        registers.values.push(Some(finish.result));
        let store = reads.store(lanes);
        Self { value: PointValue::Reduced { reduction, total, finish }, store, reads }
    }

    /// Computes a point.
    pub(crate) fn run(&self, point: &mut [i64], memory: &Memory, frame: &mut Frame, target: &mut Target) {
        let checks = &self.reads.checks;
        match &self.value {
            PointValue::Own { order, .. } if order.is_empty() => {}
            PointValue::Own { order, capacity, program } => loop {
                each_chunk(order, None, *capacity, point, &mut |point, chunk| {
                    program.run(point, chunk, memory, checks, frame);
                    if let Some(store) = &self.store {
                        store.run(program.result, point, order.lanes(), chunk, (memory, frame), target);
                    }
                });
                if !advance(point, &order.outer, None) {
                    break;
                }
            },
            PointValue::Reduced { reduction, total, finish } => {
                let found = reduction.total(point, memory, checks, frame);
                found.keep(*total, 0, frame);
                finish.run(point, Chunk::POINT, memory, checks, frame);
                if let Some(store) = &self.store {
                    store.run(finish.result, point, LaneAxes::default(), Chunk::POINT, (memory, frame), target);
                }
            }
        }
    }
}
