//! Reads of memory into registers.

use std::ops::Range as Numbers;

use warpweave_graph::arithmetic::wrap;
use warpweave_graph::expr::{Index, Literal, ReadId};
use warpweave_graph::numerics::{Class, FloatFormat};
use warpweave_graph::{ElementType, minifloat};

use super::arithmetic::halves;
use super::arithmetic::mathematics::{single_of_bfloat, single_of_half};
use super::arithmetic::processor::{Processor, vectorised};
use super::frame::{Frame, Kind, Number, Slot};
use super::gather::Gather;
use super::lanes::Extent;
use super::place::{Bounds, Chunk, Here, Indirect, LaneAxes, Line, Place};
use crate::host::indices::HostIndexChecks;
use crate::host::memory::{Base, HostSpace, Memory, SINGLE_BYTES};

/// A read of elements of a buffer; positions are in elements from the base on.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) read: ReadId,
    pub(crate) space: HostSpace,
    pub(crate) element: ElementType,
    pub(crate) base: Base,
    pub(crate) position: Place,
    pub(crate) guard: Vec<Bounds>,
    pub(crate) fill: Literal,
    /// Whether elements name places, which are checked.
    pub(crate) is_checked: bool,
    /// How the elements lie, if each is found by itself and all of them are read.
    pub(crate) gather: Option<Gather>,
}

/// Most elements that are found, or copied from places apart, before they are decoded.
const GATHERED: usize = 64;

/// Where elements lie, in bytes of a space.
#[derive(Clone, Copy)]
enum Lie<'l> {
    /// One after another.
    Line { offset: i64, stride: i64 },
    /// Each at a place of its own: so many times `size` behind the offset, and at most `reach` times.
    At { offset: i64, places: &'l [i64], reach: i64, size: i64 },
}

/// Where a load takes place.
pub(crate) struct At<'a> {
    pub(crate) point: &'a [i64],
    pub(crate) lanes: LaneAxes,
    pub(crate) chunk: Chunk,
    pub(crate) indirect: &'a Indirect,
    pub(crate) memory: &'a Memory<'a>,
    pub(crate) checks: &'a HostIndexChecks,
}

impl Load {
    /// Whether its value is the same for all points of a chunk.
    pub(crate) fn is_uniform(&self) -> bool {
        self.position.is_uniform() && self.guard.iter().all(|bounds| bounds.place.is_uniform())
    }

    /// Whether its values are the same for all columns of a row.
    pub(crate) fn is_still(&self) -> bool {
        self.position.is_still() && self.guard.iter().all(|bounds| bounds.place.is_still())
    }

    /// The same on columns along an axis, where these reads name places.
    pub(crate) fn at_named(self, column: Option<Extent>, indirect: &Indirect) -> Self {
        let gather = match (&self.position, column) {
            (Place::Scattered(index), Some(column)) if self.guard.is_empty() => Gather::new(index, column, indirect),
            _ => None,
        };
        Self { gather, ..self }
    }

    /// Loads a chunk's values.
    pub(crate) fn run(&self, to: Slot, at: &At, frame: &mut Frame) {
        match to.kind {
            Kind::Single => self.run_as::<f32>(to, at, frame, self.fill.to_f64() as f32, singles),
            Kind::Double => self.run_as::<f64>(to, at, frame, self.fill.to_f64(), doubles),
            Kind::Word => self.run_as::<i32>(to, at, frame, self.fill.to_i64() as i32, words),
            Kind::Long => self.run_as::<i64>(to, at, frame, self.fill.to_i64(), longs),
        }
        if self.is_checked {
            self.check(to, at, frame);
        }
    }

    fn run_as<T: Number>(
        &self,
        to: Slot,
        at: &At,
        frame: &mut Frame,
        fill: T,
        load: impl Fn(Processor, &Memory, HostSpace, ElementType, Lie, &mut [T]),
    ) {
        let chunk = if to.is_uniform { Chunk::POINT } else { at.chunk };
        let mut out = frame.take::<T>(to);
        let processor = frame.processor();
        let here = Here { point: at.point, lanes: at.lanes, indirect: at.indirect, frame };
        self.pieces(&here, chunk, at.memory.base(self.base), &mut |lanes, lie| match lie {
            Some(lie) => load(processor, at.memory, self.space, self.element, lie, &mut out[lanes]),
            None => out[lanes].fill(fill),
        });
        frame.put(to, out);
    }

