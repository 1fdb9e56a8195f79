//! The sides of tiles: factors in panels.

use std::ops::Range as Numbers;

use warpweave_graph::ElementType;
use warpweave_graph::arithmetic::{highest, lowest};
use warpweave_graph::expr::{Range, ReadId};

use super::access::Access;
use super::integers::pairs::{Bytes, pair};
use super::integers::subtract;
use super::pack::{Panels, pack, pack_filled};
use super::runs::{Runs, Steps};
use crate::host::memory::Memory;
use crate::host::vector::load_words;
use crate::host::vector::processor::Processor;

/// The side of a tile along which one factor varies.
pub(super) struct Side {
    pub(super) axes: Vec<usize>,
    pub(super) access: Access,
    /// What is subtracted from each element, if it is an integer with a zero point. Its conditions are those of the element, or none.
    pub(super) zero: Option<Access>,
    pub(super) panels: Panels,
    /// The read of it, if it is a constant.
    pub(super) constant: Option<ReadId>,
}

/// What integers are packed in before they are paired.
#[derive(Default)]
pub(super) struct Unpaired {
    words: Vec<f32>,
    bytes: Vec<u8>,
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
        (unpaired, pairs): (&mut Unpaired, &'p mut Vec<f32>),
    ) -> Option<&'p [f32]> {
        let count = self.panels.singles(elements) * block.len().div_ceil(2);
        if let Some(panels) = constant {
            let (block, rest) = panels.split_at(count);
            *panels = rest;
            return Some(block);
        }
        pairs.resize(pairs.len().max(count), 0.0);
        let pairs = &mut pairs[..count];
        self.pack_pairs((steps, block), elements, place, (unpaired, pairs)).then_some(pairs)
    }

    /// Writes the panels of pairs of a block; whether all integers fit.
    pub(super) fn pack_pairs(
        &self,
        (steps, block): (&Steps, &Numbers<usize>),
        elements: usize,
        place: &mut Place,
        (unpaired, pairs): (&mut Unpaired, &mut [f32]),
    ) -> bool {
        let count = self.panels.singles(elements) * block.len();
        if let Some(stored) = self.stored(place) {
            let bytes = &mut unpaired.bytes;
            bytes.resize(bytes.len().max(count), 0);
            let Place { point, runs, tile, memory } = place;
            runs.find(&self.access, &self.axes, tile, point);
            let bytes = &mut bytes[..count];
            pack_filled(&self.access, stored.fill, runs, (steps, block.clone()), self.panels, memory, bytes);
            stored.bytes.pair(bytes, self.panels, (elements, block.len()), pairs);
            return true;
        }
        let Place { point, runs, tile, memory } = place;
        let words = &mut unpaired.words;
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

    /// How elements are packed as they are stored: bytes of which one number is subtracted.
    fn stored(&self, Place { memory, .. }: &Place) -> Option<Stored> {
        let Self { access, zero, .. } = self;
        let is_signed = match access.element {
            ElementType::I8 => true,
            ElementType::U8 => false,
            _ => return None,
        };
        let mut found = [0];
        if let Some(zero) = zero {
            let byte = zero.byte(zero.position.constant_value()?, memory);
            load_words(Processor::detect(), memory, zero.space, zero.element, byte, 0, &mut found);
        }
        let [zero] = found;
        let fill = |access: &Access| access.fill.to_bits() as i32;
        let subtracted = self.zero.as_ref().filter(|zero| !zero.conditions.is_empty()).map_or(zero, fill);
        // So that what is subtracted from it gives what the difference is elsewhere.
        let fill = i64::from(fill(access)) - i64::from(subtracted) + i64::from(zero);
        let fill = if access.conditions.is_empty() { 0 } else { fill };
        let holds = lowest(access.element) <= fill && fill <= highest(access.element);
        let bytes = Bytes { is_signed, zero: i16::try_from(zero).ok().filter(|zero| zero.unsigned_abs() < 1 << 14)? };
        holds.then_some(Stored { fill: fill as u8, bytes })
    }
}

/// Bytes, and what they are where conditions do not hold.
struct Stored {
    fill: u8,
    bytes: Bytes,
}
