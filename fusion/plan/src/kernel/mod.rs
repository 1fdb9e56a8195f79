//! Kernels: what is computed together, and with which template and tile.

mod geometry;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpweave_graph::expr::Range;

use crate::body::{GroupBody, Stage};
use crate::kernel::geometry::Geometry;
use crate::template::Template;
use crate::template::contraction::Contraction;
use crate::template::rules::{Rules, require};
use crate::template::staged::{self, StagedBox};

/// Most tiles of a kernel.
const MOST_TILES: usize = 1 << 24;

/// A body and the parameters under which one kernel computes it.
///
/// [`Kernel::of`] makes only kernels that exist: the tile lies inside the body's extents, and the template computes the body
/// under it. A kernel that is read from a file has not been checked; see [`Kernel::unchecked`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Kernel {
    body: Arc<GroupBody>,
    params: ScheduleParams,
    #[serde(skip)]
    geometry: Geometry,
}

/// Why no kernel computes a body under some parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub &'static str);

impl Kernel {
    /// The kernel of a body under these parameters.
    ///
    /// # Errors
    ///
    /// The first rule of the template that the two violate. The body's own expressions are taken for granted.
    pub fn of(body: impl Into<Arc<GroupBody>>, params: ScheduleParams) -> Result<Self, Refused> {
        let kernel = Self::unchecked(body, params);
        if !kernel.has_tile() {
            return Err(Refused("the tile violates the constraints of its template"));
        }
        kernel.check().map_err(Refused)?;
        Ok(kernel)
    }

    /// A body and parameters as they are stated, whether or not a kernel of theirs exists: what the rules have already left,
    /// and what the verifier is going to check.
    pub fn unchecked(body: impl Into<Arc<GroupBody>>, params: ScheduleParams) -> Self {
        Self { body: body.into(), params, geometry: Geometry::default() }
    }

    /// The same kernel of another body, which has the same structure.
    pub fn with_body(&self, body: impl Into<Arc<GroupBody>>) -> Self {
        Self::unchecked(body, self.params.clone())
    }

    /// The same body under other parameters that the rules leave.
    pub fn with_params(&self, params: ScheduleParams) -> Self {
        Self { body: Arc::clone(&self.body), params, geometry: self.geometry.of_body() }
    }

    /// The same body under the parameters of another kernel, whose body has the same structure.
    pub fn like(&self, other: &Self) -> Self {
        self.with_params(other.params.clone())
    }

    /// The same body and tile by another template that takes them.
    pub fn with_template(&self, template: Template) -> Self {
        self.with_params(ScheduleParams { template, tile: self.params.tile.clone() })
    }

    /// The same with an undivided reduction.
    pub fn in_one_part(&self) -> Self {
        self.with_params(self.params.clone().in_one_part())
    }

    /// What is computed.
    pub fn body(&self) -> &GroupBody {
        &self.body
    }

    /// What is computed, to be shared.
    pub fn shared_body(&self) -> &Arc<GroupBody> {
        &self.body
    }

    /// What is computed, to be changed into something that the same parameters compute: other tensors, other guards.
    pub fn body_mut(&mut self) -> &mut GroupBody {
        self.geometry = Geometry::default();
        Arc::make_mut(&mut self.body)
    }

    /// The template and the tile.
    pub fn params(&self) -> &ScheduleParams {
        &self.params
    }

    /// The template.
    pub fn template(&self) -> &Template {
        &self.params.template
    }

    /// The extent of a tile along each tile axis.
    pub fn tile(&self) -> &[usize] {
        &self.params.tile
    }

    /// What the template's kernels need and can do.
    pub fn rules(&self) -> &dyn Rules {
        self.params.rules()
    }

    /// Tiles along each tile axis.
    pub fn grid(&self) -> Vec<usize> {
        self.params.grid(&self.body)
    }

    /// The number of tiles: the rTasks of the rOperator.
    pub fn tiles(&self) -> usize {
        self.params.tiles(&self.body)
    }

    /// Parts that the reduction is split into (split-K), each an rTask a tile.
    pub fn parts(&self) -> usize {
        self.params.parts()
    }

    /// The contraction that a block of threads computes, if the body is one.
    pub fn contraction(&self) -> Option<&Contraction> {
        self.geometry.contraction(&self.body)
    }

    /// The box of every staged value under the tile; `None` if some tile's box would lie outside its value.
    pub fn boxes(&self) -> Option<&[StagedBox]> {
        self.geometry.boxes(&self.body, &self.params.tile)
    }

    /// The coordinates of a tile in the grid.
    pub fn tile_coordinates(&self, tile: u32) -> Vec<i64> {
        let grid = self.grid();
        let mut rest = tile as usize;
        let mut coordinates = vec![0; grid.len()];
        for axis in (0..grid.len()).rev() {
            coordinates[axis] = (rest % grid[axis]) as i64;
            rest /= grid[axis];
        }
        coordinates
    }

    /// Per staged stage, the range of every axis of its expression that a tile covers: the box inside the value, reduced axes
    /// whole. This is what the kernel computes, so that dependencies may be read from it.
    ///
    /// # Panics
    ///
    /// If a staged value has no box.
    pub fn staged_ranges(&self, tile: u32) -> Vec<Vec<Range>> {
        if self.body.staged.is_empty() {
            return Vec::new();
        }
        let boxes = self.boxes().expect("a kernel gives every staged value a box");
        staged::box_ranges(&self.body, boxes, &self.tile_coordinates(tile))
    }

    /// Bytes of shared memory that the kernel needs at most, but for residents and staged operands.
    pub fn shared_bytes(&self) -> usize {
        self.rules().shared_bytes(self)
    }
}

/// What the verifier asks.
impl Kernel {
    /// Whether the tile lies inside the body's extents and a block can compute it.
    pub(crate) fn has_tile(&self) -> bool {
        let extents = self.body.tile_extents();
        let fits = self.tile().iter().zip(&extents).all(|(&tile, &extent)| (1..=extent.max(1)).contains(&tile));
        self.tile().len() == extents.len() && fits && self.rules().takes_tile(self)
    }

    /// What the template needs of the body; the tile is possible.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let (body, rules) = (self.body(), self.rules());
        let tiles = self.grid().into_iter().try_fold(1usize, usize::checked_mul);
        require(tiles.is_some_and(|tiles| tiles <= MOST_TILES), "an operator has too many tiles")?;
        require(body.staged.is_empty() || rules.stages_values(), "a template stages nothing")?;
        let singles = body.staged.is_empty() || body.stages.iter().all(Stage::sums_singles);
        require(singles, "a reduction over staged values is in another type than F32")?;
        let belongs = rules.computes_procedures() == body.procedure().is_some();
        require(belongs, "a procedure and its template belong together")?;
        rules.check(self)
    }
}

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

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.params, f)
    }
}
