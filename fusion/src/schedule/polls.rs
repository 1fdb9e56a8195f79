//! Whose sentinels every rTask polls.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::program::TensorId;

use super::dependency::{Region, is_box, reads, writes_into};
use super::grid::{Span, WrittenGrid};
use super::plan::{EdgeKind, MemoryPlan, OperatorId, PersistentSegment, ROperator, RTask};

/// Per rTask that polls, the rTasks which write what it polls.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Polls {
    writers: BTreeMap<RTask, Arc<[RTask]>>,
    polled: TaskSet,
}

impl Polls {
    /// The polls of a segment.
    pub fn of(segment: &PersistentSegment, memory: &MemoryPlan) -> Self {
        Self::of_operators(&segment.operators, memory)
    }

    /// The polls between rOperators, wherever tensors lie.
    pub fn of_operators(operators: &Arena<OperatorId, ROperator>, memory: &MemoryPlan) -> Self {
        let uses =
            |tensors: &[TensorId]| tensors.iter().any(|tensor| memory.tensors[*tensor].edge == EdgeKind::Sentinel);
        let mut producers: BTreeMap<TensorId, Vec<Producer>> = BTreeMap::new();
        for (id, operator) in operators.iter().filter(|(_, operator)| uses(&operator.body.outputs)) {
            let outputs = operator.body.stages.iter().filter_map(|stage| stage.output.as_ref());
            for (written, output) in WrittenGrid::of(operator, memory).into_iter().zip(outputs) {
                let known = producers.entry(written.whole().root).or_default();
                known.push(Producer { id, operator, written, is_box: is_box(&output.index) });
            }
        }
        let mut writers = BTreeMap::new();
        for (id, operator) in operators.iter().filter(|(_, operator)| uses(&operator.body.operands)) {
            // Tiles mostly poll the same.
            let mut known = HashMap::new();
            let mut before: Arc<[RTask]> = Arc::default();
            for tile in 0..operator.tasks() {
                let reader = RTask { operator: id, tile };
                let found = polled(operator, reader, memory, &producers, &mut known);
                if *before != *found {
                    before = found.into();
                }
                writers.insert(reader, Arc::clone(&before));
            }
        }
        Self::shared(writers)
    }

    /// These polls.
    pub fn new(writers: BTreeMap<RTask, Vec<RTask>>) -> Self {
        Self::shared(writers.into_iter().map(|(reader, writers)| (reader, writers.into())).collect())
    }

    fn shared(writers: BTreeMap<RTask, Arc<[RTask]>>) -> Self {
        let mut polled = TaskSet::default();
        let mut before: Option<&Arc<[RTask]>> = None;
        for list in writers.values() {
            if !before.is_some_and(|before| Arc::ptr_eq(before, list)) {
                list.iter().for_each(|writer| polled.insert(*writer));
            }
            before = Some(list);
        }
        Self { writers, polled }
    }

    /// The rTasks whose sentinels an rTask polls, ascending.
    pub fn writers(&self, reader: RTask) -> &[RTask] {
        self.writers.get(&reader).map_or(&[], |writers| writers)
    }

    /// Whether some rTask polls what this one writes.
    pub fn is_polled(&self, writer: RTask) -> bool {
        self.polled.contains(writer)
    }

    /// Whether nothing is polled.
    pub fn is_empty(&self) -> bool {
        self.writers.is_empty()
    }

    /// Every rTask that polls, with every one whose sentinels it polls.
    pub fn all(&self) -> impl Iterator<Item = (RTask, RTask)> {
        self.writers.iter().flat_map(|(reader, writers)| writers.iter().map(|writer| (*reader, *writer)))
    }

    /// Pairs of an rTask and another whose sentinels it polls.
    pub fn pairs(&self) -> usize {
        self.writers.values().map(|writers| writers.len()).sum()
    }
}

/// A set of rTasks of one segment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TaskSet {
    /// By rOperator and tile; what is beyond the end is not in it.
    members: Vec<Vec<bool>>,
}

impl TaskSet {
    /// Adds an rTask.
    pub fn insert(&mut self, task: RTask) {
        let (operator, tile) = (task.operator.index(), task.tile as usize);
        if self.members.len() <= operator {
            self.members.resize(operator + 1, Vec::new());
        }
        let tiles = &mut self.members[operator];
        if tiles.len() <= tile {
            tiles.resize(tile + 1, false);
        }
        tiles[tile] = true;
    }

    /// Whether an rTask is in it.
    pub fn contains(&self, task: RTask) -> bool {
        let tiles = self.members.get(task.operator.index());
        tiles.and_then(|tiles| tiles.get(task.tile as usize)).copied().unwrap_or(false)
    }
}

/// Whose sentinels an rTask polls, ascending; `known` holds who writes into the regions of the tiles before it.
fn polled(
    operator: &ROperator,
    reader: RTask,
    memory: &MemoryPlan,
    producers: &BTreeMap<TensorId, Vec<Producer>>,
    known: &mut HashMap<Region, Vec<RTask>>,
) -> Vec<RTask> {
    let mut found = Vec::new();
    for region in reads(operator, memory, reader) {
        if memory.tensors[region.root].edge == EdgeKind::Counter {
            continue;
        }
        let of_root = producers.get(&region.root).into_iter().flatten();
        let writers = || of_root.flat_map(|producer| producer.writers(&region, memory)).collect();
        found.extend_from_slice(known.entry(region.clone()).or_insert_with(writers));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// An output of an rOperator.
struct Producer<'a> {
    id: OperatorId,
    operator: &'a ROperator,
    written: WrittenGrid,
    /// Whether a tile writes all of the box around what it writes.
    is_box: bool,
}

impl Producer<'_> {
    /// The rTasks that write into a region.
    fn writers(&self, region: &Region, memory: &MemoryPlan) -> Vec<RTask> {
        let Some(spans) = self.written.meeting(region) else { return Vec::new() };
        let grid: Vec<u32> = self.operator.params.grid(&self.operator.body).iter().map(|&count| count as u32).collect();
        let tasks = tiles_of(&grid, &spans).into_iter().map(|tile| RTask { operator: self.id, tile });
        tasks.filter(|task| self.is_box || writes_into(self.operator, memory, *task, region)).collect()
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
