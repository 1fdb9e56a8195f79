//! Packing: elements of a factor into panels, step by step.

use std::ops::Range as Numbers;

use warpweave_graph::ElementType;
use warpweave_plan::template::contraction::is_word_integer;

use super::access::{Access, Linear};
use super::runs::{Run, Runs, Steps};
use crate::host::lanes::LANES;
use crate::host::memory::Memory;
use crate::host::vector::processor::Processor;
use crate::host::vector::{load_singles, load_words};

/// How panels lie: one after another, each with the elements of every step side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Panels {
    /// As many elements a step as a panel has, zeros where there are none.
    Padded(usize),
    /// The last panel has as many elements as are left.
    Exact(usize),
}

impl Panels {
    /// Elements of a full panel.
    pub(super) fn width(self) -> usize {
        match self {
            Self::Padded(width) | Self::Exact(width) => width,
        }
    }

    /// Singles that all panels of so many elements take a step.
    pub(super) fn singles(self, elements: usize) -> usize {
        match self {
            Self::Padded(width) => elements.next_multiple_of(width),
            Self::Exact(_) => elements,
        }
    }

    /// The first element and the width of every panel of so many elements. A panel of n steps begins at n times its first element.
    pub(super) fn each(self, elements: usize) -> impl Iterator<Item = (usize, usize)> {
        let all = self.singles(elements);
        (0..all).step_by(self.width()).map(move |first| (first, self.width_at(first, all)))
    }

    /// Elements a step of the panel that begins with element `first` of `elements`.
    pub(super) fn width_at(self, first: usize, elements: usize) -> usize {
        match self {
            Self::Padded(width) => width,
            Self::Exact(width) => width.min(elements - first),
        }
    }
}

/// Steps that all panels take before the next, where elements of a step lie side by side: their lines are read once.
const STEPS_TOGETHER: usize = 16;

/// What panels are packed of.
pub(super) trait Packed: Copy + Default {
    /// So many elements from a position on, where they lie; none if they are stored otherwise, or lie outside of memory.
    fn found<'m>(access: &Access, position: i64, count: usize, memory: &'m Memory) -> Option<&'m [Self]>;

    /// Elements from a position on, so many from each other.
    fn load(access: &Access, position: i64, stride: i64, memory: &Memory, out: &mut [Self]);
}

/// Of singles and of integers of all widths, as integers of 32 bits.
impl Packed for f32 {
    fn found<'m>(access: &Access, position: i64, count: usize, memory: &'m Memory) -> Option<&'m [Self]> {
        let is_word = matches!(access.element, ElementType::F32 | ElementType::I32);
        is_word.then(|| memory.singles(access.space, access.byte(position, memory), count))?
    }

    fn load(access: &Access, position: i64, stride: i64, memory: &Memory, out: &mut [Self]) {
        let (space, element, processor) = (access.space, access.element, Processor::detect());
        let (byte, stride) = (access.byte(position, memory), stride * element.bytes() as i64);
        match is_word_integer(element) {
            true => load_words(processor, memory, space, element, byte, stride, bytemuck::cast_slice_mut(out)),
            false => load_singles(processor, memory, space, element, byte, stride, out),
        }
    }
}

/// Of integers of 8 bits, as they are stored.
impl Packed for u8 {
    fn found<'m>(access: &Access, position: i64, count: usize, memory: &'m Memory) -> Option<&'m [Self]> {
        memory.bytes(access.space, access.byte(position, memory), count)
    }

    fn load(access: &Access, position: i64, stride: i64, memory: &Memory, out: &mut [Self]) {
        let (out, _) = out.as_chunks_mut::<1>();
        memory.strided(access.space, access.byte(position, memory), stride, out);
    }
}

/// Packs a block of steps of a side of a tile; `packed` is as long as the panels are.
pub(super) fn pack(
    access: &Access,
    runs: &Runs,
    (steps, block): (&Steps, Numbers<usize>),
    panels: Panels,
    memory: &Memory,
    packed: &mut [f32],
) {
    pack_filled(access, access.fill, runs, (steps, block), panels, memory, packed);
}

