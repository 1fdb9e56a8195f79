//! The sums of a tile: panels of rows with columns where they are, block after block.

use std::ops::Range as Numbers;

use super::blocked::{Blocked, Factors, Kept, Scratch, Tile};
use super::columns::{Columns, LINE, Packed, Placed};
use super::kernel::{Kernels, PanelProduct};
use super::pack::pack;
use super::placement::Placement;
use super::planes::{Layout, Planes};
use super::runs::Run;
use super::side::Place;
use crate::host::memory::{HostSpace, Singles};

/// Most singles of panels that are kept for the next rTask: from a cache that cores share they come sooner than they are packed.
const MOST_KEPT: usize = 256 << 10;

impl Blocked {
    /// Sets the sums of the tile, whose first point there is; returns the elements from one row of them to the next. `None` if factors
    /// are integers that are too large for pairs.
    pub(super) fn multiply(&self, tile: Tile<'_>, scratch: &mut Scratch) -> Option<usize> {
        let [rows, columns] = [self.rows.count(tile.ranges), self.columns.count(tile.ranges)];
        let stride = match &self.placement {
            Placement::Planes(planes, _) => planes.layout(tile.ranges, self.kernels.half()).stride(),
            Placement::Packed | Placement::InPlace { .. } => self.columns.panels.singles(columns),
        };
        scratch.sums.resize(scratch.sums.len().max(rows * stride), 0.0);
        if self.steps.count() == 0 {
            scratch.sums[..rows * stride].fill(0.0);
        }
        let size = Size { rows, columns, stride };
        if self.factors == Factors::Integers {
            return self.multiply_integers(size, tile, scratch).then_some(stride);
        }
        match &self.placement {
            Placement::Packed => self.multiply_packed(size, tile, scratch),
            Placement::InPlace { offsets, reach } => self.multiply_in_place(size, (offsets, *reach), tile, scratch),
            Placement::Planes(planes, offsets) => self.multiply_planes(size, (planes, offsets), tile, scratch),
        }
        Some(stride)
    }

    fn multiply_packed(&self, size: Size, of_tile: Tile<'_>, scratch: &mut Scratch) {
        let Tile { ranges: tile, memory, panels } = of_tile;
        let keeps = self.keep_rows(size.rows, of_tile, scratch);
        let Scratch { point, runs, rows, columns, sums, .. } = scratch;
        let [mut row_panels, mut column_panels] = panels.of_tile(tile);
        let mut unkept = Vec::new();
        let rows = if keeps {
            row_panels = Some(rows);
            &mut unkept
        } else {
            rows
        };
        let mut place = Place { point, runs, tile, memory };
        for block in self.blocks() {
            let steps = (&self.steps, &block);
            let row_panels = self.rows.next_block(&mut row_panels, steps, size.rows, &mut place, rows);
            let packed = self.columns.next_block(&mut column_panels, steps, size.columns, &mut place, columns);
            let mut product = Product::new(self.kernels, (row_panels, &block), size, sums);
            product.with_panels(packed, 0);
        }
    }

    /// Packs all blocks of rows that are no constants and that tiles of other columns multiply, too, unless the rTask before has;
    /// whether that is so.
    fn keep_rows(&self, elements: usize, of_tile: Tile<'_>, scratch: &mut Scratch) -> bool {
        let Tile { ranges: tile, memory, .. } = of_tile;
        let Scratch { point, runs, rows, kept, .. } = scratch;
        let singles = self.rows.panels.singles(elements) * self.steps.count();
        let Some(is_kept) = self.are_rows_kept(singles, of_tile, kept) else { return false };
        if !is_kept {
            rows.resize(rows.len().max(singles), 0.0);
            runs.find(&self.rows.access, &self.rows.axes, tile, point);
            for block in self.blocks() {
                let (first, last) =
                    (block.start * singles / self.steps.count(), block.end * singles / self.steps.count());
                let (steps, panels) = ((&self.steps, block), self.rows.panels);
                pack(&self.rows.access, runs, steps, panels, memory, &mut rows[first..last]);
            }
        }
        true
    }

