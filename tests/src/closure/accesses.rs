//! Which elements every rTask reads and writes, one by one.
//!
//! Writes are the points of a tile, put through the index of a stage's output. Reads are the boxes of
//! `graph::expr::region`, the one thing that this has in common with the plan verifier. Elements are positions in a
//! root tensor, so nothing here depends on streams or addresses.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::evaluate::for_each_point;
use warpweave::graph::arena::{Arena, Id};
use warpweave::graph::expr::{AxisId, AxisKind, Condition, Guard, Index, Range, ReadId, TensorExpr, region};
use warpweave::graph::program::TensorId;
use warpweave::plan::body::{Stage, StageSource};
use warpweave::plan::plan::{BufferSpace, EdgeKind, ExecutionPlan, MemoryPlan, OperatorId, ROperator, RTask};

/// Number of an rTask among all of a segment.
pub type TaskNumber = u32;

/// No rTask.
pub const NO_TASK: TaskNumber = TaskNumber::MAX;

/// A box of elements of a root.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct ElementBox {
    root: TensorId,
    first: usize,
    /// Extent and stride of every dimension.
    dimensions: Vec<(usize, usize)>,
}

impl ElementBox {
    fn new(memory: &MemoryPlan, tensor: TensorId, ranges: &[Range]) -> Self {
        let layout = &memory.tensors[tensor].layout;
        let start = |(range, stride): (&Range, &usize)| range.minimum as usize * stride;
        let first = layout.offset + ranges.iter().zip(&layout.strides).map(start).sum::<usize>();
        let extent = |range: &Range| (range.maximum - range.minimum + 1).max(0) as usize;
        let dimensions = ranges.iter().map(extent).zip(layout.strides.iter().copied()).collect();
        Self { root: layout.root, first, dimensions }
    }

    /// Calls `visit` with runs of neighbouring elements: the first and the number.
    fn for_each_run(&self, visit: &mut impl FnMut(usize, usize)) {
        let contiguous = matches!(self.dimensions.last(), Some((_, 1)));
        let (outer, length) = match self.dimensions.split_last() {
            Some(((extent, 1), outer)) => (outer, *extent),
            _ => (self.dimensions.as_slice(), 1),
        };
        debug_assert!(contiguous || length == 1);
        let extents: Vec<usize> = outer.iter().map(|(extent, _)| *extent).collect();
        for_each_point(&extents, &mut |point| {
            let offset: usize = point.iter().zip(outer).map(|(at, (_, stride))| at * stride).sum();
            visit(self.first + offset, length);
        });
    }
}

/// The uses of one root tensor.
#[derive(Debug, Default)]
pub struct RootUses {
    /// Per element, who writes it.
    pub owner: Vec<TaskNumber>,
    /// Who writes some of it.
    pub writers: BTreeSet<TaskNumber>,
    /// Who reads some of it.
    pub readers: BTreeSet<TaskNumber>,
}

/// How closely reads are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reads {
    /// The boxes around them, which is what plans answer for.
    Boxes,
    /// The very elements, point by point; of reads at read positions, the boxes.
    Points,
}

/// The accesses of all rTasks of a plan.
#[derive(Debug)]
pub struct Accesses {
    /// All rTasks, by number.
    pub tasks: Vec<RTask>,
    /// Per rOperator, the number of its first rTask.
    first: Arena<OperatorId, TaskNumber>,
    /// Per rTask, who must have written before: the sets are shared between rTasks that read the same boxes.
    pub sources: Vec<Vec<Rc<[TaskNumber]>>>,
    /// Per rTask, whose values it polls.
    pub polled: Vec<Vec<Rc<[TaskNumber]>>>,
    /// Every root that anything touches.
    pub roots: BTreeMap<TensorId, RootUses>,
    /// What is wrong whatever the order: elements written twice, or read and never written.
    pub faults: Vec<String>,
    boxes: Vec<Vec<ElementBox>>,
}

