//! What follows sums, where each operation takes the value of the one before: all of it stays in vector registers.

use warpweave_graph::expr::BinaryOp;
use warpweave_plan::plan::BufferSpace;

use super::processor::{Processor, of_vectors};
use crate::host::memory::{Cells, HostSpace, Memory, Singles};
use crate::host::simd::{MOST_LANES, Vector};

/// Operations on a value that begins as a sum. `A` says where singles lie.
#[derive(Clone, Debug)]
pub(in crate::host) struct Chain<A>(Vec<Link<A>>);

#[derive(Clone, Debug)]
enum Link<A> {
    AddOne(f32),
    MultiplyOne(f32),
    /// With a bound, which is no NaN, and not the negative zero as the largest.
    AtLeast(f32),
    AtMost(f32),
    Add(A),
    Multiply(A),
    Store(A),
}

/// What an operation takes beside the value.
pub(in crate::host) enum Operand<A> {
    One(f32),
    Singles(A),
}

/// Vectors that pass through all links together.
const TOGETHER: usize = 4;

/// Most links of a chain.
const MOST_LINKS: usize = 12;

/// Rows of sums.
#[derive(Clone, Copy)]
pub(in crate::host) struct Sheet<'s> {
    pub(in crate::host) rows: usize,
    pub(in crate::host) columns: usize,
    /// From one row of sums to the next.
    pub(in crate::host) stride: usize,
    pub(in crate::host) sums: &'s [f32],
}

/// Where the singles of a sheet lie.
pub(in crate::host) struct Laid {
    pub(in crate::host) space: HostSpace,
    /// Of the first.
    pub(in crate::host) byte: i64,
    /// Singles from one element to the next.
    pub(in crate::host) step: i64,
    /// Singles from one row to the next.
    pub(in crate::host) row_step: i64,
}

impl<A> Default for Chain<A> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<A> Chain<A> {
    /// One operation more; `None` if no chain has such.
    pub(in crate::host) fn operate(&mut self, op: BinaryOp, other: Operand<A>) -> Option<()> {
        self.0.push(match (op, other) {
            (BinaryOp::Add, Operand::One(one)) => Link::AddOne(one),
            (BinaryOp::Multiply, Operand::One(one)) => Link::MultiplyOne(one),
            (BinaryOp::Maximum, Operand::One(bound)) if !bound.is_nan() => Link::AtLeast(bound),
            (BinaryOp::Minimum, Operand::One(bound)) if bound.to_bits() == (-0f32).to_bits() => return None,
            (BinaryOp::Minimum, Operand::One(bound)) if !bound.is_nan() => Link::AtMost(bound),
            (BinaryOp::Add, Operand::Singles(singles)) => Link::Add(singles),
            (BinaryOp::Multiply, Operand::Singles(singles)) => Link::Multiply(singles),
            _ => return None,
        });
        Some(())
    }

    /// Writes the value that there is so far.
    pub(in crate::host) fn store(&mut self, singles: A) {
        self.0.push(Link::Store(singles));
    }

    /// The chain, if it has as many links as one may have.
    pub(in crate::host) fn finished(self) -> Option<Self> {
        (1..=MOST_LINKS).contains(&self.0.len()).then_some(self)
    }

    /// The singles that it reads.
    pub(in crate::host) fn operands(&self) -> impl Iterator<Item = &A> {
        self.0.iter().filter_map(|link| match link {
            Link::Add(singles) | Link::Multiply(singles) => Some(singles),
            Link::AddOne(_) | Link::MultiplyOne(_) | Link::AtLeast(_) | Link::AtMost(_) | Link::Store(_) => None,
        })
    }

