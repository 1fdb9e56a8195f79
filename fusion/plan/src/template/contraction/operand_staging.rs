//! Contractions that read a factor's tensor from a box in shared memory.
//!
//! A contraction fetches a factor step by step, each point as often as windows meet it. What its tile reads of a tensor
//! may be brought on chip at once instead, each element once. Where elements are polled they have to be, because a poll
//! in every step would wait in every step. The body says so by a staged copy of the tensor.

use warpweave_graph::arena::Arena;
use warpweave_graph::expr::{Axis, AxisKind, Guard, Index, Literal, Read, Scalar, TensorExpr};
use warpweave_graph::types::TensorType;

use crate::body::{GroupBody, Stage, StageSource};
use crate::kernel::Kernel;
use crate::template::block::BlockSize;
use crate::template::contraction::Contraction;
use crate::template::staged;
use crate::template::staged::padded::padding;
use crate::template::staged::{StagedBox, extents};

/// Most bytes of a box.
pub const BOX_BYTES: usize = 64 << 10;

/// Elements that a thread asks for before it looks at the first.
pub const MOST_AT_ONCE: usize = 8;

/// A contraction's body that reads an operand of its factors from a box.
///
/// `None` where anything but one of the factors' reads reads the operand too. Also `None` where its box would hold more
/// than that read needs: where an index is not affine, or a guard says more than that there is something to read.
pub fn boxed(body: &GroupBody, operand: usize) -> Option<GroupBody> {
    Contraction::of(body).filter(|_| body.staged.is_empty())?;
    let source = StageSource::Operand(operand);
    let (lead, others) = body.stages.split_first().expect("a body has a stage");
    let factors = lead.expr.reads_of(&lead.expr.body);
    let is_read = |position: usize| lead.sources[position] == source;
    let mut reads = lead.expr.reads.iter().filter(|(_, read)| is_read(read.operand));
    let (Some((id, read)), None) = (reads.next(), reads.next()) else { return None };
    let ty = &lead.expr.operands[read.operand];
    let alone = !others.iter().any(|stage| stage.sources.contains(&source));
    if !factors.contains(&id) || !read.index.iter().all(Index::is_affine) || !alone || !ty.element.is_single() {
        return None;
    }
    let copy = Stage { expr: copy(ty), sources: vec![source], output: None, procedure: None };
    let mut found = GroupBody { staged: vec![copy], ..body.clone() };
    for own in found.stages[0].sources.iter_mut().filter(|own| **own == source) {
        *own = StageSource::Staged(0);
    }
    (read.guard.is_always() || padding(&found, 0).is_some()).then_some(found)
}

/// A tensor, element by element.
fn copy(ty: &TensorType) -> TensorExpr {
    let axes: Arena<_, Axis> = ty.shape.iter().map(|&extent| Axis { extent, kind: AxisKind::Parallel }).collect();
    let index = axes.ids().map(Index::axis).collect();
    let mut reads = Arena::new();
    let fill = Literal::new(ty.element, 0.0);
    let read = reads.push(Read { operand: 0, index, guard: Guard::always(), fill });
    let operands = vec![ty.clone()];
    TensorExpr { axes, operands, reads, body: Scalar::Read(read), reducer: None, epilogue: None, element: ty.element }
}

/// A contraction without its boxes; any other kernel as it is.
pub fn without_staged_operands(kernel: &Kernel) -> Kernel {
    if !stages_operands(kernel) {
        return kernel.clone();
    }
    let body = kernel.body();
    let mut found = GroupBody { staged: Vec::new(), ..body.clone() };
    for source in found.stages.iter_mut().flat_map(|stage| &mut stage.sources) {
        if let StageSource::Staged(copy) = *source {
            *source = body.staged[copy].sources[0];
        }
    }
    kernel.with_body(found)
}

/// Whether a kernel is a contraction that reads from boxes.
pub fn stages_operands(kernel: &Kernel) -> bool {
    kernel.rules().multiplies_blocks() && !kernel.body().staged.is_empty()
}

/// The boxes of a contraction, if they are copies that fit.
pub fn boxes(kernel: &Kernel) -> Option<&[StagedBox]> {
    let is_copy = |stage: &Stage| {
        let operand = matches!(stage.sources[..], [StageSource::Operand(_)]);
        operand && stage.expr.operands.iter().all(|ty| stage.expr == copy(ty))
    };
    let boxes = kernel.boxes().filter(|_| kernel.body().staged.iter().all(is_copy))?;
    (staged::bytes(kernel.body(), boxes) <= BOX_BYTES).then_some(boxes)
}

/// How a block fills a box: a thread takes `count` elements at once, which lie evenly along a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filling {
    /// The dimension.
    pub dimension: usize,
    /// Elements of a thread.
    pub count: usize,
    /// Rounds of all threads.
    pub rounds: usize,
}

impl Filling {
    /// In as few rounds as possible, of as few elements as possible; along a dimension in which no tile leaves the tensor.
    pub fn of(spans: &StagedBox, grid: &[usize], block_size: BlockSize) -> Self {
        let volume: usize = extents(spans).into_iter().product();
        let rounds = move |count: usize| (volume / count).div_ceil(block_size.threads());
        let along = |dimension: usize| {
            let extent = spans[dimension].extent;
            let counts = (1..=MOST_AT_ONCE).filter(move |count| extent.is_multiple_of(*count));
            counts.map(move |count| Self { dimension, count, rounds: rounds(count) })
        };
        let inside = (0..spans.len()).filter(|&dimension| spans[dimension].stays_inside(grid));
        let single = Self { dimension: 0, count: 1, rounds: rounds(1) };
        let all = inside.flat_map(along).chain([single]);
        all.min_by_key(|filling| (filling.rounds, filling.count, filling.dimension)).expect("there is a single one")
    }
}
