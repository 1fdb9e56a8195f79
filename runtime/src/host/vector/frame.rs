//! Registers of a thread: slices of values of neighbouring points.

use warpweave_graph::ElementType;
use warpweave_graph::numerics::Class;

use super::arithmetic::processor::Processor;
use crate::host::simd::MOST_LANES;

/// A register holds at most as many values.
pub(crate) const CAPACITY: usize = 1024;

/// Bytes of the registers of a program that stay in the first-level cache.
const CACHED_BYTES: usize = 24 << 10;

/// What a register holds. Every value has its element type after every step: singles are computed as singles and doubles as
/// doubles, and integers wrap at their width.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kind {
    /// `F32`, and floating point of fewer bits, which conversions and stores round.
    Single,
    /// `F64`.
    Double,
    /// Truth values as 0 and 1, and integers that 32 signed bits hold.
    Word,
    /// Other integers, `U64` as its two's complement.
    Long,
}

impl Kind {
    /// Where values of an element type are held.
    pub(crate) fn of(element: ElementType) -> Self {
        match (element.class(), element.bits()) {
            (Class::Float(_), 64) => Self::Double,
            (Class::Float(_), _) => Self::Single,
            (Class::Boolean, _) | (Class::Signed, ..=32) | (Class::Unsigned, ..=16) => Self::Word,
            (Class::Signed | Class::Unsigned, _) => Self::Long,
        }
    }
}

/// A register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    pub(crate) kind: Kind,
    /// Its position among those of its kind.
    pub(crate) number: u16,
    /// Whether its first value stands for those of all points.
    pub(crate) is_uniform: bool,
}

/// The number of registers of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) singles: u16,
    pub(crate) doubles: u16,
    pub(crate) words: u16,
    pub(crate) longs: u16,
}

impl Counts {
    /// One more register of a kind.
    pub(crate) fn next(&mut self, kind: Kind, is_uniform: bool) -> Slot {
        let count = match kind {
            Kind::Single => &mut self.singles,
            Kind::Double => &mut self.doubles,
            Kind::Word => &mut self.words,
            Kind::Long => &mut self.longs,
        };
        *count += 1;
        Slot { kind, number: *count - 1, is_uniform }
    }

    /// As many lanes as all of them hold in the first-level cache.
    pub(crate) fn capacity(self) -> usize {
        let narrow = usize::from(self.singles.max(1)) + usize::from(self.words);
        let wide = usize::from(self.doubles) + usize::from(self.longs);
        let bytes = narrow * ElementType::F32.bytes() + wide * ElementType::F64.bytes();
        (CACHED_BYTES / bytes / 64 * 64).clamp(128, CAPACITY)
    }

    /// As many as either has.
    pub(crate) fn most(self, other: Self) -> Self {
        Self {
            singles: self.singles.max(other.singles),
            doubles: self.doubles.max(other.doubles),
            words: self.words.max(other.words),
            longs: self.longs.max(other.longs),
        }
    }
}

/// Registers while stages are prepared: what later stages read, what must not be used again, and how many there are.
#[derive(Default)]
pub(crate) struct Registers {
    pub(crate) values: Vec<Option<Slot>>,
    pub(crate) pinned: Counts,
    pub(crate) most: Counts,
}

/// The registers of a thread, allocated before it runs.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    singles: Vec<Vec<f32>>,
    doubles: Vec<Vec<f64>>,
    words: Vec<Vec<i32>>,
    longs: Vec<Vec<i64>>,
    processor: Processor,
}

impl Frame {
    /// A frame with so many registers. Singles may be written in whole vectors.
    pub(crate) fn new(counts: Counts) -> Self {
        Self {
            singles: vec![vec![0.0; CAPACITY + MOST_LANES]; counts.singles.into()],
            doubles: vec![vec![0.0; CAPACITY]; counts.doubles.into()],
            words: vec![vec![0; CAPACITY]; counts.words.into()],
            longs: vec![vec![0; CAPACITY]; counts.longs.into()],
            processor: Processor::detect(),
        }
    }

