//! Expressions that only move elements, shared by the operators.

use crate::expr::{AxisId, ExprBuilder, Index, Range};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::Shape;

/// A tensor of `shape` whose element at the axes is that of `tensor` at `index(axes)`, which lies inside it.
pub fn rearrange(
    program: &mut ProgramBuilder,
    tensor: TensorId,
    shape: &[usize],
    index: impl FnOnce(&[AxisId]) -> Vec<Index>,
) -> TensorId {
    let ty = program.ty(tensor);
    let element = ty.element;
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(shape);
    let operand = expr.operand(ty);
    let body = expr.read(operand, index(&axes));
    program.compute(expr.map(element, body), &[tensor])
}

/// The same elements in the same order under another shape; the tensor itself if it has the shape already.
pub fn reshape(program: &mut ProgramBuilder, tensor: TensorId, shape: &Shape) -> TensorId {
    let from = program.ty(tensor).shape.clone();
    if from == *shape {
        return tensor;
    }
    rearrange(program, tensor, shape, |axes| reshape_index(&from, shape, axes))
}

/// Where the element at `axes` of a tensor of shape `to` lies in a tensor of shape `from` with the same elements.
pub fn reshape_index(from: &Shape, to: &Shape, axes: &[AxisId]) -> Vec<Index> {
    let ranges = |axis: AxisId| {
        let extent = axes.iter().zip(to.iter()).find(|(known, _)| **known == axis).map_or(1, |(_, &extent)| extent);
        Range { minimum: 0, maximum: (extent as i64 - 1).max(0) }
    };
    let strides = to.strides();
    let moving = axes.iter().zip(to.iter().zip(&strides)).filter(|(_, (extent, _))| **extent > 1);
    let mut rest = moving
        .fold(Index::constant(0), |linear, (&axis, (_, &stride))| linear.add(&Index::axis(axis).times(stride as i64)));
    let mut index = Vec::with_capacity(from.len());
    for &extent in from.iter().rev() {
        let extent = extent.max(1) as i64;
        index.push(rest.modulo(extent, &ranges));
        rest = rest.floor_div(extent, &ranges);
    }
    index.reverse();
    index
}

/// The tensor with dimension `permutation[d]` moved to place `d`.
pub fn transpose(program: &mut ProgramBuilder, tensor: TensorId, permutation: &[usize]) -> TensorId {
    if permutation.iter().enumerate().all(|(place, &dimension)| place == dimension) {
        return tensor;
    }
    let shape = program.ty(tensor).shape.clone();
    let extents: Vec<usize> = permutation.iter().map(|&dimension| shape[dimension]).collect();
    rearrange(program, tensor, &extents, |axes| {
        let mut index = vec![Index::constant(0); axes.len()];
        for (&dimension, &axis) in permutation.iter().zip(axes) {
            index[dimension] = Index::axis(axis);
        }
        index
    })
}

/// Elements `start, start + step, …` along each dimension, `extents` of them.
pub fn slice(
    program: &mut ProgramBuilder,
    tensor: TensorId,
    starts: &[i64],
    steps: &[i64],
    extents: &[usize],
) -> TensorId {
    let whole = steps.iter().all(|&step| step == 1) && *program.ty(tensor).shape == *extents;
    if whole {
        return tensor;
    }
    rearrange(program, tensor, extents, |axes| {
        let place = axes.iter().zip(starts).zip(steps);
        place.map(|((&axis, &start), &step)| Index::axis(axis).times(step).plus(start)).collect()
    })
}

/// The dimension that a reshaping makes of one: it has the same extent, and as many elements before it and behind it.
pub fn kept_dimension(from: &Shape, to: &Shape, dimension: usize) -> Option<usize> {
    let volume = |extents: &[usize]| extents.iter().product::<usize>();
    let before = volume(&from[..dimension]);
    let same = |at: &usize| to[*at] == from[dimension] && volume(&to[..*at]) == before;
    (0..to.len()).find(same)
}