/// The same with another value where conditions do not hold.
pub(super) fn pack_filled<T: Packed>(
    access: &Access,
    fill: T,
    runs: &Runs,
    (steps, block): (&Steps, Numbers<usize>),
    panels: Panels,
    memory: &Memory,
    packed: &mut [T],
) {
    let (width, count) = (panels.width(), block.len());
    if panels.singles(runs.elements) > runs.elements {
        let last = runs.elements / width * width;
        packed[last * count..].fill(T::default());
    }
    let along = |axis: Option<usize>, number: &Linear| axis.map_or(0, |axis| number.along(axis));
    let strides = Strides { lane: along(runs.axis, &access.position), step: along(steps.inner, &access.position) };
    let most = if strides.lane == 1 && strides.step != 1 { STEPS_TOGETHER } else { usize::MAX };
    steps.for_each(block, most, |value, inner, first_step| {
        let moved = |number: &Linear| steps.moved(number, value);
        let base = moved(&access.position) + inner.start as i64 * strides.step;
        for (number, run) in runs.runs.iter().enumerate() {
            let mut valid = 0..run.count;
            let conditions = access.conditions.len();
            let numbers = &runs.numbers[number * conditions..][..conditions];
            for (condition, at) in access.conditions.iter().zip(numbers) {
                let step = along(runs.axis, &condition.number);
                narrow(&mut valid, at + moved(&condition.number), step, condition.lower, condition.upper);
            }
            for piece in pieces(run, width) {
                let start = (run.first + piece.start) / width * width;
                let own = panels.width_at(start, runs.elements);
                let panel = &mut packed[start * count..][..own * count];
                let lane = run.first + piece.start - start;
                let found = valid.start.clamp(piece.start, piece.end)..valid.end.clamp(piece.start, piece.end);
                let out = &mut panel[first_step * own..][..inner.len() * own];
                if found != piece {
                    for out in out.chunks_exact_mut(own) {
                        out[lane..][..piece.len()].fill(fill);
                    }
                }
                if !found.is_empty() {
                    let position = run.position + base + found.start as i64 * strides.lane;
                    let into = Into { own, lane: lane + found.start - piece.start, lanes: found.len() };
                    copy(access, memory, position, strides, inner.len(), into, out);
                }
            }
        }
    });
}

/// The parts of a run that lie in one panel each.
fn pieces(run: &Run, width: usize) -> impl Iterator<Item = Numbers<usize>> {
    let (first, count) = (run.first, run.count);
    let mut start = 0;
    std::iter::from_fn(move || {
        let end = count.min(start + width - (first + start) % width);
        let piece = (start < count).then_some(start..end);
        start = end;
        piece
    })
}

/// Leaves of some lanes those where `first + lane · step` is in an interval.
fn narrow(lanes: &mut Numbers<usize>, first: i64, step: i64, lower: i64, upper: i64) {
    let ceil = |value: i64, by: i64| value.div_euclid(by) + i64::from(value.rem_euclid(by) != 0);
    let (from, to) = match step {
        0 if (lower..upper).contains(&first) => return,
        0 => (0, 0),
        1 => (lower - first, upper - first),
        step if step > 0 => (ceil(lower - first, step), ceil(upper - first, step)),
        step => ((first - upper).div_euclid(-step) + 1, (first - lower).div_euclid(-step) + 1),
    };
    let inside = |lane: i64| lane.clamp(0, lanes.end as i64) as usize;
    let (from, to) = (inside(from).max(lanes.start), inside(to));
    *lanes = if from < to { from..to } else { 0..0 };
}

#[derive(Clone, Copy)]
struct Strides {
    lane: i64,
    step: i64,
}

/// Where a piece lies in its panel.
#[derive(Clone, Copy)]
struct Into {
    /// Elements of a step of the panel.
    own: usize,
    /// The first element.
    lane: usize,
    lanes: usize,
}

/// Copies `lanes` elements of `steps` steps.
fn copy<T: Packed>(
    access: &Access,
    memory: &Memory,
    position: i64,
    strides: Strides,
    steps: usize,
    into: Into,
    out: &mut [T],
) {
    let reach = |stride: i64, count: usize| usize::try_from(stride).ok()?.checked_mul(count - 1);
    let reach = reach(strides.lane, into.lanes).zip(reach(strides.step, steps));
    let found =
        reach.and_then(|(lanes, steps)| T::found(access, position, lanes.checked_add(steps)?.checked_add(1)?, memory));
    let Some(source) = found else { return copy_slowly(access, memory, position, strides, steps, into, out) };
    let (lane_stride, step_stride) = (strides.lane as usize, strides.step as usize);
    let Into { own, lane, lanes } = into;
    match (lanes, lane_stride) {
        (16, 1) => copy_rows::<T, 16>(source, step_stride, own, lane, out),
        (32, 1) => copy_rows::<T, 32>(source, step_stride, own, lane, out),
        (8, 1) => copy_rows::<T, 8>(source, step_stride, own, lane, out),
        (12, 1) => copy_rows::<T, 12>(source, step_stride, own, lane, out),
        (6, 1) => copy_rows::<T, 6>(source, step_stride, own, lane, out),
        (4, 1) => copy_rows::<T, 4>(source, step_stride, own, lane, out),
        (1, _) if (own, step_stride) == (1, 1) => out.copy_from_slice(&source[..out.len()]),
        (1, _) => {
            for (step, out) in out.chunks_exact_mut(own).enumerate() {
                out[lane] = source[step * step_stride];
            }
        }
        (_, 1) => {
            for (step, out) in out.chunks_exact_mut(own).enumerate() {
                copy_short(&source[step * step_stride..][..lanes], &mut out[lane..][..lanes]);
            }
        }
        _ if step_stride == 1 => {
            let mut at = 0;
            while at < lanes {
                let source = &source[at * lane_stride..];
                at += match lanes - at {
                    4.. => transpose::<T, 4>(source, lane_stride, own, lane + at, out),
                    _ => transpose::<T, 1>(source, lane_stride, own, lane + at, out),
                };
            }
        }
        _ => {
            for (step, out) in out.chunks_exact_mut(own).enumerate() {
                let source = &source[step * step_stride..];
                for (at, out) in out[lane..][..lanes].iter_mut().enumerate() {
                    *out = source[at * lane_stride];
                }
            }
        }
    }
}

