//! Constant factors, packed once for all tiles.

use std::sync::Arc;

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Range};
use warpweave_plan::plan::ROperator;

use super::access::Access;
use super::pack::Panels;
use super::runs::Steps;
use super::side::Format;
use crate::host::memory::SINGLE_BYTES;

/// The constants that are packed, each once however many operators multiply it.
pub(in crate::host) struct PackedConstants {
    known: Vec<(Key, Arc<ConstantPanels>)>,
    /// Singles that may yet be packed.
    left: usize,
}

/// All that panels follow from.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Key {
    /// The byte of element 0.
    pub(super) byte: i64,
    /// What is read, counted from the first base.
    pub(super) access: Access,
    /// The same of what is subtracted.
    pub(super) zero: Option<(i64, Access)>,
    pub(super) axes: Vec<usize>,
    pub(super) places: Vec<Place>,
    pub(super) panels: Panels,
    pub(super) format: Format,
    pub(super) steps: Steps,
    /// Steps of a block.
    pub(super) block: usize,
}

impl PackedConstants {
    /// None yet; of constants of so many bytes.
    pub(in crate::host) fn new(bytes: usize) -> Self {
        Self { known: Vec::new(), left: MOST_COPIES * bytes / SINGLE_BYTES }
    }

    /// The panels that a key says, packed if they were not, where `pack` appends those of a tile; `None` if there are too many, or
    /// if `pack` finds values that they cannot hold.
    pub(super) fn get(
        &mut self,
        key: Key,
        pack: impl FnMut(&[Range], &mut Vec<f32>) -> bool,
    ) -> Option<Arc<ConstantPanels>> {
        if let Some((_, known)) = self.known.iter().find(|(known, _)| *known == key) {
            return Some(known.clone());
        }
        // A byte takes two in a pair.
        let growth = if key.access.element.bytes() == 1 { 2 } else { 1 };
        let panels = Arc::new(ConstantPanels::new(key.places.clone(), self.left * growth, pack)?);
        self.left -= panels.values.len() / growth;
        self.known.push((key, panels.clone()));
        Some(panels)
    }
}

/// Packed constants may come to so many times all weights; what is beyond is packed by every tile instead.
const MOST_COPIES: usize = 2;

/// The panels of a constant factor, tile after tile.
pub(super) struct ConstantPanels {
    places: Vec<Place>,
    /// Where the panels of a tile begin, and where those of the last end.
    starts: Vec<usize>,
    values: Vec<f32>,
}

/// The panels of what an rOperator multiplies that is constant.
#[derive(Default)]
pub(in crate::host) struct OwnPanels {
    pub(super) rows: Option<Arc<ConstantPanels>>,
    pub(super) columns: Option<Arc<ConstantPanels>>,
}

impl OwnPanels {
    /// Those of a tile, of rows and of columns.
    pub(super) fn of_tile(&self, tile: &[Range]) -> [Option<&[f32]>; 2] {
        [&self.rows, &self.columns].map(|panels| panels.as_ref().and_then(|panels| panels.of_tile(tile)))
    }
}

/// How the number of a tile's panels follows from its range along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    axis: usize,
    extent: i64,
    /// Values of the axis that a tile has.
    tile: i64,
}

impl Place {
    fn count(&self) -> usize {
        (self.extent as usize).div_ceil(self.tile as usize)
    }

    fn range(&self, number: usize) -> Range {
        let first = number as i64 * self.tile;
        Range { minimum: first, maximum: (first + self.tile).min(self.extent) - 1 }
    }
}

impl ConstantPanels {
    /// The axes that tell panels apart: those of the side in tiles, and those of `batch` that the factor varies along;
    /// `None` if there are no tiles.
    pub(super) fn places(
        operator: &ROperator,
        side: &[usize],
        batch: &[usize],
        accesses: &[&Access],
    ) -> Option<Vec<Place>> {
        let extent = |axis: usize| operator.kernel.body().stages[0].expr.axes[AxisId::from_index(axis)].extent as i64;
        let varies = |axis: &&usize| accesses.iter().any(|access| access.varies_along(**axis));
        let of_side = side.iter().map(|&axis| {
            let tile = (operator.kernel.tile()[axis] as i64).min(extent(axis));
            Place { axis, extent: extent(axis), tile }
        });
        let of_batch = batch.iter().filter(varies).map(|&axis| Place { axis, extent: extent(axis), tile: 1 });
        let places: Vec<Place> = of_side.chain(of_batch).collect();
        places.iter().all(|place| place.extent > 0).then_some(places)
    }

    /// All panels, where `pack` appends those of a tile; `None` if they are more than `most` singles, or if `pack` fails.
    fn new(places: Vec<Place>, most: usize, mut pack: impl FnMut(&[Range], &mut Vec<f32>) -> bool) -> Option<Self> {
        let rank = places.iter().map(|place| place.axis + 1).max().unwrap_or(0);
        let mut tile = vec![Range::point(0); rank];
        let (mut starts, mut values) = (vec![0], Vec::new());
        let total = places.iter().map(Place::count).try_fold(1usize, usize::checked_mul)?;
        for number in 0..total {
            let mut rest = number;
            for place in places.iter().rev() {
                tile[place.axis] = place.range(rest % place.count());
                rest /= place.count();
            }
            if !pack(&tile, &mut values) {
                return None;
            }
            if number == 0 {
                // The first tile is the largest. What is not filled takes no memory.
                values.reserve_exact((values.len().saturating_mul(total - 1)).min(most));
            }
            starts.push(values.len());
            if values.len() > most {
                return None;
            }
        }
        Some(Self { places, starts, values })
    }

    /// The panels of a tile, block after block.
    pub(super) fn of_tile(&self, tile: &[Range]) -> Option<&[f32]> {
        let number = self.places.iter().try_fold(0, |number, place| {
            let range = tile[place.axis];
            let own = (range.minimum / place.tile) as usize;
            (place.range(own) == range).then_some(number * place.count() + own)
        })?;
        Some(&self.values[self.starts[number]..self.starts[number + 1]])
    }
}
