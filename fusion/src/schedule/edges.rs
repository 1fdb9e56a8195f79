//! Which tiles of which rOperators every rTask reads.

use rayon::prelude::*;
use warpweave_graph::arena::{Arena, Id};
use warpweave_graph::program::TensorId;

use super::dependency::reads;
use super::grid::{Span, WrittenGrid};
use super::plan::{EdgeKind, MemoryPlan, OperatorId, ROperator, RTask};

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

/// Per rOperator, what it reads of which others, producers and kinds ascending.
pub fn edges(operators: &Arena<OperatorId, ROperator>, memory: &MemoryPlan) -> Arena<OperatorId, Vec<Edge>> {
    let mut writers: Arena<TensorId, Vec<(OperatorId, usize)>> = memory.tensors.values().map(|_| Vec::new()).collect();
    let ids: Vec<OperatorId> = operators.ids().collect();
    let grids: Vec<Vec<WrittenGrid>> = ids.par_iter().map(|&id| WrittenGrid::of(&operators[id], memory)).collect();
    for (id, grids) in ids.iter().zip(&grids) {
        for (position, grid) in grids.iter().enumerate() {
            writers[grid.whole().root].push((*id, position));
        }
    }
    let found: Vec<Vec<Edge>> = ids
        .par_iter()
        .map(|&id| {
            let operator = &operators[id];
            let mut edges: Vec<Edge> = Vec::new();
            for tile in 0..operator.tasks() {
                for region in reads(operator, memory, RTask { operator: id, tile }) {
                    let kind = memory.tensors[region.root].edge;
                    for &(producer, position) in &writers[region.root] {
                        let Some(spans) = grids[producer.index()][position].meeting(&region) else { continue };
                        let at = edges.iter().position(|edge| (edge.producer, edge.kind) == (producer, kind));
                        let at = at.unwrap_or_else(|| {
                            let rank = operators[producer].body.tile_rank;
                            edges.push(Edge::new(producer, kind, rank, operator.tasks() as usize));
                            edges.len() - 1
                        });
                        edges[at].add(tile, &spans);
                    }
                }
            }
            edges.sort_by_key(|edge| (edge.producer, edge.kind));
            edges
        })
        .collect();
    found.into_iter().collect()
}
