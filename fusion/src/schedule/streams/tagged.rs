//! Which tensors carry their own validity.
//!
//! What rows that keep their constants on chip read of one another is small, and every row reads all of it: the state
//! of a recurrent layer. Such a vector becomes a tagged value. Where something else reads the tensor too, or the host does,
//! its writer writes both: the tensor, and a copy that is polled. The parts of a split reduction, which their sum alone
//! reads, are tagged values as they are; so are tensors that only contractions read, as far as that pays ([`crate::schedule::streams::factors`]).

use std::collections::{BTreeMap, BTreeSet};

use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::expr::{Axis, Guard, Index, Literal, Read, ReadId, Scalar, TensorExpr, region};
use warpweave_graph::program::{TensorDefinition, TensorId, TensorProgram};
use warpweave_graph::types::TensorType;
use warpweave_graph::views::{Layout, merge_operands};

use crate::partition::search::{FusionGroup, Partition};
use crate::partition::split::Expanded;
use crate::schedule::memory::unplaced;
use warpweave_plan::body::{GroupBody, Stage, StageOutput, StageSource};
use warpweave_plan::kernel::Kernel;
use warpweave_plan::plan::{EdgeKind, MOST_POLLED, MemoryPlan, ROperator, polled_together};
use warpweave_plan::region::Region;
use warpweave_plan::template::contraction::operand_staging;
use warpweave_plan::template::contraction::operand_staging::stages_operands;
use warpweave_plan::template::staged;
use warpweave_plan::template::weight_stationary::passes::vector_steps;
use warpweave_plan::template::weight_stationary::reads::{SharedVector, shared_vectors};

/// Which values carry their own validity; each kind adds to those before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tagging {
    /// None.
    Nothing,
    /// The parts of sums, and what rows that keep constants on chip read of one another.
    Sums,
    /// Factors of contractions.
    Factors,
}

impl Tagging {
    /// How the parts of a sum are exchanged.
    pub fn of_parts(self) -> EdgeKind {
        match self {
            Self::Nothing => EdgeKind::Counter,
            Self::Sums | Self::Factors => EdgeKind::Tagged,
        }
    }
}

/// What is planned, with the tensors that carry their own validity.
#[derive(Clone, Debug)]
pub struct TaggedProgram {
    /// The program, its statements left out.
    pub program: TensorProgram,
    /// The layouts of its tensors.
    pub layouts: Arena<TensorId, Layout>,
    pub partition: Partition,
    /// The tagged values; each is its own root.
    pub tagged_values: BTreeSet<TensorId>,
}

/// The tags that an rTask writes or polls on average. Those of rows that keep constants are few, and part of their time.
pub fn tags_of_task(operator: &ROperator, memory: &MemoryPlan) -> f64 {
    let ROperator { kernel, .. } = operator;
    let body = kernel.body();
    if kernel.rules().holds_residents() {
        return 0.0;
    }
    let carries_tag = |tensor: &&TensorId| memory.tensors[**tensor].edge == EdgeKind::Tagged;
    let polled = if stages_operands(kernel) { 0 } else { tags(body.operands.iter().filter(carries_tag), memory) };
    let tags = polled + tags(body.outputs.iter().filter(carries_tag), memory);
    staged_operand_elements(kernel) + tags as f64 / f64::from(operator.tasks().max(1))
}

/// Polls of an rTask that wait one after another, beyond the first. There is one for each read of values that carry
/// tags, and in sums one for as many values as are polled at once. Rows that keep constants bring one vector after
/// another, and some columns of a part of it after others.
pub fn polls_in_turn(operator: &ROperator, memory: &MemoryPlan) -> usize {
    let ROperator { kernel, .. } = operator;
    let body = kernel.body();
    if stages_operands(kernel) {
        return 0;
    }
    if kernel.rules().holds_residents() {
        let vectors = if vector_steps(kernel) > 0 { shared_vectors(kernel) } else { Vec::new() };
        let is_polled =
            |vector: &&SharedVector| memory.tensors[body.operands[vector.read.operand]].edge == EdgeKind::Tagged;
        let polls = |vector: &SharedVector| match vector.columns {
            1 => 1,
            columns => {
                columns.div_ceil(MOST_POLLED) * vector.read.length.div_ceil(kernel.rules().block_size().threads())
            }
        };
        return vectors.iter().filter(is_polled).map(polls).sum::<usize>().saturating_sub(1);
    }
    let is_polled = |source: &StageSource| match source {
        StageSource::Operand(operand) => memory.tensors[body.operands[*operand]].edge == EdgeKind::Tagged,
        StageSource::Stage(_) | StageSource::Staged(_) => false,
    };
    let of_stage = |stage: &Stage| {
        let expr = &stage.expr;
        let polled = expr.reads.values().filter(|read| is_polled(&stage.sources[read.operand])).count();
        let summed: Vec<usize> = expr.reduced().map(|axis| expr.axes[axis].extent).collect();
        polled * if let [extent] = summed[..] { extent / polled_together(extent) } else { 1 }
    };
    body.stages.iter().map(of_stage).sum::<usize>().saturating_sub(1)
}

