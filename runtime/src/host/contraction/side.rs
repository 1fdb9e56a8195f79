//! The sides of tiles: factors in panels.

use std::ops::Range as Numbers;

use warpweave_graph::ElementType;
use warpweave_graph::arithmetic::{highest, lowest};
use warpweave_graph::expr::{Range, ReadId};

use super::access::Access;
use super::integers::pairs::{Bytes, pair};
use super::integers::quads::{JOINED, SIGN, add_bytes, quads};
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
    pub(super) format: Format,
    /// The read of it, if it is a constant.
    pub(super) constant: Option<ReadId>,
}

/// What an element of a panel is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    Single,
    /// Integers of 16 bits of two steps.
    Pair,
    /// Bytes of four steps, with or without a sign, of which the bits of `flip` are not as they are stored.
    Quad {
        flip: u8,
        is_signed: bool,
    },
}

impl Format {
    /// Steps of an element.
    pub(super) fn steps(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Pair => 2,
            Self::Quad { .. } => JOINED,
        }
    }

    /// Quads of bytes that are stored so, with a sign or without one.
    pub(super) fn quad(stored: ElementType, is_signed: bool) -> Self {
        let flip = if (stored == ElementType::I8) == is_signed { 0 } else { SIGN };
        Self::Quad { flip, is_signed }
    }
}

/// What integers are packed in before several are joined in an element.
#[derive(Default)]
pub(super) struct Unjoined {
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

    /// Elements of the panels of so many steps.
    pub(super) fn length(&self, elements: usize, steps: usize) -> usize {
        self.panels.singles(elements) * steps.div_ceil(self.format.steps())
    }

    /// The same of integers; `None` if one does not fit. Sums of bytes are added to, if they are given; those of constants are not.
    pub(super) fn next_integers<'p, 'c: 'p>(
        &self,
        constant: &mut Option<&'c [f32]>,
        (steps, block): (&Steps, &Numbers<usize>),
        elements: usize,
        place: &mut Place,
        (unjoined, joined): (&mut Unjoined, &'p mut Vec<f32>),
        sums: Option<&mut [i32]>,
    ) -> Option<&'p [f32]> {
        let count = self.length(elements, block.len());
        if let Some(panels) = constant {
            let (block, rest) = panels.split_at(count);
            *panels = rest;
            return Some(block);
        }
        joined.resize(joined.len().max(count), 0.0);
        let joined = &mut joined[..count];
        self.pack_integers((steps, block), elements, place, (unjoined, joined), sums).then_some(joined)
    }

    /// Writes the panels of integers of a block; whether all fit. Sums of bytes are added to, if they are given.
    pub(super) fn pack_integers(
        &self,
        (steps, block): (&Steps, &Numbers<usize>),
        elements: usize,
        place: &mut Place,
        (unjoined, joined): (&mut Unjoined, &mut [f32]),
        sums: Option<&mut [i32]>,
    ) -> bool {
        let (count, size) = (self.panels.singles(elements) * block.len(), (elements, block.len()));
        if let Some(stored) = self.stored(place.memory) {
            let bytes = &mut unjoined.bytes;
            bytes.resize(bytes.len().max(count), 0);
            let Place { point, runs, tile, memory } = place;
            runs.find(&self.access, &self.axes, tile, point);
            let bytes = &mut bytes[..count];
            pack_filled(&self.access, stored.fill, runs, (steps, block.clone()), self.panels, memory, bytes);
            match self.format {
                Format::Single | Format::Pair => stored.bytes.pair(bytes, self.panels, size, joined),
                Format::Quad { flip, is_signed } => {
                    quads(bytes, flip, self.panels, size, joined);
                    if let Some(sums) = sums {
                        add_bytes(bytes, (flip, is_signed), self.panels, block.len(), sums);
                    }
                }
            }
            return true;
        }
        if self.format != Format::Pair {
            return false;
        }
        let Place { point, runs, tile, memory } = place;
        let words = &mut unjoined.words;
        words.resize(words.len().max(2 * count), 0.0);
        let (words, zeros) = words[..2 * count].split_at_mut(count);
        runs.find(&self.access, &self.axes, tile, point);
        pack(&self.access, runs, (steps, block.clone()), self.panels, memory, words);
        if let Some(zero) = &self.zero {
            runs.find(zero, &self.axes, tile, point);
            pack(zero, runs, (steps, block.clone()), self.panels, memory, zeros);
            subtract(words, zeros);
        }
        pair(words, self.panels, size, joined)
    }

    /// The zero point of the bytes of quads as they are multiplied.
    pub(super) fn multiplied_zero(&self, memory: &Memory) -> Option<i32> {
        let Format::Quad { flip, is_signed } = self.format else { return None };
        let zero = i32::from(self.stored(memory)?.bytes.zero);
        Some(match (flip, is_signed) {
            (0, _) => zero,
            (_, true) => zero - i32::from(SIGN),
            (_, false) => zero + i32::from(SIGN),
        })
    }

    /// Whether bytes are joined in quads: they lose one number, and are 0 or what is stored where conditions do not hold.
    pub(super) fn is_of_bytes(&self) -> bool {
        let Self { access, zero, .. } = self;
        let suits = |zero: &Access| {
            let is_same = zero.conditions.is_empty() || zero.fill.to_bits() == access.fill.to_bits();
            zero.element == access.element && zero.position.constant_value().is_some() && is_same
        };
        matches!(access.element, ElementType::I8 | ElementType::U8) && zero.as_ref().is_none_or(suits)
    }

    /// How elements are packed as they are stored: bytes of which one number is subtracted.
    fn stored(&self, memory: &Memory) -> Option<Stored> {
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
