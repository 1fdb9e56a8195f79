//! Units of rTasks that hold constants on chip.

use std::collections::BTreeMap;

use warpweave_graph::arena::Arena;

use warpweave_plan::plan::{OperatorId, ROperator, RTask};
use warpweave_plan::streams::residency::resident_numbers;

/// The unit of every rTask that keeps constants on chip: rTasks that keep the same share one, others share none.
#[derive(Clone, Debug, Default)]
pub struct Affinity {
    /// Per rOperator, the unit of its first tile.
    first: Arena<OperatorId, Option<usize>>,
}

impl Affinity {
    /// Whether any rTask has a unit of its own.
    pub fn are_given(&self) -> bool {
        self.first.values().any(Option::is_some)
    }

    /// Units in the order of the rOperators that first use them; past the last one they are given out again.
    pub fn of(operators: &Arena<OperatorId, ROperator>) -> Self {
        let mut starts: BTreeMap<u32, usize> = BTreeMap::new();
        let mut next = 0;
        let numbers = resident_numbers(operators);
        let first = numbers.iter().map(|(id, number)| {
            number.map(|number| {
                *starts.entry(number).or_insert_with(|| {
                    let start = next;
                    next += operators[id].tasks() as usize;
                    start
                })
            })
        });
        Self { first: first.collect() }
    }

    /// The unit of an rTask among `units`, if it has to be one.
    pub fn unit(&self, task: RTask, units: usize) -> Option<usize> {
        self.first[task.operator].map(|first| (first + task.tile as usize) % units)
    }
}
