//! Builds tensor expressions.

use super::{
    Axis, AxisId, AxisKind, Condition, Guard, Index, Literal, Range, Read, ReadId, Reducer, Scalar, TensorExpr,
};
use crate::arena::Arena;
use crate::types::{ElementType, TensorType};

/// Collects axes, operands and reads, then becomes a [`TensorExpr`]. Parallel axes are declared before reduced ones.
#[derive(Clone, Debug, Default)]
pub struct ExprBuilder {
    axes: Arena<AxisId, Axis>,
    operands: Vec<TensorType>,
    reads: Arena<ReadId, Read>,
}

impl ExprBuilder {
    /// A builder without axes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a parallel axis: the next dimension of the output.
    pub fn parallel(&mut self, extent: usize) -> AxisId {
        let after_reduced = self.axes.values().any(|axis| axis.kind == AxisKind::Reduced);
        assert!(!after_reduced, "parallel axes are declared before reduced ones");
        self.axes.push(Axis { extent, kind: AxisKind::Parallel })
    }

    /// Declares one parallel axis a dimension of `extents`.
    pub fn parallels(&mut self, extents: &[usize]) -> Vec<AxisId> {
        extents.iter().map(|&extent| self.parallel(extent)).collect()
    }

    /// Declares a reduced axis.
    pub fn reduced(&mut self, extent: usize) -> AxisId {
        self.axes.push(Axis { extent, kind: AxisKind::Reduced })
    }

    /// The parallel axes in order.
    pub fn parallel_axes(&self) -> Vec<AxisId> {
        let parallel = self.axes.iter().filter(|(_, axis)| axis.kind == AxisKind::Parallel);
        parallel.map(|(id, _)| id).collect()
    }

    /// The reduced axes in order.
    pub fn reduced_axes(&self) -> Vec<AxisId> {
        let reduced = self.axes.iter().filter(|(_, axis)| axis.kind == AxisKind::Reduced);
        reduced.map(|(id, _)| id).collect()
    }

    /// Declares an operand and returns its position.
    pub fn operand(&mut self, ty: &TensorType) -> usize {
        self.operands.push(ty.clone());
        self.operands.len() - 1
    }

    /// The range of an axis.
    pub fn range(&self, axis: AxisId) -> Range {
        Range { minimum: 0, maximum: (self.axes[axis].extent as i64 - 1).max(0) }
    }

    /// Reads an operand where every index lies inside it, by construction.
    pub fn read(&mut self, operand: usize, index: Vec<Index>) -> Scalar {
        let fill = Literal::new(self.operands[operand].element, 0.0);
        Scalar::Read(self.push(Read { operand, index, guard: Guard::always(), fill }))
    }

    /// Reads an operand, or `fill`, which has its element type, where an index lies outside it.
    pub fn padded_read(&mut self, operand: usize, index: Vec<Index>, fill: Literal) -> Scalar {
        let extents = self.operands[operand].shape.clone();
        let mut guard = Guard::always();
        for (index, &extent) in index.iter().zip(extents.iter()) {
            guard = self.guard(guard, index.clone(), 0, extent as i64);
        }
        self.guarded_read(operand, index, guard, fill)
    }

    /// Reads an operand where `guard` holds, `fill`, which has the operand's element type, elsewhere.
    pub fn guarded_read(&mut self, operand: usize, index: Vec<Index>, guard: Guard, fill: Literal) -> Scalar {
        Scalar::Read(self.push(Read { operand, index, guard, fill }))
    }

    /// `guard` and `lower ≤ index < upper`.
    pub fn guard(&self, guard: Guard, index: Index, lower: i64, upper: i64) -> Guard {
        guard.and(Condition { index, lower, upper }, &|axis| self.range(axis))
    }

    /// Reads an operand broadcast to `axes` by NumPy's rules: dimensions align at the end, extents of 1 repeat.
    pub fn broadcast_read(&mut self, operand: usize, axes: &[AxisId]) -> Scalar {
        let extents = self.operands[operand].shape.clone();
        let aligned = &axes[axes.len() - extents.len()..];
        let index = extents.iter().zip(aligned).map(|(&extent, &axis)| match extent {
            1 => Index::constant(0),
            _ => Index::axis(axis),
        });
        let index = index.collect();
        self.read(operand, index)
    }

    /// The place among `extent` that a read names, which [`ExprBuilder::read`] or its like returned. Of an empty dimension
    /// there is none, and nothing may be read there.
    pub fn indirect(&self, scalar: &Scalar, extent: usize) -> Index {
        match scalar {
            Scalar::Read(read) => Index::indirect(*read, extent.max(1) as i64),
            _ => unreachable!("only a read can index another read"),
        }
    }

    /// The expression without reduction.
    pub fn map(self, element: ElementType, body: Scalar) -> TensorExpr {
        self.finish(element, body, None, None)
    }

    /// The expression that combines `body` along the reduced axes.
    pub fn reduce(self, element: ElementType, reducer: Reducer, body: Scalar, epilogue: Option<Scalar>) -> TensorExpr {
        self.finish(element, body, Some(reducer), epilogue)
    }

    /// The access expression of an opaque statement: a procedure takes `body` along the reduced axes and gives `element`.
    pub fn access(self, element: ElementType, body: Scalar) -> TensorExpr {
        let Self { axes, operands, reads } = self;
        TensorExpr { axes, operands, reads, body, reducer: None, epilogue: None, element }
    }

    fn finish(
        self,
        element: ElementType,
        body: Scalar,
        reducer: Option<Reducer>,
        epilogue: Option<Scalar>,
    ) -> TensorExpr {
        let reduces = self.axes.values().any(|axis| axis.kind == AxisKind::Reduced);
        assert_eq!(reduces, reducer.is_some(), "a reducer goes with reduced axes");
        let operands = self.operands.clone();
        self.with_operands(operands, element, body, reducer, epilogue)
    }

    pub(super) fn push(&mut self, read: Read) -> ReadId {
        let known = self.reads.iter().find(|(_, other)| **other == read).map(|(id, _)| id);
        known.unwrap_or_else(|| self.reads.push(read))
    }

    /// The expression over other operands than the declared ones; reads name positions in `operands`.
    pub(super) fn with_operands(
        self,
        operands: Vec<TensorType>,
        element: ElementType,
        body: Scalar,
        reducer: Option<Reducer>,
        epilogue: Option<Scalar>,
    ) -> TensorExpr {
        let Self { axes, reads, .. } = self;
        TensorExpr { axes, operands, reads, body, reducer, epilogue, element }
    }

    pub(super) fn axes_of(axes: &Arena<AxisId, Axis>) -> Self {
        Self { axes: axes.clone(), ..Self::default() }
    }
}
