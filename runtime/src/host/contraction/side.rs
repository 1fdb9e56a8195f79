//! The sides of tiles: factors in panels.

use std::ops::Range as Numbers;

use warpweave_graph::expr::{Range, ReadId};

use super::access::Access;
use super::integers::pairs::pair;
use super::pack::{Panels, pack};
use super::runs::{Runs, Steps};
use crate::host::memory::Memory;

/// The side of a tile along which one factor varies.
pub(super) struct Side {
    pub(super) axes: Vec<usize>,
    pub(super) access: Access,
    pub(super) panels: Panels,
    /// The read of it, if it is a constant.
    pub(super) constant: Option<ReadId>,
}

/// Where panels are packed from.
pub(super) struct Place<'p> {
    pub(super) point: &'p mut [i64],
    pub(super) runs: &'p mut Runs,
    pub(super) tile: &'p [Range],
    pub(super) memory: &'p Memory<'p>,
}

impl Side {
    /// Elements of a tile.
    pub(super) fn count(&self, tile: &[Range]) -> usize {
        self.axes.iter().map(|&axis| (tile[axis].maximum - tile[axis].minimum + 1).max(0) as usize).product()
    }

    /// The panels of a block: the next of the constant ones, or what is packed into the buffer.
    pub(super) fn next_block<'p, 'c: 'p>(
        &self,
        constant: &mut Option<&'c [f32]>,
        (steps, block): (&Steps, &Numbers<usize>),
        elements: usize,
        Place { point, runs, tile, memory }: &mut Place,
        buffer: &'p mut Vec<f32>,
    ) -> &'p [f32] {
        let singles = self.panels.singles(elements) * block.len();
        if let Some(panels) = constant {
            let (block, rest) = panels.split_at(singles);
            *panels = rest;
            return block;
        }
        buffer.resize(buffer.len().max(singles), 0.0);
        runs.find(&self.access, &self.axes, tile, point);
        pack(&self.access, runs, (steps, block.clone()), self.panels, memory, &mut buffer[..singles]);
        &buffer[..singles]
    }

    /// The same of pairs; `None` if an integer does not fit. `buffers` are for integers, and for pairs of them.
    pub(super) fn next_pairs<'p, 'c: 'p>(
        &self,
        constant: &mut Option<&'c [f32]>,
        (steps, block): (&Steps, &Numbers<usize>),
        elements: usize,
        place: &mut Place,
        (words, pairs): (&mut Vec<f32>, &'p mut Vec<f32>),
    ) -> Option<&'p [f32]> {
        if let Some(panels) = constant {
            let (block, rest) = panels.split_at(self.panels.singles(elements) * block.len().div_ceil(2));
            *panels = rest;
            return Some(block);
        }
        let words = self.next_block(&mut None, (steps, block), elements, place, words);
        pairs.clear();
        pair(words, self.panels, (elements, block.len()), pairs).then_some(&pairs[..])
    }
}