fn tags<'t>(tensors: impl Iterator<Item = &'t TensorId>, memory: &MemoryPlan) -> usize {
    tensors.map(|tensor| memory.tensors[*tensor].ty.shape.elements()).sum()
}

/// Elements of the boxes of a contraction.
pub(crate) fn staged_operand_elements(kernel: &Kernel) -> f64 {
    let boxes = if stages_operands(kernel) { operand_staging::boxes(kernel) } else { None };
    boxes.map_or(0, |boxes| boxes.iter().map(|spans| staged::elements(spans)).sum()) as f64
}

/// The parts of sums, and everything that rows which keep constants read of one another, as tagged values.
pub fn exchange(expanded: Expanded) -> TaggedProgram {
    let Expanded { program, layouts, partition, parts, .. } = expanded;
    let memory = unplaced(&program, &layouts, &BTreeSet::new());
    let written = written(&partition, &memory);
    let polls = polls(&partition, &memory, &written);
    let mut exchanged = TaggedProgram { program, layouts, partition, tagged_values: parts };
    let uses = Uses::of(&exchanged);
    for (tensor, polls) in polls {
        if uses.are_polls(tensor, &polls) && exchanged.is_whole(tensor) {
            exchanged.tagged_values.insert(tensor);
        } else {
            exchanged.copy(tensor, &written[&tensor], &polls, &memory);
        }
    }
    exchanged
}

/// A tensor that a group which keeps constants writes.
struct Written {
    group: usize,
    stage: usize,
    whole: Region,
}

/// What such groups write.
fn written(partition: &Partition, memory: &MemoryPlan) -> BTreeMap<TensorId, Written> {
    let mut found = BTreeMap::new();
    let kept = partition.groups.iter().enumerate().filter(|(_, group)| group.kernel.rules().holds_residents());
    for (group, FusionGroup { kernel, .. }) in kept {
        let body = kernel.body();
        for (stage, output) in
            body.stages.iter().enumerate().filter_map(|(at, stage)| Some((at, stage.output.as_ref()?)))
        {
            let tensor = body.outputs[output.position];
            found.insert(tensor, Written { group, stage, whole: Region::whole(memory, tensor) });
        }
    }
    found
}

/// A group that reads a vector of another's output.
struct Poll {
    group: usize,
    /// The operand of the group's body through which it does.
    operand: TensorId,
    /// What the reads that are meant read of it, and the coordinates where the other's output begins in it.
    reads: Region,
    start: Vec<i64>,
}

/// Per tensor that can be polled, who does so.
fn polls(
    partition: &Partition,
    memory: &MemoryPlan,
    written: &BTreeMap<TensorId, Written>,
) -> BTreeMap<TensorId, Vec<Poll>> {
    let mut by_root: BTreeMap<TensorId, Vec<TensorId>> = BTreeMap::new();
    written.iter().for_each(|(&tensor, of)| by_root.entry(of.whole.root).or_default().push(tensor));
    let mut found: BTreeMap<TensorId, Vec<Poll>> = BTreeMap::new();
    for (group, FusionGroup { kernel, .. }) in partition.groups.iter().enumerate() {
        let body = kernel.body();
        if !kernel.rules().holds_residents() {
            continue;
        }
        if vector_steps(kernel) == 0 {
            continue;
        }
        for SharedVector { read: vector, .. } in shared_vectors(kernel) {
            let operand = body.operands[vector.operand];
            let Some(reads) = region_of(&body.stages[vector.stage], vector.id, operand, memory) else { continue };
            let parts = by_root.get(&reads.root).into_iter().flatten();
            if let Some(&tensor) = parts.into_iter().find(|tensor| written[tensor].whole.holds(&reads)) {
                let own = Region::whole(memory, operand);
                let ranges = written[&tensor].whole.ranges.iter().zip(&own.ranges);
                let start = ranges.map(|(part, own)| part.minimum - own.minimum).collect();
                found.entry(tensor).or_default().push(Poll { group, operand, reads, start });
            }
        }
    }
    found
}

/// What a stage reads of a tensor over all of its points.
fn region_of(stage: &Stage, read: ReadId, operand: TensorId, memory: &MemoryPlan) -> Option<Region> {
    let ranges = region::input_region(&stage.expr, read, &region::whole(&stage.expr))?;
    Some(Region::of(memory, operand, ranges))
}

impl TaggedProgram {
    /// Everything exchanged by counters.
    pub fn without_tagged_values(expanded: Expanded) -> Self {
        let Expanded { program, layouts, partition, .. } = expanded;
        Self { program, layouts, partition, tagged_values: BTreeSet::new() }
    }