impl Accesses {
    /// Collects the accesses of a plan's segment.
    pub fn new(plan: &ExecutionPlan, reads: Reads) -> Self {
        let segment = plan.persistent();
        let mut tasks = Vec::new();
        let mut first = Arena::new();
        for (operator, definition) in segment.operators.iter() {
            first.push(tasks.len() as TaskNumber);
            tasks.extend((0..definition.tasks()).map(|tile| RTask { operator, tile }));
        }
        let mut accesses = Self {
            sources: vec![Vec::new(); tasks.len()],
            polled: vec![Vec::new(); tasks.len()],
            boxes: vec![Vec::new(); tasks.len()],
            tasks,
            first,
            roots: BTreeMap::new(),
            faults: Vec::new(),
        };
        for (number, task) in accesses.tasks.clone().into_iter().enumerate() {
            accesses.add_writes(&plan.memory, &segment.operators[task.operator], task.tile, number as TaskNumber);
        }
        let mut known = HashMap::new();
        for (number, task) in accesses.tasks.clone().into_iter().enumerate() {
            let operator = &segment.operators[task.operator];
            let boxes = match reads {
                Reads::Boxes => boxes_read(&plan.memory, operator, task.tile),
                Reads::Points => points_read(&plan.memory, operator, task.tile),
            };
            accesses.add_reads(&plan.memory, boxes, number as TaskNumber, &mut known);
        }
        for input in plan.memory.live_in() {
            accesses.root(&plan.memory, input);
        }
        for output in plan.memory.live_out() {
            let ranges = whole(&plan.memory, output);
            let area = ElementBox::new(&plan.memory, output, &ranges);
            accesses.owners(&plan.memory, &area);
        }
        accesses
    }

    /// The number of an rTask, if it exists.
    pub fn number(&self, task: RTask) -> Option<TaskNumber> {
        let number = *self.first.get(task.operator)? + task.tile;
        (self.tasks.get(number as usize) == Some(&task)).then_some(number)
    }

    fn root(&mut self, memory: &MemoryPlan, root: TensorId) -> &mut RootUses {
        self.roots.entry(root).or_insert_with(|| {
            let elements = memory.tensors[root].ty.shape.elements();
            RootUses { owner: vec![NO_TASK; elements], ..RootUses::default() }
        })
    }

    fn add_writes(&mut self, memory: &MemoryPlan, operator: &ROperator, tile: u32, task: TaskNumber) {
        for (stage, output) in operator.kernel.body().stages.iter().enumerate() {
            let Some(output) = &output.output else { continue };
            let tensor = operator.kernel.body().outputs[output.position];
            let layout = &memory.tensors[tensor].layout;
            let ranges = tile_ranges(operator, stage, tile);
            let expr = &operator.kernel.body().stages[stage].expr;
            // Axes that are reduced take no part in an output.
            let extent = |(axis, range): (AxisId, &Range)| match expr.axes[axis].kind {
                AxisKind::Parallel => (range.maximum - range.minimum + 1) as usize,
                AxisKind::Reduced => 1,
            };
            let extents: Vec<usize> = expr.axes.ids().zip(&ranges).map(extent).collect();
            let mut twice = 0;
            let uses = self.root(memory, layout.root);
            uses.writers.insert(task);
            for_each_point(&extents, &mut |point| {
                let axis = |axis: AxisId| ranges[axis.index()].minimum + point[axis.index()] as i64;
                let place = output.index.iter().zip(&layout.strides).map(|(index, &stride)| {
                    let at = index.evaluate(&axis, &|_| unreachable!("an element decides where something is written"));
                    at as usize * stride
                });
                let element = layout.offset + place.sum::<usize>();
                match uses.owner.get_mut(element) {
                    Some(owner) if *owner == NO_TASK => *owner = task,
                    _ => twice += 1,
                }
            });
            if twice > 0 {
                self.faults.push(format!("rTask {task} writes {twice} elements of {tensor} again or outside of it"));
            }
        }
    }

    fn add_reads(
        &mut self,
        memory: &MemoryPlan,
        boxes: BTreeSet<ElementBox>,
        task: TaskNumber,
        known: &mut HashMap<ElementBox, Rc<[TaskNumber]>>,
    ) {
        for area in &boxes {
            self.root(memory, area.root).readers.insert(task);
            let owners = match known.get(area) {
                Some(owners) => owners.clone(),
                None => {
                    let owners = self.owners(memory, area);
                    known.insert(area.clone(), owners.clone());
                    owners
                }
            };
            if !owners.is_empty() {
                let list = match memory.tensors[area.root].edge {
                    EdgeKind::Counter => &mut self.sources,
                    EdgeKind::Tagged => &mut self.polled,
                };
                list[task as usize].push(owners);
            }
        }
        self.boxes[task as usize] = boxes.into_iter().collect();
    }

