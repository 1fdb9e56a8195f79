//! The factors of taps.

use warpweave_graph::ElementType;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, ReadId};

use super::super::frame::Frame;
use super::super::load::load_singles;
use super::super::place::{Here, Indirect, LaneAxes, Line, Place};
use super::super::stage::{Source, StageReads};
use super::stack::Stack;
use crate::host::memory::{Base, HostSpace, Memory};

/// A factor a tap, the same for all windows of a plane.
#[derive(Clone, Debug)]
pub(super) struct Factors {
    space: HostSpace,
    element: ElementType,
    base: Base,
    line: Line,
    /// Elements from the first tap's to each.
    places: Vec<i64>,
    are_dense: bool,
}

impl Factors {
    /// Those of taps at these points; `None` if windows along these axes have different ones.
    pub(super) fn new(reads: &StageReads, read: ReadId, windows: LaneAxes, points: &[Vec<i64>]) -> Option<Self> {
        let Source::Memory { space, element, base, index } = &reads.sources[read] else { return None };
        let place = Place::new(index, windows, &|_| false);
        let is_uniform = place.is_uniform();
        let Place::Line(line) = place else { return None };
        if !is_uniform || !index.is_affine() || !reads.expr.reads[read].guard.is_always() {
            return None;
        }
        let at = |point: &Vec<i64>| -> i64 {
            (0..point.len()).map(|axis| point[axis] * index.coefficient(AxisId::from_index(axis))).sum()
        };
        let places: Vec<i64> = points.iter().map(at).collect();
        let are_dense = places.iter().enumerate().all(|(number, place)| *place == number as i64);
        Some(Self { space: *space, element: *element, base: *base, line, places, are_dense })
    }

    /// The factors of planes from a point on, and from those of one plane to those of the next: where they lie, or copied.
    pub(super) fn of_planes<'f>(
        &self,
        planes: &Stack,
        point: &mut [i64],
        memory: &'f Memory,
        frame: &Frame,
        buffer: &'f mut [f32],
    ) -> (&'f [f32], usize) {
        let (taps, along) = (self.places.len(), planes.axis.map_or(0, |axis| self.line.step(axis)));
        if self.are_dense
            && self.element == ElementType::F32
            && let Ok(stride) = usize::try_from(along)
            && let Some(found) =
                memory.singles(self.space, self.start(point, memory, frame), (planes.count - 1) * stride + taps)
        {
            return (found, stride);
        }
        for (number, out) in buffer.chunks_exact_mut(taps).enumerate().take(planes.count) {
            planes.enter(number, point);
            self.copy(self.start(point, memory, frame), memory, frame, out);
        }
        planes.enter(0, point);
        (buffer, taps)
    }

    fn start(&self, point: &[i64], memory: &Memory, frame: &Frame) -> i64 {
        let indirect = Indirect::new();
        let first = self.line.first(&Here { point, lanes: LaneAxes::default(), indirect: &indirect, frame });
        memory.base(self.base) + first * self.element.bytes() as i64
    }

    fn copy(&self, start: i64, memory: &Memory, frame: &Frame, out: &mut [f32]) {
        let (processor, size) = (frame.processor(), self.element.bytes() as i64);
        if self.are_dense {
            return load_singles(processor, memory, self.space, self.element, start, size, out);
        }
        for (out, place) in out.iter_mut().zip(&self.places) {
            let out = std::slice::from_mut(out);
            load_singles(processor, memory, self.space, self.element, start + place * size, 0, out);
        }
    }
}
