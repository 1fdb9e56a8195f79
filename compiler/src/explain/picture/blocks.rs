//! What a picture of a partition shows: a box for each group, or one for the equal groups of a repeated block's copies.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use warpweave_fusion::partition::search::Partition;
use warpweave_graph::arena::Id;
use warpweave_graph::program::{StatementId, TensorId, TensorProgram};

use crate::explain::folding::Stretch;

/// A value that one box hands to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The box that computes it.
    pub from: usize,
    /// The box that reads it.
    pub to: usize,
    /// The bytes of the tensors that are handed on.
    pub bytes: u64,
    /// Whether the reader is in a later copy of the same block.
    pub to_next_copy: bool,
}

/// Boxes that are drawn together, one after another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Band {
    pub boxes: Range<usize>,
    /// The copies that they stand for.
    pub times: usize,
}

/// Boxes in topological order, in bands, and edges between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// The groups of each box, ascending.
    pub groups: Vec<Vec<usize>>,
    /// The bands, which have all boxes in their order.
    pub bands: Vec<Band>,
    /// The edges, each pair of boxes once in a direction, by their boxes.
    pub edges: Vec<Edge>,
}

impl Blocks {
    /// What a partition's picture shows where these stretches are folded.
    pub fn new(program: &TensorProgram, partition: &Partition, stretches: &[Stretch]) -> Self {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut bands = Vec::new();
        let mut box_of = vec![(0, 0); partition.groups.len()];
        for stretch in stretches {
            let start = groups.len();
            for item in stretch.first..stretch.first + stretch.length {
                let copies: Vec<usize> = stretch.copies(item).collect();
                for (copy, &group) in copies.iter().enumerate() {
                    box_of[group] = (groups.len(), copy);
                }
                groups.push(copies);
            }
            bands.push(Band { boxes: start..groups.len(), times: stretch.times });
        }
        let mut edges: BTreeMap<(usize, usize, bool), u64> = BTreeMap::new();
        for ((from, to), tensors) in handed_on(program, partition) {
            let ((from, from_copy), (to, to_copy)) = (box_of[from], box_of[to]);
            let same_band = bands.iter().any(|band| band.boxes.contains(&from) && band.boxes.contains(&to));
            let bytes: u64 = tensors.iter().map(|&tensor| program.tensors[tensor].ty.bytes() as u64).sum();
            let most = edges.entry((from, to, same_band && from_copy != to_copy)).or_default();
            *most = bytes.max(*most);
        }
        let edge = |((from, to, to_next_copy), bytes)| Edge { from, to, bytes, to_next_copy };
        Self { groups, bands, edges: edges.into_iter().map(edge).collect() }
    }
}

/// The tensors that a group hands to another, through concats too, by the positions of both.
fn handed_on(program: &TensorProgram, partition: &Partition) -> BTreeMap<(usize, usize), BTreeSet<TensorId>> {
    let mut group_of: BTreeMap<StatementId, usize> = BTreeMap::new();
    for (position, group) in partition.groups.iter().enumerate() {
        group_of.extend(group.statements.iter().map(|&statement| (statement, position)));
    }
    let mut written: Vec<BTreeSet<(usize, TensorId)>> = Vec::with_capacity(program.statements.len());
    let mut handed: BTreeMap<(usize, usize), BTreeSet<TensorId>> = BTreeMap::new();
    for (id, statement) in program.statements.iter() {
        let producers = statement.operands.iter().filter_map(|&operand| program.producer(operand));
        let read: BTreeSet<_> = producers.flat_map(|producer| written[producer.index()].iter().copied()).collect();
        let Some(&own) = group_of.get(&id) else {
            written.push(read);
            continue;
        };
        for (other, tensor) in read.into_iter().filter(|&(other, _)| other != own) {
            handed.entry((other, own)).or_default().insert(tensor);
        }
        written.push(BTreeSet::from([(own, statement.output)]));
    }
    handed
}
