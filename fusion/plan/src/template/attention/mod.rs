//! Weighted sums whose weights are a softmax, as one reduction over blocks of keys.
//!
//! The scores of a tile's rows against a block of keys are computed into shared memory. The law of online softmax
//! ([`Law`](warpweave_graph::online_softmax::Law)) turns them into weights. The weighted sum is added to rescaled sums
//! in registers. Then comes the next block. What a block needs does not grow with the number of keys.

pub mod parameters;
pub mod phase;
pub mod rules;

use crate::kernel::{Kernel, ScheduleParams};
use crate::template::attention::parameters::KeyBlocks;
use crate::template::staged::STATES;

use std::sync::Arc;

use warpweave_graph::expr::{AxisId, Index, Read, ReadId};
use warpweave_graph::online_softmax::{Named, OnlineSoftmax};

use crate::body::{GroupBody, Stage, StageSource};
use crate::template::Template;
use crate::template::block::BlockSize;
use crate::template::contraction::Contraction;
use crate::template::contraction::tile_load::plain_read;
use crate::template::staged::matrices::{PhaseSpan, Walk, pad};
use crate::template::staged::phase::{PhasePlace, ProductStep, Sink, tiles};
use crate::template::staged::{STAGED_BYTES, StagedBox, StagedSpan, box_bytes};

/// Keys of a block.
const KEYS: [usize; 4] = [16, 32, 64, 128];
/// Most rows that a warp turns into weights side by side.
const MOST_SIDE_BY_SIDE: usize = 4;

/// The parts of a body that sums values by the weights of a softmax: positions of staged values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attention {
    /// The softmax, as the weights read it.
    pub softmax: OnlineSoftmax,
    /// The weights, which the first stage reads and nothing else does.
    pub weights: usize,
    /// The read of the weights by the first stage.
    pub read: ReadId,
    /// The largest scores.
    pub maximum: usize,
    /// The sums of the exponentials.
    pub total: usize,
    /// The number of keys.
    pub keys: usize,
    /// Per staged value, the dimension along which it is computed block by block; absent where it is computed before.
    pub streams: Vec<Option<usize>>,
}

impl Attention {
    /// The parts of a body, if it is of that form and nothing else reads what is reduced.
    pub fn of(body: &GroupBody) -> Option<Self> {
        let lead = body.stages.first()?;
        let contraction = Contraction::of(body)?;
        let mut reduced = lead.expr.reduced();
        let (Some(along), None) = (reduced.next(), reduced.next()) else { return None };
        let read = plain_read(&lead.expr, &contraction.row_factor)?;
        let StageSource::Staged(weights) = lead.sources[lead.expr.reads[read].operand] else { return None };
        Self::of_weights(body, weights, read, along)
    }

    fn of_weights(body: &GroupBody, weights: usize, read: ReadId, along: AxisId) -> Option<Self> {
        let stage = &body.staged[weights];
        let softmax = OnlineSoftmax::of(named(stage), |source| match source {
            StageSource::Staged(position) => body.staged.get(position).map(named),
            StageSource::Operand(_) | StageSource::Stage(_) => None,
        })?;
        let position = |read: ReadId| match stage.sources[stage.expr.reads[read].operand] {
            StageSource::Staged(position) => Some(position),
            StageSource::Operand(_) | StageSource::Stage(_) => None,
        };
        let (maximum, total) = (position(softmax.maximum)?, position(softmax.total)?);
        let dimension = stage.expr.parallel().position(|axis| axis == softmax.axis)?;
        let alone = readers(body, weights).count() == 1
            && readers(body, total).count() == 1
            && readers(body, maximum)
                .all(|(stage, _)| [StageIndex::Staged(weights), StageIndex::Staged(total)].contains(&stage));
        let keys = stage.expr.axes[softmax.axis].extent;
        let mut found = Self { softmax, weights, read, maximum, total, keys, streams: vec![None; body.staged.len()] };
        (alone && keys == body.stages[0].expr.axes[along].extent).then_some(())?;
        for position in (0..body.staged.len()).rev() {
            found.streams[position] = found.stream(body, position);
        }
        (found.streams[weights] == Some(dimension)).then_some(found)
    }

