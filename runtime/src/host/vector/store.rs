//! Writes of registers to memory.

use warpweave_graph::numerics::{Class, FloatFormat};
use warpweave_graph::{ElementType, minifloat};

use super::arithmetic::halves;
use super::arithmetic::mathematics::bfloat_of_single;
use super::frame::{Frame, Kind, Slot};
use super::place::{Chunk, Here, Indirect, LaneAxes, Line};
use crate::host::memory::{Base, Memory, SharedArena, place};

/// Values that are encoded at once.
const BLOCK: usize = 64;

/// A write of elements; positions are in elements from the base on.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) element: ElementType,
    pub(crate) base: Base,
    pub(crate) position: Line,
}

/// Where bytes are written.
pub(crate) enum Target<'t> {
    /// The arena of the plan.
    Arena(&'t SharedArena),
    /// A box of staged values, which starts at a byte.
    Box { bytes: &'t mut [u8], first: i64 },
}

impl Target<'_> {
    /// Writes elements of so many bytes, `step` bytes apart from an offset on.
    fn write(&mut self, offset: i64, step: i64, size: usize, elements: &[u8]) {
        let (own, first) = match self {
            Self::Arena(arena) => return arena.write_apart(offset, step, size, elements),
            Self::Box { bytes, first } => (bytes, *first),
        };
        let together = if step == size as i64 { elements.len().max(1) } else { size };
        for (lane, elements) in elements.chunks_exact(together).enumerate() {
            let start = place(offset + lane as i64 * step - first);
            if let Some(to) = start.checked_add(together).and_then(|end| own.get_mut(start..end)) {
                to.copy_from_slice(elements);
            }
        }
    }
}

impl Store {
    /// Stores a chunk's values from a point on.
    pub(crate) fn run(
        &self,
        of: Slot,
        point: &[i64],
        lanes: LaneAxes,
        chunk: Chunk,
        (memory, frame): (&Memory, &Frame),
        target: &mut Target,
    ) {
        let indirect = Indirect::new();
        let (size, base) = (self.element.bytes() as i64, memory.base(self.base));
        let first = self.position.first(&Here { point, lanes, indirect: &indirect, frame });
        let (row_step, step) = (self.position.row * size, self.position.column * size);
        let is_one_run = self.position.row == chunk.columns as i64 * self.position.column;
        let (rows, columns) = if is_one_run { (1, chunk.lanes()) } else { (chunk.rows, chunk.columns) };
        for row in 0..rows {
            let start = base + first * size + row as i64 * row_step;
            self.run_row(of, row * chunk.columns, columns, start, step, frame, target);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a row of a register and where it goes")]
    fn run_row(&self, of: Slot, from: usize, count: usize, start: i64, step: i64, frame: &Frame, target: &mut Target) {
        let write = |target: &mut Target, bytes: &[u8], at: usize, size: usize| {
            target.write(start + at as i64 * step, step, size, bytes);
        };
        let element = self.element;
        match of.kind {
            Kind::Single => {
                let values = frame.values::<f32>(of);
                if element == ElementType::F32 && !of.is_uniform {
                    return write(target, bytemuck::cast_slice(&values[from..][..count]), 0, element.bytes());
                }
                blocks(values, of.is_uniform, from, count, |values, at| match element.class() {
                    Class::Float(FloatFormat::Half) => {
                        let mut codes = [[0; 2]; BLOCK];
                        let codes = &mut codes[..values.len()];
                        halves::encode(frame.processor(), values, codes);
                        write(target, codes.as_flattened(), at, 2);
                    }
                    Class::Float(FloatFormat::BFloat16) => {
                        write(
                            target,
                            encoded(values, |value| bfloat_of_single(value).to_le_bytes()).as_flattened(),
                            at,
                            2,
                        );
                    }
                    Class::Float(FloatFormat::Minifloat(_) | FloatFormat::PowerOfTwo) => {
                        let encode = |value: f32| [minifloat::encode(element, f64::from(value))];
                        write(target, encoded(values, encode).as_flattened(), at, 1);
                    }
                    _ => write(target, bytemuck::cast_slice(values), at, element.bytes()),
                });
            }
            Kind::Double => blocks(frame.values::<f64>(of), of.is_uniform, from, count, |values, at| {
                write(target, bytemuck::cast_slice(values), at, size_of::<f64>());
            }),
            Kind::Word => {
                blocks(frame.values::<i32>(of), of.is_uniform, from, count, |values, at| match element.bytes() {
                    1 => write(target, encoded(values, |value| [value as u8]).as_flattened(), at, 1),
                    2 => write(target, encoded(values, |value| (value as u16).to_le_bytes()).as_flattened(), at, 2),
                    _ => write(target, bytemuck::cast_slice(values), at, element.bytes()),
                })
            }
            Kind::Long => {
                blocks(frame.values::<i64>(of), of.is_uniform, from, count, |values, at| match element.bytes() {
                    4 => write(target, encoded(values, |value| (value as u32).to_le_bytes()).as_flattened(), at, 4),
                    _ => write(target, bytemuck::cast_slice(values), at, size_of::<i64>()),
                })
            }
        }
    }
}

/// Values of a register, or its only one again and again, a block at a time.
#[inline(always)]
fn blocks<T: Copy>(values: &[T], is_uniform: bool, from: usize, count: usize, mut body: impl FnMut(&[T], usize)) {
    let same = [values[0]; BLOCK];
    for at in (0..count).step_by(BLOCK) {
        let length = (count - at).min(BLOCK);
        let values = if is_uniform { &same[..length] } else { &values[from + at..][..length] };
        body(values, at);
    }
}

/// The bytes of values, as many as there are.
#[inline(always)]
fn encoded<T: Copy, const N: usize>(values: &[T], encode: impl Fn(T) -> [u8; N]) -> Encoded<N> {
    let mut bytes = [[0; N]; BLOCK];
    for (bytes, value) in bytes.iter_mut().zip(values) {
        *bytes = encode(*value);
    }
    Encoded { bytes, count: values.len() }
}

/// Encoded values.
struct Encoded<const N: usize> {
    bytes: [[u8; N]; BLOCK],
    count: usize,
}

impl<const N: usize> Encoded<N> {
    fn as_flattened(&self) -> &[u8] {
        self.bytes[..self.count].as_flattened()
    }
}
