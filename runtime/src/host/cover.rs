//! What windows cover, copied to planes.
//!
//! There is a plane for each residue of coordinates by the steps of the windows, with a fill value beyond edges. So the elements that
//! neighbouring windows have at a tap lie side by side.

use std::ops::Range as Numbers;
use std::sync::OnceLock;

use super::memory::Singles;
use super::simd::{Places, Vector};
use super::vector::processor::{Processor, of_vectors};
use super::window_dimension::WindowDimension;

/// Most residues of rows or columns.
pub(in crate::host) const MOST_PHASES: usize = 8;

/// Fewer windows' planes are copied sooner than their places are found.
const FEWEST_PLANES: usize = 4;

/// Rows of planes that are set as a whole sooner than at their ends.
const SHORT_ROW: usize = 128;

/// Most elements of planes that are set as a whole.
const FEW_ELEMENTS: usize = 4096;

/// What some windows cover.
pub(in crate::host) struct Cover {
    /// Rows of a plane.
    pub(in crate::host) height: usize,
    /// Elements from one row of a plane to the next.
    pub(in crate::host) pitch: usize,
    pub(in crate::host) rows: Covered,
    pub(in crate::host) columns: Covered,
    /// Where elements are, as the lines that were copied first have them.
    places: OnceLock<KnownPlaces>,
}

/// Where elements of planes are, if they are few without a gap, by the distance of rows and the steps of lines.
struct KnownPlaces {
    row_stride: usize,
    steps: [usize; 2],
    places: Option<Places>,
}

/// What is covered along one dimension.
pub(in crate::host) struct Covered {
    /// The coordinates that are read, from the least tap of the first window on.
    pub(in crate::host) inside: Numbers<usize>,
    /// Which rows or columns of the planes of each residue they are.
    spans: [(usize, usize); MOST_PHASES],
    phases: usize,
}

impl Covered {
    pub(in crate::host) fn new(dimension: &WindowDimension, window: i64, windows: usize) -> Self {
        let (inside, phases) = (dimension.covered(window, windows), dimension.phases());
        let mut spans = [(0, 0); MOST_PHASES];
        for (phase, span) in spans[..phases].iter_mut().enumerate() {
            let found = dimension.columns(phase, &inside, windows + dimension.reach());
            *span = (found.start, found.end);
        }
        Self { inside, spans, phases }
    }

    /// Residues of which there are planes.
    pub(in crate::host) fn phases(&self) -> usize {
        self.phases
    }

    /// Where every second coordinate that is read goes, and where the others do: for each the residue, and its first row or column. `None`
    /// if there are not two residues, one of each second coordinate.
    fn halves(&self) -> Option<[(usize, Numbers<usize>); 2]> {
        let count = self.inside.len();
        let halves = [0, 1].map(|beyond| {
            let phase = (self.inside.start + beyond) % 2;
            (phase, self.spans[phase].0..self.spans[phase].1)
        });
        let are_all = halves[0].1.len() == count.div_ceil(2) && halves[1].1.len() == count / 2;
        (self.phases == 2 && are_all).then_some(halves)
    }

    /// Which rows or columns of the planes of each residue are read.
    pub(in crate::host) fn spans(&self) -> impl Iterator<Item = (usize, Numbers<usize>)> {
        self.spans[..self.phases].iter().enumerate().map(|(phase, &(from, to))| (phase, from..to))
    }
}

/// Singles whose columns lie side by side, from the first that is read on.
pub(in crate::host) struct Lines {
    /// From one window's planes, and from one row, to the next.
    pub(in crate::host) strides: [usize; 2],
    /// Coordinates from one row, and from one column, of windows to the next.
    pub(in crate::host) steps: [usize; 2],
    /// Planes of so many windows, one after another.
    pub(in crate::host) count: usize,
}

impl Cover {
    /// Planes of so many rows, so far apart.
    pub(in crate::host) fn new([height, pitch]: [usize; 2], rows: Covered, columns: Covered) -> Self {
        Self { height, pitch, rows, columns, places: OnceLock::new() }
    }

    /// Elements of all planes.
    pub(in crate::host) fn length(&self) -> usize {
        self.rows.phases * self.columns.phases * self.height * self.pitch
    }

    /// Where the plane of two residues begins.
    pub(in crate::host) fn plane(&self, row_phase: usize, column_phase: usize) -> usize {
        (row_phase * self.columns.phases + column_phase) * self.height * self.pitch
    }

    /// Whether nothing is read.
    pub(in crate::host) fn is_empty(&self) -> bool {
        self.rows.inside.is_empty() || self.columns.inside.is_empty()
    }

    /// The first element that is read, from that of the tap that is 0 along all axes of the first window on.
    pub(in crate::host) fn first(&self, [rows, columns]: [&WindowDimension; 2]) -> i64 {
        rows.place(self.rows.inside.start) + columns.place(self.columns.inside.start)
    }

    /// Elements from the first that is read to the last.
    pub(in crate::host) fn reach(&self, lines: &Lines) -> usize {
        let inside = self.rows.inside.len().saturating_sub(1) * lines.strides[1] + self.columns.inside.len();
        lines.count.saturating_sub(1) * lines.strides[0] + inside
    }

    /// Sets what is not read of the planes of so many windows.
    pub(in crate::host) fn fill(&self, processor: Processor, count: usize, value: f32, planes: &mut [f32]) {
        let planes = &mut planes[..count * self.length()];
        if self.is_whole() {
            return;
        }
        if self.pitch <= SHORT_ROW && self.length() <= FEW_ELEMENTS {
            return set(processor, value, planes);
        }
        for planes in planes.chunks_exact_mut(self.length()) {
            self.fill_edges(value, planes);
        }
    }

