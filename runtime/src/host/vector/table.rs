//! Indices that are found before a run.

use std::sync::Arc;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index};

use super::lanes::Extent;
use super::place::Chunk;

/// The most values of a table.
const MOST: usize = 1 << 14;

/// The values of an index at all points of the axes of lanes, upon which alone it depends.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    values: Arc<[i64]>,
    /// What each axis adds to the number of a value.
    factors: Vec<(usize, usize)>,
    /// The same of the axis of rows.
    row: usize,
}

impl Table {
    /// The table of an index on rows along one axis, if any, and columns along some, the last fastest. `None` if it
    /// depends on anything else or there are too many values.
    pub(crate) fn new(index: &Index, row: Option<Extent>, columns: &[Extent]) -> Option<Self> {
        let (mut axes, mut is_indirect) = (Vec::new(), false);
        index.visit(&mut |axis| axes.push(axis.index()), &mut |_| is_indirect = true);
        let row = row.filter(|(axis, _)| axes.contains(axis));
        let all: Vec<Extent> = row.iter().chain(columns).copied().collect();
        let is_known = axes.iter().all(|axis| all.iter().any(|(own, _)| own == axis));
        let count = all.iter().try_fold(1usize, |count, (_, extent)| count.checked_mul(*extent))?;
        if axes.is_empty() || is_indirect || !is_known || count > MOST {
            return None;
        }
        let mut factors = Vec::new();
        let mut factor = 1;
        for &(axis, extent) in all.iter().rev() {
            factors.push((axis, factor));
            factor *= extent;
        }
        let value = |number: usize| {
            let along = |axis: AxisId| {
                let found = all.iter().zip(factors.iter().rev()).find(|(own, _)| own.0 == axis.index());
                found.map_or(0, |(own, (_, factor))| (number / factor % own.1.max(1)) as i64)
            };
            index.evaluate(&along, &|_| 0)
        };
        let values = (0..count).map(value).collect();
        Some(Self { values, row: row.map_or(0, |row| row_factor(&factors, row)), factors })
    }

    /// Sets the values of a chunk from a point on.
    pub(crate) fn copy(&self, point: &[i64], chunk: Chunk, out: &mut [i64]) {
        let first: usize = self.factors.iter().map(|(axis, factor)| point[*axis] as usize * factor).sum();
        for (row, out) in out.chunks_exact_mut(chunk.columns).take(chunk.rows).enumerate() {
            out.copy_from_slice(&self.values[first + row * self.row..][..chunk.columns]);
        }
    }
}

fn row_factor(factors: &[(usize, usize)], row: Extent) -> usize {
    factors.iter().find(|(axis, _)| *axis == row.0).map_or(0, |(_, factor)| *factor)
}
