//! Which reads of a body are resident: the rows of a weight that a tile multiplies.

use std::ops::Range;

use warpweave_graph::expr::{AxisKind, Index, Read, ReadId, TensorExpr};
use warpweave_graph::program::TensorId;
use warpweave_graph::types::ElementType;

use crate::body::{GroupBody, StageSource};
use crate::kernel::Kernel;
use crate::template::block::WARP;
use crate::template::row::rounds::{RUN, rounds};

/// One place of memory that a reduction walks along: a row of elements a row of the tile, or one for all of them.
#[derive(Clone, Copy, Debug)]
pub struct ResidentRead<'b> {
    /// The stage where it first occurs.
    pub stage: usize,
    /// The read in the stage's expression.
    pub id: ReadId,
    /// The same.
    pub read: &'b Read,
    /// The operand of the body.
    pub operand: usize,
    /// Elements of a row: the points of the stage's reduced axes.
    pub length: usize,
}

impl ResidentRead<'_> {
    /// The type of the elements in memory.
    pub fn element(&self, body: &GroupBody) -> ElementType {
        body.stages[self.stage].expr.operands[self.read.operand].element
    }
}

/// A read that is the same for every row of a tile: a vector of singles, or one a column.
#[derive(Clone, Copy, Debug)]
pub struct SharedVector<'b> {
    /// The read.
    pub read: ResidentRead<'b>,
    /// Vectors of a tile: as many as it has columns, or one for all of them.
    pub columns: usize,
}

/// The reads of a body that a tile may keep, in the order in which they lie in shared memory. These are the reads of
/// reductions which are along both the tile's rows and the reduced axes. Empty if the template of kept rows does not take
/// the body.
pub fn resident_reads(body: &GroupBody) -> Vec<ResidentRead<'_>> {
    let narrow = (0..body.stages.len()).all(|stage| body.extra_axes(stage).is_empty());
    let singles = body.reductions().all(|(_, stage)| stage.expr.body_element().is_single());
    let rounds = rounds(body);
    let in_runs = rounds.iter().all(|round| round.run == RUN || body.stages[round.stages.start].expr.reducer.is_none());
    if !narrow || !singles || !in_runs || !body.staged.is_empty() {
        return Vec::new();
    }
    let mut factors = factors(body);
    let columns = column_axes_of(body, &factors);
    factors.retain(|(_, axes)| axes.start >= columns);
    factors.into_iter().map(|(read, _)| read).collect()
}

/// How many of a body's leading tile axes are columns. Points of a tile that differ in them alone are multiplied by the same
/// kept rows; the other tile axes tell rows apart. What the reductions read is along columns or along rows, never along
/// both, and there are as many columns as that allows. A batch of recurrent cells is one: weights do not differ along it.
pub fn column_axes(body: &GroupBody) -> usize {
    column_axes_of(body, &factors(body))
}

fn column_axes_of(body: &GroupBody, factors: &[(ResidentRead<'_>, Range<usize>)]) -> usize {
    let divides = |columns: &usize| {
        let is_row = |axes: &Range<usize>| axes.start >= *columns;
        let is_one = |axes: &Range<usize>| is_row(axes) || axes.end <= *columns;
        factors.iter().all(|(_, axes)| is_one(axes)) && factors.iter().any(|(_, axes)| is_row(axes))
    };
    (0..body.tile_rank).rev().find(divides).unwrap_or(0)
}

/// The reads of reductions which are along both long tile axes and the reduced axes, with the first of these tile axes and
/// what follows the last.
fn factors(body: &GroupBody) -> Vec<(ResidentRead<'_>, Range<usize>)> {
    let reads = rounds(body).into_iter().flat_map(|round| round.reads(body)).filter_map(|(stage, id, read)| {
        let expr = &body.stages[stage].expr;
        let StageSource::Operand(operand) = body.stages[stage].sources[read.operand] else { return None };
        let is_long = |axis: usize| expr.axes.values().nth(axis).is_some_and(|axis| axis.extent > 1);
        let (tile, reduced) = moves(body, expr, read, is_long);
        let length = expr.reduced().map(|axis| expr.axes[axis].extent).product();
        let kept = expr.reducer.is_some() && reduced && !tile.is_empty();
        kept.then_some((ResidentRead { stage, id, read, operand, length }, tile))
    });
    reads.collect()
}

/// Rows of a tile.
pub fn rows(kernel: &Kernel) -> usize {
    kernel.tile()[column_axes(kernel.body())..].iter().product()
}

/// Columns of a tile.
pub fn columns(kernel: &Kernel) -> usize {
    kernel.tile()[..column_axes(kernel.body())].iter().product()
}

/// The reads of a body's reductions that are the same for every row of a tile: vectors of singles which a block may bring
/// into shared memory once a tile.
pub fn shared_vectors<'b>(kernel: &'b Kernel) -> Vec<SharedVector<'b>> {
    let body = kernel.body();
    let (rounds, first_row) = (rounds(body), column_axes(body));
    let columns = kernel.tile()[..first_row].iter().product();
    let reads = rounds.iter().flat_map(|round| round.reads(body)).filter_map(|(stage, id, read)| {
        let expr = &body.stages[stage].expr;
        let StageSource::Operand(operand) = body.stages[stage].sources[read.operand] else { return None };
        let single = expr.operands[read.operand].element.is_single();
        let free = read.guard.is_always() && read.index.iter().all(Index::is_free_of_reads);
        let (tile, reduced) = moves(body, expr, read, |axis| kernel.tile()[axis] > 1);
        let length = expr.reduced().map(|axis| expr.axes[axis].extent).product();
        let columns = if tile.is_empty() { 1 } else { columns };
        let read = ResidentRead { stage, id, read, operand, length };
        (single && free && reduced && tile.end <= first_row).then_some(SharedVector { read, columns })
    });
    reads.collect()
}

