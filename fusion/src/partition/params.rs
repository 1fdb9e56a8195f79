//! With which template and tile a group's kernel is made.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::body::GroupBody;
use super::contraction::{AxisClass, Contraction};
use super::staged::{STAGED_BYTES, boxes, bytes};

/// Threads of every block of a persistent program.
pub const BLOCK_THREADS: usize = 256;
/// Warps of a block.
pub const BLOCK_WARPS: usize = BLOCK_THREADS / 32;
/// Steps along the reduction that a contraction keeps in shared memory at a time.
pub const REDUCTION_STEP: usize = 16;

/// How many threads share a row of the row template.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum RowThreads {
    /// A warp a row, as many rows a tile as the block has warps.
    Warp,
    /// The whole block, one row a tile.
    Block,
}

/// The kernel of a group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Template {
    /// A thread computes whole elements, reductions one after another.
    Pointwise {
        /// Elements a thread.
        per_thread: usize,
    },
    /// Threads share rows: reductions across lanes, later stages along the row.
    Row(RowThreads),
    /// Blocked matrix product through shared memory; a thread computes `rows × columns` elements of a block tile of
    /// `16·rows × 16·columns`.
    Contraction {
        /// Rows a thread.
        rows: usize,
        /// Columns a thread.
        columns: usize,
    },
    /// Staged values one after another into shared memory, then the group's stages; each phase by its own
    /// [`Method`](super::phase::Method).
    Staged,
}

/// Threads along each side of a contraction's block tile.
pub const CONTRACTION_THREADS: usize = 16;

/// A choice for one group: the template and the extent of a tile along each tile axis.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ScheduleParams {
    /// The template.
    pub template: Template,
    /// One extent a tile axis; the product is at most what the template's block computes at once.
    pub tile: Vec<usize>,
}

impl ScheduleParams {
    /// Tiles along each tile axis.
    pub fn grid(&self, body: &GroupBody) -> Vec<usize> {
        body.tile_extents().iter().zip(&self.tile).map(|(extent, tile)| extent.div_ceil(*tile)).collect()
    }

    /// The number of tiles: the rTasks of the rOperator.
    pub fn tiles(&self, body: &GroupBody) -> usize {
        self.grid(body).iter().product()
    }
}

/// The choices that the templates offer for a body; not empty unless the body stages values that fit nowhere.
pub fn candidates(body: &GroupBody) -> Vec<ScheduleParams> {
    if !body.staged.is_empty() {
        return staged_candidates(body);
    }
    let extents = body.tile_extents();
    let all: Vec<usize> = (0..extents.len()).collect();
    let reductions = body.reductions().count();
    let extra = (0..body.stages.len()).any(|stage| !body.extra_axes(stage).is_empty());
    let mut found = Vec::new();
    if reductions <= 1 && !extra {
        for per_thread in [1, 4] {
            let tile = fill(&extents, &all, BLOCK_THREADS * per_thread);
            found.push(ScheduleParams { template: Template::Pointwise { per_thread }, tile });
        }
    }
    if reductions > 0 {
        let tile = fill(&extents, &all, BLOCK_WARPS);
        found.push(ScheduleParams { template: Template::Row(RowThreads::Warp), tile });
        let tile = vec![1; extents.len()];
        found.push(ScheduleParams { template: Template::Row(RowThreads::Block), tile });
    }
    if let Some(contraction) = Contraction::of(body) {
        found.extend([(4, 4), (2, 2), (4, 1), (1, 4)].map(|(rows, columns)| {
            let mut tile = vec![1; extents.len()];
            let sides = [(AxisClass::Row, rows), (AxisClass::Column, columns)];
            for (class, side) in sides {
                let axes: Vec<usize> = (0..extents.len()).filter(|&axis| contraction.classes[axis] == class).collect();
                let filled = fill(&extents, &axes, CONTRACTION_THREADS * side);
                for axis in axes {
                    tile[axis] = filled[axis];
                }
            }
            ScheduleParams { template: Template::Contraction { rows, columns }, tile }
        }));
    }
    found
}

/// Tiles of up to 16,384 points, whole or a power of two along each axis, whose staged values fit.
fn staged_candidates(body: &GroupBody) -> Vec<ScheduleParams> {
    let mut tiles: Vec<Vec<usize>> = vec![Vec::new()];
    for extent in body.tile_extents() {
        let powers = [1, 4, 8, 16, 32, 64].into_iter().filter(|power| *power < extent);
        let choices: Vec<usize> = powers.chain([extent.max(1)]).collect();
        let longer = |tile: &Vec<usize>| {
            let tile = tile.clone();
            choices.clone().into_iter().map(move |choice| tile.iter().copied().chain([choice]).collect())
        };
        tiles = tiles.iter().flat_map(longer).collect();
    }
    let points: usize = body.tile_extents().iter().product();
    let smallest = points.min(STAGED_POINTS.start);
    let fits = |tile: &Vec<usize>| {
        let own: usize = tile.iter().product();
        smallest <= own && own < STAGED_POINTS.end
    };
    let params = tiles.into_iter().filter(fits).map(|tile| ScheduleParams { template: Template::Staged, tile });
    params.filter(|params| boxes(body, params).is_some_and(|boxes| bytes(&boxes) <= STAGED_BYTES)).collect()
}

/// Points of a tile of the staged template.
const STAGED_POINTS: std::ops::Range<usize> = 64..16_385;

/// A box of at most `capacity` points that fills `axes` from the innermost outwards; 1 elsewhere.
pub(super) fn fill(extents: &[usize], axes: &[usize], capacity: usize) -> Vec<usize> {
    let mut tile = vec![1; extents.len()];
    let mut left = capacity;
    for &axis in axes.iter().rev() {
        tile[axis] = extents[axis].min(left).max(1);
        left /= tile[axis];
    }
    tile
}

impl fmt::Display for ScheduleParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tile: Vec<String> = self.tile.iter().map(ToString::to_string).collect();
        match self.template {
            Template::Pointwise { per_thread } => write!(f, "pointwise/{per_thread}")?,
            Template::Row(RowThreads::Warp) => write!(f, "row/warp")?,
            Template::Row(RowThreads::Block) => write!(f, "row/block")?,
            Template::Contraction { rows, columns } => write!(f, "contraction/{rows}x{columns}")?,
            Template::Staged => write!(f, "staged")?,
        }
        write!(f, " tile {}", if tile.is_empty() { "1".to_owned() } else { tile.join("x") })
    }
}