    /// The writers of a box; elements without a writer are a fault.
    fn owners(&mut self, memory: &MemoryPlan, area: &ElementBox) -> Rc<[TaskNumber]> {
        let in_weights = memory.tensors[area.root].buffer.is_some_and(|buffer| buffer.space == BufferSpace::Weights);
        let given = in_weights || memory.is_live_in(area.root);
        let uses = self.root(memory, area.root);
        let mut owners = BTreeSet::new();
        let (mut last, mut missing) = (NO_TASK, 0);
        area.for_each_run(&mut |first, length| {
            for &owner in &uses.owner[first..first + length] {
                if owner == NO_TASK {
                    missing += 1;
                } else if owner != last {
                    owners.insert(owner);
                    last = owner;
                }
            }
        });
        if missing > 0 && !given {
            self.faults.push(format!("{missing} elements of {} are read and never written", area.root));
        }
        owners.into_iter().collect()
    }

    /// The matrices of constants that an rTask reads parts of: what it may keep on chip.
    pub fn constants(&self, memory: &MemoryPlan, task: TaskNumber) -> Vec<&impl PartialEq> {
        let is_matrix = |area: &&ElementBox| area.dimensions.iter().filter(|(extent, _)| *extent > 1).count() > 1;
        let in_weights = |area: &&ElementBox| {
            memory.tensors[area.root].buffer.is_some_and(|buffer| buffer.space == BufferSpace::Weights)
        };
        self.boxes[task as usize].iter().filter(is_matrix).filter(in_weights).collect()
    }

    /// The elements of a root that an rTask reads, as runs: first and number.
    pub fn reads(&self, task: TaskNumber, root: TensorId) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        for area in self.boxes[task as usize].iter().filter(|area| area.root == root) {
            area.for_each_run(&mut |first, length| runs.push((first, length)));
        }
        runs
    }

    /// The elements of a root that an rTask writes, as runs: first and number.
    pub fn writes(&self, task: TaskNumber, root: TensorId) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (element, _) in self.roots[&root].owner.iter().enumerate().filter(|(_, owner)| **owner == task) {
            match runs.last_mut() {
                Some((first, length)) if *first + *length == element => *length += 1,
                _ => runs.push((element, 1)),
            }
        }
        runs
    }
}

/// The boxes that a tile's reads lie in.
fn boxes_read(memory: &MemoryPlan, operator: &ROperator, tile: u32) -> BTreeSet<ElementBox> {
    let mut boxes = BTreeSet::new();
    for (stage, ranges) in stage_ranges(operator, tile) {
        for (id, read) in stage.expr.reads.iter() {
            let StageSource::Operand(operand) = stage.sources[read.operand] else { continue };
            let Some(ranges) = region::input_region(&stage.expr, id, &ranges) else { continue };
            boxes.insert(ElementBox::new(memory, operator.kernel.body().operands[operand], &ranges));
        }
    }
    boxes
}

/// The elements that a tile's reads name, as boxes of neighbours.
fn points_read(memory: &MemoryPlan, operator: &ROperator, tile: u32) -> BTreeSet<ElementBox> {
    let mut elements: BTreeMap<TensorId, BTreeSet<usize>> = BTreeMap::new();
    let mut boxes = BTreeSet::new();
    for (stage, ranges) in stage_ranges(operator, tile) {
        let extents: Vec<usize> = ranges.iter().map(|range| (range.maximum - range.minimum + 1) as usize).collect();
        for (id, read) in stage.expr.reads.iter() {
            let StageSource::Operand(operand) = stage.sources[read.operand] else { continue };
            let tensor = operator.kernel.body().operands[operand];
            let conditions = read.guard.conditions();
            let free = |index: &Index| index.is_free_of_reads();
            if !read.index.iter().all(free) || !conditions.iter().all(|condition| free(&condition.index)) {
                let ranges = region::input_region(&stage.expr, id, &ranges);
                boxes.extend(ranges.map(|ranges| ElementBox::new(memory, tensor, &ranges)));
                continue;
            }
            let layout = &memory.tensors[tensor].layout;
            let own = elements.entry(layout.root).or_default();
            for_each_point(&extents, &mut |point| {
                let axis = |axis: AxisId| ranges[axis.index()].minimum + point[axis.index()] as i64;
                let value = |index: &Index| index.evaluate(&axis, &|_| unreachable!("the index reads nothing"));
                let holds =
                    |condition: &Condition| (condition.lower..condition.upper).contains(&value(&condition.index));
                if conditions.iter().all(holds) {
                    let place =
                        read.index.iter().zip(&layout.strides).map(|(index, &stride)| value(index) as usize * stride);
                    own.insert(layout.offset + place.sum::<usize>());
                }
            });
        }
    }
    for (root, elements) in elements {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for element in elements {
            match runs.last_mut() {
                Some((first, length)) if *first + *length == element => *length += 1,
                _ => runs.push((element, 1)),
            }
        }
        boxes.extend(runs.into_iter().map(|(first, length)| ElementBox { root, first, dimensions: vec![(length, 1)] }));
    }
    boxes
}