    /// Whether every element of the planes is read.
    fn is_whole(&self) -> bool {
        let all = |covered: &Covered, length: usize| covered.spans().all(|(_, span)| span == (0..length));
        all(&self.rows, self.height) && all(&self.columns, self.pitch)
    }

    fn fill_edges(&self, value: f32, planes: &mut [f32]) {
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

    /// Copies singles, of which there are as many as [`Self::reach`] says, and sets what is not read. What is written ends with a
    /// vector.
    pub(in crate::host) fn copy(
        &self,
        processor: Processor,
        singles: Singles<'_>,
        lines: &Lines,
        fill: f32,
        out: &mut [f32],
    ) {
        match self.places(lines) {
            Some(places) => gather(processor, self, singles, lines, places, fill, out),
            None => {
                self.fill(processor, lines.count, fill, out);
                copy_lines(processor, self, singles, lines, out);
            }
        }
    }

    /// Where all elements of planes are, if there are enough planes for it to pay; none of other lines than the first.
    fn places(&self, lines: &Lines) -> Option<&Places> {
        let Lines { strides: [_, row_stride], steps, count } = *lines;
        if count < FEWEST_PLANES {
            return None;
        }
        let known = self.places.get_or_init(|| KnownPlaces { row_stride, steps, places: lines.places(self) });
        known.places.as_ref().filter(|_| (known.row_stride, known.steps) == (row_stride, steps))
    }
}

impl Lines {
    /// Where all elements of planes are from the first that is read on, if each is a few without a gap.
    fn places(&self, cover: &Cover) -> Option<Places> {
        let (rows, columns, [row_step, column_step]) = (&cover.rows, &cover.columns, self.steps);
        let is_whole = self.strides[1] == columns.inside.len() && rows.phases() == row_step;
        if !is_whole || cover.length() > Places::MOST {
            return None;
        }
        let mut places = Places::none(cover.length());
        for (row_phase, row_span) in rows.spans() {
            for row in row_span {
                let first = (row_phase + row * row_step - rows.inside.start) * self.strides[1];
                for (column_phase, span) in columns.spans() {
                    let at = cover.plane(row_phase, column_phase) + row * cover.pitch;
                    for column in span {
                        let coordinate = column_phase + column * column_step - columns.inside.start;
                        places.set(at + column, first + coordinate);
                    }
                }
            }
        }
        Some(places)
    }
}

of_vectors! {
fn set<V>(processor, value: f32, out: &mut [f32]) {
    let (vectors, rest) = out.split_at_mut(out.len() / V::LANES * V::LANES);
    vectors.chunks_exact_mut(V::LANES).for_each(|out| V::splat(value).store(out));
    rest.fill(value);
}
}

of_vectors! {
fn gather<V>(processor, cover: &Cover, singles: Singles<'_>, lines: &Lines, places: &Places, fill: f32, out: &mut [f32]) {
    let own = cover.rows.inside.len() * lines.strides[1];
    for number in 0..lines.count {
        let source = singles.slice(number * lines.strides[0], own);
        V::gather(source, places, fill, &mut out[number * cover.length()..]);
    }
}
}

of_vectors! {
fn copy_lines<V>(processor, cover: &Cover, singles: Singles<'_>, lines: &Lines, out: &mut [f32]) {
    let (rows, columns, [row_step, column_step]) = (&cover.rows, &cover.columns, lines.steps);
    let pitch = cover.pitch;
    let halves = if column_step == 2 { columns.halves() } else { None };
    // Lines of a window's planes are in the nearest cache when those of the next residue are taken of them.
    for (number, planes) in out.chunks_exact_mut(cover.length()).enumerate().take(lines.count) {
        for row_phase in 0..rows.phases {
            let (from, to) = rows.spans[row_phase];
            if from == to {
                continue;
            }
            let row = (row_phase + from * row_step - rows.inside.start) * lines.strides[1];
            if let Some(halves) = &halves {
                let source = (number * lines.strides[0] + row, row_step * lines.strides[1]);
                split_lines::<V>(cover, (row_phase, from..to), halves, singles, source, planes);
                continue;
            }
            for column_phase in 0..columns.phases {
                let (start, end) = columns.spans[column_phase];
                let column = column_phase + start * column_step - columns.inside.start;
                let mut source = number * lines.strides[0] + row + column;
                let mut at = cover.plane(row_phase, column_phase) + from * pitch + start;
                for _ in from..to {
                    let out = &mut planes[at..][..end - start];
                    match column_step {
                        1 => V::copy(singles.slice(source, end - start), out),
                        _ if out.is_empty() => {}
                        _ => {
                            let reach = (end - start - 1) * column_step + 1;
                            V::copy_every(singles.slice(source, reach), column_step, out);
                        }
                    }
                    (source, at) = (source + row_step * lines.strides[1], at + pitch);
                }
            }
        }
    }
}
}

/// Copies lines from a place on, so far apart, whose columns go to two planes in turn.
#[inline(always)]
fn split_lines<V: Vector>(
    cover: &Cover,
    (row_phase, rows): (usize, Numbers<usize>),
    [first, second]: &[(usize, Numbers<usize>); 2],
    singles: Singles<'_>,
    (mut source, step): (usize, usize),
    planes: &mut [f32],
) {
    let (low, high) = planes.split_at_mut(cover.plane(row_phase, 1));
    let low = &mut low[cover.plane(row_phase, 0)..];
    let (firsts, seconds) = if first.0 == 0 { (low, high) } else { (high, low) };
    for row in rows {
        let at = row * cover.pitch;
        let values = singles.slice(source, first.1.len() + second.1.len());
        V::split(values, &mut firsts[at..][first.1.clone()], &mut seconds[at..][second.1.clone()]);
        source += step;
    }
}