    /// Whether a tensor lies in memory of its own, element by element.
    pub(crate) fn is_whole(&self, tensor: TensorId) -> bool {
        self.layouts[tensor].is_own(tensor, &self.program.tensors[tensor].ty)
    }

    /// Lets the writer write a copy too, which is polled instead.
    fn copy(&mut self, tensor: TensorId, written: &Written, polls: &[Poll], memory: &MemoryPlan) {
        let copy = TensorId::from_index(self.program.tensors.len());
        let TensorDefinition { ty, source } = self.program.tensors[tensor].clone();
        let groups = &mut self.partition.groups;
        let body = groups[written.group].kernel.body_mut();
        let copied = copied(body, written.stage);
        body.stages.push(copied);
        body.outputs.push(copy);
        for poll in polls {
            let kernel = &mut groups[poll.group].kernel;
            *kernel = kernel.with_body(polling(kernel.body(), poll, (copy, &ty), memory));
        }
        self.layouts.push(Layout::own(copy, &ty));
        self.program.tensors.push(TensorDefinition { ty, source });
        self.tagged_values.insert(copy);
    }
}

/// Who uses tensors.
struct Uses {
    /// Per tensor, the positions of the groups that read it.
    readers: Arena<TensorId, Vec<usize>>,
    /// Whether the host, or another tensor in the same memory, has to do with it.
    by_others: Arena<TensorId, bool>,
}

impl Uses {
    fn of(TaggedProgram { program, layouts, partition, .. }: &TaggedProgram) -> Self {
        let mut readers: Arena<TensorId, Vec<usize>> = program.tensors.values().map(|_| Vec::new()).collect();
        for (position, group) in partition.groups.iter().enumerate() {
            group.kernel.body().operands.iter().for_each(|&operand| readers[operand].push(position));
        }
        let mut by_others: Arena<TensorId, bool> = program.tensors.values().map(|_| false).collect();
        program.live_in().chain(program.live_out()).for_each(|tensor| by_others[tensor] = true);
        let parts = layouts.iter().filter(|(tensor, layout)| layout.root != *tensor);
        parts.for_each(|(_, layout)| by_others[layout.root] = true);
        Self { readers, by_others }
    }

    /// Whether these polls are all that is done with what is written into a tensor.
    fn are_polls(&self, tensor: TensorId, polls: &[Poll]) -> bool {
        let known = |position: &usize| polls.iter().any(|poll| poll.group == *position);
        !self.by_others[tensor] && self.readers[tensor].iter().all(known)
    }
}

/// The body with what it polls read from a copy of the other's output.
fn polling(body: &GroupBody, poll: &Poll, (copy, ty): (TensorId, &TensorType), memory: &MemoryPlan) -> GroupBody {
    let mut stages = body.stages.clone();
    for stage in &mut stages {
        let through = |read: &Read| match stage.sources[read.operand] {
            StageSource::Operand(operand) => body.operands[operand] == poll.operand,
            StageSource::Stage(_) | StageSource::Staged(_) => false,
        };
        let is_meant = |id: &ReadId| {
            let region = through(&stage.expr.reads[*id]).then(|| region_of(stage, *id, poll.operand, memory)).flatten();
            region.as_ref() == Some(&poll.reads)
        };
        let meant: Vec<ReadId> = stage.expr.reads.ids().filter(is_meant).collect();
        for id in meant {
            let read = &mut stage.expr.reads[id];
            read.operand = stage.expr.operands.len();
            for (index, start) in read.index.iter_mut().zip(&poll.start) {
                *index = index.plus(-start);
            }
            stage.expr.operands.push(ty.clone());
            stage.sources.push(StageSource::Operand(body.operands.len()));
        }
        (stage.expr, stage.sources) = merge_operands(&stage.expr, &stage.sources);
    }
    body.with_operands(stages, body.tile_rank, body.outputs.clone(), Some(copy))
}

/// The stage that writes another's value where it goes once more, into the body's next output.
fn copied(body: &GroupBody, stage: usize) -> Stage {
    let lead = &body.stages[stage];
    let axes: Arena<_, Axis> = lead.expr.parallel().map(|axis| lead.expr.axes[axis]).collect();
    let index = axes.ids().map(Index::axis).collect();
    let mut reads = Arena::new();
    let fill = Literal::new(lead.expr.element, 0.0);
    let read = reads.push(Read { operand: 0, index, guard: Guard::always(), fill });
    let expr = TensorExpr {
        axes,
        operands: vec![lead.expr.output()],
        reads,
        body: Scalar::Read(read),
        reducer: None,
        epilogue: None,
        element: lead.expr.element,
    };
    let own = lead.output.as_ref().expect("the stage writes the tensor that is copied");
    let output = Some(StageOutput { position: body.outputs.len(), index: own.index.clone() });
    Stage { expr, sources: vec![StageSource::Stage(stage)], output, procedure: None }
}
