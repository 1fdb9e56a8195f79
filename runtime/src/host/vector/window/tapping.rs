//! Where the windows of a chunk lie in its planes.

use crate::host::cover::{Cover, Covered};
use crate::host::simd::MOST_LANES;
use crate::host::window_dimension::WindowDimension;

/// The most taps of a window.
pub(super) const MOST_TAPS: usize = 128;

/// Most elements of a plane that are reduced as one run, with what lies between rows of windows.
const MOST_JOINED: usize = 256;

/// A tap: its residues, and whole steps beyond them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tap {
    pub(super) plane: [usize; 2],
    pub(super) steps: [usize; 2],
}

/// Rows and columns of windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Windows {
    /// The coordinates of the first.
    pub(super) first: [i64; 2],
    pub(super) count: [usize; 2],
}

/// The planes of a chunk, and where its windows lie in them.
pub(super) struct Tapping {
    pub(super) cover: Cover,
    offsets: [usize; MOST_TAPS],
    pub(super) runs: Runs,
}

/// Windows whose values at a tap lie side by side.
pub(super) struct Runs {
    pub(super) count: usize,
    /// Windows of a run, or elements if all rows are one.
    pub(super) length: usize,
    /// Elements of a plane from one run to the next.
    pub(super) pitch: usize,
    /// Which elements of the only run are windows, if not all are.
    pub(super) windows: Option<[u32; MOST_JOINED / MOST_LANES]>,
}

impl Runs {
    /// As one run where that takes fewer vectors than a run a row.
    pub(super) fn new(rows: usize, columns: usize, pitch: usize) -> Self {
        let all = (rows - 1) * pitch + columns;
        if all > MOST_JOINED || all.div_ceil(MOST_LANES) >= rows * columns.div_ceil(MOST_LANES) {
            return Self { count: rows, length: columns, pitch, windows: None };
        }
        let mut windows = [0; MOST_JOINED / MOST_LANES];
        for row in 0..rows {
            let (mut from, end) = (row * pitch, row * pitch + columns);
            while from < end {
                let to = end.min((from / MOST_LANES + 1) * MOST_LANES);
                windows[from / MOST_LANES] |= ((1 << (to - from)) - 1) << (from % MOST_LANES);
                from = to;
            }
        }
        Self { count: 1, length: all, pitch, windows: Some(windows) }
    }
}

impl Tapping {
    pub(super) fn new(
        [row_dimension, column_dimension]: [&WindowDimension; 2],
        taps: &[Tap],
        Windows { first: [row, column], count: [rows, columns] }: Windows,
    ) -> Self {
        let size = [rows + row_dimension.reach(), columns + column_dimension.reach()];
        let covered_rows = Covered::new(row_dimension, row, rows);
        let cover = Cover::new(size, covered_rows, Covered::new(column_dimension, column, columns));
        let mut offsets = [0; MOST_TAPS];
        for (offset, tap) in offsets.iter_mut().zip(taps) {
            *offset = cover.plane(tap.plane[0], tap.plane[1]) + tap.steps[0] * cover.pitch + tap.steps[1];
        }
        let runs = Runs::new(rows, columns, cover.pitch);
        Self { cover, offsets, runs }
    }

    /// Where the first window's value is at so many taps.
    pub(super) fn offsets(&self, taps: usize) -> &[usize] {
        &self.offsets[..taps]
    }
}
