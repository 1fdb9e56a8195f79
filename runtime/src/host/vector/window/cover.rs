//! What the windows of a chunk cover.

use std::ops::Range as Numbers;

use super::{MOST_PHASES, MOST_TAPS, Window};
use crate::host::simd::MOST_LANES;
use crate::host::window_dimension::WindowDimension;

/// Most elements of a plane that are reduced as one run, with what lies between rows of windows.
const MOST_JOINED: usize = 256;

/// The planes of a chunk, and where its windows lie in them.
pub(super) struct Cover {
    /// Rows of a plane.
    pub(super) height: usize,
    /// Elements from one row of a plane to the next.
    pub(super) pitch: usize,
    pub(super) rows: Covered,
    pub(super) columns: Covered,
    offsets: [usize; MOST_TAPS],
    pub(super) runs: Runs,
}

/// What is covered along one dimension.
pub(super) struct Covered {
    /// The coordinates that are read, from the least tap of the first window on.
    pub(super) inside: Numbers<usize>,
    /// Which rows or columns of the planes of each residue they are.
    spans: [(usize, usize); MOST_PHASES],
    phases: usize,
}

impl Covered {
    fn new(dimension: &WindowDimension, window: i64, windows: usize) -> Self {
        let (inside, phases) = (dimension.covered(window, windows), dimension.phases());
        let mut spans = [(0, 0); MOST_PHASES];
        for (phase, span) in spans[..phases].iter_mut().enumerate() {
            let found = dimension.columns(phase, &inside, windows + dimension.reach());
            *span = (found.start, found.end);
        }
        Self { inside, spans, phases }
    }

    /// Residues of which there are planes.
    pub(super) fn phases(&self) -> usize {
        self.phases
    }

    /// Which rows or columns of the planes of each residue are read.
    pub(super) fn spans(&self) -> impl Iterator<Item = (usize, Numbers<usize>)> {
        self.spans[..self.phases].iter().enumerate().map(|(phase, &(from, to))| (phase, from..to))
    }
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
    fn new(rows: usize, columns: usize, pitch: usize, joins: bool) -> Self {
        let all = (rows - 1) * pitch + columns;
        if !joins || all > MOST_JOINED || all.div_ceil(MOST_LANES) >= rows * columns.div_ceil(MOST_LANES) {
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

impl Cover {
    /// What so many rows and columns of windows cover from a point on.
    pub(super) fn new(window: &Window, point: &[i64], (rows, columns): (usize, usize), joins: bool) -> Self {
        let (row_dimension, column_dimension) = (&window.rows, &window.columns);
        let first = |dimension: &WindowDimension| dimension.axis.map_or(0, |axis| point[axis]);
        let (height, pitch) = (rows + row_dimension.reach(), columns + column_dimension.reach());
        let mut offsets = [0; MOST_TAPS];
        for (offset, tap) in offsets.iter_mut().zip(&window.taps) {
            let plane = tap.plane[0] * column_dimension.phases() + tap.plane[1];
            *offset = (plane * height + tap.steps[0]) * pitch + tap.steps[1];
        }
        Self {
            height,
            pitch,
            rows: Covered::new(row_dimension, first(row_dimension), rows),
            columns: Covered::new(column_dimension, first(column_dimension), columns),
            offsets,
            runs: Runs::new(rows, columns, pitch, joins),
        }
    }

    /// Where the first window's value is at so many taps.
    pub(super) fn offsets(&self, taps: usize) -> &[usize] {
        &self.offsets[..taps]
    }

    /// Elements of all planes.
    pub(super) fn length(&self) -> usize {
        self.rows.phases * self.columns.phases * self.height * self.pitch
    }

    /// Where the plane of two residues begins.
    pub(super) fn plane(&self, row_phase: usize, column_phase: usize) -> usize {
        (row_phase * self.columns.phases + column_phase) * self.height * self.pitch
    }

    /// Sets what is not read of planes, so many one after another.
    pub(super) fn fill(&self, count: usize, value: f32, planes: &mut [f32]) {
        if count > 1 {
            return planes[..count * self.length()].fill(value);
        }
        for (row_phase, rows) in self.rows.spans() {
            for (column_phase, columns) in self.columns.spans() {
                let plane = &mut planes[self.plane(row_phase, column_phase)..][..self.height * self.pitch];
                for (row, out) in plane.chunks_exact_mut(self.pitch).enumerate() {
                    if rows.contains(&row) {
                        out[..columns.start].fill(value);
                        out[columns.end..].fill(value);
                    } else {
                        out.fill(value);
                    }
                }
            }
        }
    }
}