    /// The dimension of a staged value that all of its readers walk through with the keys.
    fn stream(&self, body: &GroupBody, position: usize) -> Option<usize> {
        if [self.maximum, self.total].contains(&position) {
            return None;
        }
        let dimensions = body.staged[position].expr.parallel().count();
        (0..dimensions).find(|&dimension| {
            readers(body, position)
                .all(|(reader, read)| self.key_axis(body, reader).is_some_and(|axis| is_walked(read, dimension, axis)))
        })
    }

    /// The axis along which a stage takes one key after another.
    fn key_axis(&self, body: &GroupBody, reader: StageIndex) -> Option<AxisId> {
        match reader {
            StageIndex::Main(0) => body.stages[0].expr.reduced().next(),
            StageIndex::Main(_) => None,
            StageIndex::Staged(position) if [self.maximum, self.total].contains(&position) => {
                body.staged[position].expr.reduced().next()
            }
            StageIndex::Staged(position) => body.staged[position].expr.parallel().nth(self.streams[position]?),
        }
    }

    /// Where the rows of the weights stand that the first stage reads, one index a dimension of the weights but the keys.
    pub fn row_of_lead(&self, body: &GroupBody) -> Vec<Index> {
        let index = body.stages[0].expr.reads[self.read].index.iter().enumerate();
        index.filter(|(at, _)| Some(*at) != self.streams[self.weights]).map(|(_, index)| index.clone()).collect()
    }
}

/// A reader of a staged value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StageIndex {
    Staged(usize),
    Main(usize),
}

/// Every read of a staged value.
fn readers(body: &GroupBody, position: usize) -> impl Iterator<Item = (StageIndex, &Read)> {
    let staged = body.staged.iter().enumerate().map(|(at, stage)| (StageIndex::Staged(at), stage));
    let main = body.stages.iter().enumerate().map(|(at, stage)| (StageIndex::Main(at), stage));
    staged.chain(main).flat_map(move |(reader, stage)| {
        let of_value = move |read: &&Read| stage.sources[read.operand] == StageSource::Staged(position);
        stage.expr.reads.values().filter(of_value).map(move |read| (reader, read))
    })
}

/// Whether a read follows an axis in one dimension and in nothing else.
fn is_walked(read: &Read, dimension: usize, axis: AxisId) -> bool {
    let follows = |index: &Index| {
        let mut follows = false;
        index.visit(&mut |other| follows |= other == axis, &mut |_| {});
        follows || !index.is_free_of_reads()
    };
    let mut others = read.index.iter().enumerate().filter(|(at, _)| *at != dimension);
    read.guard.is_always()
        && read.index.get(dimension).and_then(Index::as_axis) == Some(axis)
        && !others.any(|(_, index)| follows(index))
}

fn named(stage: &Stage) -> Named<'_, StageSource> {
    Named { expr: &stage.expr, operands: &stage.sources }
}

/// How a body is computed block by block under a tile.
#[derive(Clone, PartialEq, Debug)]
pub struct AttentionGeometry {
    /// The parts.
    pub attention: Attention,
    /// Keys of a block.
    pub block: usize,
    /// The size of the kernel's blocks of threads.
    pub block_size: BlockSize,
    /// The box of every staged value: of one block where it is computed block by block.
    pub boxes: Vec<StagedBox>,
    /// The block of the weighted sum that each thread, or each warp, keeps.
    pub product: ProductStep,
    /// Bytes of shared memory: the boxes, and of every row its maximum, its total and the factor of its sums, which are of the
    /// type that sums accumulate in.
    pub bytes: usize,
}

impl AttentionGeometry {
    /// The kernel of a body under these parameters, if they are of this template and all fits on chip.
    pub fn of(kernel: &Kernel) -> Option<Self> {
        Self::with(kernel, &Attention::of(kernel.body())?)
    }

