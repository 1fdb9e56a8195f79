//! Merges neighbouring axes that every read and write treat as one, so that tiles are boxes of few long axes.
//!
//! Before that, axes that a reduction divides are split. Channels behind a grouped convolution become groups and channels of one.

use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::expr::{Atom, Axis, AxisId, AxisKind, Guard, Index, Range, Scalar, TensorExpr, substitute};
use warpweave_graph::program::TensorId;
use warpweave_graph::views::Layout;

use warpweave_plan::body::{GroupBody, Stage, StageSource};

/// The body with axes split and merged for tensors laid out like this. What it computes is unchanged.
pub fn merge_axes(body: &GroupBody, layouts: &Arena<TensorId, Layout>) -> GroupBody {
    let mut body = body.clone();
    let empty = |stage: &Stage| stage.expr.axes.values().any(|axis| axis.extent == 0);
    if body.stages.iter().any(empty) || body.procedure().is_some() {
        return body;
    }
    while let Some(split) = split_divided(&body, layouts) {
        body = split;
    }
    let mut axis = 0;
    while axis + 1 < body.tile_rank {
        let stages: Vec<usize> = (0..body.stages.len()).collect();
        let mut merged = merge(&body, &stages, axis);
        merged.tile_rank -= 1;
        if divisions(&merged, layouts) > divisions(&body, layouts) {
            axis += 1;
        } else {
            body = merged;
        }
    }
    for stage in 0..body.stages.len() {
        let mut axis = body.tile_rank;
        while axis + 1 < body.stages[stage].expr.axes.len() {
            let kind = |at: usize| body.stages[stage].expr.axes[AxisId::from_index(at)].kind;
            let merged = (kind(axis) == kind(axis + 1)).then(|| merge(&body, &[stage], axis));
            match merged.filter(|merged| divisions(merged, layouts) <= divisions(&body, layouts)) {
                Some(merged) => body = merged,
                None => axis += 1,
            }
        }
    }
    body
}

/// Most tile axes of a body that is made by splitting.
const MOST_TILE_AXES: usize = 6;

/// The body with a tile axis split that a reduction divides; none if that leaves as many divisions.
fn split_divided(body: &GroupBody, layouts: &Arena<TensorId, Layout>) -> Option<GroupBody> {
    let stages = body.stages.iter().filter(|stage| stage.expr.reducer.is_some());
    let indices = stages.flat_map(|stage| stage.expr.reads.values().flat_map(|read| &read.index));
    let divisions_of = indices.flat_map(Index::terms).filter_map(|(atom, _)| match atom {
        Atom::FloorDiv(inner, divisor) | Atom::Mod(inner, divisor) => {
            Some((inner.as_axis()?, usize::try_from(*divisor).ok()?))
        }
        Atom::Axis(_) | Atom::Clamp(..) | Atom::Indirect(_) => None,
    });
    let extents = body.tile_extents();
    let splits = |(axis, divisor): &(AxisId, usize)| {
        let extent = extents.get(axis.index()).copied().unwrap_or(1);
        *divisor > 1 && *divisor < extent && extent.is_multiple_of(*divisor)
    };
    let (axis, divisor) = divisions_of.filter(splits).min()?;
    let split = split(body, axis, divisor);
    (split.tile_rank <= MOST_TILE_AXES && divisions(&split, layouts) < divisions(body, layouts)).then_some(split)
}

/// The body with a tile axis as two, the inner one of which has `divisor` places.
fn split(body: &GroupBody, axis: AxisId, divisor: usize) -> GroupBody {
    let mut body = body.clone();
    for stage in &mut body.stages {
        let mut axes: Arena<AxisId, Axis> = Arena::new();
        let mut replacement = Vec::new();
        for (id, own) in stage.expr.axes.iter() {
            let mut push = |extent: usize| Index::axis(axes.push(Axis { extent, ..*own }));
            replacement.push(match id == axis {
                true => push(own.extent / divisor).times(divisor as i64).add(&push(divisor)),
                false => push(own.extent),
            });
        }
        replace(stage, &axes, &replacement);
    }
    body.tile_rank += 1;
    body
}

/// Replaces the axes of a stage, in what it reads and where it writes.
fn replace(stage: &mut Stage, axes: &Arena<AxisId, Axis>, replacement: &[Index]) {
    stage.expr = substitute::replace_axes(&stage.expr, axes, replacement);
    let range = |axis: AxisId| -> Range { stage.expr.range(axis) };
    for index in stage.output.iter_mut().flat_map(|output| &mut output.index) {
        *index = index.substitute(&|axis| replacement[axis.index()].clone(), &|read| read, &range);
    }
}

