//! What a box of an expression's points touches of an operand: elements, and transactions by contiguous runs.

use warpweave_graph::arena::Id;
use warpweave_graph::expr::{Atom, AxisId, AxisKind, Index, IndirectIndex, Range, Read, TensorExpr};

use crate::cost::bound::InputExtent;

/// Which rows of a footprint count as one run of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Runs {
    /// As the thesis prints its tables. A row along the innermost dimension is a run. Rows join only across dimensions
    /// that reduced axes alone cover whole (the filter of a convolution).
    Printed,
    /// Erratum E3: rows join across every dimension that is covered whole.
    Contiguous,
}

/// What a box touches along one dimension of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Dimension {
    /// Distinct positions.
    elements: u64,
    /// From the first to the last position, both included.
    span: u64,
    /// Positions of the operand.
    extent: u64,
    /// Whether a parallel axis moves along it.
    parallel: bool,
}

/// What a box touches of an operand that is laid out row by row. The box lies away from borders: padding does not
/// shrink it, the operand's extents do (erratum E1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Footprint {
    dimensions: Vec<Dimension>,
    /// Points of the box that the read tells apart: no more elements than these are touched.
    points: u64,
}

impl Footprint {
    /// What `read` touches while the axes stay in a box with these extents, an extent an axis.
    pub fn of_read(expr: &TensorExpr, read: &Read, extents: &[usize], rule: InputExtent) -> Self {
        let shape = &expr.operands[read.operand].shape;
        let dimensions =
            read.index.iter().zip(shape.iter()).map(|(index, &extent)| dimension(expr, index, extents, extent, rule));
        let points = match rule {
            InputExtent::Exact => points(expr, &read.index, extents),
            InputExtent::Printed => u64::MAX,
        };
        Self { dimensions: dimensions.collect(), points }
    }

    /// What storing the output's box touches: extents of the parallel axes.
    pub fn of_output(expr: &TensorExpr, extents: &[usize]) -> Self {
        let dimension = |axis: AxisId| {
            let elements = extents[axis.index()] as u64;
            Dimension { elements, span: elements, extent: expr.axes[axis].extent as u64, parallel: true }
        };
        let dimensions: Vec<Dimension> = expr.parallel().map(dimension).collect();
        Self { points: dimensions.iter().map(|dimension| dimension.elements).product(), dimensions }
    }

    /// Distinct elements.
    pub fn elements(&self) -> u64 {
        self.dimensions.iter().map(|dimension| dimension.elements).product::<u64>().min(self.points)
    }

    /// Transactions of `per_transaction` elements, every run aligned.
    pub fn transactions(&self, per_transaction: u64, runs: Runs) -> u64 {
        let mut run: u64 = 1;
        let mut row = 1;
        let mut outer = self.dimensions.as_slice();
        while let Some((dimension, rest)) = outer.split_last() {
            outer = rest;
            let apart = dimension.elements * run.div_ceil(per_transaction);
            let together = (run * dimension.span).div_ceil(per_transaction);
            row = if dimension.elements == dimension.span { together } else { apart.min(together) };
            run *= dimension.elements;
            let joins = match runs {
                Runs::Printed => !dimension.parallel,
                Runs::Contiguous => true,
            };
            if dimension.elements != dimension.extent || !joins {
                break;
            }
        }
        let rows: u64 = outer.iter().map(|dimension| dimension.elements).product();
        (rows * row).min(self.points)
    }
}

/// Points of a box that an index tells apart.
pub fn points(expr: &TensorExpr, index: &[Index], extents: &[usize]) -> u64 {
    expr.index_axes(index).into_iter().map(|axis| extents[axis.index()] as u64).product()
}

fn dimension(expr: &TensorExpr, index: &Index, extents: &[usize], extent: usize, rule: InputExtent) -> Dimension {
    let extent = extent as u64;
    let parallel = expr.index_axes(std::slice::from_ref(index)).into_iter();
    let parallel = parallel.map(|axis| expr.axes[axis].kind).any(|kind| kind == AxisKind::Parallel);
    let elements_and_span = match (rule, printed_extent(expr, index, extents)) {
        (InputExtent::Printed, Some(printed)) => (printed, printed),
        (InputExtent::Printed, None) | (InputExtent::Exact, _) if index.is_free_of_reads() => {
            let (elements, span) = progression(index, extents);
            (elements.min(extent), span.min(extent))
        }
        (InputExtent::Printed | InputExtent::Exact, _) => {
            let found = points(expr, std::slice::from_ref(index), extents).min(extent);
            (found, extent)
        }
    };
    Dimension { elements: elements_and_span.0, span: elements_and_span.1, extent, parallel }
}

/// Distinct values of an index over a box, and their span. Terms join into one run while a step is no longer than the
/// run so far: a window with a stride beyond its taps leaves gaps (erratum E1, F < S).
fn progression(index: &Index, extents: &[usize]) -> (u64, u64) {
    let range_of = |axis: AxisId| Range { minimum: 0, maximum: extents[axis.index()] as i64 - 1 };
    let mut terms: Vec<(u64, u64)> = Vec::with_capacity(index.terms().len());
    for (atom, coefficient) in index.terms() {
        let values = match atom {
            Atom::Axis(axis) => range_of(*axis),
            Atom::FloorDiv(..) | Atom::Mod(..) | Atom::Clamp(..) => one(atom).range(&range_of),
            Atom::Indirect(_) => Range::point(0),
        };
        terms.push((coefficient.unsigned_abs(), (values.maximum - values.minimum + 1).max(1) as u64));
    }
    terms.sort_unstable();
    let (mut elements, mut span) = (1, 1);
    for (step, count) in terms {
        let solid = elements == span;
        span += step * (count - 1);
        elements = if solid && step <= elements { span } else { elements * count };
    }
    (elements.min(span), span)
}

fn one(atom: &Atom) -> Index {
    let always = |_: AxisId| Range { minimum: 0, maximum: i64::MAX / 8 };
    match atom {
        Atom::Axis(axis) => Index::axis(*axis),
        Atom::FloorDiv(inner, divisor) => inner.floor_div(*divisor, &always),
        Atom::Mod(inner, divisor) => inner.modulo(*divisor, &always),
        Atom::Clamp(inner, low, high) => inner.clamped(*low, *high, &always),
        Atom::Indirect(IndirectIndex { read, extent }) => Index::indirect(*read, *extent),
    }
}

/// The thesis' e(h) = ⌊(h + F − 2P) / S⌋ + 1 of a window dimension `S · h + r − P` with F taps; `None` elsewhere.
fn printed_extent(expr: &TensorExpr, index: &Index, extents: &[usize]) -> Option<u64> {
    let [(Atom::Axis(first), stride), (Atom::Axis(second), _)] = index.terms() else { return None };
    let kinds = (expr.axes[*first].kind, expr.axes[*second].kind);
    let at = |axis: AxisId| extents[axis.index()] as i64;
    (kinds == (AxisKind::Parallel, AxisKind::Reduced)).then(|| {
        let printed = (at(*first) + at(*second) + 2 * index.offset()).div_euclid(*stride) + 1;
        printed.max(1) as u64
    })
}
