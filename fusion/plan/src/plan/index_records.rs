//! Where a launch records elements that are no indices of the dimensions that they index.
//!
//! Every check of a plan has a record in the arena, which no buffer touches: two words of eight bytes. The high halves of both
//! hold the complement of the number of an element, the low halves the halves of its value. Zeros are no record; a launch takes
//! the maximum with each word, so that the first element of several is recorded, whatever the order in which they are found.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use warpweave_graph::arena::Arena;
use warpweave_graph::expr::IndirectIndex;
use warpweave_graph::index_check::{FaultyElement, FaultyIndex, IndexCheck, IndexCheckId, IndexFault};

use crate::body::{GroupBody, Stage, StageSource};
use crate::plan::{BufferSpace, MemoryPlan, ROperator};

/// Bytes of a word of a record.
pub const RECORD_WORD_BYTES: usize = 8;
/// Words of a record.
const RECORD_WORDS: usize = 2;
const RECORD_BYTES: usize = RECORD_WORDS * RECORD_WORD_BYTES;

/// The number that stands for an element with which a tensor is padded.
pub const PADDING: u32 = u32::MAX;

/// The index checks of a plan and their records.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct IndexRecords {
    /// The checks, ascending, each once.
    pub checks: Arena<IndexCheckId, IndexCheck>,
    /// The first byte of the records in the arena; a multiple of [`RECORD_WORD_BYTES`].
    pub offset: u64,
}

/// What a group checks; `None` for an index that is read from no tensor in memory.
pub(crate) fn checks(body: &GroupBody) -> impl Iterator<Item = Option<IndexCheck>> {
    let of_stage = |stage: &Stage| {
        let check = |index: IndirectIndex| match stage.sources[stage.expr.reads[index.read].operand] {
            StageSource::Operand(operand) => Some(IndexCheck { tensor: body.operands[operand], extent: index.extent }),
            StageSource::Stage(_) | StageSource::Staged(_) => None,
        };
        stage.expr.indirect_indices().into_iter().map(check).collect::<Vec<_>>()
    };
    body.staged.iter().chain(&body.stages).flat_map(of_stage)
}

/// The words of a record of an element, counted in the space where its tensor lies.
pub fn record_words(element: u32, value: i64) -> [u64; RECORD_WORDS] {
    let halves = [value.cast_unsigned(), value.cast_unsigned() >> 32];
    halves.map(|half| u64::from(!element) << 32 | half & u64::from(u32::MAX))
}

/// The element and the value of a record, if it is one.
fn recorded([low, high]: [u64; RECORD_WORDS]) -> Option<(u32, i64)> {
    let value = (high << 32 | low & u64::from(u32::MAX)).cast_signed();
    (low != 0 || high != 0).then_some((!(low >> 32) as u32, value))
}

impl IndexRecords {
    /// The records of all that these rOperators check, behind the first bytes of an arena; and the bytes of both.
    pub fn behind<'o>(arena_bytes: u64, operators: impl Iterator<Item = &'o ROperator>) -> (Self, u64) {
        let checks: BTreeSet<IndexCheck> =
            operators.flat_map(|operator| checks(operator.kernel.body())).flatten().collect();
        if checks.is_empty() {
            return (Self::default(), arena_bytes);
        }
        let offset = arena_bytes.next_multiple_of(RECORD_WORD_BYTES as u64);
        let records = Self { checks: checks.into_iter().collect(), offset };
        let bytes = records.bytes();
        (records, offset + bytes)
    }

    fn bytes(&self) -> u64 {
        (self.checks.len() * RECORD_BYTES) as u64
    }

    /// The bytes of the arena that hold the records; none without checks.
    pub fn range(&self) -> Range<usize> {
        let start = self.offset as usize;
        start..start + self.checks.len() * RECORD_BYTES
    }

    /// The first word of a check's record, counted from the beginning of the arena.
    pub fn word(&self, check: IndexCheck) -> Option<u64> {
        let number = self.checks.values().position(|known| *known == check)?;
        Some(self.offset / RECORD_WORD_BYTES as u64 + (number * RECORD_WORDS) as u64)
    }
}

impl MemoryPlan {
    /// The first fault that the bytes of [`IndexRecords::range`] tell of after a launch.
    pub fn index_fault(&self, bytes: &[u8]) -> Option<IndexFault> {
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let records = words.as_chunks().0.iter().map(|record| recorded(*record));
        self.index_records.checks.values().zip(records).find_map(|(check, record)| {
            let (element, value) = record?;
            Some(IndexFault {
                check: *check,
                found: FaultyIndex { element: self.faulty_element(*check, element), value },
            })
        })
    }

    /// Which element of its tensor is the one of this number in the space where it lies.
    fn faulty_element(&self, check: IndexCheck, number: u32) -> FaultyElement {
        let tensor = &self.tensors[check.tensor];
        let first = tensor.buffer.map_or(0, |buffer| buffer.offset as usize / tensor.pitch().max(1));
        let within = (number as usize).checked_sub(first + tensor.layout.offset).filter(|_| number != PADDING);
        let Some(mut rest) = within else { return FaultyElement::Padding };
        let mut element = 0;
        for (&stride, &extent) in tensor.layout.strides.iter().zip(tensor.ty.shape.iter()) {
            let coordinate = rest / stride.max(1);
            if coordinate >= extent {
                return FaultyElement::Padding;
            }
            rest %= stride.max(1);
            element = element * extent + coordinate;
        }
        FaultyElement::Element(element)
    }

    /// Whether records lie in the arena, apart from every buffer, and stand for checks of tensors in their order.
    pub(crate) fn has_sound_index_records(&self) -> bool {
        let IndexRecords { checks, offset } = &self.index_records;
        let ascend = checks.values().zip(checks.values().skip(1)).all(|(one, next)| one < next);
        let known = checks.values().all(|check| check.extent > 0 && self.tensors.get(check.tensor).is_some());
        let end = offset.checked_add(self.index_records.bytes());
        let inside = offset.is_multiple_of(RECORD_WORD_BYTES as u64) && end.is_some_and(|end| end <= self.arena_bytes);
        let buffers = self.tensors.values().filter_map(|tensor| tensor.buffer);
        let mut in_arena = buffers.filter(|buffer| buffer.space == BufferSpace::Arena && buffer.bytes > 0);
        let apart = in_arena.all(|buffer| {
            let behind = buffer.offset.checked_add(buffer.bytes).is_some_and(|buffer_end| buffer_end <= *offset);
            behind || end.is_some_and(|end| end <= buffer.offset)
        });
        checks.is_empty() || ascend && known && inside && apart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_hold_elements_and_values() {
        for (element, value) in [(0, 999_999), (7, -1), (1 << 30, i64::MIN), (PADDING, 1 << 32), (3, (1 << 32) + 1)] {
            assert_eq!(recorded(record_words(element, value)), Some((element, value)));
        }
        assert_eq!(recorded([0, 0]), None);
    }

    #[test]
    fn the_maximum_of_records_is_that_of_the_first_element() {
        let records =
            [(9, i64::MAX), (4, 5), (4, 5), (6, i64::MIN)].map(|(element, value)| record_words(element, value));
        let merged =
            records.into_iter().fold([0, 0], |merged, words| [merged[0].max(words[0]), merged[1].max(words[1])]);
        assert_eq!(recorded(merged), Some((4, 5)));
    }
}
