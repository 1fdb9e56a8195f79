//! Padding kept in the boxes of staged values, so that nothing is tested where they are read.
//!
//! Windows reach over the edges of what they read and take a fill value there. Where all readers of a staged value
//! take the same, its box reaches as far as they do and holds that value beyond the edges.

use std::sync::Arc;

use warpweave_graph::expr::{AxisId, Condition, Guard, Index, Literal, Range, Read, TensorExpr};

use crate::body::{GroupBody, Stage, StageSource};

/// A body as its staged kernel evaluates it.
#[derive(Clone, Debug)]
pub struct PaddedBody {
    /// The body, without guards on reads of padded values.
    pub body: Arc<GroupBody>,
    /// Per staged stage, what lies beyond its edges; absent where nothing reads there without a guard.
    pub padding: Vec<Option<Literal>>,
}

impl PaddedBody {
    /// Drops the guards that padding makes superfluous.
    pub fn of(body: &Arc<GroupBody>) -> Self {
        let padding: Vec<Option<Literal>> = (0..body.staged.len()).map(|position| padding(body, position)).collect();
        if padding.iter().all(Option::is_none) {
            return Self { body: Arc::clone(body), padding };
        }
        let mut unguarded = GroupBody::clone(body);
        for stage in unguarded.staged.iter_mut().chain(&mut unguarded.stages) {
            let ids: Vec<_> = stage.expr.reads.ids().collect();
            for id in ids {
                let read = &mut stage.expr.reads[id];
                if matches!(stage.sources[read.operand], StageSource::Staged(staged) if padding[staged].is_some()) {
                    read.guard = Guard::always();
                }
            }
        }
        Self { body: unguarded.into(), padding }
    }
}

/// What all readers of a staged value take beyond its edges, if guards of theirs say no more than that they are there.
pub fn padding(body: &GroupBody, position: usize) -> Option<Literal> {
    let extents = wholes(&body.staged[position]);
    let mut fill = None;
    for (expr, read) in readers(body, position) {
        let is_inside = |index: &Index, extent: usize| {
            let range = index.range(&|axis: AxisId| expr.range(axis));
            range.minimum >= 0 && range.maximum < extent as i64
        };
        let conditions = read.guard.conditions();
        let tested = |(index, extent): (&Index, &usize)| {
            is_inside(index, *extent) || conditions.iter().any(|condition| is_bound(condition, index, *extent))
        };
        let is_known = |condition: &Condition| {
            let mut dimensions = read.index.iter().zip(&extents);
            dimensions.any(|(index, extent)| is_bound(condition, index, *extent))
        };
        let plain = read.index.iter().all(Index::is_free_of_reads) && conditions.iter().all(is_known);
        if !plain || !read.index.iter().zip(&extents).all(tested) || fill.is_some_and(|fill| fill != read.fill) {
            return None;
        }
        if !read.guard.is_always() {
            fill = Some(read.fill);
        }
    }
    fill
}

/// The coordinates along each dimension of a staged value that its box may cover: all that is read of a padded value, else
/// those that exist.
pub fn reaches(body: &GroupBody, position: usize) -> Vec<Range> {
    let extents = wholes(&body.staged[position]);
    let own = extents.iter().map(|extent| Range { minimum: 0, maximum: *extent as i64 - 1 });
    let mut reaches: Vec<Range> = own.collect();
    if padding(body, position).is_some() {
        for (expr, read) in readers(body, position) {
            for (reach, index) in reaches.iter_mut().zip(&read.index) {
                let range = index.range(&|axis: AxisId| expr.range(axis));
                reach.minimum = reach.minimum.min(range.minimum);
                reach.maximum = reach.maximum.max(range.maximum);
            }
        }
    }
    reaches
}

/// Whether a condition asks for no more than that an index lies inside a dimension.
fn is_bound(condition: &Condition, index: &Index, extent: usize) -> bool {
    condition.index == *index && condition.lower == 0 && condition.upper == extent as i64
}

fn readers(body: &GroupBody, position: usize) -> impl Iterator<Item = (&TensorExpr, &Read)> {
    body.staged.iter().chain(&body.stages).flat_map(move |stage| {
        let of_value = move |read: &&Read| stage.sources[read.operand] == StageSource::Staged(position);
        stage.expr.reads.values().filter(of_value).map(|read| (&stage.expr, read))
    })
}

fn wholes(stage: &Stage) -> Vec<usize> {
    stage.expr.parallel().map(|axis| stage.expr.axes[axis].extent).collect()
}
