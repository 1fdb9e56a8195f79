//! COEF_bc: how many wavefronts a warp's loads from shared memory take against the ideal, by enumerating addresses.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, TensorExpr};

use super::BlockShape;

/// Lanes of a warp, and banks of shared memory.
const WARP: usize = 32;

/// The width of a load from shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedWidth {
    /// One word of 32 bits.
    Word,
    /// Two neighbouring words, aligned; served half a warp at a time.
    TwoWords,
    /// Four neighbouring words, aligned; served a quarter warp at a time.
    FourWords,
}

impl SharedWidth {
    /// The width of 1, 2 or 4 words.
    pub fn of(words: usize) -> Self {
        match words {
            1 => Self::Word,
            2 => Self::TwoWords,
            _ => Self::FourWords,
        }
    }

    /// Words of a lane.
    pub fn words(self) -> usize {
        match self {
            Self::Word => 1,
            Self::TwoWords => 2,
            Self::FourWords => 4,
        }
    }
}

/// Wavefronts of one load of a warp against the ideal, from the index of the first word that each lane loads: lanes
/// that load the same word share it, different words of one bank are served one after another.
pub fn conflict_degree(first_words: &[u64], width: SharedWidth) -> f64 {
    let words = width.words();
    let groups = first_words.chunks(WARP / words);
    let ideal = groups.len().max(1);
    let wavefronts: usize = groups.map(|lanes| wavefronts(lanes, words as u64)).sum();
    wavefronts as f64 / ideal as f64
}

fn wavefronts(lanes: &[u64], words: u64) -> usize {
    let mut touched = [0; WARP];
    let count = lanes.len() * words as usize;
    let places = touched.iter_mut().zip(lanes.iter().flat_map(|&first| first..first + words));
    places.for_each(|(place, word)| *place = word);
    let touched = &mut touched[..count];
    touched.sort_unstable();
    let mut banks = [0usize; WARP];
    for (at, word) in touched.iter().enumerate() {
        if at == 0 || touched[at - 1] != *word {
            banks[(word % WARP as u64) as usize] += 1;
        }
    }
    banks.into_iter().max().unwrap_or(0).max(1)
}

/// The average degree of a thread's loads when every operand's tile lies in shared memory row by row, `padding` words
/// after each row, and threads count along the innermost axes first. Reads at indices that are not affine count as free
/// of conflicts.
pub fn row_major(expr: &TensorExpr, shape: &BlockShape, padding: u64) -> f64 {
    let (mut total, mut loads) = (0.0, 0.0);
    for read in expr.reads.values() {
        let weight = super::footprint::points(expr, &read.index, &shape.thread) as f64;
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
