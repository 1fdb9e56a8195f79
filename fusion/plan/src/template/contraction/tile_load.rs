//! How the two factors of a contraction come into shared memory: which thread fetches what, and where it goes.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, Read, ReadId, Scalar, TensorExpr};
use warpweave_graph::numerics::WORD_BYTES;
use warpweave_graph::types::ElementType;

use crate::body::GroupBody;
use crate::shared_memory::{SharedWidth, conflict_degree};
use crate::template::contraction::shape::ContractionShape;
use crate::template::contraction::{AxisClass, Contraction};

/// Steps along the reduction that neighbouring threads fetch before they go to the next row or column: a sector of
/// global memory.
pub const WINDOW: usize = 8;

/// Along which direction neighbouring threads fetch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fetch {
    /// Along the reduction, [`WINDOW`] steps at a time.
    Reduction,
    /// Along rows or columns.
    Elements,
}

/// One factor's tile of one step: `step` rows of `length` elements, each row followed by `padding` elements. Where slices of
/// threads fetch for themselves, one of them, and the tile of its part of a step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SideLoad {
    /// Rows or columns of the block tile.
    pub length: usize,
    /// Steps along the reduction.
    pub step: usize,
    /// Along which direction neighbouring threads fetch.
    pub fetch: Fetch,
    /// Elements that a thread fetches at once, along that direction: 1, or those of the widest access.
    pub width: usize,
    /// Elements after each row, so that stores do not conflict.
    pub padding: usize,
    /// The type of the elements in shared memory.
    pub storage: ElementType,
    /// Threads that fetch it.
    pub threads: usize,
    /// Slices that fetch one each; their tiles lie one behind the other.
    pub slices: usize,
}

impl SideLoad {
    /// The load of one side under a shape and a tile of the body's axes.
    pub fn new(
        body: &GroupBody,
        contraction: &Contraction,
        class: AxisClass,
        shape: &ContractionShape,
        tile: &[usize],
    ) -> Self {
        let axes = contraction.tile_axes(body, class);
        let read = plain_read(&body.stages[0].expr, contraction.factor(class));
        let strides = first_read(contraction.factor(class)).map(|read| {
            let read = &body.stages[0].expr.reads[read];
            linear(body, read)
        });
        let along = strides.as_ref().zip(axes.last()).map(|(index, &axis)| index.coefficient(AxisId::from_index(axis)));
        let fetch = if along == Some(1) { Fetch::Elements } else { Fetch::Reduction };
        let copied = contraction.is_copied(body, shape) && fetch == Fetch::Reduction;
        let wide = !copied
            && read
                .is_some_and(|read| is_wide(body, contraction, &body.stages[0].expr.reads[read], fetch, &axes, tile));
        let storage = contraction.numerics().storage;
        let width = if wide { storage.access_elements() } else { 1 };
        let slices = shape.fetching_slices();
        let without = Self {
            length: shape.length(class),
            step: shape.k_tile / slices,
            fetch,
            width,
            padding: 0,
            storage,
            threads: shape.block_size().threads() / slices,
            slices,
        };
        without.padded()
    }

    /// The same with fetches of single elements.
    pub fn narrowed(self) -> Self {
        Self { width: 1, padding: 0, ..self }.padded()
    }

    /// With the smallest padding, a multiple of the widest access, under which stores conflict least.
    fn padded(self) -> Self {
        let padded = [0, self.storage.access_elements()].map(|padding| Self { padding, ..self });
        let [none, some] = padded.map(|side| side.store_conflicts());
        if some < none { padded[1] } else { padded[0] }
    }

    /// The degree of bank conflicts of the first warp's stores.
    pub fn store_conflicts(&self) -> f64 {
        match self.fetch {
            Fetch::Reduction => {
                let degrees = (0..self.width).map(|part| self.part_conflicts(part, SharedWidth::Word));
                degrees.sum::<f64>() / self.width as f64
            }
            Fetch::Elements => self.part_conflicts(0, SharedWidth::of_elements(self.width, self.storage)),
        }
    }

    /// The degree of the first warp's stores of the `part`-th elements.
    fn part_conflicts(&self, part: usize, width: SharedWidth) -> f64 {
        let mut words = [0; 32];
        let lanes = (0..words.len()).filter_map(|lane| self.unit(lane, 0));
        let mut count = 0;
        for (word, (in_step, element)) in words.iter_mut().zip(lanes) {
            let (in_step, element) = self.part(in_step, element, part);
            *word = ((in_step * self.row() + element) * self.storage.bytes() / WORD_BYTES) as u64;
            count += 1;
        }
        conflict_degree(&words[..count], width)
    }

    /// Elements from one row of the tile to the next.
    pub fn row(&self) -> usize {
        self.length + self.padding
    }

    /// Elements of one step's tiles, with the padding.
    pub fn words(&self) -> usize {
        self.row() * self.step * self.slices
    }

    /// Fetches for one step, those of threads that have no element counted too.
    pub fn units(&self) -> usize {
        self.covered() * self.step / self.width
    }

    /// Rows or columns that the threads go over: where the tile's do not divide among them, the last are no elements.
    pub fn covered(&self) -> usize {
        match self.fetch {
            Fetch::Reduction => {
                let at_once = self.threads / self.along();
                let length = self.length.next_power_of_two();
                if length < at_once { length } else { self.length.next_multiple_of(at_once) }
            }
            Fetch::Elements => self.along() * self.width,
        }
    }

    /// Fetches of a thread for one step; where the block has more threads than fetches, the last ones have none.
    pub fn trips(&self) -> usize {
        self.units().div_ceil(self.threads)
    }