    /// Computes and stores rows of neighbouring elements; whether it has. Nothing is stored if it has not.
    pub(in crate::host) fn run(&self, sheet: &Sheet, memory: &Memory, lie: impl Fn(&A) -> Laid) -> bool {
        let sheet = &if self.joins_rows(sheet, &lie) { sheet.as_one_row() } else { *sheet };
        let mut placed = [Placed::One(Linked::Add, 0.0); MOST_LINKS];
        for (placed, link) in placed.iter_mut().zip(&self.0) {
            match Placed::new(link, sheet, memory, &lie) {
                Some(found) => *placed = found,
                None => return false,
            }
        }
        let placed = &placed[..self.0.len()];
        match Straight::new(placed) {
            Some(straight) => run_straight(Processor::detect(), sheet, &straight),
            None => run(Processor::detect(), sheet, placed),
        }
        true
    }

    /// Whether rows follow each other as elements of a row do, in all that is read and written.
    fn joins_rows(&self, sheet: &Sheet, lie: &impl Fn(&A) -> Laid) -> bool {
        let joins = |singles: &A| {
            let Laid { step, row_step, .. } = lie(singles);
            row_step == step * sheet.columns as i64
        };
        let mut links = self.0.iter();
        sheet.rows > 1
            && sheet.stride == sheet.columns
            && links.all(|link| match link {
                Link::AddOne(_) | Link::MultiplyOne(_) | Link::AtLeast(_) | Link::AtMost(_) => true,
                Link::Add(singles) | Link::Multiply(singles) | Link::Store(singles) => joins(singles),
            })
    }
}

#[derive(Clone, Copy)]
enum Linked {
    Add,
    Multiply,
    AtLeast,
    AtMost,
}

