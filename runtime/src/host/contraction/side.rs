//! The sides of tiles: factors in panels.

use std::ops::Range as Numbers;

use warpweave_graph::expr::{Range, ReadId};

use super::access::Access;
use super::integers::pairs::pair;
use super::integers::subtract;
use super::pack::{Panels, pack};
use super::runs::{Runs, Steps};
use crate::host::memory::Memory;

/// The side of a tile along which one factor varies.
pub(super) struct Side {
    pub(super) axes: Vec<usize>,
    pub(super) access: Access,
    /// What is subtracted from each element, if it is an integer with a zero point.
    pub(super) zero: Option<Access>,
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
    /// All that is read.
    pub(super) fn accesses(&self) -> impl Iterator<Item = &Access> {
        std::iter::once(&self.access).chain(&self.zero)
    }

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
        pairs.clear();
        self.pack_pairs((steps, block), elements, place, (words, pairs)).then_some(&pairs[..])
    }

    /// Appends the panels of pairs of a block; whether all integers fit. `words` is for integers.
    pub(super) fn pack_pairs(
        &self,
        (steps, block): (&Steps, &Numbers<usize>),
        elements: usize,
        Place { point, runs, tile, memory }: &mut Place,
        (words, pairs): (&mut Vec<f32>, &mut Vec<f32>),
    ) -> bool {
        let count = self.panels.singles(elements) * block.len();
        words.resize(words.len().max(2 * count), 0.0);
        let (words, zeros) = words[..2 * count].split_at_mut(count);
        runs.find(&self.access, &self.axes, tile, point);
        pack(&self.access, runs, (steps, block.clone()), self.panels, memory, words);
        if let Some(zero) = &self.zero {
            runs.find(zero, &self.axes, tile, point);
            pack(zero, runs, (steps, block.clone()), self.panels, memory, zeros);
            subtract(words, zeros);
        }
        pair(words, self.panels, (elements, block.len()), pairs)
    }
}