    /// Whether rows in panels of so many singles are those of the rTask before; `None` if they are not kept for the next.
    pub(super) fn are_rows_kept(
        &self,
        singles: usize,
        Tile { ranges: tile, memory, panels }: Tile<'_>,
        kept: &mut Kept,
    ) -> Option<bool> {
        let is_staged = matches!(self.rows.access.space, HostSpace::Staged(_));
        if panels.rows.is_some() || !self.shares_rows || is_staged || singles > MOST_KEPT || singles == 0 {
            kept.forget();
            return None;
        }
        let ranges = self.rows.axes.iter().chain(&self.batch).map(|&axis| tile[axis]);
        Some(kept.replace(memory.run, memory.bases.as_ptr().addr(), ranges))
    }

    /// With whole panels where they lie, if the columns lie side by side; others are packed.
    fn multiply_in_place(
        &self,
        size: Size,
        (offsets, reach): (&[usize], usize),
        of_tile: Tile<'_>,
        scratch: &mut Scratch,
    ) {
        let Tile { ranges: tile, memory, panels } = of_tile;
        let (side, width) = (&self.columns, self.kernels.columns);
        scratch.runs.find(&side.access, &side.axes, tile, &mut scratch.point);
        let has_half = size.columns % width == self.kernels.half();
        let whole = if has_half { size.columns } else { size.columns / width * width };
        let found = scratch.runs.only().filter(|_| whole > 0).and_then(|run| {
            let byte = side.access.byte(run.position, memory);
            let singles = memory.singles_apart(side.access.space, byte, reach.checked_add(whole)?)?;
            Some((run, singles))
        });
        let Some((run, singles)) = found else { return self.multiply_packed(size, of_tile, scratch) };
        let Scratch { point, runs, rest, rows, columns, sums, kept, .. } = scratch;
        kept.forget();
        let [mut row_panels, _] = panels.of_tile(tile);
        let (count, position) = (run.count - whole, run.position + whole as i64);
        rest.set(runs.axis, Run { first: 0, count, position });
        let mut place = Place { point, runs, tile, memory };
        for block in self.blocks() {
            let steps = (&self.steps, &block);
            let row_panels = self.rows.next_block(&mut row_panels, steps, size.rows, &mut place, rows);
            let mut product = Product::new(self.kernels, (row_panels, &block), size, sums);
            let placed = Placed { singles, first: 0, offsets: &offsets[block.clone()], panels: whole / width };
            product.with_placed(placed, 0);
            if has_half {
                let first = placed.panels * width;
                product.with(Columns::Half(Placed { first, panels: 1, ..placed }), first);
            }
            if rest.elements > 0 {
                let singles = side.panels.singles(rest.elements) * block.len();
                columns.resize(columns.len().max(singles), 0.0);
                pack(&side.access, rest, (&self.steps, block), side.panels, memory, &mut columns[..singles]);
                product.with_panels(&columns[..singles], whole);
            }
        }
    }

    fn multiply_planes(
        &self,
        size: Size,
        (planes, offsets): (&Planes, &[usize]),
        Tile { ranges: tile, memory, panels }: Tile<'_>,
        scratch: &mut Scratch,
    ) {
        let Scratch { point, runs, rows, columns, sums, kept, .. } = scratch;
        kept.forget();
        let layout = planes.layout(tile, self.kernels.half());
        // The last panel may reach beyond the last plane.
        let length = planes.channel() * offsets.len() / planes.steps() + self.kernels.columns;
        columns.resize(columns.len().max(length), 0.0);
        let [mut row_panels, _] = panels.of_tile(tile);
        for block in self.blocks() {
            let channels = block.start / planes.steps()..block.end / planes.steps();
            planes.copy(channels, tile, point, memory, columns);
            let mut place = Place { point, runs, tile, memory };
            let steps = (&self.steps, &block);
            let row_panels = self.rows.next_block(&mut row_panels, steps, size.rows, &mut place, rows);
            let (singles, offsets) = (Singles::of(columns), &offsets[..block.len()]);
            let mut product = Product::new(self.kernels, (row_panels, &block), size, sums);
            for run in 0..layout.runs {
                product.with_run(Placed { singles, first: run * planes.pitch, offsets, panels: 0 }, run, &layout);
            }
        }
        layout.close_up(&mut sums[..size.rows * size.stride]);
    }
}

