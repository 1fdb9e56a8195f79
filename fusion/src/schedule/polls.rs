//! Whose sentinels every rTask polls.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::program::TensorId;

use super::dependency::{Region, reads, writes_into};
use super::grid::{Span, WrittenGrid};
use super::plan::{EdgeKind, MemoryPlan, OperatorId, PersistentSegment, ROperator, RTask};

/// Per rTask that polls, the rTasks which write what it polls.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Polls {
    writers: BTreeMap<RTask, Vec<RTask>>,
    polled: BTreeSet<RTask>,
}

impl Polls {
    /// The polls of a segment.
    pub fn of(segment: &PersistentSegment, memory: &MemoryPlan) -> Self {
        let is_sentinel = |tensor: TensorId| memory.tensors[tensor].edge == EdgeKind::Sentinel;
        let writes = |operator: &ROperator| operator.body.outputs.iter().any(|tensor| is_sentinel(*tensor));
        let mut producers: BTreeMap<TensorId, Vec<Producer>> = BTreeMap::new();
        for (id, operator) in segment.operators.iter().filter(|(_, operator)| writes(operator)) {
            for written in WrittenGrid::of(operator, memory) {
                let known = producers.entry(written.whole().root).or_default();
                known.push(Producer { id, operator, written });
            }
        }
        let mut writers = BTreeMap::new();
        if producers.is_empty() {
            return Self::default();
        }
        for (id, operator) in segment.operators.iter() {
            if !operator.body.operands.iter().any(|tensor| is_sentinel(*tensor)) {
                continue;
            }
            for tile in 0..operator.tasks() {
                let reader = RTask { operator: id, tile };
                let mut own = Vec::new();
                for region in reads(operator, memory, reader).into_iter().filter(|region| is_sentinel(region.root)) {
                    for producer in producers.get(&region.root).into_iter().flatten() {
                        let tiles = producer.tiles(&region);
                        let tasks = tiles.into_iter().map(|tile| RTask { operator: producer.id, tile });
                        own.extend(tasks.filter(|task| writes_into(producer.operator, memory, *task, &region)));
                    }
                }
                own.sort_unstable();
                own.dedup();
                writers.insert(reader, own);
            }
        }
        Self::new(writers)
    }

    /// These polls.
    pub fn new(writers: BTreeMap<RTask, Vec<RTask>>) -> Self {
        let polled = writers.values().flatten().copied().collect();
        Self { writers, polled }
    }

    /// The rTasks whose sentinels an rTask polls, ascending.
    pub fn writers(&self, reader: RTask) -> &[RTask] {
        self.writers.get(&reader).map_or(&[], Vec::as_slice)
    }

    /// Whether some rTask polls what this one writes.
    pub fn is_polled(&self, writer: RTask) -> bool {
        self.polled.contains(&writer)
    }

    /// Whether nothing is polled.
    pub fn is_empty(&self) -> bool {
        self.writers.is_empty()
    }

    /// Pairs of an rTask and another whose sentinels it polls.
    pub fn pairs(&self) -> usize {
        self.writers.values().map(Vec::len).sum()
    }
}

/// An output of an rOperator.
struct Producer<'a> {
    id: OperatorId,
    operator: &'a ROperator,
    written: WrittenGrid,
}

impl Producer<'_> {
    /// The tiles that may write into a region.
    fn tiles(&self, region: &Region) -> Vec<u32> {
        let grid: Vec<u32> = self.operator.params.grid(&self.operator.body).iter().map(|&count| count as u32).collect();
        self.written.meeting(region).map_or_else(Vec::new, |spans| tiles_of(&grid, &spans))
    }
}

/// The numbers of the tiles in a box of a grid, row-major.
fn tiles_of(grid: &[u32], spans: &[Span]) -> Vec<u32> {
    let mut numbers = vec![0];
    for (&count, span) in grid.iter().zip(spans) {
        let along = span.first..=span.last;
        numbers = numbers.iter().flat_map(|number| along.clone().map(move |at| number * count + at)).collect();
    }
    numbers
}
