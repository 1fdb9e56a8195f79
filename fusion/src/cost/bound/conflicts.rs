//! COEF_bc: how many wavefronts a warp's loads from shared memory take against the ideal, by enumerating addresses.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, TensorExpr};
use warpweave_plan::shared_memory::SharedWidth;
use warpweave_plan::shared_memory::WARP;
use warpweave_plan::shared_memory::conflict_degree;

use crate::cost::bound::BlockShape;

/// The average degree of a thread's loads. Every operand's tile lies in shared memory row by row, `padding` words after
/// each row. Threads count along the innermost axes first. Reads at indices that are not affine count as free of
/// conflicts.
pub fn row_major(expr: &TensorExpr, shape: &BlockShape, padding: u64) -> f64 {
    let (mut total, mut loads) = (0.0, 0.0);
    for read in expr.reads.values() {
        let weight = crate::cost::bound::footprint::points(expr, &read.index, &shape.thread) as f64;
        let affine = read.index.iter().all(Index::is_affine);
        let degree = if affine { conflict_degree(&words(&read.index, shape, padding), SharedWidth::Word) } else { 1.0 };
        total += weight * degree;
        loads += weight;
    }
    if loads == 0.0 { 1.0 } else { total / loads }
}

/// The word that each lane of the first warp loads at its box's first point.
fn words(index: &[Index], shape: &BlockShape, padding: u64) -> Vec<u64> {
    let extent = |index: &Index| -> u64 {
        let terms = index.terms().iter().map(|(atom, step)| {
            let mut last = 0;
            if let warpweave_graph::expr::Atom::Axis(axis) = atom {
                last = shape.block[axis.index()] as u64 - 1;
            }
            step.unsigned_abs() * last
        });
        terms.sum::<u64>() + 1
    };
    let extents: Vec<u64> = index.iter().map(extent).collect();
    let lanes = shape.threads().min(WARP);
    let lane = |lane: usize| {
        let origin = origin(lane, shape);
        let position = |index: &Index| index.evaluate(&|axis: AxisId| origin[axis.index()], &|_| 0) - index.offset();
        let last = extents.len().saturating_sub(1);
        index.iter().zip(&extents).enumerate().fold(0, |word, (at, (index, &extent))| {
            let row = if at == last && at > 0 { extent + padding } else { extent };
            word * row + position(index).unsigned_abs()
        })
    };
    (0..lanes).map(lane).collect()
}

/// The first point of a thread's box.
fn origin(thread: usize, shape: &BlockShape) -> Vec<i64> {
    let mut left = thread;
    let mut origin = vec![0; shape.block.len()];
    for at in (0..origin.len()).rev() {
        let count = shape.block[at].div_ceil(shape.thread[at]);
        origin[at] = ((left % count) * shape.thread[at]) as i64;
        left /= count;
    }
    origin
}
