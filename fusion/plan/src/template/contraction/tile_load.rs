//! How the two factors of a contraction come into shared memory: which thread fetches what, and where it goes.

use std::collections::BTreeSet;

use warpweave_graph::Numerics;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, Index, Read, ReadId, Scalar, TensorExpr};
use warpweave_graph::numerics::WORD_BYTES;
use warpweave_graph::types::ElementType;

use crate::body::{GroupBody, StageSource};
use crate::shared_memory::{SharedWidth, WARP, conflict_degree};
use crate::template::contraction::shape::{ContractionShape, Pipeline};
use crate::template::contraction::unit::ComputeUnit;
use crate::template::contraction::{AxisClass, Contraction};

/// Fewest steps along the reduction that neighbouring threads fetch before they go to the next row or column: a sector of
/// global memory.
pub const WINDOW: usize = 8;

/// Bytes of a line of global memory: a window of more steps brings none sooner.
const LINE_BYTES: usize = 128;

/// Fewest elements that a swizzle moves together: a thread reads so many of a row at once.
const READ_TOGETHER: usize = Numerics::SINGLE.access_elements();

/// Along which direction neighbouring threads fetch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fetch {
    /// Along the reduction, a window of steps at a time.
    Reduction,
    /// Along rows or columns.
    Elements,
}

/// What the rows of a tile in shared memory are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TileRows {
    /// Steps along the reduction, each with the tile's rows or columns.
    Steps,
    /// Rows or columns, each with the steps along the reduction.
    Elements,
}

impl TileRows {
    /// Those of a tile for a unit. Loads of matrices transpose them where need be, so that what is fetched together stays together;
    /// lanes read neighbouring rows or columns of the tile at once.
    fn of(unit: ComputeUnit, fetch: Fetch) -> Self {
        match (unit, fetch) {
            (ComputeUnit::Mma, Fetch::Reduction) => Self::Elements,
            (ComputeUnit::Mma, Fetch::Elements) | (ComputeUnit::Simt, _) => Self::Steps,
        }
    }
}

/// Where the elements of a row of the tile lie, so that stores of neighbouring threads meet different banks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RowLayout {
    /// In order, followed by so many elements that hold nothing.
    Padded(usize),
    /// Each at the exclusive or of its number with that of the row's fetch, modulo `turns`, times `unit`. Both are powers of
    /// two, and their product divides the row's length.
    Swizzled {
        /// Elements that stay side by side.
        unit: usize,
        /// Different orders.
        turns: usize,
    },
}

