//! A tensor's gradient from its parts, each of which is zero outside a box of the tensor.
//!
//! What is read through a slice has a gradient in that slice alone. Slices that tile the tensor, as the steps of a sequence and
//! the gates of a recurrent cell do, are joined; others are padded, and all is added.

use std::ops::Range;

use super::points::Points;
use super::stacked::stacked;
use crate::expr::{Atom, BinaryOp, ExprBuilder, Guard, Index, Literal, Read, ReadId, Scalar};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType};

/// A range of places a dimension.
pub(super) type Region = Vec<Range<usize>>;

/// A part of a gradient: a tensor with the extents of its box.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Part {
    pub tensor: TensorId,
    pub region: Region,
}

impl Part {
    /// A part that is a gradient of the whole tensor.
    pub fn whole(tensor: TensorId, ty: &TensorType) -> Self {
        Self { tensor, region: whole(ty) }
    }
}

pub(super) fn whole(ty: &TensorType) -> Region {
    ty.shape.iter().map(|&extent| 0..extent).collect()
}

impl Points {
    /// The box of its operand that a read reads: along some dimensions one place, or as many places as an axis has.
    pub fn region(&self, read: ReadId) -> Region {
        let Read { operand, index, guard, .. } = &self.expr.reads[read];
        let all = whole(&self.expr.operands[*operand]);
        if !guard.is_always() {
            return all;
        }
        let mut used = Vec::new();
        index.iter().for_each(|index| index.visit(&mut |axis| used.push(axis), &mut |_| {}));
        let along = |(index, all): (&Index, Range<usize>)| {
            let extent = match index.terms() {
                [] => 1,
                [(Atom::Axis(axis), 1)] if used.iter().filter(|other| *other == axis).count() == 1 => {
                    self.expr.axes[*axis].extent
                }
                _ => return all,
            };
            let start = usize::try_from(index.offset()).unwrap_or(all.end);
            if start + extent <= all.end { start..start + extent } else { all }
        };
        index.iter().zip(all).map(along).collect()
    }

    /// The same points with one more operand, the box that a read reads, and the read that gives the same from it.
    pub fn with_region(&self, read: ReadId, region: &Region) -> (Self, ReadId) {
        let Read { operand, index, .. } = &self.expr.reads[read];
        let ty = TensorType { shape: extents(region).into(), ..self.expr.operands[*operand].clone() };
        let index = index.iter().zip(region).map(|(index, range)| index.plus(-(range.start as i64))).collect();
        self.with_source(read, ty, index)
    }
}

/// Appends the sum of the parts of a gradient, which has one of them at least.
pub(super) fn sum_of(program: &mut ProgramBuilder, ty: &TensorType, parts: Vec<Part>) -> TensorId {
    let region = whole(ty);
    sum_within(program, ty.element, &region, parts)
}

fn sum_within(program: &mut ProgramBuilder, element: ElementType, region: &Region, parts: Vec<Part>) -> TensorId {
    let (full, partial): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(|part| part.region == *region);
    let mut terms: Vec<TensorId> = full.into_iter().map(|part| part.tensor).collect();
    match tiled(region, &partial) {
        Some((dimension, ranges)) => {
            let of_range = |range: &Range<usize>| {
                let own = partial.iter().filter(|part| part.region[dimension] == *range).cloned().collect();
                let mut region = region.clone();
                region[dimension] = range.clone();
                sum_within(program, element, &region, own)
            };
            let joined: Vec<TensorId> = ranges.iter().map(of_range).collect();
            terms.push(program.concat(dimension, &joined));
        }
        None => terms.extend(partial.iter().map(|part| padded(program, element, region, part))),
    }
    let terms = stacked(program, terms);
    add(program, terms)
}

/// A dimension along which parts lie side by side and leave nothing out, and where they lie.
fn tiled(region: &Region, parts: &[Part]) -> Option<(usize, Vec<Range<usize>>)> {
    (0..region.len()).find_map(|dimension| {
        let mut ranges: Vec<Range<usize>> = parts.iter().map(|part| part.region[dimension].clone()).collect();
        ranges.sort_by_key(|range| (range.start, range.end));
        ranges.dedup();
        let starts = std::iter::once(region[dimension].start).chain(ranges.iter().map(|range| range.end));
        let meet = ranges.iter().zip(starts).all(|(range, start)| range.start == start);
        let ends = ranges.last().is_some_and(|range| range.end == region[dimension].end);
        (ranges.len() > 1 && meet && ends).then_some((dimension, ranges))
    })
}

/// Appends a part with zeros around it.
fn padded(program: &mut ProgramBuilder, element: ElementType, region: &Region, part: &Part) -> TensorId {
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&extents(region));
    let (mut index, mut guard) = (Vec::new(), Guard::always());
    for ((&axis, around), own) in axes.iter().zip(region).zip(&part.region) {
        let place = Index::axis(axis).plus(around.start as i64 - own.start as i64);
        guard = expr.guard(guard, place.clone(), 0, own.len() as i64);
        index.push(place);
    }
    let operand = expr.operand(program.ty(part.tensor));
    let body = expr.guarded_read(operand, index, guard, Literal::new(element, 0.0));
    program.compute(expr.map(element, body), &[part.tensor])
}

/// Appends the sum of tensors of one type.
fn add(program: &mut ProgramBuilder, parts: Vec<TensorId>) -> TensorId {
    if let [only] = parts[..] {
        return only;
    }
    let ty = program.ty(parts[0]).clone();
    let mut expr = ExprBuilder::new();
    let index: Vec<Index> = expr.parallels(&ty.shape).into_iter().map(Index::axis).collect();
    let reads: Vec<Scalar> = parts
        .iter()
        .map(|_| {
            let operand = expr.operand(&ty);
            expr.read(operand, index.clone())
        })
        .collect();
    let sum = reads.into_iter().reduce(|all, next| all.binary(BinaryOp::Add, next));
    let sum = sum.unwrap_or_else(|| Scalar::literal(ElementType::F32, 0.0));
    program.compute(expr.map(ty.element, sum), &parts)
}

fn extents(region: &Region) -> Vec<usize> {
    region.iter().map(Range::len).collect()
}
