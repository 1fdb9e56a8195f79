//! The choice for a group: a template and the tile that a block computes at once.

use serde::{Deserialize, Serialize};

use crate::body::GroupBody;
use crate::template::Template;
use crate::template::rules::Rules;

/// A choice for one group: the template and the extent of a tile along each tile axis.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ScheduleParams {
    /// The template.
    pub template: Template,
    /// One extent a tile axis; for a GPU the product is at most what the template's block computes at once.
    pub tile: Vec<usize>,
}

impl ScheduleParams {
    /// What the template's kernels need and can do.
    pub fn rules(&self) -> &dyn Rules {
        self.template.rules()
    }

    /// Tiles along each tile axis.
    pub fn grid(&self, body: &GroupBody) -> Vec<usize> {
        body.tile_extents().iter().zip(&self.tile).map(|(extent, tile)| extent.div_ceil(*tile)).collect()
    }

    /// The number of tiles: the rTasks of the rOperator.
    pub fn tiles(&self, body: &GroupBody) -> usize {
        self.grid(body).iter().product()
    }

    /// Parts that the reduction is split into (split-K), each an rTask a tile.
    pub fn parts(&self) -> usize {
        self.rules().parts()
    }

    /// The same with an undivided reduction.
    pub fn in_one_part(mut self) -> Self {
        self.template = self.rules().with_parts(1).unwrap_or(self.template);
        self
    }
}