    fn with(kernel: &Kernel, attention: &Attention) -> Option<Self> {
        let Template::Attention(KeyBlocks { keys: block }) = *kernel.template() else { return None };
        let mut boxes = kernel.boxes()?.to_vec();
        for (spans, stream) in boxes.iter_mut().zip(&attention.streams) {
            if let Some(dimension) = *stream {
                let steps = vec![0; spans[dimension].steps.len()];
                spans[dimension] = StagedSpan::new(steps, 0, block, attention.keys);
            }
        }
        let block_size = kernel.rules().block_size();
        let spans = PhaseSpan::of_tile(kernel.tile(), &kernel.grid());
        let lead = PhasePlace { stage: &kernel.body().stages[0], spans: &spans, boxes: &boxes, sink: Sink::Outputs };
        let product = lead.kept_product(walk(attention.keys, block), block_size)?;
        if matches!(product, ProductStep::Matrices(_)) {
            pad(&mut boxes[attention.weights]);
        }
        let mut geometry = Self { attention: attention.clone(), block, block_size, boxes, product, bytes: 0 };
        geometry.bytes = geometry.shared_bytes(kernel.body());
        let possible = block > 0 && block <= KEYS[KEYS.len() - 1];
        (possible && geometry.bytes <= STAGED_BYTES).then_some(geometry)
    }

    /// How the weighted sum walks the keys.
    pub fn walk(&self) -> Walk {
        walk(self.attention.keys, self.block)
    }

    /// Blocks of keys.
    pub fn blocks(&self) -> usize {
        self.attention.keys.div_ceil(self.block)
    }

    fn shared_bytes(&self, body: &GroupBody) -> usize {
        let state = [self.attention.maximum, self.attention.total];
        let boxes = body.staged.iter().zip(&self.boxes).enumerate().filter(|(at, _)| !state.contains(at));
        let accumulate = body.stages[0].expr.numerics().accumulate;
        let states = STATES * self.rows() * accumulate.bytes();
        boxes.map(|(_, (stage, spans))| box_bytes(stage, spans)).sum::<usize>() + states
    }

    /// Rows of a tile.
    pub fn rows(&self) -> usize {
        self.row_spans().map(|span| span.extent).product()
    }

    /// The weights' box beside the keys, in order.
    pub fn row_spans(&self) -> impl Iterator<Item = &StagedSpan> {
        let dimension = self.attention.streams[self.attention.weights];
        let spans = self.boxes[self.attention.weights].iter().enumerate();
        spans.filter(move |(at, _)| Some(*at) != dimension).map(|(_, span)| span)
    }

    /// Rows that a warp turns into weights side by side; where there are several, all warps have as many.
    pub fn side_by_side(&self) -> usize {
        let even = |rows: &usize| self.rows().is_multiple_of(self.block_size.warps() * rows);
        [MOST_SIDE_BY_SIDE, MOST_SIDE_BY_SIDE / 2].into_iter().find(even).unwrap_or(1)
    }

    /// Whether the last block has fewer keys.
    pub fn is_ragged(&self) -> bool {
        !self.attention.keys.is_multiple_of(self.block)
    }
}

/// A walk along keys block by block.
fn walk(keys: usize, block: usize) -> Walk {
    Walk { steps: block, is_ragged: !keys.is_multiple_of(block.max(1)) }
}

/// The kernels of the template for a body, with their geometry.
pub fn fitting(body: &Arc<GroupBody>) -> Vec<(Kernel, AttentionGeometry)> {
    let Some(attention) = Attention::of(body) else { return Vec::new() };
    // Of blocks that hold all keys the smallest alone.
    let holds_all = KEYS.into_iter().find(|block| *block >= attention.keys);
    let blocks = KEYS.into_iter().filter(move |block| *block < attention.keys || Some(*block) == holds_all);
    let params = blocks.flat_map(|keys| {
        tiles(body)
            .into_iter()
            .map(move |tile| ScheduleParams { template: Template::Attention(KeyBlocks { keys }), tile })
    });
    let fitting = |params: ScheduleParams| {
        let kernel = Kernel::unchecked(Arc::clone(body), params);
        let geometry = AttentionGeometry::with(&kernel, &attention)?;
        Some((kernel, geometry))
    };
    params.filter_map(fitting).collect()
}

/// The kernels of the template for a body.
pub fn candidates(body: &Arc<GroupBody>) -> Vec<Kernel> {
    fitting(body).into_iter().map(|(kernel, _)| kernel).collect()
}