    /// The processor that works on the registers.
    pub(crate) fn processor(&self) -> Processor {
        self.processor
    }

    /// The values of a register of `T`.
    pub(crate) fn values<T: Number>(&self, slot: Slot) -> &[T] {
        &T::registers(self)[usize::from(slot.number)]
    }

    /// Takes a register of `T` out, to be put back.
    pub(crate) fn take<T: Number>(&mut self, slot: Slot) -> Vec<T> {
        std::mem::take(&mut T::registers_mut(self)[usize::from(slot.number)])
    }

    /// Puts a register back.
    pub(crate) fn put<T: Number>(&mut self, slot: Slot, values: Vec<T>) {
        T::registers_mut(self)[usize::from(slot.number)] = values;
    }

    /// Copies a register's value at a point to the first of another.
    pub(crate) fn pick(&mut self, from: Slot, lane: usize, to: Slot) {
        fn copy<T: Number>(frame: &mut Frame, from: Slot, lane: usize, to: Slot) {
            let value = frame.values::<T>(from)[lane];
            T::registers_mut(frame)[usize::from(to.number)][0] = value;
        }
        let lane = if from.is_uniform { 0 } else { lane };
        match from.kind {
            Kind::Single => copy::<f32>(self, from, lane, to),
            Kind::Double => copy::<f64>(self, from, lane, to),
            Kind::Word => copy::<i32>(self, from, lane, to),
            Kind::Long => copy::<i64>(self, from, lane, to),
        }
    }

    /// The least and the greatest of the first values of a register of integers.
    pub(crate) fn range(&self, slot: Slot, lanes: usize) -> (i64, i64) {
        fn of<T: Number + Ord>(values: &[T]) -> (T, T) {
            values.iter().fold((values[0], values[0]), |(least, most), &value| (least.min(value), most.max(value)))
        }
        match slot.kind {
            Kind::Word => {
                let (least, most) = of(&self.values::<i32>(slot)[..lanes]);
                (least.into(), most.into())
            }
            Kind::Long => of(&self.values::<i64>(slot)[..lanes]),
            Kind::Single | Kind::Double => unreachable!("indices are integers"),
        }
    }

    /// A register's value at a point; of integers.
    pub(crate) fn integer(&self, slot: Slot, lane: usize) -> i64 {
        let lane = if slot.is_uniform { 0 } else { lane };
        match slot.kind {
            Kind::Word => i64::from(self.values::<i32>(slot)[lane]),
            Kind::Long => self.values::<i64>(slot)[lane],
            Kind::Single | Kind::Double => unreachable!("indices are integers"),
        }
    }
}

/// A type that registers hold.
pub(crate) trait Number: Copy + Default + PartialEq + 'static {
    fn registers(frame: &Frame) -> &[Vec<Self>];
    fn registers_mut(frame: &mut Frame) -> &mut [Vec<Self>];
}

impl Number for f32 {
    fn registers(frame: &Frame) -> &[Vec<Self>] {
        &frame.singles
    }
    fn registers_mut(frame: &mut Frame) -> &mut [Vec<Self>] {
        &mut frame.singles
    }
}

impl Number for f64 {
    fn registers(frame: &Frame) -> &[Vec<Self>] {
        &frame.doubles
    }
    fn registers_mut(frame: &mut Frame) -> &mut [Vec<Self>] {
        &mut frame.doubles
    }
}

impl Number for i32 {
    fn registers(frame: &Frame) -> &[Vec<Self>] {
        &frame.words
    }
    fn registers_mut(frame: &mut Frame) -> &mut [Vec<Self>] {
        &mut frame.words
    }
}

impl Number for i64 {
    fn registers(frame: &Frame) -> &[Vec<Self>] {
        &frame.longs
    }
    fn registers_mut(frame: &mut Frame) -> &mut [Vec<Self>] {
        &mut frame.longs
    }
}