    /// Calls with the lanes of each piece of a chunk and how its elements lie; with no lie where a condition does not hold. Places count
    /// from a byte on.
    fn pieces(&self, here: &Here, chunk: Chunk, base: i64, piece: &mut dyn FnMut(Numbers<usize>, Option<Lie>)) {
        let are_lines = self.guard.iter().all(|bounds| matches!(bounds.place, Place::Line(_)));
        match (&self.position, &self.gather) {
            (Place::Line(line), _) if are_lines => self.lines(line, here, chunk, base, piece),
            (_, Some(gather)) => self.gathered(gather, here, chunk, base, piece),
            _ => self.segments(here, chunk, base, piece),
        }
    }

    fn lines(
        &self,
        line: &Line,
        here: &Here,
        chunk: Chunk,
        base: i64,
        piece: &mut dyn FnMut(Numbers<usize>, Option<Lie>),
    ) {
        let size = self.element.bytes() as i64;
        let (first, row_step, stride) = (base + line.first(here) * size, line.row * size, line.column * size);
        let is_one_run = line.row == chunk.columns as i64 * line.column;
        if self.guard.is_empty() && (is_one_run || chunk.rows == 1) {
            return piece(0..chunk.lanes(), Some(Lie::Line { offset: first, stride }));
        }
        for row in 0..chunk.rows {
            let columns = (0, chunk.columns as i64);
            let (from, to) = self.guard.iter().fold(columns, |columns, bounds| bounds.interval(here, row, columns));
            let lanes = row * chunk.columns..(row + 1) * chunk.columns;
            if from >= to {
                piece(lanes, None);
                continue;
            }
            let offset = first + row as i64 * row_step + from * stride;
            let (from, to) = (lanes.start + from as usize, lanes.start + to as usize);
            piece(lanes.start..from, None);
            piece(from..to, Some(Lie::Line { offset, stride }));
            piece(to..lanes.end, None);
        }
    }

    fn gathered(
        &self,
        gather: &Gather,
        here: &Here,
        chunk: Chunk,
        base: i64,
        piece: &mut dyn FnMut(Numbers<usize>, Option<Lie>),
    ) {
        let size = self.element.bytes() as i64;
        let mut places = [0; GATHERED];
        for row in 0..chunk.rows {
            let mut column = 0;
            while column < chunk.columns {
                let lane = row * chunk.columns + column;
                let count = chunk.columns - column;
                let (first, places, reach) = gather.places(here, [row, column, lane], count, &mut places);
                let lie = Lie::At { offset: base + first * size, places, reach, size };
                piece(lane..lane + places.len(), Some(lie));
                column += places.len();
            }
        }
    }

    fn segments(&self, here: &Here, chunk: Chunk, base: i64, piece: &mut dyn FnMut(Numbers<usize>, Option<Lie>)) {
        let size = self.element.bytes() as i64;
        for row in 0..chunk.rows {
            let mut column = 0;
            while column < chunk.columns {
                let lane = row * chunk.columns + column;
                let position = self.position.segment(here, row, column, lane);
                let mut length = position.length.min((chunk.columns - column) as i64);
                let mut is_read = true;
                for bounds in &self.guard {
                    let found = bounds.place.segment(here, row, column, lane);
                    length = length.min(found.length);
                    let (from, to) = bounds.within(found.value, found.step, (0, length));
                    // A segment ends where the condition changes.
                    is_read &= from <= 0 && to > 0;
                    length = if from <= 0 && to > 0 {
                        to
                    } else if from > 0 && from < to {
                        from
                    } else {
                        length
                    };
                }
                let lie = Lie::Line { offset: base + position.value * size, stride: position.step * size };
                piece(lane..lane + length as usize, is_read.then_some(lie));
                column += length as usize;
            }
        }
    }

    fn check(&self, to: Slot, at: &At, frame: &Frame) {
        let chunk = if to.is_uniform { Chunk::POINT } else { at.chunk };
        let here = Here { point: at.point, lanes: at.lanes, indirect: at.indirect, frame };
        let lanes = if to.is_uniform { 1 } else { chunk.lanes() };
        if at.checks.hold(self.read, frame.range(to, lanes)) {
            return;
        }
        for row in 0..chunk.rows {
            for column in 0..chunk.columns {
                let lane = row * chunk.columns + column;
                let value = [frame.integer(to, lane)];
                let index = |index: &Index, _: usize| here.index(index, row, column, lane);
                at.checks.check(self.read, &value, index, at.memory.faults);
            }
        }
    }
}

