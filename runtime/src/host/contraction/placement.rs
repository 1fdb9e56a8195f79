//! Where the columns of tiles are multiplied.

use warpweave_graph::ElementType;
use warpweave_graph::expr::Scalar;
use warpweave_plan::template::contraction::tile_load::plain_read;

use super::integers::quads::JOINED;
use super::kernel::Kernels;
use super::planes::Planes;
use super::runs::Steps;
use super::side::Side;
use super::windows::WindowSide;
use crate::host::memory::SINGLE_BYTES;
use crate::host::vector::{Shared, StageReads};

/// Most steps of a block: a panel of columns stays in the first-level cache while panels of rows pass.
const BLOCK_STEPS: usize = 320;

/// Bytes of a page of memory.
const PAGE: usize = 4096;

/// Pages whose addresses a processor remembers at once. A panel of columns in more of them is packed, if more panels of rows than
/// [`FEW_PASSES`] are multiplied with it.
const MOST_PAGES: usize = 64;
const FEW_PASSES: usize = 4;

/// The most steps whose offsets are kept.
const MOST_OFFSETS: usize = 1 << 16;

/// Where the columns of a tile are multiplied.
pub(super) enum Placement {
    /// In panels, which are packed.
    Packed,
    /// Where they lie in memory, at these offsets at every step, of which the greatest is `reach`.
    InPlace { offsets: Vec<usize>, reach: usize },
    /// In planes, at these offsets at the steps of a block.
    Planes(Box<Planes>, Vec<usize>),
}

/// A placement, and the steps that it goes with.
pub(super) struct Placed {
    pub(super) placement: Placement,
    pub(super) steps: Steps,
    /// Steps of a block.
    pub(super) block: usize,
}

impl Placed {
    /// Panels of integers, which are packed. Every block but the last has a multiple of so many steps as an element joins.
    pub(super) fn of_integers(steps: Steps) -> Self {
        let block = even(steps.count(), 2 * BLOCK_STEPS).next_multiple_of(JOINED);
        Self { placement: Placement::Packed, steps, block }
    }
}

/// The sides of an operator's tiles.
pub(super) struct Tiled<'t> {
    pub(super) stage: &'t StageReads,
    /// The tile axes.
    pub(super) shared: &'t [Shared],
    pub(super) rows: &'t Side,
    pub(super) columns: &'t Side,
    /// What the columns are read by.
    pub(super) column_factor: &'t Scalar,
}

impl Tiled<'_> {
    /// The placement that is cheapest; `steps` suit factors that are packed.
    pub(super) fn place(&self, steps: Steps, kernels: &Kernels) -> Placed {
        let rows = self.rows.axes.iter().map(|&axis| self.most(axis)).product();
        let planes = || self.planes().filter(|planes| planes.are_cheaper(rows, kernels));
        if self.columns.constant.is_none()
            && self.rows.constant.is_some()
            && let Some(planes) = planes()
        {
            let channels = even(planes.channels(), (BLOCK_STEPS / planes.steps()).max(1));
            let (steps, block) = (Steps::in_order(&planes.order(), &self.rows.access), channels * planes.steps());
            let offsets = planes.offsets(channels);
            return Placed { placement: Placement::Planes(Box::new(planes), offsets), steps, block };
        }
        let block = even(steps.count(), BLOCK_STEPS);
        let offsets = Some(()).filter(|_| self.columns.constant.is_none()).and_then(|_| self.offsets(&steps));
        let offsets = offsets.filter(|offsets| {
            rows.div_ceil(kernels.rows) <= FEW_PASSES || pages(&offsets[..block.min(offsets.len())]) <= MOST_PAGES
        });
        let placement = offsets.map_or(Placement::Packed, |offsets| {
            let reach = offsets.iter().copied().max().unwrap_or(0);
            Placement::InPlace { offsets, reach }
        });
        Placed { placement, steps, block }
    }

    /// Values of an axis that a tile has at most.
    fn most(&self, axis: usize) -> usize {
        self.shared[axis].most
    }

    fn planes(&self) -> Option<Planes> {
        let (expr, Side { axes, access, .. }) = (&self.stage.expr, self.columns);
        let read = &expr.reads[plain_read(expr, self.column_factor)?];
        let shape = &*expr.operands[read.operand].shape;
        let extents: Vec<usize> = expr.axes.values().map(|axis| axis.extent).collect();
        let axes: Vec<(usize, usize)> = axes.iter().map(|&axis| (axis, self.most(axis))).collect();
        WindowSide { read, shape, access, extents: &extents, rank: self.shared.len(), axes: &axes }.planes()
    }

    /// Where columns that lie side by side are at all steps, if they can be read there.
    fn offsets(&self, steps: &Steps) -> Option<Vec<usize>> {
        let Side { axes, access, .. } = self.columns;
        let last = axes.iter().rev().find(|&&axis| self.most(axis) > 1)?;
        let is_plain = access.element == ElementType::F32 && access.conditions.is_empty();
        if !is_plain || access.position.along(*last) != 1 || steps.count() > MOST_OFFSETS {
            return None;
        }
        let stride = steps.inner.map_or(0, |axis| access.position.along(axis));
        let mut offsets = Vec::with_capacity(steps.count());
        steps.for_each(0..steps.count(), usize::MAX, |value, inner, _| {
            let moved = steps.moved(&access.position, value);
            offsets.extend(inner.map(|step| usize::try_from(moved + step as i64 * stride).ok()));
        });
        offsets.into_iter().collect()
    }
}

/// Pages that the elements at some offsets lie in, at most.
fn pages(offsets: &[usize]) -> usize {
    let mut pages: Vec<usize> = offsets.iter().map(|offset| offset * SINGLE_BYTES / PAGE).collect();
    pages.sort_unstable();
    pages.dedup();
    pages.len()
}

/// The length of the parts that so much is cut into, as even as may be, of `most` each.
fn even(all: usize, most: usize) -> usize {
    all.div_ceil(all.div_ceil(most).max(1)).max(1)
}
