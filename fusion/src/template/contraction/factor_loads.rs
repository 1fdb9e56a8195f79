//! What bringing the factors of a contraction to shared memory takes a thread.

use std::collections::BTreeSet;

use crate::cost::arch::GpuArch;
use crate::cost::instructions::{CHECK_CYCLES, NEAR_CYCLES, arithmetic, branching};
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Atom, AxisKind, Index, Read, ReadId, Scalar, TensorExpr};
use warpweave_graph::numerics::WORD_BYTES;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::contraction::AxisClass;
use warpweave_plan::template::contraction::joined::JoinedReduction;
use warpweave_plan::template::contraction::shape::ContractionShape;
use warpweave_plan::template::contraction::tile_load::{SideLoad, plain_read};
use warpweave_plan::template::contraction::unit::ComputeUnit;

/// Cycles from an integer instruction to one that needs its result.
pub(super) const DEPENDENT_CYCLES: f64 = 6.0;

/// Instructions that find the first of a thread's rows, or columns, of the tile from the thread's number: shifts, masks and
/// sums.
const NUMBER_INSTRUCTIONS: f64 = 8.0;

/// Instructions that find the place of a row or a column along one axis: how far it lies from the thread's first, and the sum
/// with the tile's.
const PLACE_INSTRUCTIONS: f64 = 2.0;

/// Instructions of a step beside its fetches: the counter, buffers' addresses, the barrier and the branch.
const STEP_INSTRUCTIONS: f64 = 16.0;

/// Instructions that divide by an extent and take the remainder.
const DIVISION_INSTRUCTIONS: f64 = 8.0;

/// Instructions of a load: two of its address, itself, and the zero that stands where there is nothing.
const LOAD_INSTRUCTIONS: f64 = 4.0;

/// Instructions of a copy beside those of its address: where it goes, whether it exists, itself, and three that stand before it.
const COPY_INSTRUCTIONS: f64 = 9.0;

/// Instructions of a condition: its side and the comparison.
const GUARD_INSTRUCTIONS: f64 = 2.0;

/// What a thread does to bring both sides' elements of one step: it does not depend on what follows the sum.
#[derive(Clone, Copy)]
pub(super) struct FactorLoads {
    /// Instructions of one step's fetches and of storing them to shared memory.
    pub(super) instructions: f64,
    /// Of these, those that follow a step's loads.
    pub(super) behind: f64,
    /// Passes of the block's stores to shared memory.
    pub(super) passes: f64,
    /// Cycles from a step's first instruction to its last load, where places are decoded or guarded.
    pub(super) decoded: f64,
    /// The same where data name places.
    pub(super) named: f64,
    /// Cycles by which the first step's are more, where data name places that all steps read: elements loaded before are near.
    pub(super) first: f64,
    /// Cycles from the loads of a step to its factors, where those are more than reads.
    pub(super) evaluated: f64,
    /// Whether products stand behind the loads of their step: factors are computed before.
    pub(super) waited: bool,
    /// Whether asynchronous copies bring the factors.
    pub(super) copied: bool,
    /// Instructions that find the places of the rows and columns that a thread fetches.
    pub(super) places: f64,
}

