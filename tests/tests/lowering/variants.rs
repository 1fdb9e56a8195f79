//! Parameters for a group: every template that takes it, with even and with ragged tiles.

use warpweave::fusion::partition::contraction::{AxisClass, Contraction};
use warpweave::fusion::partition::params::{CONTRACTION_THREADS, candidates};
use warpweave::fusion::partition::{GroupBody, ScheduleParams, Template};

/// All variants for a group; never empty.
pub fn of(body: &GroupBody) -> Vec<ScheduleParams> {
    let mut variants = Vec::new();
    for params in candidates(body).into_iter().chain(contractions(body)) {
        let ragged = |side: usize| params.tile.iter().map(|&extent| (extent * side / 8).max(1)).collect();
        let smaller = [7, 3].map(|side| ScheduleParams { tile: ragged(side), ..params.clone() });
        for variant in [params].into_iter().chain(smaller) {
            if !variants.contains(&variant) {
                variants.push(variant);
            }
        }
    }
    variants
}

/// Contractions whose threads compute other numbers of elements than the search would choose.
fn contractions(body: &GroupBody) -> Vec<ScheduleParams> {
    let Some(contraction) = Contraction::of(body) else { return Vec::new() };
    let extents = body.tile_extents();
    let sides = [(1, 1), (1, 2), (2, 1), (2, 4), (4, 2)];
    let params = sides.map(|(rows, columns)| {
        let mut left = [rows * CONTRACTION_THREADS, columns * CONTRACTION_THREADS];
        let mut tile = vec![1; extents.len()];
        for (axis, extent) in extents.iter().enumerate().rev() {
            let side = match contraction.classes[axis] {
                AxisClass::Row => 0,
                AxisClass::Column => 1,
                AxisClass::Batch | AxisClass::Reduction => continue,
            };
            tile[axis] = (*extent).min(left[side]);
            left[side] /= tile[axis];
        }
        ScheduleParams { template: Template::Contraction { rows, columns }, tile }
    });
    params.to_vec()
}