    /// Fetches along the fetching direction before the other coordinate moves on.
    pub fn along(&self) -> usize {
        match self.fetch {
            Fetch::Reduction => WINDOW / self.width,
            Fetch::Elements => (self.length / self.width).next_power_of_two(),
        }
    }

    /// Different rows or columns that a thread fetches.
    pub fn elements(&self) -> usize {
        match self.fetch {
            Fetch::Reduction => (self.covered() * self.along()).div_ceil(self.threads),
            Fetch::Elements => self.along().div_ceil(self.threads),
        }
    }

    /// The step and the row or column of the first element of a thread's fetch, if it has one.
    pub fn unit(&self, thread: usize, trip: usize) -> Option<(usize, usize)> {
        let (unit, along, covered) = (trip * self.threads + thread, self.along(), self.covered());
        let (inner, outer) = (unit % along, unit / along);
        let (in_step, element) = match self.fetch {
            Fetch::Reduction => ((outer / covered) * WINDOW + inner * self.width, outer % covered),
            Fetch::Elements => (outer, inner * self.width),
        };
        (unit < covered * self.step / self.width && element < self.length).then_some((in_step, element))
    }

    /// The step and the row or column of the `part`-th element of a fetch.
    pub fn part(&self, in_step: usize, element: usize, part: usize) -> (usize, usize) {
        match self.fetch {
            Fetch::Reduction => (in_step + part, element),
            Fetch::Elements => (in_step, element + part),
        }
    }
}

/// The read that a factor is, if it is nothing else but one, or one of values whose storage type is widened to `compute`.
pub fn plain_read(expr: &TensorExpr, factor: &Scalar) -> Option<ReadId> {
    match factor {
        Scalar::Read(read) => Some(*read),
        Scalar::Cast(to, inner) => match **inner {
            Scalar::Read(read) if is_widened(expr.operands[expr.reads[read].operand].element, *to) => Some(read),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a type is that in which singles of fewer bits are stored which are computed as another.
fn is_widened(storage: ElementType, compute: ElementType) -> bool {
    storage != compute && storage.is_float() && storage.compute() == compute
}

fn first_read(factor: &Scalar) -> Option<ReadId> {
    let mut first = None;
    factor.visit(&mut |scalar| {
        if let Scalar::Read(read) = scalar {
            first = first.or(Some(*read));
        }
    });
    first
}

/// Where a read of the first stage lies in its operand, laid out row by row.
fn linear(body: &GroupBody, read: &Read) -> Index {
    let strides = body.stages[0].expr.operands[read.operand].shape.strides();
    Index::linear(&read.index, &strides, 0)
}

/// Whether the neighbouring elements of a widest access of a read, fetched along a direction, are neighbours in memory, aligned, and
/// exist together.
fn is_wide(
    body: &GroupBody,
    contraction: &Contraction,
    read: &Read,
    fetch: Fetch,
    axes: &[usize],
    tile: &[usize],
) -> bool {
    let expr = &body.stages[0].expr;
    let index = linear(body, read);
    let element = expr.operands[read.operand].element;
    if !element.is_single() || !read.guard.is_always() || !index.is_affine() {
        return false;
    }
    let divides = |value: i64| value % element.access_elements() as i64 == 0;
    let (inner, run) = match fetch {
        Fetch::Reduction => reduction_run(contraction, body, &index),
        Fetch::Elements => {
            let Some(&axis) = axes.last() else { return false };
            let extent = expr.axes[AxisId::from_index(axis)].extent;
            let whole = divides(tile[axis] as i64) && divides(extent as i64);
            (vec![AxisId::from_index(axis)], if whole { tile[axis] } else { 1 })
        }
    };
    let outer = expr.axes.ids().filter(|axis| !inner.contains(axis) && expr.axes[*axis].extent > 1);
    divides(run as i64) && divides(index.offset()) && outer.into_iter().all(|axis| divides(index.coefficient(axis)))
}

/// The innermost reduced axes along which a read goes on without a gap, and the points of their box.
fn reduction_run(contraction: &Contraction, body: &GroupBody, index: &Index) -> (Vec<AxisId>, usize) {
    let expr = &body.stages[0].expr;
    let (mut inner, mut run) = (Vec::new(), 1);
    for axis in contraction.axes(AxisClass::Reduction).into_iter().rev() {
        let extent = expr.axes[axis].extent;
        if extent > 1 && index.coefficient(axis) != run as i64 {
            break;
        }
        inner.push(axis);
        run *= extent;
    }
    (inner, run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::block::WARP;
    use std::collections::BTreeSet;

    /// Every element of a tile is fetched once.
    #[track_caller]
    fn check(fetch: Fetch, width: usize, (length, step): (usize, usize), threads: usize) {
        let storage = ElementType::F32;
        let load = SideLoad { length, step, fetch, width, padding: 0, storage, threads, slices: 1 };
        let fetches = (0..load.trips()).flat_map(|trip| (0..threads).map(move |thread| (thread, trip)));
        let mut found = BTreeSet::new();
        for (in_step, element) in fetches.filter_map(|(thread, trip)| load.unit(thread, trip)) {
            for part in 0..width {
                assert!(found.insert(load.part(in_step, element, part)), "{load:?}: once");
            }
        }
        let all = (0..step).flat_map(|in_step| (0..length).map(move |element| (in_step, element)));
        assert_eq!(found, all.collect(), "{load:?}");
    }

    #[test]
    fn blocks_and_warps_fetch_every_element_once() {
        for (fetch, width) in [Fetch::Reduction, Fetch::Elements].into_iter().flat_map(|fetch| [(fetch, 1), (fetch, 4)])
        {
            for (length, step) in [(16, 8), (64, 8), (128, 16), (96, 32), (48, 8)] {
                check(fetch, width, (length, step), 8 * WARP);
                check(fetch, width, (length, step), WARP);
            }
        }
    }
}
