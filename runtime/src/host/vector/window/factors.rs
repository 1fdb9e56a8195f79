//! The factors of taps.

use warpweave_graph::ElementType;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, ReadId};

use super::super::frame::Frame;
use super::super::load::load_singles;
use super::super::place::{Here, Indirect, LaneAxes, Line, Place};
use super::super::stage::{Source, StageReads};
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

    /// The factors at a point: where they lie, or copied to a buffer.
    pub(super) fn at<'f>(&self, point: &[i64], memory: &'f Memory, frame: &Frame, buffer: &'f mut [f32]) -> &'f [f32] {
        let Self { space, element, base, line, places, are_dense } = self;
        let indirect = Indirect::new();
        let first = line.first(&Here { point, lanes: LaneAxes::default(), indirect: &indirect, frame });
        let (size, count) = (element.bytes() as i64, places.len());
        let start = memory.base(*base) + first * size;
        if *are_dense
            && *element == ElementType::F32
            && let Some(found) = memory.singles(*space, start, count)
        {
            return found;
        }
        let buffer = &mut buffer[..count];
        if *are_dense {
            load_singles(frame.processor(), memory, *space, *element, start, size, buffer);
        } else {
            for (out, place) in buffer.iter_mut().zip(places) {
                let out = std::slice::from_mut(out);
                load_singles(frame.processor(), memory, *space, *element, start + place * size, 0, out);
            }
        }
        buffer
    }
}