/// From the first to behind the last of the long tile axes along which a read differs, empty if there is none; and whether
/// it differs along the reduction.
fn moves(body: &GroupBody, expr: &TensorExpr, read: &Read, is_long: impl Fn(usize) -> bool) -> (Range<usize>, bool) {
    let (mut tile, mut reduced) = (0..0, false);
    for index in &read.index {
        index.visit(
            &mut |axis| {
                let number = warpweave_graph::arena::Id::index(axis);
                if number < body.tile_rank && is_long(number) {
                    tile = if tile.is_empty() {
                        number..number + 1
                    } else {
                        tile.start.min(number)..tile.end.max(number + 1)
                    };
                }
                reduced |= expr.axes[axis].kind == AxisKind::Reduced;
            },
            &mut |_| {},
        );
    }
    (tile, reduced)
}

/// The type of the elements that a tile keeps: that in which they are stored if they have one, else singles.
pub fn resident_element(body: &GroupBody) -> ElementType {
    let reads = resident_reads(body);
    let mut elements = reads.iter().map(|kept| kept.element(body));
    let first = elements.next().unwrap_or(ElementType::F32);
    if elements.all(|other| other == first) { first } else { ElementType::F32 }
}

/// Bytes that a tile keeps.
pub fn resident_bytes(kernel: &Kernel) -> usize {
    resident_elements(kernel) * resident_element(kernel.body()).bytes()
}

/// Elements that a tile keeps.
pub fn resident_elements(kernel: &Kernel) -> usize {
    rows(kernel) * resident_reads(kernel.body()).iter().map(|kept| kept.length).sum::<usize>()
}

/// How many sums are combined across a warp's lanes together: powers of two, the largest first, of `count` in all.
pub fn sum_groups(count: usize) -> impl Iterator<Item = usize> {
    (0..=MOST_SUMS.ilog2())
        .rev()
        .scan(count, |left, power| {
            let size = 1 << power;
            let groups = *left / size;
            *left %= size;
            Some(std::iter::repeat_n(size, groups))
        })
        .flatten()
}

/// Shuffles with which a warp combines `count` sums: in a group each lane ends with one of them.
pub fn shuffles(count: usize) -> usize {
    sum_groups(count).map(|size| size - 1 + (WARP / size).ilog2() as usize).sum()
}

/// Most sums that are combined together.
const MOST_SUMS: usize = 16;

/// What decides which elements the tiles of a group keep, but for the number of the tile. Groups with equal keys keep the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ResidentKey {
    tile: Vec<usize>,
    extents: Vec<usize>,
    reads: Vec<(TensorId, Vec<Index>, Vec<usize>)>,
}

impl ResidentKey {
    /// The key of a group, if its template keeps anything.
    pub fn of(kernel: &Kernel) -> Option<Self> {
        let body = kernel.body();
        let kept = kernel.rules().holds_residents();
        kept.then(|| Self::of_body(body)).flatten().map(|key| Self { tile: kernel.tile().to_vec(), ..key })
    }

    /// The key of what a group would keep under any tile; `None` if it would keep nothing.
    pub fn of_body(body: &GroupBody) -> Option<Self> {
        let reads = resident_reads(body).into_iter().map(|kept| {
            let expr = &body.stages[kept.stage].expr;
            let reduced = expr.reduced().map(|axis| expr.axes[axis].extent).collect();
            (body.operands[kept.operand], kept.read.index.clone(), reduced)
        });
        let reads: Vec<_> = reads.collect();
        (!reads.is_empty()).then(|| Self { tile: Vec::new(), extents: body.tile_extents(), reads })
    }

    /// The tensors that are kept.
    pub fn tensors(&self) -> impl Iterator<Item = TensorId> {
        self.reads.iter().map(|(tensor, ..)| *tensor)
    }
}
