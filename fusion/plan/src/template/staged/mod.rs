//! Fusion through shared memory: which box of each intermediate value a tile keeps on chip.
//!
//! A staged value is computed tile by tile by the kernel that reads it. The box that a tile needs follows from the
//! reads of the later stages. Along every dimension it starts at an affine function of the tile's coordinates in the
//! grid and has the same extent in every tile. A dimension whose reads are not of that form is kept whole. Boxes may
//! reach beyond the value, where windows overlap its edge; what lies there is padding (see
//! [`crate::template::staged::padded`]) or not meant.

pub mod blocked;
pub mod matrices;
pub mod padded;
pub mod phase;
pub mod rules;
pub mod thread;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Atom, AxisId, Index, Range, Read, TensorExpr};

use crate::body::{GroupBody, Stage, StageSource};
use crate::template::staged::blocked::{WRITTEN_OUT, is_wide};
use crate::template::staged::padded::reaches;

/// One dimension of a box.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StagedSpan {
    /// Per tile axis, how far the first coordinate moves from one tile of the grid to the next.
    pub steps: Vec<i64>,
    /// The first coordinate in the grid's first tile; negative where a window reaches over the edge.
    pub first: i64,
    /// Coordinates, at least one.
    pub extent: usize,
    /// Elements that a box has room for along the dimension: those of its coordinates, and of padding that nothing means.
    pub pitch: usize,
    /// The extent of the value along the dimension.
    pub whole: usize,
}

/// The box of one staged value: a span a dimension.
pub type StagedBox = Vec<StagedSpan>;

/// Most bytes of staged values that a block keeps. An sm_80 block has 163 KiB of shared memory.
pub const STAGED_BYTES: usize = 128 << 10;

impl StagedSpan {
    /// A span without padding.
    pub fn new(steps: Vec<i64>, first: i64, extent: usize, whole: usize) -> Self {
        Self { steps, first, extent, pitch: extent, whole }
    }

    /// The first coordinate of the tile at these grid coordinates.
    pub fn first_of(&self, tile: &[i64]) -> i64 {
        self.first + self.steps.iter().zip(tile).map(|(step, at)| step * at).sum::<i64>()
    }

    /// The coordinates inside the value that the tile at these grid coordinates keeps.
    pub fn inside(&self, tile: &[i64]) -> Range {
        let first = self.first_of(tile);
        let last = self.whole as i64 - 1;
        Range { minimum: first.clamp(0, last), maximum: (first + self.extent as i64 - 1).clamp(0, last) }
    }

    /// Smallest and largest first coordinate over the grid.
    fn firsts(&self, grid: &[usize]) -> Range {
        let moved = |pick: fn(i64) -> i64| {
            let far = self.steps.iter().zip(grid).map(|(step, tiles)| pick(step * (*tiles as i64 - 1)));
            self.first + far.sum::<i64>()
        };
        Range { minimum: moved(|far| far.min(0)), maximum: moved(|far| far.max(0)) }
    }

    /// Whether every coordinate of every tile lies inside the value.
    pub fn stays_inside(&self, grid: &[usize]) -> bool {
        let firsts = self.firsts(grid);
        firsts.minimum >= 0 && firsts.maximum + self.extent as i64 <= self.whole as i64
    }

    /// Whether every tile has a coordinate inside the value.
    fn meets(&self, grid: &[usize]) -> bool {
        let firsts = self.firsts(grid);
        firsts.maximum < self.whole as i64 && firsts.minimum + self.extent as i64 > 0
    }
}

impl StagedSpan {
    /// Whether the box starts at a multiple of four in every tile.
    fn is_aligned(&self) -> bool {
        self.steps.iter().chain([&self.first]).all(|part| part % WRITTEN_OUT as i64 == 0)
    }
}

/// Elements from one coordinate of a box to the next along each dimension; 0 along those of one coordinate.
pub fn strides(spans: &[StagedSpan]) -> Vec<usize> {
    let stride = |at: usize| spans[at + 1..].iter().map(|span| span.pitch).product();
    (0..spans.len()).map(|at| if spans[at].extent == 1 { 0 } else { stride(at) }).collect()
}

/// Where a staged value is read, relative to where its box starts: dimensions in which the box has one coordinate do not
/// count.
pub fn slot(read: &Read, spans: &[StagedSpan]) -> Index {
    Index::linear(&read.index, &strides(spans), 0)
}

/// Whether four steps of the innermost reduced axis are four aligned neighbours in a staged value's box.
pub fn is_wide_in_box(expr: &TensorExpr, read: &Read, spans: &[StagedSpan]) -> bool {
    let aligned = |(span, stride): (&StagedSpan, usize)| span.is_aligned() || stride.is_multiple_of(WRITTEN_OUT);
    spans.iter().zip(strides(spans)).all(aligned) && is_wide(expr, read, &slot(read, spans))
}