/// Decodes elements of so many bytes.
#[inline(always)]
fn each<const N: usize, T: Number>(
    memory: &Memory,
    space: HostSpace,
    lie: Lie,
    out: &mut [T],
    decode: impl Fn([u8; N]) -> T,
) {
    let dense = match lie {
        Lie::Line { offset, stride } if stride == N as i64 => match memory.bytes(space, offset, N * out.len()) {
            Some(bytes) => bytes.as_chunks::<N>().0,
            None => return out.fill(T::default()),
        },
        Lie::Line { .. } | Lie::At { .. } => &[],
    };
    let mut apart = [[0; N]; GATHERED];
    for (number, out) in out.chunks_mut(GATHERED).enumerate() {
        let start = number * GATHERED;
        let apart = &mut apart[..out.len()];
        let bytes: &[[u8; N]] = match lie {
            _ if !dense.is_empty() => &dense[start..],
            Lie::Line { offset, stride } => {
                memory.strided(space, offset + start as i64 * stride, stride, apart);
                apart
            }
            Lie::At { offset, places, reach, size } => {
                memory.gathered(space, (offset, &places[start..], reach, size), apart);
                apart
            }
        };
        for (out, bytes) in out.iter_mut().zip(bytes) {
            *out = decode(*bytes);
        }
    }
}

/// Loads singles from byte `offset` of a space on, `stride` bytes apart.
pub(crate) fn load_singles(
    processor: Processor,
    memory: &Memory,
    space: HostSpace,
    element: ElementType,
    offset: i64,
    stride: i64,
    out: &mut [f32],
) {
    singles(processor, memory, space, element, Lie::Line { offset, stride }, out);
}

/// Loads integers of at most 32 bits from byte `offset` of a space on, `stride` bytes apart.
pub(crate) fn load_words(
    processor: Processor,
    memory: &Memory,
    space: HostSpace,
    element: ElementType,
    offset: i64,
    stride: i64,
    out: &mut [i32],
) {
    words(processor, memory, space, element, Lie::Line { offset, stride }, out);
}

fn singles(processor: Processor, memory: &Memory, space: HostSpace, element: ElementType, lie: Lie, out: &mut [f32]) {
    if element == ElementType::F32
        && let Lie::Line { offset, stride } = lie
        && stride == SINGLE_BYTES as i64
        && let Some(values) = memory.singles(space, offset, out.len())
    {
        return out.copy_from_slice(values);
    }
    if element == ElementType::F16
        && let Lie::Line { offset, stride } = lie
        && stride == element.bytes() as i64
        && let Some(bytes) = memory.bytes(space, offset, element.bytes() * out.len())
    {
        return halves::decode(processor, bytes.as_chunks().0, out);
    }
    load_each(processor, memory, space, element, lie, out);
}

vectorised! {
fn load_each<I>(processor, memory: &Memory, space: HostSpace, element: ElementType, lie: Lie, out: &mut [f32]) {
    match element.class() {
        Class::Float(FloatFormat::Half) => each(memory, space, lie, out, |bytes| {
            single_of_half(u16::from_le_bytes(bytes))
        }),
        Class::Float(FloatFormat::BFloat16) => each(memory, space, lie, out, |bytes| {
            single_of_bfloat(u16::from_le_bytes(bytes))
        }),
        Class::Float(FloatFormat::Minifloat(_) | FloatFormat::PowerOfTwo) => {
            each(memory, space, lie, out, |[code]| minifloat::decode(element, code) as f32);
        }
        _ => each(memory, space, lie, out, f32::from_le_bytes),
    }
}
}

vectorised! {
fn doubles<I>(processor, memory: &Memory, space: HostSpace, _element: ElementType, lie: Lie, out: &mut [f64]) {
    each(memory, space, lie, out, f64::from_le_bytes);
}
}

vectorised! {
fn words<I>(processor, memory: &Memory, space: HostSpace, element: ElementType, lie: Lie, out: &mut [i32]) {
    match (element.bits(), element.class()) {
        (8, Class::Signed) => each(memory, space, lie, out, |[code]| i32::from(code as i8)),
        (8, Class::Unsigned) => each(memory, space, lie, out, |[code]| i32::from(code)),
        (16, Class::Signed) => each(memory, space, lie, out, |bytes| i32::from(i16::from_le_bytes(bytes))),
        (16, _) => each(memory, space, lie, out, |bytes| i32::from(u16::from_le_bytes(bytes))),
        (32, _) => each(memory, space, lie, out, i32::from_le_bytes),
        _ => each(memory, space, lie, out, |[code]| wrap(element, i64::from(code)) as i32),
    }
}
}

vectorised! {
fn longs<I>(processor, memory: &Memory, space: HostSpace, element: ElementType, lie: Lie, out: &mut [i64]) {
    match element.bits() {
        32 => each(memory, space, lie, out, |bytes| i64::from(u32::from_le_bytes(bytes))),
        _ => each(memory, space, lie, out, i64::from_le_bytes),
    }
}
}
