//! Reductions of a row that run side by side, in one walk along it.

use std::ops::Range;

use rustc_hash::FxHashSet;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Guard, Index, Read, ReadId, TensorExpr};

use crate::body::{GroupBody, Stage, StageSource};
use crate::template::block::WARP;
use crate::template::staged::blocked;

/// Elements that a lane fetches at once where a round is walked in runs.
pub const RUN: usize = blocked::WRITTEN_OUT;

/// Consecutive stages that the row template computes together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Round {
    /// Positions in [`GroupBody::stages`]: reductions over the same extents none of which needs another's value before it
    /// is combined, or one other stage.
    pub stages: Range<usize>,
    /// Elements that a lane takes at once along the innermost reduced axis. This is [`RUN`] where several reductions
    /// run side by side or a warp has a run for every lane, and every read allows it. Else it is 1.
    pub run: usize,
}

impl Round {
    /// The reads of the bodies of a round's stages, each place of memory once, with the stage where it first occurs.
    pub fn reads<'b>(&self, body: &'b GroupBody) -> Vec<(usize, ReadId, &'b Read)> {
        let mut seen: FxHashSet<(StageSource, &[Index], &Guard)> = FxHashSet::default();
        let mut found = Vec::new();
        for at in self.stages.clone() {
            let stage = &body.stages[at];
            for id in stage.expr.reads_of(&stage.expr.body) {
                let read = &stage.expr.reads[id];
                if !is_shared(read) || seen.insert((stage.sources[read.operand], &read.index, &read.guard)) {
                    found.push((at, id, read));
                }
            }
        }
        found
    }
}

/// Whether a read means the same place in every stage of a round that has it: it names no other read.
pub fn is_shared(read: &Read) -> bool {
    let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
    read.index.iter().chain(conditions).all(Index::is_free_of_reads)
}

/// Whether an index names places that are the same at all points of a row.
pub fn is_fixed_along_row(body: &GroupBody, expr: &TensorExpr, index: &Index) -> bool {
    let axes = || expr.index_axes(std::slice::from_ref(index)).into_iter();
    !index.is_free_of_reads() && axes().all(|axis| axis.index() < body.tile_rank)
}

/// The rounds of a body, in order.
pub fn rounds(body: &GroupBody) -> Vec<Round> {
    let mut found: Vec<Round> = Vec::new();
    for (at, stage) in body.stages.iter().enumerate() {
        match found.last_mut() {
            Some(last) if joins(body, last.stages.start, stage) => last.stages.end = at + 1,
            Some(_) | None => found.push(Round { stages: at..at + 1, run: 1 }),
        }
    }
    for round in &mut found {
        let several = round.stages.len() > 1 || is_long(&body.stages[round.stages.start].expr);
        if several && round.reads(body).iter().all(|&(at, id, _)| is_run(&body.stages[at], id)) {
            round.run = RUN;
        }
    }
    found
}

/// Whether every lane of a warp has a run of a reduction.
fn is_long(expr: &TensorExpr) -> bool {
    let length: usize = expr.reduced().map(|axis| expr.axes[axis].extent).product();
    expr.reducer.is_some() && length >= WARP * RUN
}

/// Whether a stage may run side by side with those from `first` on.
fn joins(body: &GroupBody, first: usize, stage: &Stage) -> bool {
    let extents = |expr: &TensorExpr| expr.reduced().map(|axis| expr.axes[axis].extent).collect::<Vec<usize>>();
    let lead = &body.stages[first].expr;
    let reduce = lead.reducer.is_some() && stage.expr.reducer.is_some();
    let independent = stage.expr.reads_of(&stage.expr.body).into_iter().all(|id| {
        let source = stage.sources[stage.expr.reads[id].operand];
        !matches!(source, StageSource::Stage(earlier) if earlier >= first)
    });
    reduce && independent && extents(lead) == extents(&stage.expr)
}

/// Whether [`RUN`] neighbours along the innermost reduced axis are neighbours in memory.
fn is_run(stage: &Stage, id: ReadId) -> bool {
    let read = &stage.expr.reads[id];
    let in_memory = matches!(stage.sources[read.operand], StageSource::Operand(_));
    in_memory && blocked::is_wide(&stage.expr, read, &blocked::dense(&stage.expr, read))
}
