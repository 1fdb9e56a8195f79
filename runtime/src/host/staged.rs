//! Staged values of a group: the boxes that a tile needs, computed before its stages.

use warpweave_graph::ElementType;
use warpweave_graph::expr::Range;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::staged::StagedBox;

use super::memory::{Bases, Memory};
use super::stage::strides;
use super::vector::{self, Group, Scratch, Shared, StageReads, Target};

/// A staged stage, prepared.
pub(super) struct HostStaged {
    pub(super) group: Group,
    element: ElementType,
    /// The box of a tile.
    spans: StagedBox,
    strides: Vec<usize>,
    volume: usize,
}

impl HostStaged {
    /// Prepares a stage and its box.
    pub(super) fn new(mut reads: StageReads, spans: StagedBox, bases: &mut Bases) -> Self {
        let strides = strides(&spans);
        reads.keep_in_box(&strides, bases);
        let shared = spans.iter().map(|span| Shared {
            most: span.extent.min(span.whole),
            is_whole: span.extent == span.whole && span.first == 0 && span.steps.iter().all(|step| *step == 0),
        });
        let element = reads.expr.element;
        let volume = spans.iter().map(|span| span.extent).product();
        Self { group: Group::new(vec![reads], &shared.collect::<Vec<Shared>>()), element, spans, strides, volume }
    }

    /// Computes the elements of the tile's box from memory that holds the earlier ones.
    pub(super) fn compute(
        &self,
        position: usize,
        tile: &[i64],
        ranges: &mut Vec<Range>,
        memory: &mut Memory,
        scratch: &mut Scratch,
    ) {
        ranges.clear();
        ranges.extend(self.spans.iter().map(|span| span.inside(tile)));
        let first: i64 = ranges.iter().zip(&self.strides).map(|(range, stride)| range.minimum * *stride as i64).sum();
        let own = &mut memory.staged[position];
        let mut bytes = std::mem::take(&mut own.bytes);
        (own.first, own.element) = (first, self.element);
        let length = self.volume * self.element.bytes();
        if bytes.len() < length {
            bytes.resize(length, 0);
        }
        let first = first * self.element.bytes() as i64;
        vector::run(&self.group, ranges, memory, scratch, &mut Target::Box { bytes: &mut bytes, first });
        memory.staged[position].bytes = bytes;
    }
}

/// The boxes of a body's staged values.
pub(super) fn boxes(kernel: &Kernel) -> Vec<StagedBox> {
    let body = kernel.body();
    if body.staged.is_empty() {
        return Vec::new();
    }
    kernel.boxes().expect("a verified plan gives every staged value a box").to_vec()
}