/// The extents of a box.
pub fn extents(staged: &[StagedSpan]) -> Vec<usize> {
    staged.iter().map(|span| span.extent).collect()
}

/// Bytes of the box of a staged value, as the stage stores it.
pub fn box_bytes(stage: &Stage, spans: &[StagedSpan]) -> usize {
    stage.expr.numerics().storage_bytes(elements(spans))
}

/// Bytes of the boxes of a body's staged values.
pub fn bytes(body: &GroupBody, boxes: &[StagedBox]) -> usize {
    body.staged.iter().zip(boxes).map(|(stage, spans)| box_bytes(stage, spans)).sum()
}

/// Elements of a box, its padding included.
pub fn elements(spans: &[StagedSpan]) -> usize {
    spans.iter().map(|span| span.pitch).product()
}

/// The box of every staged stage of a body under a tile; `None` if some tile's box would lie outside its value.
pub(crate) fn boxes(body: &GroupBody, tile: &[usize]) -> Option<Vec<StagedBox>> {
    let extents = body.tile_extents();
    let grid: Vec<usize> = extents.iter().zip(tile).map(|(extent, tile)| extent.div_ceil(*tile)).collect();
    let mut boxes: Vec<StagedBox> = vec![Vec::new(); body.staged.len()];
    for position in (0..body.staged.len()).rev() {
        let mut lines: Option<Vec<Line>> = None;
        let reaches = reaches(body, position);
        for stage in &body.stages {
            merge_reads(&mut lines, stage, position, &reaches, &tile_lines(stage, (body.tile_rank, tile), &grid));
        }
        for (later, stage) in body.staged.iter().enumerate().skip(position + 1) {
            merge_reads(&mut lines, stage, position, &reaches, &staged_lines(stage, &boxes[later], &grid));
        }
        let wholes = wholes(&body.staged[position]);
        let lines = lines?.into_iter().zip(wholes).zip(reaches);
        let spans = lines.map(|((line, whole), reach)| line.span(whole, reach)).collect::<StagedBox>();
        if !spans.iter().all(|span| span.meets(&grid)) {
            return None;
        }
        boxes[position] = spans;
    }
    Some(boxes)
}

/// Per staged stage, the range of every axis of its expression that a tile with these boxes covers, at these grid coordinates.
pub fn box_ranges(body: &GroupBody, boxes: &[StagedBox], coordinates: &[i64]) -> Vec<Vec<Range>> {
    let ranges = |(stage, staged): (&Stage, &StagedBox)| {
        let mut ranges: Vec<Range> = stage.expr.axes.ids().map(|axis| stage.expr.range(axis)).collect();
        for (axis, span) in stage.expr.parallel().zip(staged) {
            ranges[axis.index()] = span.inside(coordinates);
        }
        ranges
    };
    body.staged.iter().zip(boxes).map(ranges).collect()
}

fn wholes(stage: &Stage) -> Vec<usize> {
    stage.expr.parallel().map(|axis| stage.expr.axes[axis].extent).collect()
}

/// The values that an index takes within a tile: `low … high` in the first tile, moved by `steps` from tile to tile.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Line {
    steps: Vec<i64>,
    low: i64,
    high: i64,
}

impl Line {
    fn fixed(low: i64, high: i64, rank: usize) -> Self {
        Self { steps: vec![0; rank], low, high }
    }

    fn is_fixed(&self) -> bool {
        self.steps.iter().all(|step| *step == 0)
    }

    fn add(&mut self, other: &Self, factor: i64) {
        for (own, step) in self.steps.iter_mut().zip(&other.steps) {
            *own += factor * step;
        }
        let ends = [factor * other.low, factor * other.high];
        self.low += ends[0].min(ends[1]);
        self.high += ends[0].max(ends[1]);
    }

    /// The span that covers the line, no larger than what is read of the value.
    fn span(self, whole: usize, reach: Range) -> StagedSpan {
        let extent = (self.high - self.low + 1) as usize;
        let all = (reach.maximum - reach.minimum + 1) as usize;
        if self.is_fixed() {
            let inside = |end: i64| end.clamp(reach.minimum, reach.maximum);
            let (low, high) = (inside(self.low), inside(self.high));
            return StagedSpan::new(self.steps, low, (high - low + 1) as usize, whole);
        }
        if extent >= all {
            return StagedSpan::new(vec![0; self.steps.len()], reach.minimum, all, whole);
        }
        StagedSpan::new(self.steps, self.low, extent, whole)
    }
}

