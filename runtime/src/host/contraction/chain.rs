//! What follows sums, where each operation takes the value of the one before: all of it stays in vector registers.

use warpweave_graph::ElementType;
use warpweave_graph::expr::BinaryOp;
use warpweave_plan::plan::BufferSpace;

use super::access::Access;
use super::slices::{Operation, Program};
use crate::host::memory::{Cells, HostSpace, Memory, Singles};
use crate::host::simd::Vector;
use crate::host::vector::processor::{Processor, of_vectors};

/// Operations on a value that begins as a sum.
#[derive(Clone, Debug)]
pub(super) struct Chain(Vec<Link>);

#[derive(Clone, Debug)]
enum Link {
    AddOne(f32),
    MultiplyOne(f32),
    /// With a bound, which is no NaN.
    AtLeast(f32),
    AtMost(f32),
    Add(Access),
    Multiply(Access),
    Store(Access),
}

/// Vectors that pass through all links together.
const TOGETHER: usize = 4;

/// Most links of a chain.
const MOST_LINKS: usize = 12;

/// Rows of sums, the point of the first, and the axes of rows and of columns.
pub(super) struct Sheet<'s> {
    pub(super) point: &'s [i64],
    pub(super) axis: usize,
    pub(super) row_axis: Option<usize>,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// From one row of sums to the next.
    pub(super) stride: usize,
    pub(super) sums: &'s [f32],
}

impl Chain {
    /// That of a program; `None` if it is none of singles.
    pub(super) fn new(program: &Program) -> Option<Self> {
        let (mut links, mut value) = (Vec::new(), None);
        let operations = program.operations();
        for (slot, operation) in operations.iter().enumerate() {
            match operation {
                Operation::One(_) | Operation::Read(_) => {}
                Operation::Sums if value.is_none() => value = Some(slot),
                Operation::Binary(op, left, right) => {
                    let other = match value? {
                        value if value == *left && value != *right => *right,
                        value if value == *right && value != *left => *left,
                        _ => return None,
                    };
                    links.push(link(*op, &operations[other])?);
                    value = Some(slot);
                }
                Operation::Store(stored, access) if Some(*stored) == value && is_single(access) => {
                    links.push(Link::Store(access.clone()));
                }
                _ => return None,
            }
        }
        (!links.is_empty() && links.len() <= MOST_LINKS).then_some(Self(links))
    }

    /// Computes and stores rows of neighbouring elements; whether it has. Nothing is stored if it has not.
    pub(super) fn run(&self, sheet: &Sheet, memory: &Memory) -> bool {
        let mut placed = [Placed::One(Linked::Add, 0.0); MOST_LINKS];
        for (placed, link) in placed.iter_mut().zip(&self.0) {
            match Placed::new(link, sheet, memory) {
                Some(found) => *placed = found,
                None => return false,
            }
        }
        run(Processor::detect(), sheet, &placed[..self.0.len()]);
        true
    }
}

fn is_single(access: &Access) -> bool {
    access.element == ElementType::F32 && access.conditions.is_empty()
}

/// What an operation does with the value and another operand.
fn link(op: BinaryOp, other: &Operation) -> Option<Link> {
    match (op, other) {
        (BinaryOp::Add, Operation::One(one)) => Some(Link::AddOne(*one)),
        (BinaryOp::Multiply, Operation::One(one)) => Some(Link::MultiplyOne(*one)),
        (BinaryOp::Maximum, Operation::One(bound)) if !bound.is_nan() => Some(Link::AtLeast(*bound)),
        (BinaryOp::Minimum, Operation::One(bound)) if !bound.is_nan() => Some(Link::AtMost(*bound)),
        (BinaryOp::Add, Operation::Read(access)) if is_single(access) => Some(Link::Add(access.clone())),
        (BinaryOp::Multiply, Operation::Read(access)) if is_single(access) => Some(Link::Multiply(access.clone())),
        _ => None,
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
}

impl<'m> Placed<'m> {
    fn new(link: &Link, sheet: &Sheet, memory: &'m Memory) -> Option<Self> {
        let (linked, access) = match link {
            Link::AddOne(one) => return Some(Self::One(Linked::Add, *one)),
            Link::MultiplyOne(one) => return Some(Self::One(Linked::Multiply, *one)),
            Link::AtLeast(one) => return Some(Self::One(Linked::AtLeast, *one)),
            Link::AtMost(one) => return Some(Self::One(Linked::AtMost, *one)),
            Link::Add(access) => (Linked::Add, access),
            Link::Multiply(access) => (Linked::Multiply, access),
            Link::Store(access) => {
                let (first, step, row_step) = sheet.line(access);
                let is_run = step == 1 || sheet.columns == 1;
                let inside = access.space == HostSpace::Plan(BufferSpace::Arena) && is_run;
                let length = (sheet.rows - 1) * row_step + sheet.columns;
                let cells = inside.then(|| memory.arena.cells(access.byte(first, memory), length))??;
                return Some(Self::Store(cells, row_step));
            }
        };
        let (first, step, row_step) = sheet.line(access);
        let columns = match step {
            0 => 1,
            1 => sheet.columns,
            _ => return None,
        };
        let length = (sheet.rows - 1) * row_step + columns;
        let singles = memory.singles_apart(access.space, access.byte(first, memory), length)?;
        Some(if step == 0 { Self::Row(linked, singles, row_step) } else { Self::Element(linked, singles, row_step) })
    }
}

impl Sheet<'_> {
    /// The position of the first element, and how far it is from there to the next element and to the next row.
    fn line(&self, access: &Access) -> (i64, i64, usize) {
        let row_step = self.row_axis.filter(|_| self.rows > 1).map_or(0, |axis| access.position.along(axis));
        // Steps back are beyond any length.
        let row_step = usize::try_from(row_step).unwrap_or(usize::MAX / self.rows.max(1) / 2);
        (access.position.at(self.point), access.position.along(self.axis), row_step)
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
            Placed::Store(cells, step) => cells.write(row * step + at, count, |out| {
                let mut vector = 0;
                while vector < VECTORS {
                    values[vector].store(&mut out[vector * V::LANES..]);
                    vector += 1;
                }
            }),
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
            Placed::Store(cells, step) => cells.write(row * step + at, sums.len(), |out| value.store_part(out)),
        }
        number += 1;
    }
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