impl FactorLoads {
    pub(super) fn new(arch: &GpuArch, kernel: &Kernel, shape: &ContractionShape) -> Self {
        let (body, params, latency) = (kernel.body(), kernel.params(), arch.load_latency_cycles.value);
        let contraction = kernel.contraction().expect("the template is only chosen for contractions");
        let expr = &body.stages[0].expr;
        let mut found = Self {
            instructions: 0.0,
            behind: 0.0,
            passes: 0.0,
            decoded: 0.0,
            named: 0.0,
            first: 0.0,
            evaluated: 0.0,
            waited: false,
            copied: contraction.is_copied(body, shape, &params.tile),
            places: 0.0,
        };
        let reduction: Vec<usize> = expr.reduced().map(|axis| expr.axes[axis].extent).collect();
        let of_axes = |axes: usize| axes.saturating_sub(1) as f64 * DIVISION_INSTRUCTIONS;
        // Where a step goes beyond the innermost axis, each fetch finds its own point.
        let in_one_row = reduction.last().is_none_or(|innermost| innermost.is_multiple_of(shape.k_tile));
        let is_whole = reduction.iter().product::<usize>().is_multiple_of(shape.k_tile);
        found.instructions += STEP_INSTRUCTIONS + of_axes(reduction.len());
        for class in [AxisClass::Row, AxisClass::Column] {
            let factor = contraction.factor(class);
            let side = SideLoad::new(body, contraction, class, shape, &params.tile);
            let reads = expr.reads_of(factor);
            let decode = of_axes(JoinedReduction::of_rows(body, contraction, class).extents.len());
            let conditions: usize = reads.iter().map(|read| expr.reads[*read].guard.conditions().len()).sum();
            let divided = reads.iter().map(|read| divisions(expr, *read)).sum::<usize>() as f64 * DIVISION_INSTRUCTIONS;
            let (trips, width) = (side.trips() as f64, side.width as f64);
            let stores = side.stores() as f64;
            // What follows from a point of the reduction alone is found once for all rows, or columns, that a thread fetches
            // there. Where a step may end before its last point, each fetch stands behind a branch of its own.
            let points = if is_whole { side.trips().div_ceil(side.elements().max(1)) } else { side.trips() } as f64;
            let axes = contraction.tile_axes(body, class);
            let common = reads.iter().filter(|read| !lies_along(&expr.reads[**read], &axes)).count() as f64;
            let shared = common * LOAD_INSTRUCTIONS + divided + if in_one_row { 0.0 } else { decode };
            let own = (reads.len() as f64 - common) * LOAD_INSTRUCTIONS + GUARD_INSTRUCTIONS * conditions as f64;
            let is_copied = match shape.unit {
                ComputeUnit::Simt => found.copied,
                ComputeUnit::Mma => side.is_copied(body, contraction, (class, shape)),
            };
            // What is a read for tensor cores is moved as it is.
            let is_moved = shape.unit == ComputeUnit::Mma && plain_read(expr, factor).is_some();
            let computed = if is_moved { 0.0 } else { arithmetic(factor) };
            let warps = shape.block_size().warps() as f64;
            let words = (side.width * side.storage.bytes()).div_ceil(WORD_BYTES).max(side.stores()) as f64;
            found.instructions += points * shared + trips * own;
            if is_copied {
                found.instructions += trips * (computed * width + copy_instructions(shape.unit));
            } else {
                found.behind += trips * (computed * width + stores);
                found.instructions += trips * (computed * width + stores);
                found.passes += trips * warps * words * side.store_conflicts();
            }
            let checks = GUARD_INSTRUCTIONS * conditions as f64;
            if decode + checks + divided > 0.0 {
                let chain = decode + checks + divided + LOAD_INSTRUCTIONS;
                found.decoded = found.decoded.max(DEPENDENT_CYCLES * chain);
            }
            let (fixed, repeated) = named(expr, factor);
            found.named += trips * (fixed * (NEAR_CYCLES + CHECK_CYCLES) + repeated * (latency + CHECK_CYCLES));
            found.first += trips * fixed * (latency - NEAR_CYCLES);
            let in_turn = if branching(factor) > 0.0 { trips * width } else { 1.0 };
            found.evaluated += DEPENDENT_CYCLES * computed * in_turn;
            // For tensor cores, factors are computed when they are stored, unless data name where they are read.
            found.waited |= computed > 0.0 && (shape.unit == ComputeUnit::Simt || fixed + repeated > 0.0);
            found.places += place_instructions(kernel, class, side.elements());
        }
        found
    }
}

/// Instructions of a copy beside those of its address.
fn copy_instructions(unit: ComputeUnit) -> f64 {
    match unit {
        ComputeUnit::Simt => 1.0,
        ComputeUnit::Mma => COPY_INSTRUCTIONS,
    }
}

/// Instructions that find the places of so many rows, or columns, of the tile. Where the tile lies along several of their
/// axes, all but one take a division for each.
pub(super) fn place_instructions(kernel: &Kernel, class: AxisClass, count: usize) -> f64 {
    let contraction = kernel.contraction().expect("the template is only chosen for contractions");
    let axes = contraction.tile_axes(kernel.body(), class);
    let long = axes.into_iter().filter(|axis| kernel.tile()[*axis] > 1).count();
    NUMBER_INSTRUCTIONS + count as f64 * (PLACE_INSTRUCTIONS + long.saturating_sub(1) as f64 * DIVISION_INSTRUCTIONS)
}

/// Whether a read has other places for other points of some axes.
pub(super) fn lies_along(read: &Read, axes: &[usize]) -> bool {
    let mut lies = false;
    read.index.iter().for_each(|index| index.visit(&mut |axis| lies |= axes.contains(&axis.index()), &mut |_| {}));
    lies
}

/// Divisions that every fetch of a read does again: those of places along the reduction.
fn divisions(expr: &TensorExpr, read: ReadId) -> usize {
    let mut found = BTreeSet::new();
    for (atom, _) in expr.reads[read].index.iter().flat_map(Index::terms) {
        let (Atom::FloorDiv(inner, by) | Atom::Mod(inner, by)) = atom else { continue };
        let mut moves = false;
        inner.visit(&mut |axis| moves |= expr.axes[axis].kind == AxisKind::Reduced, &mut |_| {});
        if moves {
            found.insert((inner, by));
        }
    }
    found.len()
}

/// Elements that name the places that a scalar reads: those that are the same in all steps, and others.
fn named(expr: &TensorExpr, scalar: &Scalar) -> (f64, f64) {
    let mut found = BTreeSet::new();
    for read in expr.reads_of(scalar) {
        expr.reads[read].index.iter().for_each(|index| index.visit(&mut |_| {}, &mut |name| _ = found.insert(name)));
    }
    let (fixed, repeated): (Vec<ReadId>, Vec<ReadId>) =
        found.into_iter().partition(|read| expr.is_fixed_in_reduction(*read));
    (fixed.len() as f64, repeated.len() as f64)
}