/// The lines of a main stage's axes.
fn tile_lines(stage: &Stage, (tile_rank, tile): (usize, &[usize]), grid: &[usize]) -> Vec<Line> {
    let line = |axis: AxisId| {
        let extent = stage.expr.axes[axis].extent as i64;
        let mut line = Line::fixed(0, extent - 1, grid.len());
        if axis.index() < tile_rank && grid[axis.index()] > 1 {
            let tile = tile[axis.index()] as i64;
            line.steps[axis.index()] = tile;
            line.high = tile - 1;
        }
        line
    };
    stage.expr.axes.ids().map(line).collect()
}

/// The lines of a staged stage's axes, whose box is known.
fn staged_lines(stage: &Stage, staged: &[StagedSpan], grid: &[usize]) -> Vec<Line> {
    let whole = |axis: AxisId| Line::fixed(0, stage.expr.axes[axis].extent as i64 - 1, grid.len());
    let mut lines: Vec<Line> = stage.expr.axes.ids().map(whole).collect();
    for (axis, span) in stage.expr.parallel().zip(staged) {
        let (low, high) = (span.first, span.first + span.extent as i64 - 1);
        lines[axis.index()] = Line { steps: span.steps.clone(), low, high };
    }
    lines
}

/// Widens `lines` by what a stage with these axes reads of the staged stage at `position`.
fn merge_reads(lines: &mut Option<Vec<Line>>, stage: &Stage, position: usize, reaches: &[Range], axes: &[Line]) {
    let rank = axes.first().map_or(0, |line| line.steps.len());
    for read in stage.expr.reads.values() {
        if stage.sources[read.operand] != StageSource::Staged(position) {
            continue;
        }
        let of = |(index, reach): (&Index, &Range)| line_of(index, axes, rank).unwrap_or_else(|| all(*reach, rank));
        let found: Vec<Line> = read.index.iter().zip(reaches).map(of).collect();
        *lines = Some(match lines.take() {
            None => found,
            Some(known) => {
                known.into_iter().zip(found).zip(reaches).map(|((a, b), reach)| union(a, b, *reach)).collect()
            }
        });
    }
}

fn all(reach: Range, rank: usize) -> Line {
    Line::fixed(reach.minimum, reach.maximum, rank)
}

fn union(known: Line, found: Line, reach: Range) -> Line {
    if known.steps != found.steps {
        return all(reach, known.steps.len());
    }
    Line { low: known.low.min(found.low), high: known.high.max(found.high), steps: known.steps }
}

/// The line of an index over these axes; `None` if it does not move evenly with the tiles.
fn line_of(index: &Index, axes: &[Line], rank: usize) -> Option<Line> {
    let mut sum = Line::fixed(index.offset(), index.offset(), rank);
    for (atom, coefficient) in index.terms() {
        sum.add(&atom_line(atom, axes, rank)?, *coefficient);
    }
    Some(sum)
}

fn atom_line(atom: &Atom, axes: &[Line], rank: usize) -> Option<Line> {
    match atom {
        Atom::Axis(axis) => Some(axes[axis.index()].clone()),
        Atom::FloorDiv(inner, divisor) => {
            let line = line_of(inner, axes, rank)?;
            let even = line.steps.iter().all(|step| step % divisor == 0);
            even.then(|| Line {
                steps: line.steps.iter().map(|step| step / divisor).collect(),
                low: line.low.div_euclid(*divisor),
                high: line.high.div_euclid(*divisor),
            })
        }
        Atom::Mod(inner, divisor) => {
            let line = line_of(inner, axes, rank)?;
            let even = line.steps.iter().all(|step| step % divisor == 0);
            let one_period = line.low.div_euclid(*divisor) == line.high.div_euclid(*divisor);
            Some(if even && one_period {
                Line::fixed(line.low.rem_euclid(*divisor), line.high.rem_euclid(*divisor), rank)
            } else {
                Line::fixed(0, divisor - 1, rank)
            })
        }
        Atom::Clamp(..) | Atom::Indirect(_) => None,
    }
}

/// Bytes to which an array of shared memory is aligned.
pub(crate) const ARRAY_ALIGNMENT: usize = 16;

/// Arrays beside boxes that a kernel has at most: of every row of attention its maximum, its total and the factor of its sums.
pub(crate) const STATES: usize = 3;

/// Bytes of shared memory for boxes of these bytes, with what lies beside them.
pub(crate) fn with_states(body: &GroupBody, boxes: Option<usize>) -> usize {
    boxes.map_or(STAGED_BYTES, |bytes| bytes + ARRAY_ALIGNMENT * (body.staged.len() + STATES))
}