/// The body with axes `first` and `first + 1` of these stages merged.
fn merge(body: &GroupBody, stages: &[usize], first: usize) -> GroupBody {
    let mut body = body.clone();
    for &stage in stages {
        let stage = &mut body.stages[stage];
        let (axes, replacement) = merged_axes(&stage.expr, first);
        replace(stage, &axes, &replacement);
    }
    body
}

fn merged_axes(expr: &TensorExpr, first: usize) -> (Arena<AxisId, Axis>, Vec<Index>) {
    let extent = |at: usize| expr.axes[AxisId::from_index(at)].extent;
    let kind = |at: usize| -> AxisKind { expr.axes[AxisId::from_index(at)].kind };
    let mut axes: Arena<AxisId, Axis> = Arena::new();
    for at in (0..expr.axes.len()).filter(|at| *at != first + 1) {
        let extent = if at == first { extent(first) * extent(first + 1) } else { extent(at) };
        axes.push(Axis { extent, kind: kind(at) });
    }
    let ranges = |axis: AxisId| {
        let maximum = axes[axis].extent as i64 - 1;
        Range { minimum: 0, maximum }
    };
    let merged = Index::axis(AxisId::from_index(first));
    let inner = extent(first + 1) as i64;
    let replacement = (0..expr.axes.len()).map(|at| match at {
        _ if at == first => merged.floor_div(inner, &ranges),
        _ if at == first + 1 => merged.modulo(inner, &ranges),
        _ => Index::axis(AxisId::from_index(at - usize::from(at > first))),
    });
    let replacement = replacement.collect();
    (axes, replacement)
}

/// Divisions left in the element offsets, guards and index values of a body.
fn divisions(body: &GroupBody, layouts: &Arena<TensorId, Layout>) -> usize {
    let linear = |tensor: TensorId, index: &[Index]| {
        Index::linear(index, &layouts[tensor].strides, layouts[tensor].offset).divisions()
    };
    let mut count = 0;
    for stage in &body.stages {
        for read in stage.expr.reads.values() {
            match stage.sources[read.operand] {
                StageSource::Operand(operand) => {
                    count += linear(body.operands[operand], &read.index) + guard_divisions(&read.guard);
                }
                StageSource::Staged(_) => {
                    count += read.index.iter().map(Index::divisions).sum::<usize>() + guard_divisions(&read.guard);
                }
                StageSource::Stage(_) => {}
            }
        }
        for scalar in [Some(&stage.expr.body), stage.expr.epilogue.as_ref()].into_iter().flatten() {
            scalar.visit(&mut |scalar| match scalar {
                Scalar::Index(index, _) => count += index.divisions(),
                Scalar::Holds(guard) => count += guard_divisions(guard),
                _ => {}
            });
        }
        count += stage.output.as_ref().map_or(0, |output| linear(body.outputs[output.position], &output.index));
    }
    count
}

fn guard_divisions(guard: &Guard) -> usize {
    guard.conditions().iter().map(|condition| condition.index.divisions()).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use warpweave_graph::program::StatementId;
    use warpweave_graph::program::layout::layouts;
    use warpweave_graph::program::text::parse;
    use warpweave_graph::text::Tensors;

    use super::*;
    use crate::partition::build::{Uses, build};

    #[test]
    fn channels_behind_groups_are_groups_and_channels_of_one() {
        let text = "program\nt0: f32[1x10x6x6] = input 0\nt1: f32[10x5] = input 1\n\
                    e0 (t0, t1) -> t2: f32[1x2x5x6x6] = [a0<1, a1<2, a2<5, a3<6, a4<6] sum[a5<5] \
                    mul(x0[a0, 5*a1 + a5, a3, a4], x1[5*a1 + a2, a5])\n\
                    e1 (t2) -> t3: f32[1x10x6x6] = [a0<1, a1<10, a2<6, a3<6] max(x0[0, div(a1, 5), mod(a1, 5), a2, a3], 0.0)\n\
                    output t3\n";
        let program = parse(text, &Tensors::new()).expect("a program");
        let members: BTreeSet<StatementId> = program.statements.ids().collect();
        let layouts = layouts(&program);
        let built = build(&program, &Uses::new(&program), &members).expect("the second reads the first point by point");
        assert!(divisions(&built, &layouts) > 0);
        let body = merge_axes(&built, &layouts);
        assert_eq!((body.tile_extents(), divisions(&body, &layouts)), (vec![2, 5, 36], 0), "{body}");
        let output = body.stages[0].output.as_ref().expect("it leaves");
        assert_eq!(output.index[1].to_string(), "5*a0 + a1");
    }
}