/// Copies a slice in two pieces of one length, which may overlap: what has a known length is not copied by a call.
fn copy_short<T: Packed>(source: &[T], out: &mut [T]) {
    fn ends<T: Copy, const LENGTH: usize>(source: &[T], out: &mut [T]) {
        let (first, last) = (source.first_chunk::<LENGTH>(), source.last_chunk::<LENGTH>());
        let (Some(first), Some(last)) = (first, last) else { return };
        out[..LENGTH].copy_from_slice(first);
        let end = out.len() - LENGTH;
        out[end..].copy_from_slice(last);
    }
    match source.len() {
        0 => {}
        1 => ends::<T, 1>(source, out),
        2..4 => ends::<T, 2>(source, out),
        4..8 => ends::<T, 4>(source, out),
        8..16 => ends::<T, 8>(source, out),
        16..=32 => ends::<T, 16>(source, out),
        _ => out.copy_from_slice(source),
    }
}

/// The same for so many neighbouring elements.
fn copy_rows<T: Packed, const LENGTH: usize>(source: &[T], stride: usize, own: usize, lane: usize, out: &mut [T]) {
    for (step, out) in out.chunks_exact_mut(own).enumerate() {
        let row: &[T; LENGTH] = source[step * stride..][..LENGTH].try_into().expect("as long as asked for");
        out[lane..][..LENGTH].copy_from_slice(row);
    }
}

/// Copies `LANES` elements of all steps, whose steps lie side by side; returns their number.
fn transpose<T: Packed, const LANES: usize>(
    source: &[T],
    stride: usize,
    own: usize,
    lane: usize,
    out: &mut [T],
) -> usize {
    let steps = out.len() / own;
    let rows: [&[T]; LANES] = std::array::from_fn(|at| &source[at * stride..][..steps]);
    for (step, out) in out.chunks_exact_mut(own).enumerate() {
        let out = &mut out[lane..][..LANES];
        for at in 0..LANES {
            out[at] = rows[at][step];
        }
    }
    LANES
}

/// The same for elements of other types, in descending order, or outside of memory.
fn copy_slowly<T: Packed>(
    access: &Access,
    memory: &Memory,
    position: i64,
    strides: Strides,
    steps: usize,
    into: Into,
    out: &mut [T],
) {
    let Into { own, lane, lanes } = into;
    let load = |position: i64, stride: i64, out: &mut [T]| T::load(access, position, stride, memory, out);
    if lanes >= steps || strides.lane == 1 {
        for step in 0..steps {
            load(position + step as i64 * strides.step, strides.lane, &mut out[step * own + lane..][..lanes]);
        }
        return;
    }
    let mut values = [T::default(); LANES];
    for at in 0..lanes {
        for first in (0..steps).step_by(LANES) {
            let values = &mut values[..(steps - first).min(LANES)];
            load(position + at as i64 * strides.lane + first as i64 * strides.step, strides.step, values);
            for (step, value) in values.iter().enumerate() {
                out[(first + step) * own + lane + at] = *value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_narrowed_to_an_interval() {
        let check = |first: i64, step: i64, (lower, upper): (i64, i64)| {
            let mut lanes = 0..10;
            narrow(&mut lanes, first, step, lower, upper);
            let holds = |lane: &usize| (lower..upper).contains(&(first + *lane as i64 * step));
            let expected: Vec<usize> = (0..10).filter(holds).collect();
            assert_eq!(lanes.collect::<Vec<_>>(), expected, "{first} + {step} x in {lower}..{upper}");
        };
        for first in -12..12 {
            for step in -3..=3 {
                [(0, 5), (-2, 3), (4, 4), (-9, 90)].into_iter().for_each(|bounds| check(first, step, bounds));
            }
        }
    }

    #[test]
    fn slices_of_any_length_are_copied() {
        for length in 0..40usize {
            let source: Vec<u8> = (1..=length as u8).collect();
            let mut out = vec![0; length];
            copy_short(&source, &mut out);
            assert_eq!(out, source);
        }
    }

    #[test]
    fn pieces_end_where_panels_do() {
        let run = Run { first: 13, count: 21, position: 0 };
        assert_eq!(pieces(&run, 16).collect::<Vec<_>>(), [0..3, 3..19, 19..21]);
    }
}
