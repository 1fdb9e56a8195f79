//! Which tiles of which rOperators every rTask reads.

use std::collections::BTreeMap;

use rayon::prelude::*;
use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::expr::Range;
use warpweave_graph::program::TensorId;

use warpweave_plan::plan::{EdgeKind, MemoryPlan, OperatorId, ROperator};
use warpweave_plan::region::grid::{Span, WrittenGrid};
use warpweave_plan::region::tile_boxes::TileBoxes;
use warpweave_plan::region::{ReadBox, Region, regions};

/// What the rTasks of one rOperator read of another, of tensors with edges of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Who writes.
    pub producer: OperatorId,
    /// How the readers come to know of it.
    pub kind: EdgeKind,
    /// Tile axes of the producer, at least 1: one that has none has one tile.
    rank: usize,
    /// `rank` spans an rTask of the reader; a span that ends before it begins stands for nothing.
    spans: Vec<Span>,
}

const NOTHING: Span = Span { first: 1, last: 0 };

impl Edge {
    fn new(producer: OperatorId, kind: EdgeKind, rank: usize, tasks: usize) -> Self {
        let rank = rank.max(1);
        Self { producer, kind, rank, spans: vec![NOTHING; rank * tasks] }
    }

    /// The box of the producer's tiles that an rTask reads from; `None` if it reads none. The box may hold more.
    pub fn tiles(&self, tile: u32) -> Option<&[Span]> {
        let spans = &self.spans[tile as usize * self.rank..][..self.rank];
        (spans[0] != NOTHING).then_some(spans)
    }

    /// The boxes of all rTasks that read anything.
    pub fn boxes(&self) -> impl Iterator<Item = &[Span]> {
        self.spans.chunks_exact(self.rank).filter(|spans| spans[0] != NOTHING)
    }

    fn add(&mut self, tile: u32, found: &[Span]) {
        let spans = &mut self.spans[tile as usize * self.rank..][..self.rank];
        let found = if found.is_empty() { &[Span { first: 0, last: 0 }] } else { found };
        for (span, &found) in spans.iter_mut().zip(found) {
            *span = if *span == NOTHING { found } else { span.hull(found) };
        }
    }
}

/// Per rOperator, what it reads of which others, producers and kinds ascending; `boxes` are what tiles read.
pub(crate) fn edges(
    operators: &Arena<OperatorId, ROperator>,
    memory: &MemoryPlan,
    boxes: &TileBoxes,
) -> Arena<OperatorId, Vec<Edge>> {
    let mut writers: Arena<TensorId, Vec<(OperatorId, usize)>> = memory.tensors.values().map(|_| Vec::new()).collect();
    let ids: Vec<OperatorId> = operators.ids().collect();
    let grids: Vec<Vec<WrittenGrid>> = ids.par_iter().map(|&id| WrittenGrid::of(&operators[id], memory)).collect();
    for (id, grids) in ids.iter().zip(&grids) {
        for (position, grid) in grids.iter().enumerate() {
            writers[grid.whole().root].push((*id, position));
        }
    }
    let of_operator = |id: &OperatorId| {
        let operator = &operators[*id];
        let boxes = boxes.of_operator(*id);
        let is_written = |(operand, _): &&ReadBox| {
            let root = memory.tensors[operator.kernel.body().operands[*operand]].layout.root;
            !writers[root].is_empty()
        };
        let regions = boxes.iter().map(|boxes| regions(operator, memory, boxes.iter().filter(is_written)));
        let regions: Vec<Vec<Region>> = regions.collect();
        // Roots may have very many writers, of which an rOperator reads few.
        let near = |whole: &Region| {
            let grids = writers[whole.root].iter().map(|&(producer, at)| (producer, &grids[producer.index()][at]));
            grids.filter(|(_, grid)| grid.whole().overlaps(whole)).collect()
        };
        let near: BTreeMap<TensorId, Vec<(OperatorId, &WrittenGrid)>> =
            hulls(regions.iter().flatten()).iter().map(|whole| (whole.root, near(whole))).collect();
        let mut edges: BTreeMap<(OperatorId, EdgeKind), Edge> = BTreeMap::new();
        for (tile, regions) in regions.iter().enumerate() {
            for region in regions {
                let kind = memory.tensors[region.root].edge;
                for &(producer, grid) in &near[&region.root] {
                    let Some(spans) = grid.meeting(region) else { continue };
                    let rank = operators[producer].kernel.body().tile_rank;
                    let edge = edges.entry((producer, kind));
                    let edge = edge.or_insert_with(|| Edge::new(producer, kind, rank, operator.tasks() as usize));
                    edge.add(tile as u32, &spans);
                }
            }
        }
        edges.into_values().collect()
    };
    let found: Vec<Vec<Edge>> = ids.par_iter().map(of_operator).collect();
    found.into_iter().collect()
}

/// A box around all regions of each root.
fn hulls<'r>(regions: impl Iterator<Item = &'r Region>) -> Vec<Region> {
    let mut found: Vec<Region> = Vec::new();
    for region in regions {
        match found.iter_mut().find(|hull| hull.root == region.root) {
            None => found.push(region.clone()),
            Some(hull) => {
                let pairs = hull.ranges.iter_mut().zip(&region.ranges);
                pairs.for_each(|(hull, range)| {
                    *hull = Range { minimum: hull.minimum.min(range.minimum), maximum: hull.maximum.max(range.maximum) }
                });
            }
        }
    }
    found
}