/// One factor's tile of one step: `step` steps of `length` elements. Where slices of threads fetch for themselves, one of
/// them, and the tile of its part of a step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SideLoad {
    /// Rows or columns of the block tile.
    pub length: usize,
    /// Steps along the reduction.
    pub step: usize,
    /// Along which direction neighbouring threads fetch.
    pub fetch: Fetch,
    /// Elements that a thread fetches at once, along that direction: 1, or those of the widest access; for tensor cores also fewer.
    pub width: usize,
    /// Steps along the reduction that neighbouring threads fetch before they go to the next row or column.
    pub window: usize,
    /// What multiplies.
    pub unit: ComputeUnit,
    /// What the rows are.
    pub rows: TileRows,
    /// Where the elements of a row lie.
    pub layout: RowLayout,
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
        let rows = TileRows::of(shape.unit, fetch);
        let storage = contraction.numerics().storage;
        // A copy turns no row into a column, unless it is of one element.
        let crosses = fetch == Fetch::Reduction && rows == TileRows::Steps && storage.bytes() >= WORD_BYTES;
        // On tensor cores each factor is copied that can be; elsewhere both are, or none.
        let is_plain = match shape.unit {
            ComputeUnit::Simt => contraction.is_plain(body),
            ComputeUnit::Mma => contraction.is_plain_side(body, class),
        };
        let is_copied = matches!(shape.pipeline, Pipeline::Asynchronous { .. }) && is_plain;
        let are_together = |width: usize| match read {
            Some(read) => {
                let read = &body.stages[0].expr.reads[read];
                (is_copied || read.guard.is_always()) && is_wide(body, contraction, read, fetch, (&axes, tile), width)
            }
            None if shape.unit == ComputeUnit::Simt => false,
            None => ComputedRun::of(body, contraction, class, tile, fetch, width).is_some(),
        };
        let widths = if is_copied && crosses { &[][..] } else { widths(shape.unit, storage) };
        let width = widths.iter().copied().find(|width| are_together(*width)).unwrap_or(1);
        let slices = shape.fetching_slices();
        let without = Self {
            length: shape.length(class),
            step: shape.k_tile / slices,
            fetch,
            width,
            window: WINDOW,
            unit: shape.unit,
            rows,
            layout: RowLayout::Padded(0),
            storage,
            threads: shape.block_size().threads() / slices,
            slices,
        };
        without.laid_out()
    }

    /// The same with fetches of as many elements as the unit can fetch at once and for which `are_aligned` holds; of one elsewhere.
    pub fn narrowed(self, are_aligned: impl Fn(usize) -> bool) -> Self {
        let narrower = widths(self.unit, self.storage).iter().copied().filter(|width| *width <= self.width);
        let width = narrower.into_iter().find(|width| are_aligned(*width)).unwrap_or(1);
        if width == self.width { self } else { Self { width, window: WINDOW, ..self }.laid_out() }
    }

    /// With the window and the layout under which fetches and stores of a warp take the fewest passes; of those, the first:
    /// the shortest window, and no padding, before a swizzle, before padding.
    fn laid_out(self) -> Self {
        let mut best: Option<(f64, Self)> = None;
        for window in self.windows() {
            let load = Self { window, ..self };
            for layout in load.layouts() {
                let load = Self { layout, ..load };
                let passes = load.passes();
                if best.is_none_or(|(fewest, _)| passes < fewest) {
                    best = Some((passes, load));
                }
            }
        }
        best.map_or(self, |(_, load)| load)
    }

    /// Windows to choose from: longer ones than a sector where a thread fetches several neighbouring steps at once.
    fn windows(&self) -> impl Iterator<Item = usize> + use<> {
        let is_wide = self.fetch == Fetch::Reduction && self.width > 1;
        let longest = if is_wide { self.step.min(LINE_BYTES / self.storage.bytes()) } else { WINDOW };
        std::iter::successors(Some(WINDOW), |window| Some(window * 2))
            .take_while(move |window| *window <= longest.max(WINDOW))
    }

    /// Whether asynchronous copies can bring what a thread fetches at once: a word at least, which lies together.
    pub fn can_be_copied(&self) -> bool {
        (self.width == 1 || !self.crosses()) && self.width * self.storage.bytes() >= WORD_BYTES
    }

    /// Whether a kernel of this shape brings the factor of a class by asynchronous copies, if it does those of the other factor.
    pub fn is_copied(
        &self,
        body: &GroupBody,
        contraction: &Contraction,
        (class, shape): (AxisClass, &ContractionShape),
    ) -> bool {
        let copies = matches!(shape.pipeline, Pipeline::Asynchronous { .. });
        copies && contraction.is_plain_side(body, class) && self.can_be_copied()
    }

    /// Whether a thread loads elements of a factor that is a read as words of two, to move them as they are.
    pub fn are_words(
        &self,
        body: &GroupBody,
        contraction: &Contraction,
        (class, shape): (AxisClass, &ContractionShape),
    ) -> bool {
        let is_read = plain_read(&body.stages[0].expr, contraction.factor(class)).is_some();
        let is_wide = self.unit == ComputeUnit::Mma && self.width > 1;
        is_wide && is_read && !self.is_copied(body, contraction, (class, shape))
    }

    /// Whether what a thread fetches at once lies in different rows of the tile.
    fn crosses(&self) -> bool {
        match self.rows {
            TileRows::Steps => self.fetch == Fetch::Reduction,
            TileRows::Elements => self.fetch == Fetch::Elements,
        }
    }

    /// The length of a row of the tile without what the layout adds.
    fn row_length(&self) -> usize {
        match self.rows {
            TileRows::Steps => self.length,
            TileRows::Elements => self.step,
        }
    }

    /// Layouts to choose from. Rows of matrices that a warp loads together begin at different banks if a row has an odd number of
    /// widest accesses.
    fn layouts(&self) -> impl Iterator<Item = RowLayout> + use<> {
        let access = self.storage.access_elements();
        if self.unit == ComputeUnit::Mma {
            let is_even = (self.row_length() / access).is_multiple_of(2);
            let odd = RowLayout::Padded(if is_even { access } else { 0 });
            return [Some(odd), None, None].into_iter().flatten();
        }
        let bank_elements = WARP * WORD_BYTES / self.storage.bytes();
        let span = (1 << self.length.trailing_zeros()).min(bank_elements);
        let unit = (span / self.along()).max(READ_TOGETHER);
        let is_wide = self.fetch == Fetch::Reduction && self.width > 1;
        let swizzled = (is_wide && span > unit).then(|| RowLayout::Swizzled { unit, turns: span / unit });
        let padded = RowLayout::Padded(self.storage.access_elements());
        [Some(RowLayout::Padded(0)), swizzled, Some(padded)].into_iter().flatten()
    }

    /// Passes through the data path of a fetch of the first warp, in which each row or column is a line of its own, and of the
    /// stores of what was fetched.
    fn passes(&self) -> f64 {
        let lines: BTreeSet<(usize, usize)> = match self.fetch {
            Fetch::Reduction => {
                let line = |in_step: usize| in_step * self.storage.bytes() / LINE_BYTES;
                let units = (0..WARP).filter_map(|lane| self.unit(lane, 0));
                units.map(|(in_step, element)| (element, line(in_step))).collect()
            }
            Fetch::Elements => BTreeSet::new(),
        };
        lines.len() as f64 + self.stores() as f64 * self.store_conflicts()
    }

    /// Stores of what a thread fetches at once.
    pub fn stores(&self) -> usize {
        if self.crosses() { self.width } else { 1 }
    }

    /// The degree of bank conflicts of the first warp's stores. Those of further elements of a fetch conflict as those of the
    /// first do: rows of a fetch have one order.
    pub fn store_conflicts(&self) -> f64 {
        let width = match self.crosses() {
            true => SharedWidth::Word,
            false => SharedWidth::of_elements(self.width, self.storage),
        };
        let mut words = [0; WARP];
        let lanes = (0..words.len()).filter_map(|lane| self.unit(lane, 0));
        let mut count = 0;
        for (word, (in_step, element)) in words.iter_mut().zip(lanes) {
            *word = (self.place(in_step, element) * self.storage.bytes() / WORD_BYTES) as u64;
            count += 1;
        }
        conflict_degree(&words[..count], width)
    }

    /// Where an element of a row lies in the tile.
    pub fn place(&self, in_step: usize, element: usize) -> usize {
        let order = match self.layout {
            RowLayout::Padded(_) => 0,
            RowLayout::Swizzled { unit, turns } => in_step / self.width % turns * unit,
        };
        match self.rows {
            TileRows::Steps => in_step * self.row() + (element ^ order),
            TileRows::Elements => element * self.row() + in_step,
        }
    }

    /// Elements from one row of the tile to the next.
    pub fn row(&self) -> usize {
        match self.layout {
            RowLayout::Padded(padding) => self.row_length() + padding,
            RowLayout::Swizzled { .. } => self.row_length(),
        }
    }

    /// Elements of one step's tiles, with the padding.
    pub fn words(&self) -> usize {
        let rows = match self.rows {
            TileRows::Steps => self.step,
            TileRows::Elements => self.length,
        };
        self.row() * rows * self.slices
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
            Fetch::Reduction => self.window / self.width,
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
            Fetch::Reduction => ((outer / covered) * self.window + inner * self.width, outer % covered),
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

/// Elements that threads fetch at once for a unit, the most first; single ones left out.
fn widths(unit: ComputeUnit, storage: ElementType) -> &'static [usize] {
    let all = &[8, 4, 2][..];
    match unit {
        ComputeUnit::Mma => all,
        ComputeUnit::Simt => {
            all.iter().position(|width| *width == storage.access_elements()).map_or(&[], |at| &all[at..=at])
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
pub(super) fn is_widened(storage: ElementType, compute: ElementType) -> bool {
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
pub(super) fn linear(body: &GroupBody, read: &Read) -> Index {
    let strides = body.stages[0].expr.operands[read.operand].shape.strides();
    Index::linear(&read.index, &strides, 0)
}

/// Whether `width` neighbouring elements of a read, fetched along a direction, are neighbours in memory, aligned, and exist together,
/// if they do.
fn is_wide(
    body: &GroupBody,
    contraction: &Contraction,
    read: &Read,
    fetch: Fetch,
    (axes, tile): (&[usize], &[usize]),
    width: usize,
) -> bool {
    let expr = &body.stages[0].expr;
    let index = linear(body, read);
    if !expr.operands[read.operand].element.is_single() || !index.is_affine() {
        return false;
    }
    let divides = |value: i64| value % width as i64 == 0;
    let (inner, run) = match fetch {
        Fetch::Reduction => reduction_run(contraction, body, read, &index),
        Fetch::Elements => {
            let Some(&axis) = axes.last() else { return false };
            let axis_id = AxisId::from_index(axis);
            let extent = expr.axes[axis_id].extent;
            let whole = divides(tile[axis] as i64) && divides(extent as i64) && !decides(read, axis_id);
            (vec![axis_id], if whole { tile[axis] } else { 1 })
        }
    };
    let outer = expr.axes.ids().filter(|axis| !inner.contains(axis) && expr.axes[*axis].extent > 1);
    divides(run as i64) && divides(index.offset()) && outer.into_iter().all(|axis| divides(index.coefficient(axis)))
}

/// Neighbouring elements of a factor that is computed of loads, which a thread evaluates together: what each of its reads loads for all
/// of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ComputedRun {
    /// The factor's reads, and whether each loads neighbours in memory, rather than one element for all.
    pub reads: Vec<(ReadId, bool)>,
}

impl ComputedRun {
    /// The runs of `width` elements of the factor of a class along the direction in which it is fetched. None where elements of a run are
    /// no aligned neighbours in memory, where they do not exist together, or where the factor depends on where it is evaluated.
    pub fn of(
        body: &GroupBody,
        contraction: &Contraction,
        class: AxisClass,
        tile: &[usize],
        fetch: Fetch,
        width: usize,
    ) -> Option<Self> {
        let stage = &body.stages[0];
        let expr = &stage.expr;
        let factor = contraction.factor(class);
        let axis = run_axis(body, contraction, class, fetch)?;
        let tiled = tile.get(axis.index()).is_none_or(|length| length.is_multiple_of(width));
        let mut is_fixed = tiled && expr.axes[axis].extent.is_multiple_of(width);
        factor.visit(&mut |scalar| is_fixed &= !matches!(scalar, Scalar::Index(..) | Scalar::Holds(_)));
        let of_read = |id: ReadId| {
            let read = &expr.reads[id];
            let element = expr.operands[read.operand].element;
            let in_memory = matches!(stage.sources[read.operand], StageSource::Operand(_)) && element.is_single();
            let index = linear(body, read);
            let divides = |value: i64| value % width.min(element.access_elements()) as i64 == 0;
            let others = expr.axes.ids().filter(|other| *other != axis && expr.axes[*other].extent > 1);
            let is_aligned =
                || divides(index.offset()) && others.into_iter().all(|axis| divides(index.coefficient(axis)));
            let is_read = in_memory && !decides(read, axis) && index.is_affine();
            match index.coefficient(axis) {
                0 if is_read => Some((id, false)),
                1 if is_read && is_aligned() => Some((id, true)),
                _ => None,
            }
        };
        let reads: Vec<(ReadId, bool)> = expr.reads_of(factor).into_iter().map(of_read).collect::<Option<_>>()?;
        (is_fixed && reads.iter().any(|(_, is_wide)| *is_wide)).then_some(Self { reads })
    }
}

/// The axis along which neighbours lie that are fetched together.
pub fn run_axis(body: &GroupBody, contraction: &Contraction, class: AxisClass, fetch: Fetch) -> Option<AxisId> {
    let axes = &body.stages[0].expr.axes;
    match fetch {
        Fetch::Reduction => {
            contraction.axes(AxisClass::Reduction).into_iter().rev().find(|axis| axes[*axis].extent > 1)
        }
        Fetch::Elements => contraction.tile_axes(body, class).last().copied().map(AxisId::from_index),
    }
}

/// Whether an axis decides if a read takes place.
fn decides(read: &Read, axis: AxisId) -> bool {
    read.guard
        .conditions()
        .iter()
        .any(|condition| !condition.index.is_affine() || condition.index.coefficient(axis) != 0)
}

/// The innermost reduced axes along which a read goes on without a gap, and takes place as a whole or not at all; and the points of
/// their box.
fn reduction_run(contraction: &Contraction, body: &GroupBody, read: &Read, index: &Index) -> (Vec<AxisId>, usize) {
    let expr = &body.stages[0].expr;
    let (mut inner, mut run) = (Vec::new(), 1);
    for axis in contraction.axes(AxisClass::Reduction).into_iter().rev() {
        let extent = expr.axes[axis].extent;
        if extent > 1 && (index.coefficient(axis) != run as i64 || decides(read, axis)) {
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
    fn check(
        (unit, storage): (ComputeUnit, ElementType),
        fetch: Fetch,
        width: usize,
        (length, step): (usize, usize),
        threads: usize,
    ) {
        let (window, layout, rows) = (WINDOW, RowLayout::Padded(0), TileRows::of(unit, fetch));
        let load = SideLoad { length, step, fetch, width, window, unit, rows, layout, storage, threads, slices: 1 };
        let load = load.laid_out();
        let fetches = (0..load.trips()).flat_map(|trip| (0..threads).map(move |thread| (thread, trip)));
        let mut found = BTreeSet::new();
        for (in_step, element) in fetches.filter_map(|(thread, trip)| load.unit(thread, trip)) {
            for part in 0..width {
                assert!(found.insert(load.part(in_step, element, part)), "{load:?}: once");
            }
        }
        let all: BTreeSet<_> =
            (0..step).flat_map(|in_step| (0..length).map(move |element| (in_step, element))).collect();
        assert_eq!(found, all, "{load:?}");
        let places: BTreeSet<usize> = all.iter().map(|(in_step, element)| load.place(*in_step, *element)).collect();
        assert_eq!(places.len(), all.len(), "{load:?}: each has a place of its own");
        assert!(places.iter().all(|place| *place < load.words()), "{load:?}: in the tile");
    }

    #[test]
    fn blocks_and_warps_fetch_every_element_once() {
        for (fetch, width) in [Fetch::Reduction, Fetch::Elements].into_iter().flat_map(|fetch| [(fetch, 1), (fetch, 4)])
        {
            for (length, step) in [(16, 8), (64, 8), (128, 16), (96, 32), (48, 8)] {
                check((ComputeUnit::Simt, ElementType::F32), fetch, width, (length, step), 8 * WARP);
                check((ComputeUnit::Simt, ElementType::F32), fetch, width, (length, step), WARP);
            }
        }
    }

    #[test]
    fn blocks_fetch_every_element_of_matrices_once() {
        for (fetch, width) in [Fetch::Reduction, Fetch::Elements].into_iter().flat_map(|fetch| [(fetch, 1), (fetch, 8)])
        {
            for (length, step) in [(16, 16), (64, 32), (128, 64), (96, 128), (48, 16)] {
                check((ComputeUnit::Mma, ElementType::F16), fetch, width, (length, step), 8 * WARP);
            }
        }
    }

    /// The window, the layout and the conflicts of wide fetches along the reduction.
    #[track_caller]
    fn check_layout((length, step): (usize, usize), expected: (usize, RowLayout, f64)) {
        let (fetch, storage, layout) = (Fetch::Reduction, ElementType::F32, RowLayout::Padded(0));
        let (threads, slices) = (8 * WARP, 1);
        let (unit, rows, window) = (ComputeUnit::Simt, TileRows::Steps, WINDOW);
        let load = SideLoad { length, step, fetch, width: 4, window, unit, rows, layout, storage, threads, slices };
        let load = load.laid_out();
        assert_eq!((load.window, load.layout, load.store_conflicts()), expected);
    }

    #[test]
    fn warps_fetch_whole_lines_and_store_without_conflicts() {
        check_layout((64, 64), (32, RowLayout::Swizzled { unit: 4, turns: 8 }, 1.0));
        check_layout((96, 32), (32, RowLayout::Swizzled { unit: 4, turns: 8 }, 1.0));
        check_layout((64, 16), (16, RowLayout::Swizzled { unit: 8, turns: 4 }, 1.0));
        check_layout((64, 8), (8, RowLayout::Swizzled { unit: 16, turns: 2 }, 1.0));
        check_layout((16, 64), (32, RowLayout::Swizzled { unit: 4, turns: 4 }, 2.0));
    }
}