fn whole(memory: &MemoryPlan, tensor: TensorId) -> Vec<Range> {
    let extents = memory.tensors[tensor].ty.shape.iter();
    extents.map(|&extent| Range { minimum: 0, maximum: extent as i64 - 1 }).collect()
}

/// The values of every axis of a stage in one tile: tiles are numbered row by row, other axes are whole.
fn tile_ranges(operator: &ROperator, stage: usize, tile: u32) -> Vec<Range> {
    let axes = &operator.kernel.body().stages[stage].expr.axes;
    let mut ranges = full_tile_ranges(operator, stage, tile);
    for (range, axis) in ranges.iter_mut().zip(axes.values()) {
        range.maximum = range.maximum.min(axis.extent as i64 - 1);
    }
    ranges
}

/// Every stage of a tile with the ranges of its axes: staged ones over what later stages read of them.
///
/// A kernel keeps boxes of the same extents in every tile, so a staged stage covers what a full tile would need.
fn stage_ranges(operator: &ROperator, tile: u32) -> Vec<(&Stage, Vec<Range>)> {
    let body = operator.kernel.body();
    let mut staged: Vec<Vec<Range>> = vec![Vec::new(); body.staged.len()];
    for position in (0..body.staged.len()).rev() {
        let own = &body.staged[position].expr;
        let main = (0..body.stages.len()).map(|stage| (&body.stages[stage], full_tile_ranges(operator, stage, tile)));
        let later = (position + 1..body.staged.len()).map(|later| (&body.staged[later], staged[later].clone()));
        let mut needed: Option<Vec<Range>> = None;
        for (stage, ranges) in main.chain(later) {
            for (id, read) in stage.expr.reads.iter() {
                if stage.sources[read.operand] != StageSource::Staged(position) {
                    continue;
                }
                let found = region::input_region(&stage.expr, id, &ranges);
                let found = found.unwrap_or_else(|| unguarded(&stage.expr, id, &ranges));
                let enclose = |(a, b): (Range, Range)| Range {
                    minimum: a.minimum.min(b.minimum),
                    maximum: a.maximum.max(b.maximum),
                };
                needed = Some(match needed {
                    None => found,
                    Some(known) => known.into_iter().zip(found).map(enclose).collect(),
                });
            }
        }
        let mut ranges = region::whole(own);
        for (axis, range) in own.parallel().zip(needed.expect("something reads every staged value")) {
            ranges[axis.index()] = range;
        }
        staged[position] = ranges;
    }
    let main = (0..body.stages.len()).map(|stage| (&body.stages[stage], tile_ranges(operator, stage, tile)));
    body.staged.iter().zip(staged).chain(main).collect()
}

/// Where a read whose guard holds nowhere in these ranges would read: kernels keep a box for it all the same.
fn unguarded(expr: &TensorExpr, read: ReadId, ranges: &[Range]) -> Vec<Range> {
    let mut expr = expr.clone();
    expr.reads[read].guard = Guard::always();
    region::input_region(&expr, read, ranges).expect("a read without a guard reads something")
}

/// As [`tile_ranges`], of a tile that may reach beyond the extents.
fn full_tile_ranges(operator: &ROperator, stage: usize, tile: u32) -> Vec<Range> {
    let axes = &operator.kernel.body().stages[stage].expr.axes;
    let sides = operator.kernel.tile();
    let mut number = tile as usize;
    let mut ranges = Vec::new();
    for (position, axis) in axes.values().enumerate().rev() {
        let (mut first, mut end) = (0, axis.extent);
        if position < sides.len() {
            let count = axis.extent.div_ceil(sides[position]);
            first = number % count * sides[position];
            end = first + sides[position];
            number /= count;
        }
        ranges.push(Range { minimum: first as i64, maximum: end as i64 - 1 });
    }
    ranges.reverse();
    ranges
}
