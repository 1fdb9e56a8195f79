//! The weight-stationary template: rows of constants stay in shared memory for the whole launch.
//!
//! A recurrent layer multiplies the same rows at every step of time. A unit that runs one tile of all of its steps loads
//! the tile's rows once.

use crate::body::GroupBody;
use crate::template::Template;
use crate::template::WeightStationary;
use crate::template::block::WARP;
use crate::template::rules::{Rules, require};
use crate::template::tile::ScheduleParams;
use crate::template::weight_stationary::passes::step_bytes;
use crate::template::weight_stationary::reads::{column_axes, columns, resident_elements, resident_reads, rows};

/// Most elements that a tile keeps.
const MOST_RESIDENT: usize = 1 << 18;

impl Rules for WeightStationary {
    fn name(&self) -> &'static str {
        "weight-stationary"
    }

    fn check(&self, body: &GroupBody, params: &ScheduleParams) -> Result<(), &'static str> {
        let narrow = resident_elements(body, params) <= MOST_RESIDENT;
        require(
            narrow && !resident_reads(body).is_empty(),
            "the tile violates the constraints of the weight-stationary template",
        )
    }

    fn takes_tile(&self, body: &GroupBody, params: &ScheduleParams) -> bool {
        let first_row = column_axes(body);
        let is_whole = params.tile[..first_row] == body.tile_extents()[..first_row];
        let fits = rows(body, params) <= most_rows() && (1..=MOST_COLUMNS).contains(&columns(body, params));
        is_whole && fits && !resident_reads(body).is_empty()
    }

    fn can_tag(&self) -> bool {
        true
    }

    fn can_poll(&self, _: &GroupBody, _operand: usize) -> bool {
        true
    }

    fn shared_bytes(&self, body: &GroupBody, params: &ScheduleParams) -> usize {
        step_bytes(body, params)
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

/// The parameters under which a body has at most `tiles` tiles: all columns in each, of the rows the innermost axes whole, one
/// divided evenly. `None` where a tile would have more rows or columns than a block takes.
pub fn params_of_tiles(body: &GroupBody, tiles: usize) -> Option<ScheduleParams> {
    let mut tile = body.tile_extents();
    let mut left = tiles;
    for length in &mut tile[column_axes(body)..] {
        let extent = *length;
        *length = extent.div_ceil(left).max(1);
        left /= extent.div_ceil(*length).max(1);
    }
    let params = ScheduleParams { template: Template::WeightStationary, tile };
    WeightStationary.takes_tile(body, &params).then_some(params)
}

/// The parameters under which a body has one tile, whatever its rows.
pub fn whole(body: &GroupBody) -> ScheduleParams {
    ScheduleParams { template: Template::WeightStationary, tile: body.tile_extents() }
}
