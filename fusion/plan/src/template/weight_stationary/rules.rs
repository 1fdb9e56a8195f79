//! The weight-stationary template: rows of constants stay in shared memory for the whole launch.
//!
//! A recurrent layer multiplies the same rows at every step of time. A unit that runs one tile of all of its steps loads
//! the tile's rows once.

use std::sync::Arc;

use crate::body::GroupBody;
use crate::kernel::{Kernel, ScheduleParams};
use crate::template::Template;
use crate::template::WeightStationary;
use crate::template::block::WARP;
use crate::template::rules::{Rules, require};
use crate::template::weight_stationary::passes::step_bytes;
use crate::template::weight_stationary::reads::{column_axes, columns, resident_elements, resident_reads, rows};

/// Most elements that a tile keeps.
const MOST_RESIDENT: usize = 1 << 18;

impl Rules for WeightStationary {
    fn name(&self) -> &'static str {
        "weight-stationary"
    }

    fn check(&self, kernel: &Kernel) -> Result<(), &'static str> {
        let body = kernel.body();
        let narrow = resident_elements(kernel) <= MOST_RESIDENT;
        require(
            narrow && !resident_reads(body).is_empty(),
            "the tile violates the constraints of the weight-stationary template",
        )
    }

    fn takes_tile(&self, kernel: &Kernel) -> bool {
        let body = kernel.body();
        let first_row = column_axes(body);
        let is_whole = kernel.tile()[..first_row] == body.tile_extents()[..first_row];
        let fits = rows(kernel) <= most_rows() && (1..=MOST_COLUMNS).contains(&columns(kernel));
        is_whole && fits && !resident_reads(body).is_empty()
    }

    fn is_for_products(&self) -> bool {
        true
    }

    fn can_tag(&self) -> bool {
        true
    }

    fn can_poll(&self, _: &GroupBody, _operand: usize) -> bool {
        true
    }

    fn shared_bytes(&self, kernel: &Kernel) -> usize {
        step_bytes(kernel)
    }

    fn holds_residents(&self) -> bool {
        true
    }
}

/// Most columns of a tile.
const MOST_COLUMNS: usize = WARP;

/// Most rows of a tile: a thread of their warp finishes each, of one column at least.
fn most_rows() -> usize {
    WeightStationary.block_size().threads()
}

/// The kernel of a body with at most `tiles` tiles: all columns in each, of the rows the innermost axes whole, one
/// divided evenly. `None` where a tile would have more rows or columns than a block takes.
pub fn of_tiles(body: &Arc<GroupBody>, tiles: usize) -> Option<Kernel> {
    let mut tile = body.tile_extents();
    let mut left = tiles;
    for length in &mut tile[column_axes(body)..] {
        let extent = *length;
        *length = extent.div_ceil(left).max(1);
        left /= extent.div_ceil(*length).max(1);
    }
    let kernel = Kernel::unchecked(Arc::clone(body), ScheduleParams { template: Template::WeightStationary, tile });
    WeightStationary.takes_tile(&kernel).then_some(kernel)
}

/// The parameters under which a body has one tile, whatever its rows.
pub fn whole(body: &GroupBody) -> ScheduleParams {
    ScheduleParams { template: Template::WeightStationary, tile: body.tile_extents() }
}
