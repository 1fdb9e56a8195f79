//! Tiles of contractions on the host, and what they take.

use std::sync::Arc;

use warpweave_graph::ElementType;
use warpweave_graph::expr::{ReadId, Scalar};
use warpweave_plan::body::{GroupBody, StageSource};
use warpweave_plan::kernel::{Kernel, ScheduleParams};
use warpweave_plan::template::Template;
use warpweave_plan::template::block::fill;
use warpweave_plan::template::contraction::shape::ContractionShape;
use warpweave_plan::template::contraction::{AxisClass, Contraction};
use warpweave_plan::template::contraction::{stored_read, zero_point};

use crate::cost::cpu::{CpuArch, Processor};

/// Rows of a tile: whole panels, whatever the vectors of the processor.
const ROWS: [usize; 6] = [1, 24, 48, 96, 192, 384];
/// Columns of a tile.
const COLUMNS: [usize; 7] = [1, 32, 64, 96, 128, 224, 448];

/// The tiles that a processor's thread may take of a contraction, beside those of blocks of a GPU.
pub(crate) fn host_tiles(body: &Arc<GroupBody>, arch: &CpuArch) -> Vec<Kernel> {
    let Some(contraction) = Contraction::of(body).filter(|_| body.staged.is_empty()) else {
        return Vec::new();
    };
    let extents = body.tile_extents();
    let axes = [AxisClass::Row, AxisClass::Column].map(|class| contraction.tile_axes(body, class));
    let mut tiles: Vec<Vec<usize>> = Vec::new();
    for rows in ROWS {
        for columns in COLUMNS.into_iter().filter(|columns| rows * columns <= arch.most_sums()) {
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
    let of_tile = |tile| Kernel::unchecked(Arc::clone(body), ScheduleParams { template, tile });
    tiles.into_iter().map(of_tile).collect()
}

/// Microseconds of a tile on the host: panels are packed and multiplied, then the stages that follow are evaluated.
pub(crate) fn host_microseconds(kernel: &Kernel, processor: Processor<'_>) -> f64 {
    let body = kernel.body();
    let arch = processor.arch;
    let Some(contraction) = kernel.contraction() else { return f64::INFINITY };
    let lead = &body.stages[0].expr;
    let length: f64 = lead.reduced().map(|axis| lead.axes[axis].extent as f64).product();
    let extents = body.tile_extents();
    let side = |class: AxisClass| -> usize {
        let axes = contraction.tile_axes(body, class);
        axes.into_iter().map(|axis| kernel.tile()[axis].min(extents[axis])).product()
    };
    let batches = side(AxisClass::Batch) as f64;
    let sides = [side(AxisClass::Row), side(AxisClass::Column)];
    let factors = [&contraction.row_factor, &contraction.column_factor];
    let all = [AxisClass::Row, AxisClass::Column]
        .map(|class| contraction.tile_axes(body, class).into_iter().map(|axis| extents[axis]).product::<usize>());
    let [row_time, column_time] =
        [0, 1].map(|at| packing(body, factors[at], [sides[at], sides[1 - at], all[1 - at]], processor));
    let panel = arch.panels();
    // Vectors lie along the longer side where the columns are few.
    let [rows, columns] = if sides[1] < panel[1] / 2 && sides[0] > sides[1] { [sides[1], sides[0]] } else { sides };
    let padded = rows.max(panel[0] / 2) as f64 * columns.next_multiple_of(panel[1]) as f64;
    let sums = (sides[0] * sides[1]) as f64;
    let following: usize =
        body.stages.iter().map(|stage| stage.expr.result().operations() + stage.expr.reads.len()).sum();
    let each = padded * length / arch.multiply_adds_per_microsecond.value
        + (row_time + column_time) * length
        + sums * (1 + following) as f64 / arch.operations_per_microsecond.value;
    let set: usize = all.iter().sum();
    let bytes = |elements: usize| elements as f64 * length * lead.element.bytes() as f64;
    let near = arch.transfer_microseconds(bytes(sides[0] + sides[1]), bytes(set));
    arch.task_microseconds.value + batches * each.max(near)
}

/// Microseconds that packing `elements` elements of a factor takes in a step, each of which is multiplied by `others` elements, and
/// by `all_others` over all tiles. Constants are packed once, but every tile loads them into the cache.
fn packing(
    body: &GroupBody,
    factor: &Scalar,
    [elements, others, all_others]: [usize; 3],
    processor: Processor<'_>,
) -> f64 {
    let (stage, arch) = (&body.stages[0], processor.arch);
    let expr = &stage.expr;
    let reads = expr.reads_of(factor);
    let names_places = |read: &ReadId| {
        let mut names = false;
        expr.reads[*read].index.iter().for_each(|index| index.visit(&mut |_| {}, &mut |_| names = true));
        names
    };
    let is_gathered = reads.iter().any(names_places);
    let is_integer = expr.body_element() == ElementType::I32;
    let (stored, zero) = if is_integer { zero_point(factor) } else { (factor, None) };
    let is_read = |scalar: &Scalar| stored_read(expr, scalar).is_some();
    let plain = stored_read(expr, stored).filter(|_| zero.is_none_or(is_read) && !is_gathered);
    let is_constant = |read: ReadId| match stage.sources[expr.reads[read].operand] {
        StageSource::Operand(operand) => processor.is_constant(body.operands[operand]),
        StageSource::Stage(_) | StageSource::Staged(_) => false,
    };
    // Each element is multiplied a few times only: what brings it is all that it takes.
    let are_few = others <= arch.panels()[0] / 2 || all_others <= arch.panels()[0];
    if plain.is_some_and(is_constant) && are_few {
        return 0.0;
    }
    if plain.is_some() {
        return elements as f64 / arch.packed_per_microsecond();
    }
    let rate = if is_gathered { arch.gathered_per_microsecond() } else { arch.computed_per_microsecond() };
    elements as f64 * (1 + factor.operations() + reads.len()) as f64 / rate
}
