//! The sums of a tile of integers.

use std::ops::Range as Numbers;

use super::super::blocked::{Blocked, Scratch, Tile};
use super::super::multiply::{Product, Size};
use super::super::side::{Format, Place};
use super::quads::{Stored, take_zeros};

impl Blocked {
    /// With panels of several integers in an element; whether all fit.
    pub(in crate::host::contraction) fn multiply_integers(
        &self,
        size: Size,
        of_tile: Tile<'_>,
        scratch: &mut Scratch,
    ) -> bool {
        let Tile { ranges: tile, memory, panels } = of_tile;
        let Some(keeps) = self.keep_integer_rows(size.rows, of_tile, scratch) else { return false };
        let Scratch { point, runs, rows, columns, unjoined, row_sums, column_sums, sums, .. } = scratch;
        let [mut row_panels, mut column_panels] = panels.of_tile(tile);
        let mut unkept = Vec::new();
        let rows = if keeps {
            row_panels = Some(rows);
            &mut unkept
        } else {
            rows
        };
        let [row_zero, column_zero] = [&self.rows, &self.columns].map(|side| side.multiplied_zero(memory).unwrap_or(0));
        row_sums.clear();
        row_sums.resize(if column_zero == 0 { 0 } else { size.rows }, 0);
        column_sums.clear();
        column_sums.resize(if row_zero == 0 { 0 } else { size.columns }, 0);
        let mut place = Place { point, runs, tile, memory };
        for block in self.blocks() {
            let steps = (&self.steps, &block);
            let own = Some(&mut row_sums[..]).filter(|sums| !sums.is_empty());
            let found = self.rows.next_integers(&mut row_panels, steps, size.rows, &mut place, (unjoined, rows), own);
            let Some(row_panel) = found else { return false };
            let own = Some(&mut column_sums[..]).filter(|sums| !sums.is_empty());
            let found = self.columns.next_integers(
                &mut column_panels,
                steps,
                size.columns,
                &mut place,
                (unjoined, columns),
                own,
            );
            let Some(column_panel) = found else { return false };
            let joined = self.rows.format.steps();
            let block = block.start / joined..block.end.div_ceil(joined);
            Product::new(self.kernels, (row_panel, &block), size, sums).with_panels(column_panel, 0);
        }
        // Behind the panels of constants and of what is kept are its sums.
        let rows = Stored { zero: row_zero, sums: row_panels.map_or(row_sums, bytemuck::cast_slice) };
        let columns = Stored { zero: column_zero, sums: column_panels.map_or(column_sums, bytemuck::cast_slice) };
        take_zeros(&mut sums[..size.rows * size.stride], size.stride, rows, columns, self.steps.count());
        true
    }

    /// Packs all blocks of rows that are no constants and that tiles of other columns multiply, too, unless the rTask before has;
    /// whether that is so. `None` if an integer does not fit.
    fn keep_integer_rows(&self, elements: usize, of_tile: Tile<'_>, scratch: &mut Scratch) -> Option<bool> {
        let Tile { ranges: tile, memory, .. } = of_tile;
        let Scratch { point, runs, rows, unjoined, kept, .. } = scratch;
        let blocks = || self.blocks().map(|block: Numbers<usize>| self.rows.length(elements, block.len()));
        let panels: usize = blocks().sum();
        let Some(is_kept) = self.are_rows_kept(panels, of_tile, kept) else { return Some(false) };
        if is_kept {
            return Some(true);
        }
        let has_sums = matches!(self.rows.format, Format::Quad { .. });
        let length = panels + if has_sums { elements } else { 0 };
        rows.resize(rows.len().max(length), 0.0);
        let (mut rest, behind) = rows[..length].split_at_mut(panels);
        let sums: &mut [i32] = bytemuck::cast_slice_mut(behind);
        sums.fill(0);
        let mut place = Place { point, runs, tile, memory };
        for (block, own) in self.blocks().zip(blocks()) {
            let (out, after) = rest.split_at_mut(own);
            rest = after;
            let sums = Some(&mut *sums).filter(|_| has_sums);
            if !self.rows.pack_integers((&self.steps, &block), elements, &mut place, (unjoined, out), sums) {
                kept.forget();
                return None;
            }
        }
        Some(true)
    }
}