/// A link whose operands are found in memory. Rows of them begin so many singles apart.
#[derive(Clone, Copy)]
enum Placed<'m> {
    One(Linked, f32),
    /// A value a row.
    Row(Linked, Singles<'m>, usize),
    /// A value an element.
    Element(Linked, Singles<'m>, usize),
    Store(Cells<'m>, usize),
    /// The same where elements of a row are so many singles apart.
    StoreApart(Cells<'m>, usize, usize),
}

impl<'m> Placed<'m> {
    fn new<A>(link: &Link<A>, sheet: &Sheet, memory: &'m Memory, lie: &impl Fn(&A) -> Laid) -> Option<Self> {
        let (linked, singles) = match link {
            Link::AddOne(one) => return Some(Self::One(Linked::Add, *one)),
            Link::MultiplyOne(one) => return Some(Self::One(Linked::Multiply, *one)),
            Link::AtLeast(one) => return Some(Self::One(Linked::AtLeast, *one)),
            Link::AtMost(one) => return Some(Self::One(Linked::AtMost, *one)),
            Link::Add(singles) => (Linked::Add, singles),
            Link::Multiply(singles) => (Linked::Multiply, singles),
            Link::Store(singles) => {
                let Laid { space, byte, step, row_step } = lie(singles);
                let step = if sheet.columns == 1 { 1 } else { usize::try_from(step).ok()? };
                let reach = sheet.columns.checked_sub(1)?.checked_mul(step)?.checked_add(1)?;
                let (length, row_step) = sheet.reach(row_step, reach)?;
                let is_inside = space == HostSpace::Plan(BufferSpace::Arena);
                let cells = is_inside.then(|| memory.arena.cells(byte, length))??;
                return Some(match step {
                    1 => Self::Store(cells, row_step),
                    _ => Self::StoreApart(cells, row_step, step),
                });
            }
        };
        let Laid { space, byte, step, row_step } = lie(singles);
        let is_one = step == 0 || sheet.columns == 1;
        let (length, row_step) = sheet.reach(row_step, if is_one { 1 } else { sheet.columns })?;
        let found = (is_one || step == 1).then(|| memory.singles_apart(space, byte, length))??;
        Some(if is_one { Self::Row(linked, found, row_step) } else { Self::Element(linked, found, row_step) })
    }
}

impl Sheet<'_> {
    /// The same sums, which lie side by side.
    fn as_one_row(self) -> Self {
        let columns = self.rows * self.columns;
        Self { rows: 1, columns, stride: columns, ..self }
    }

    /// From the first single of the first row to the last of the last, each of so many, and from one row to the next; `None` if rows
    /// go backwards.
    fn reach(&self, row_step: i64, columns: usize) -> Option<(usize, usize)> {
        let row_step = if self.rows > 1 { usize::try_from(row_step).ok()? } else { 0 };
        Some((self.rows.saturating_sub(1).checked_mul(row_step)?.checked_add(columns)?, row_step))
    }
}

of_vectors! {
fn run<V>(processor, sheet: &Sheet<'_>, links: &[Placed<'_>]) {
    for row in 0..sheet.rows {
        let sums = &sheet.sums[row * sheet.stride..][..sheet.columns];
        let mut at = 0;
        while sums.len() - at >= TOGETHER * V::LANES {
            block::<V, TOGETHER>(links, row, at, &sums[at..]);
            at += TOGETHER * V::LANES;
        }
        while sums.len() - at >= V::LANES {
            block::<V, 1>(links, row, at, &sums[at..]);
            at += V::LANES;
        }
        if at < sums.len() {
            last::<V>(links, row, at, &sums[at..]);
        }
    }
}
}

/// So many vectors of a row.
#[inline(always)]
fn block<V: Vector, const VECTORS: usize>(links: &[Placed<'_>], row: usize, at: usize, sums: &[f32]) {
    let mut values = [V::splat(0.0); VECTORS];
    let mut vector = 0;
    while vector < VECTORS {
        values[vector] = V::load(&sums[vector * V::LANES..]);
        vector += 1;
    }
    let count = VECTORS * V::LANES;
    let mut number = 0;
    while number < links.len() {
        match links[number] {
            Placed::One(linked, one) => all(&mut values, linked, V::splat(one)),
            Placed::Row(linked, singles, step) => all(&mut values, linked, V::splat(singles.slice(row * step, 1)[0])),
            Placed::Element(linked, singles, step) => {
                let elements = singles.slice(row * step + at, count);
                let mut vector = 0;
                while vector < VECTORS {
                    values[vector] = linked.of(values[vector], V::load(&elements[vector * V::LANES..]));
                    vector += 1;
                }
            }
            Placed::Store(cells, step) => {
                let mut vector = 0;
                while vector < VECTORS {
                    cells.store(row * step + at + vector * V::LANES, V::LANES, values[vector]);
                    vector += 1;
                }
            }
            Placed::StoreApart(cells, row_step, step) => {
                let mut vector = 0;
                while vector < VECTORS {
                    let first = row * row_step + (at + vector * V::LANES) * step;
                    store_apart(values[vector], cells, first, step, V::LANES);
                    vector += 1;
                }
            }
        }
        number += 1;
    }
}

/// The elements of a row that are less than a vector.
#[inline(always)]
fn last<V: Vector>(links: &[Placed<'_>], row: usize, at: usize, sums: &[f32]) {
    let mut value = V::load_part(sums);
    let mut number = 0;
    while number < links.len() {
        match links[number] {
            Placed::One(linked, one) => value = linked.of(value, V::splat(one)),
            Placed::Row(linked, singles, step) => {
                value = linked.of(value, V::splat(singles.slice(row * step, 1)[0]));
            }
            Placed::Element(linked, singles, step) => {
                value = linked.of(value, V::load_part(singles.slice(row * step + at, sums.len())));
            }
            Placed::Store(cells, step) => cells.store(row * step + at, sums.len(), value),
            Placed::StoreApart(cells, row_step, step) => {
                store_apart(value, cells, row * row_step + at * step, step, sums.len());
            }
        }
        number += 1;
    }
}

/// Writes the first lanes of a vector, so many singles apart.
#[inline(always)]
fn store_apart<V: Vector>(value: V, cells: Cells<'_>, first: usize, step: usize, lanes: usize) {
    let mut all = [0.0; MOST_LANES];
    value.store(&mut all);
    cells.store_apart(first, step, &all[..lanes]);
}

#[inline(always)]
fn all<V: Vector, const VECTORS: usize>(values: &mut [V; VECTORS], linked: Linked, operand: V) {
    let mut vector = 0;
    while vector < VECTORS {
        values[vector] = linked.of(values[vector], operand);
        vector += 1;
    }
}

impl Linked {
    #[inline(always)]
    fn of<V: Vector>(self, value: V, operand: V) -> V {
        match self {
            Self::Add => value.add(operand),
            Self::Multiply => value.multiply(operand),
            Self::AtLeast => value.at_least(operand),
            Self::AtMost => value.at_most(operand),
        }
    }
}

/// A chain that multiplies, adds a value a row, adds one an element, bounds and stores, in this order. What it leaves out is done with a
/// number that changes nothing.
struct Straight<'m> {
    factor: OfRow<'m>,
    summand: OfRow<'m>,
    elements: Option<(Singles<'m>, usize)>,
    least: f32,
    most: f32,
    out: (Cells<'m>, usize),
}

/// A value a row.
#[derive(Clone, Copy)]
enum OfRow<'m> {
    Same(f32),
    Each(Singles<'m>, usize),
}

impl OfRow<'_> {
    #[inline(always)]
    fn at(self, row: usize) -> f32 {
        match self {
            Self::Same(value) => value,
            Self::Each(singles, step) => singles.slice(row * step, 1)[0],
        }
    }
}

impl<'m> Straight<'m> {
    /// The same as these links, if they are such.
    fn new(links: &[Placed<'m>]) -> Option<Self> {
        let (Placed::Store(cells, step), links) = links.split_last()? else { return None };
        let mut straight = Self {
            factor: OfRow::Same(1.0),
            // Of all zeros the one that changes no other.
            summand: OfRow::Same(-0.0),
            elements: None,
            least: f32::NEG_INFINITY,
            most: f32::INFINITY,
            out: (*cells, *step),
        };
        let mut before = 0;
        for link in links {
            let place = match *link {
                Placed::One(Linked::Multiply, one) => {
                    straight.factor = OfRow::Same(one);
                    1
                }
                Placed::Row(Linked::Multiply, singles, step) => {
                    straight.factor = OfRow::Each(singles, step);
                    1
                }
                Placed::One(Linked::Add, one) => {
                    straight.summand = OfRow::Same(one);
                    2
                }
                Placed::Row(Linked::Add, singles, step) => {
                    straight.summand = OfRow::Each(singles, step);
                    2
                }
                Placed::Element(Linked::Add, singles, step) => {
                    straight.elements = Some((singles, step));
                    3
                }
                Placed::One(Linked::AtLeast, bound) => {
                    straight.least = bound;
                    4
                }
                Placed::One(Linked::AtMost, bound) => {
                    straight.most = bound;
                    5
                }
                Placed::Row(Linked::AtLeast | Linked::AtMost, ..)
                | Placed::Element(..)
                | Placed::Store(..)
                | Placed::StoreApart(..) => return None,
            };
            if place <= before {
                return None;
            }
            before = place;
        }
        Some(straight)
    }
}

of_vectors! {
fn run_straight<V>(processor, sheet: &Sheet<'_>, of: &Straight<'_>) {
    for row in 0..sheet.rows {
        let sums = &sheet.sums[row * sheet.stride..][..sheet.columns];
        let mut at = 0;
        while sums.len() - at >= TOGETHER * V::LANES {
            straight::<V, TOGETHER>(of, row, at, &sums[at..], V::LANES);
            at += TOGETHER * V::LANES;
        }
        while sums.len() - at >= V::LANES {
            straight::<V, 1>(of, row, at, &sums[at..], V::LANES);
            at += V::LANES;
        }
        if at < sums.len() {
            straight::<V, 1>(of, row, at, &sums[at..], sums.len() - at);
        }
    }
}
}

/// So many vectors of a row, of each so many lanes.
#[inline(always)]
fn straight<V: Vector, const VECTORS: usize>(of: &Straight<'_>, row: usize, at: usize, sums: &[f32], lanes: usize) {
    let (factor, summand) = (V::splat(of.factor.at(row)), V::splat(of.summand.at(row)));
    let (least, most, (cells, step)) = (V::splat(of.least), V::splat(of.most), of.out);
    let mut vector = 0;
    while vector < VECTORS {
        let from = vector * V::LANES;
        let mut value = part::<V>(&sums[from..][..lanes]).multiply(factor).add(summand);
        if let Some((elements, step)) = of.elements {
            value = value.add(part::<V>(elements.slice(row * step + at + from, lanes)));
        }
        cells.store(row * step + at + from, lanes, value.at_least(least).at_most(most));
        vector += 1;
    }
}

/// The values of a slice of no more than a vector.
#[inline(always)]
fn part<V: Vector>(values: &[f32]) -> V {
    if values.len() == V::LANES { V::load(values) } else { V::load_part(values) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::indices::IndexFaults;
    use crate::host::memory::{SINGLE_BYTES, SharedArena};

    /// Singles of the arena: the first, and from one element and one row to the next.
    #[derive(Clone, Copy, Debug)]
    struct At(i64, i64, i64);

    /// Adds a value a row, adds one an element or multiplies with it, bounds, and stores a sheet to singles that lie so.
    fn check((rows, columns): (usize, usize), op: BinaryOp, row: At, store: At) {
        const SINGLES: usize = 1 << 14;
        let element = At(64, 1, columns as i64);
        let arena = SharedArena::new(SINGLES * SINGLE_BYTES);
        let values: Vec<f32> = (0..SINGLES).map(|at| ((at * 7 + 3) % 11) as f32 - 5.0).collect();
        arena.write(0, bytemuck::cast_slice(&values));
        let faults = IndexFaults::default();
        let memory = Memory { arena: &arena, weights: &[], staged: Vec::new(), faults: &faults, run: 0, bases: &[] };
        let mut chain = Chain::default();
        chain.operate(BinaryOp::Add, Operand::Singles(row)).expect("a chain adds");
        chain.operate(op, Operand::Singles(element)).expect("a chain adds and multiplies");
        chain.operate(BinaryOp::Maximum, Operand::One(-3.0)).expect("a chain bounds");
        chain.store(store);
        let chain = chain.finished().expect("it is short");
        let stride = columns + if store.1 == 1 { 0 } else { 3 };
        let sums: Vec<f32> = (0..rows * stride).map(|at| (at % 5) as f32).collect();
        let sheet = Sheet { rows, columns, stride, sums: &sums };
        let lie = |At(first, step, row_step): &At| {
            let byte = first * SINGLE_BYTES as i64;
            Laid { space: HostSpace::Plan(BufferSpace::Arena), byte, step: *step, row_step: *row_step }
        };
        assert!(chain.run(&sheet, &memory, lie), "{rows}x{columns} to {store:?}");
        let mut expected = values.clone();
        for at in (0..rows * columns).map(|at| (at / columns, at % columns)) {
            let place = |At(first, step, row_step): At| (first + row_step * at.0 as i64 + step * at.1 as i64) as usize;
            let (sum, other) = (sums[at.0 * stride + at.1] + values[place(row)], values[place(element)]);
            let value = if op == BinaryOp::Add { sum + other } else { sum * other };
            expected[place(store)] = value.max(-3.0);
        }
        let mut found = vec![0f32; SINGLES];
        arena.read(0, bytemuck::cast_slice_mut(&mut found));
        assert!(found == expected, "{rows}x{columns} to {store:?}");
        assert!(!chain.run(&sheet, &memory, |_| lie(&At(SINGLES as i64, 1, 1))), "nothing lies there");
    }

    #[test]
    fn sheets_are_stored_where_they_belong() {
        for (rows, columns) in [(1, 1), (3, 1), (2, 7), (4, 16), (3, 33), (2, 145)] {
            let stores = [(1, columns as i64), (1, columns as i64 + 2), (4, 1), (rows as i64, 1)];
            for (op, row) in [BinaryOp::Add, BinaryOp::Multiply].into_iter().flat_map(|op| [(op, 0), (op, 1)]) {
                let stores = stores.iter().map(|&(step, row_step)| At(2048, step, row_step));
                stores.for_each(|store| check((rows, columns), op, At(1, 0, row), store));
            }
        }
    }
}