/// The size of a tile's sums.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Elements from one row to the next.
    pub(super) stride: usize,
}

/// The product of the rows of a block with columns.
pub(super) struct Product<'p> {
    kernels: &'p Kernels,
    row_panels: &'p [f32],
    rows: usize,
    steps: usize,
    sums: &'p mut [f32],
    stride: usize,
    begins: bool,
}

impl<'p> Product<'p> {
    pub(super) fn new(
        kernels: &'p Kernels,
        (row_panels, block): (&'p [f32], &Numbers<usize>),
        Size { rows, stride, .. }: Size,
        sums: &'p mut [f32],
    ) -> Self {
        let begins = block.start == 0;
        Self { kernels, row_panels, rows, steps: block.len(), sums: &mut sums[..rows * stride], stride, begins }
    }

    /// Whether each panel of columns is multiplied more than once. From the second time on it is read from L1 or L2, which leaves
    /// time to prefetch the next panel.
    fn has_passes(&self) -> bool {
        self.rows > self.kernels.rows
    }

    /// Whether all panels of columns are multiplied at once.
    fn is_flat(&self) -> bool {
        self.rows <= 2
    }

    /// Multiplies with packed panels, which give the sums of columns from `first` on.
    pub(super) fn with_panels(&mut self, panels: &[f32], first: usize) {
        let (width, steps) = (self.kernels.columns, self.steps);
        let together = if self.is_flat() { panels.len() } else { width * steps };
        for (number, own) in panels.chunks_exact(together.max(1)).enumerate() {
            let later = &panels[(number + 1) * together..];
            let later = if self.has_passes() { &later[..later.len().min(together)] } else { &[] };
            self.with(Columns::Packed(Packed { panels: own, later }), first + number * width);
        }
    }

    /// Multiplies with panels where they lie.
    fn with_placed(&mut self, placed: Placed<'_>, first: usize) {
        if self.is_flat() {
            return self.with(Columns::Placed(placed), first);
        }
        for panel in 0..placed.panels {
            let moved = panel * self.kernels.columns;
            let placed = Placed { first: placed.first + moved, panels: 1, ..placed };
            self.with(Columns::Placed(placed), first + moved);
        }
    }

    /// Multiplies with a run of columns in planes.
    fn with_run(&mut self, placed: Placed<'_>, run: usize, layout: &Layout) {
        let (width, first) = (self.kernels.columns, run * layout.run_stride);
        let panels = layout.run_stride / width;
        self.with_placed(Placed { panels, ..placed }, first);
        if layout.run_stride > panels * width {
            let (moved, panels) = (panels * width, 1);
            self.with(Columns::Half(Placed { first: placed.first + moved, panels, ..placed }), first + moved);
        }
    }

    /// Multiplies all rows with columns, which give the sums of columns from `first` on.
    fn with(&mut self, mut columns: Columns<'_>, first: usize) {
        let Self { kernels, row_panels, rows, steps, stride, begins, .. } = *self;
        for row in (0..rows).step_by(kernels.rows) {
            let count = kernels.rows.min(rows - row);
            kernels.multiply(&mut PanelProduct {
                rows: count,
                row_panel: &row_panels[row * steps..][..count * steps],
                columns,
                steps,
                sums: &mut self.sums[row * stride + first..],
                stride,
                begins,
            });
            if let Columns::Packed(Packed { later, .. }) = &mut columns {
                *later = &later[later.len().min(steps * LINE)..];
            }
        }
    }
}
