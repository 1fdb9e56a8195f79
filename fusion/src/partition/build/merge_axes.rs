//! Merges neighbouring axes that every read and write treat as one, so that tiles are boxes of few long axes.

use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::expr::{Axis, AxisId, AxisKind, Guard, Index, Scalar, TensorExpr, substitute};
use warpweave_graph::program::TensorId;
use warpweave_graph::views::Layout;

use warpweave_plan::body::{GroupBody, Stage, StageSource};

/// The body with axes merged for tensors laid out like this. What it computes is unchanged.
pub fn merge_axes(body: &GroupBody, layouts: &Arena<TensorId, Layout>) -> GroupBody {
    let mut body = body.clone();
    let empty = |stage: &Stage| stage.expr.axes.values().any(|axis| axis.extent == 0);
    if body.stages.iter().any(empty) || body.procedure().is_some() {
        return body;
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

/// The body with axes `first` and `first + 1` of these stages merged.
fn merge(body: &GroupBody, stages: &[usize], first: usize) -> GroupBody {
    let mut body = body.clone();
    for &stage in stages {
        let stage = &mut body.stages[stage];
        let (axes, replacement) = merged_axes(&stage.expr, first);
        stage.expr = substitute::replace_axes(&stage.expr, &axes, &replacement);
        let range = |axis: AxisId| stage.expr.range(axis);
        for index in stage.output.iter_mut().flat_map(|output| &mut output.index) {
            *index = index.substitute(&|axis| replacement[axis.index()].clone(), &|read| read, &range);
        }
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
        warpweave_graph::expr::Range { minimum: 0, maximum }
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
