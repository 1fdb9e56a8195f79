//! Planes: what the windows of a tile's columns cover, copied once for all taps.
//!
//! The taps of a window read neighbouring coordinates, so most elements are read by many of them. What a tile covers of a channel is
//! copied to a plane for each residue of its coordinates by the steps of the windows, with the fill value beyond edges. There the
//! columns of a tile lie side by side at every tap, a row of them after another.

use std::ops::Range as Numbers;

use warpweave_graph::expr::Range;

use super::access::Access;
use super::kernel::Kernels;
use crate::host::cover::{Cover, Covered, Lines};
use crate::host::memory::Memory;
use crate::host::vector::processor::Processor;
use crate::host::window_dimension::WindowDimension;

/// The planes of a factor.
pub(super) struct Planes {
    pub(super) access: Access,
    /// The dimension of the rows of a plane; without an axis it has as many as taps reach.
    pub(super) rows: WindowDimension,
    /// That of the columns of a plane, which lie side by side in memory.
    pub(super) columns: WindowDimension,
    /// The reduced axes that are no taps, with their extents, the last fastest.
    pub(super) channels: Vec<(usize, usize)>,
    /// Where the first column is at each tap, from the start of a channel's planes on.
    pub(super) taps: Vec<usize>,
    /// Rows of a plane.
    pub(super) height: usize,
    /// Elements from one row of a plane to the next.
    pub(super) pitch: usize,
}

/// What copying an element takes, in the time of so many products.
const COPY: usize = 16;

/// What copying neighbouring elements takes beyond them.
const LINE: usize = 64;

/// Columns of a tile in planes, as [`Planes::layout`] says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// Rows of columns.
    pub(super) rows: usize,
    /// Columns of a row.
    pub(super) columns: usize,
    /// Runs that are multiplied, and columns of each.
    pub(super) runs: usize,
    pub(super) run: usize,
    /// Elements of sums from one run to the next.
    pub(super) run_stride: usize,
    /// Elements of sums from one row of columns to the next.
    pub(super) row_stride: usize,
}

impl Layout {
    /// Elements of all sums of a row of the product.
    pub(super) fn stride(&self) -> usize {
        self.runs * self.run_stride
    }

    /// Moves the columns of every row of sums to its start.
    pub(super) fn close_up(&self, sums: &mut [f32]) {
        if self.row_stride == self.columns {
            return;
        }
        for sums in sums.chunks_exact_mut(self.stride().max(1)) {
            for row in 1..self.rows {
                sums.copy_within(row * self.row_stride..row * self.row_stride + self.columns, row * self.columns);
            }
        }
    }
}

impl Planes {
    /// Elements of all planes of a channel.
    pub(super) fn channel(&self) -> usize {
        self.rows.phases() * self.columns.phases() * self.height * self.pitch
    }

    /// Steps of one channel.
    pub(super) fn steps(&self) -> usize {
        self.taps.len()
    }

    /// The number of channels.
    pub(super) fn channels(&self) -> usize {
        self.channels.iter().map(|(_, extent)| extent).product()
    }

    /// The reduced axes in the order of the steps.
    pub(super) fn order(&self) -> Vec<(usize, usize)> {
        let taps = self.rows.taps.iter().chain(&self.columns.taps).map(|tap| (tap.axis, tap.extent));
        self.channels.iter().copied().chain(taps).collect()
    }

    /// Whether the largest tile, of so many rows, is multiplied sooner so than with all taps packed in panels.
    pub(super) fn are_cheaper(&self, rows: usize, kernels: &Kernels) -> bool {
        let (height, width) = (self.height - self.rows.reach(), self.pitch - self.columns.reach());
        let padded = (height * width).next_multiple_of(kernels.columns);
        let packed = (height * LINE + height * width * COPY + padded * rows) * self.steps();
        let stride = self.layout_of(height, width, kernels.half()).stride();
        let lines = self.rows.phases() * self.columns.phases() * self.height;
        lines * LINE + self.channel() * COPY + stride * rows * self.steps() < packed
    }

    /// How the columns of a tile are multiplied by kernels of `half` columns and twice as many. They stand in a run a
    /// row, or all in one with what lies between rows, whichever has fewer columns.
    pub(super) fn layout(&self, tile: &[Range], half: usize) -> Layout {
        self.layout_of(self.rows.count(tile), self.columns.count(tile), half)
    }

    /// The layout of so many rows and columns.
    pub(super) fn layout_of(&self, rows: usize, columns: usize, half: usize) -> Layout {
        let (own, all) = (columns.next_multiple_of(half), rows.saturating_sub(1) * self.pitch + columns);
        let together = all.next_multiple_of(half);
        if rows * own <= together {
            return Layout { rows, columns, runs: rows, run: columns, run_stride: own, row_stride: own };
        }
        Layout { rows, columns, runs: 1, run: all, run_stride: together, row_stride: self.pitch }
    }

    /// Where the columns are at the steps of a block of channels, from the start of their planes on.
    pub(super) fn offsets(&self, channels: usize) -> Vec<usize> {
        (0..channels).flat_map(|channel| self.taps.iter().map(move |tap| channel * self.channel() + tap)).collect()
    }

    /// Copies what a tile covers of some channels; at `point` it begins, and reduced axes are 0. What is written ends with a vector.
    pub(super) fn copy(
        &self,
        channels: Numbers<usize>,
        tile: &[Range],
        point: &[i64],
        memory: &Memory,
        out: &mut [f32],
    ) {
        let Self { access, rows, columns, height, pitch, .. } = self;
        let covered = |dimension: &WindowDimension| {
            let first = dimension.axis.map_or(0, |axis| tile[axis].minimum);
            Covered::new(dimension, first, dimension.count(tile))
        };
        let cover = Cover::new([*height, *pitch], covered(rows), covered(columns));
        let start = access.position.at(point) + cover.first([rows, columns]);
        let steps = [rows.step as usize, columns.step as usize];
        let row = usize::try_from(rows.stride).expect("rows of windows lie forwards");
        // Planes of channels that lie evenly, and forwards, are copied together.
        let evenly = match self.channels[..] {
            [(axis, _)] if access.is_linear_along(axis) => usize::try_from(access.position.along(axis)).ok(),
            _ => None,
        };
        let (together, plane) = evenly.map_or((1, 0), |stride| (channels.len(), stride));
        for (number, first) in channels.step_by(together.max(1)).enumerate() {
            let out = &mut out[number * cover.length()..];
            let lines = Lines { strides: [plane, row], steps, count: together };
            let byte = access.byte(start + self.moved(first), memory);
            let is_read = !cover.is_empty();
            match is_read.then(|| memory.singles_apart(access.space, byte, cover.reach(&lines))).flatten() {
                Some(singles) => cover.copy(Processor::detect(), singles, &lines, access.fill, out),
                None => cover.fill(Processor::detect(), together, access.fill, out),
            }
        }
    }

    /// What a channel adds to positions.
    fn moved(&self, mut channel: usize) -> i64 {
        let mut moved = 0;
        for &(axis, extent) in self.channels.iter().rev() {
            moved += self.access.position.moved(axis, (channel % extent) as i64);
            channel /= extent;
        }
        moved
    }
}
