//! Whose tagged values every rTask polls.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::program::TensorId;

use crate::plan::{EdgeKind, MemoryPlan, OperatorId, PersistentSegment, ROperator, RTask};
use crate::region::grid::{Span, WrittenGrid};
use crate::region::tile_boxes::TileBoxes;
use crate::region::{ReadBox, Region, is_box, regions, writes_into};

/// Per rTask that polls, the rTasks which write what it polls.
#[derive(Clone, Debug, Default)]
pub struct Polls {
    /// By rOperator and tile; what is beyond the end polls nothing.
    writers: Vec<Vec<Writers>>,
    polled: TaskSet,
}

/// RTasks, ascending; tiles mostly poll the same.
type Writers = Arc<[RTask]>;

impl Polls {
    /// The polls of a segment.
    pub fn of(segment: &PersistentSegment, memory: &MemoryPlan) -> Self {
        Self::of_operators(&segment.operators, memory, || TileBoxes::of(&segment.operators))
    }

    /// The polls between rOperators, wherever tensors lie; `boxes` are asked for if anything may be polled.
    pub fn of_operators<'b>(
        operators: &Arena<OperatorId, ROperator>,
        memory: &MemoryPlan,
        boxes: impl FnOnce() -> TileBoxes<'b>,
    ) -> Self {
        let is_tagged = |tensor: &TensorId| memory.tensors[*tensor].edge == EdgeKind::Tagged;
        let mut producers: BTreeMap<TensorId, Vec<Producer>> = BTreeMap::new();
        for (id, operator) in
            operators.iter().filter(|(_, operator)| operator.kernel.body().outputs.iter().any(is_tagged))
        {
            let outputs = operator.kernel.body().stages.iter().filter_map(|stage| stage.output.as_ref());
            for (written, output) in WrittenGrid::of(operator, memory).into_iter().zip(outputs) {
                let known = producers.entry(written.whole().root).or_default();
                known.push(Producer { id, operator, written, is_box: is_box(&output.index) });
            }
        }
        if producers.is_empty() {
            return Self::default();
        }
        let boxes = boxes();
        let of_operator = |id: OperatorId| match operators[id].kernel.body().operands.iter().any(is_tagged) {
            true => Reader { operator: &operators[id], memory, producers: &producers }.writers(&boxes.of_operator(id)),
            false => Vec::new(),
        };
        Self::of_tiles(operators.ids().collect::<Vec<_>>().into_par_iter().map(of_operator).collect())
    }

    /// These polls.
    pub fn new(writers: BTreeMap<RTask, Vec<RTask>>) -> Self {
        let mut of_tiles: Vec<Vec<Writers>> = Vec::new();
        for (RTask { operator, tile }, writers) in writers {
            of_tiles.resize(of_tiles.len().max(operator.index() + 1), Vec::new());
            let tiles = &mut of_tiles[operator.index()];
            tiles.resize(tiles.len().max(tile as usize + 1), Arc::default());
            tiles[tile as usize] = writers.into();
        }
        Self::of_tiles(of_tiles)
    }

    fn of_tiles(writers: Vec<Vec<Writers>>) -> Self {
        let mut polled = TaskSet::default();
        let mut before: Option<&Writers> = None;
        for list in writers.iter().flatten() {
            if !before.is_some_and(|before| Arc::ptr_eq(before, list)) {
                list.iter().for_each(|writer| polled.insert(*writer));
            }
            before = Some(list);
        }
        Self { writers, polled }
    }

    /// The rTasks whose tagged values an rTask polls, ascending.
    pub fn writers(&self, reader: RTask) -> &[RTask] {
        let tiles = self.writers.get(reader.operator.index());
        tiles.and_then(|tiles| tiles.get(reader.tile as usize)).map_or(&[], |writers| writers)
    }

    /// Whether some rTask polls what this one writes.
    pub fn is_polled(&self, writer: RTask) -> bool {
        self.polled.contains(writer)
    }

    /// Whether nothing is polled.
    pub fn is_empty(&self) -> bool {
        self.writers.iter().flatten().all(|writers| writers.is_empty())
    }

    /// Every rTask that polls, with every one whose tagged values it polls.
    pub fn all(&self) -> impl Iterator<Item = (RTask, RTask)> {
        self.writers.iter().enumerate().flat_map(|(operator, tiles)| {
            let operator = OperatorId::from_index(operator);
            tiles.iter().enumerate().flat_map(move |(tile, writers)| {
                let reader = RTask { operator, tile: tile as u32 };
                writers.iter().map(move |writer| (reader, *writer))
            })
        })
    }

    /// Pairs of an rTask and another whose tagged values it polls.
    pub fn pairs(&self) -> usize {
        self.writers.iter().flatten().map(|writers| writers.len()).sum()
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

/// An rOperator some of whose operands are tagged values.
struct Reader<'a> {
    operator: &'a ROperator,
    memory: &'a MemoryPlan,
    producers: &'a BTreeMap<TensorId, Vec<Producer<'a>>>,
}

impl Reader<'_> {
    /// Per tile, whose tagged values it polls; `boxes` are what tiles read.
    fn writers(&self, boxes: &[Vec<ReadBox>]) -> Vec<Writers> {
        let edge = |operand: usize| self.memory.tensors[self.operator.kernel.body().operands[operand]].edge;
        let is_polled = |(operand, _): &&ReadBox| edge(*operand) == EdgeKind::Tagged;
        let mut known: FxHashMap<Region, Writers> = FxHashMap::default();
        let mut last: (Vec<&ReadBox>, Writers) = (Vec::new(), Arc::default());
        let mut found = Vec::with_capacity(boxes.len());
        for boxes in boxes {
            let polled: Vec<&ReadBox> = boxes.iter().filter(is_polled).collect();
            if polled != last.0 {
                let regions = regions(self.operator, self.memory, polled.iter().copied());
                let of_region =
                    |region| Arc::clone(known.entry(region).or_insert_with_key(|region| self.of_region(region)));
                last = (polled, all_of(regions.into_iter().map(of_region).collect()));
            }
            found.push(Arc::clone(&last.1));
        }
        found
    }

    /// The rTasks that write into a region.
    fn of_region(&self, region: &Region) -> Writers {
        let of_root = self.producers.get(&region.root).into_iter().flatten();
        let mut found: Vec<RTask> = of_root.flat_map(|producer| producer.writers(region, self.memory)).collect();
        found.sort_unstable();
        found.dedup();
        found.into()
    }
}

/// The rTasks of all lists, each once: one of the lists where it holds all others.
fn all_of(lists: Vec<Writers>) -> Writers {
    let longest = lists.iter().max_by_key(|list| list.len()).cloned().unwrap_or_default();
    let is_within = |list: &Writers| list.iter().all(|task| longest.binary_search(task).is_ok());
    if lists.iter().all(|list| Arc::ptr_eq(list, &longest) || is_within(list)) {
        return longest;
    }
    let mut found: Vec<RTask> = lists.iter().flat_map(|list| list.iter().copied()).collect();
    found.sort_unstable();
    found.dedup();
    found.into()
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
        let grid: Vec<u32> = self.operator.kernel.grid().iter().map(|&count| count as u32).collect();
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
