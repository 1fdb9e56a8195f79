//! Tiles of contractions on the host, and what they take.

use warpweave_graph::expr::{ReadId, Scalar, TensorExpr};
use warpweave_plan::body::GroupBody;
use warpweave_plan::template::Template;
use warpweave_plan::template::contraction::shape::ContractionShape;
use warpweave_plan::template::contraction::tile_load::plain_read;
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::fill::fill;
use warpweave_plan::template::tile::ScheduleParams;

use crate::cost::host::{COMPUTED, GATHERED, MULTIPLY_ADDS, OPERATIONS, PACKED, PANELS, TASK};

/// Rows of a tile: whole panels, whatever the vectors of the processor.
const ROWS: [usize; 6] = [1, 24, 48, 96, 192, 384];
/// Columns of a tile.
const COLUMNS: [usize; 7] = [1, 32, 64, 96, 128, 224, 448];

/// Most sums of a tile: they stay in the second-level cache.
const MOST_SUMS: usize = 64 << 10;

/// The tiles that a processor's thread may take of a contraction, beside those of blocks of a GPU.
pub(crate) fn host_tiles(body: &GroupBody) -> Vec<ScheduleParams> {
    let Some(contraction) = Contraction::on_processors(body).filter(|_| body.staged.is_empty()) else {
        return Vec::new();
    };
    let extents = body.tile_extents();
    let axes = [AxisClass::Row, AxisClass::Column].map(|class| contraction.tile_axes(body, class));
    let mut tiles: Vec<Vec<usize>> = Vec::new();
    for rows in ROWS {
        for columns in COLUMNS.into_iter().filter(|columns| rows * columns <= MOST_SUMS) {
            let mut tile = vec![1; extents.len()];
            for (axes, most) in axes.iter().zip([rows, columns]) {
                let filled = fill(&extents, axes, most);
                axes.iter().for_each(|&axis| tile[axis] = filled[axis]);
            }
            if !tiles.contains(&tile) {
                tiles.push(tile);
            }
        }
    }
    let template = Template::Contraction(ContractionShape::square(4, 4));
    tiles.into_iter().map(|tile| ScheduleParams { template, tile }).collect()
}

/// Microseconds of a tile on the host: panels are packed and multiplied, then the stages that follow are evaluated.
pub(crate) fn host_microseconds(body: &GroupBody, params: &ScheduleParams) -> f64 {
    let Some(contraction) = Contraction::on_processors(body) else { return f64::INFINITY };
    let lead = &body.stages[0].expr;
    let length: f64 = lead.reduced().map(|axis| lead.axes[axis].extent as f64).product();
    let extents = body.tile_extents();
    let side = |class: AxisClass| -> usize {
        let axes = contraction.tile_axes(body, class);
        axes.into_iter().map(|axis| params.tile[axis].min(extents[axis])).product()
    };
    let batches = side(AxisClass::Batch) as f64;
    let sides = [side(AxisClass::Row), side(AxisClass::Column)];
    let [row_time, column_time] =
        [packing(lead, &contraction.row_factor, sides[0]), packing(lead, &contraction.column_factor, sides[1])];
    // Vectors lie along the longer side where the columns are few.
    let [rows, columns] = if sides[1] < PANELS[1] / 2 && sides[0] > sides[1] { [sides[1], sides[0]] } else { sides };
    let padded = rows.max(PANELS[0] / 2) as f64 * columns.next_multiple_of(PANELS[1]) as f64;
    let sums = (sides[0] * sides[1]) as f64;
    let following: usize =
        body.stages.iter().map(|stage| stage.expr.result().operations() + stage.expr.reads.len()).sum();
    let each = padded * length / MULTIPLY_ADDS
        + (row_time + column_time) * length
        + sums * (1 + following) as f64 / OPERATIONS;
    TASK + batches * each
}

/// Microseconds a step that packing so many elements of a factor takes.
fn packing(expr: &TensorExpr, factor: &Scalar, elements: usize) -> f64 {
    let reads = expr.reads_of(factor);
    let names_places = |read: &ReadId| {
        let mut names = false;
        expr.reads[*read].index.iter().for_each(|index| index.visit(&mut |_| {}, &mut |_| names = true));
        names
    };
    let is_gathered = reads.iter().any(names_places);
    if plain_read(expr, factor).is_some() && !is_gathered {
        return elements as f64 / PACKED;
    }
    let rate = if is_gathered { GATHERED } else { COMPUTED };
    elements as f64 * (1 + factor.operations() + reads.len()) as f64 / rate
}
