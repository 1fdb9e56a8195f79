//! Tensor expressions: index notation, and the single source of an operator's meaning.
//!
//! `output[p₀, p₁, …] = epilogue(reduce over r₀, r₁, … of body)`, where body and epilogue read operands at quasi-affine
//! functions of the axes. The reference value, the regions that a tile reads, the work, the traffic and the kernel IR
//! are all derived from here.

pub mod builder;
mod check;
mod dependence;
mod display;
pub mod index;
mod operands;
pub mod parts;
mod read;
pub mod region;
pub mod scalar;
mod singles;
pub mod substitute;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::arena::Arena;
use crate::numerics::Numerics;
use crate::typed_id;
use crate::types::{ElementType, Shape, TensorType};
pub use builder::ExprBuilder;
pub use index::{Atom, AxisId, Condition, Guard, Index, IndirectIndex, Range};
pub use operands::merge_operands;
pub use scalar::{BinaryOp, Literal, Scalar, UnaryOp};

typed_id!(
    /// A read of an expression.
    ReadId, "%"
);

/// How an axis takes part.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum AxisKind {
    /// One output element per value.
    Parallel,
    /// Values are combined by the reducer.
    Reduced,
}

/// A named axis; its values are 0 … extent − 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Axis {
    /// The number of values.
    pub extent: usize,
    /// Parallel or reduced.
    pub kind: AxisKind,
}

/// How the values along the reduced axes are combined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Reducer {
    /// Their sum, from 0.
    Sum,
    /// Their product, from 1.
    Product,
    /// The largest, from −∞ or the smallest integer; NaN if any is.
    Maximum,
    /// The smallest, from +∞ or the largest integer; NaN if any is.
    Minimum,
}

impl Reducer {
    /// The value that changes nothing it is combined with; of the element type.
    pub fn identity(self, element: ElementType) -> Literal {
        match self {
            Self::Sum => Literal::new(element, 0.0),
            Self::Product => Literal::new(element, 1.0),
            Self::Maximum => Literal::lowest(element),
            Self::Minimum => Literal::highest(element),
        }
    }

    /// The function of two values that combines them.
    pub fn op(self) -> BinaryOp {
        match self {
            Self::Sum => BinaryOp::Add,
            Self::Product => BinaryOp::Multiply,
            Self::Maximum => BinaryOp::Maximum,
            Self::Minimum => BinaryOp::Minimum,
        }
    }
}

/// A read of `operand[index…]` where `guard` holds, `fill` elsewhere.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Read {
    /// Position in [`TensorExpr::operands`].
    pub operand: usize,
    /// One index a dimension of the operand; within its extent wherever the guard holds.
    pub index: Vec<Index>,
    /// Where the read takes place.
    pub guard: Guard,
    /// The value elsewhere; of the operand's element type.
    pub fill: Literal,
}

impl Read {
    /// Whether no part of where it lies, or of whether it takes place, is read from a tensor.
    pub fn is_free_of_reads(&self) -> bool {
        let conditions = self.guard.conditions().iter().map(|condition| &condition.index);
        self.index.iter().chain(conditions).all(Index::is_free_of_reads)
    }
}

/// One tensor as a function of others.
///
/// Parallel axes come first, in the order of the output's dimensions; reduced axes follow. Without reduced axes there
/// is no reducer and the epilogue is absent. The access expression of an opaque statement has reduced axes and neither.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TensorExpr {
    /// Parallel axes, then reduced axes.
    pub axes: Arena<AxisId, Axis>,
    /// The types of the tensors that are read.
    pub operands: Vec<TensorType>,
    /// The reads of body and epilogue.
    pub reads: Arena<ReadId, Read>,
    /// The value at one point of all axes.
    pub body: Scalar,
    /// How the reduced axes are combined; present exactly if there are reduced axes and no procedure takes them, see
    /// [`crate::procedure`].
    pub reducer: Option<Reducer>,
    /// Applied to the reduced value, which is [`Scalar::Reduced`]; may read at indices of parallel axes.
    pub epilogue: Option<Scalar>,
    /// The element type of the output: that of the epilogue if there is one, else of the body. The reduced value has the
    /// body's type, [`TensorExpr::body_element`], whatever the output's is.
    pub element: ElementType,
}

impl TensorExpr {
    /// The parallel axes in the order of the output's dimensions.
    pub fn parallel(&self) -> impl Iterator<Item = AxisId> {
        self.axes.iter().filter(|(_, axis)| axis.kind == AxisKind::Parallel).map(|(id, _)| id)
    }

    /// The reduced axes.
    pub fn reduced(&self) -> impl Iterator<Item = AxisId> {
        self.axes.iter().filter(|(_, axis)| axis.kind == AxisKind::Reduced).map(|(id, _)| id)
    }

    /// Type of the output.
    pub fn output(&self) -> TensorType {
        let shape: Shape = self.parallel().map(|axis| self.axes[axis].extent).collect();
        TensorType { element: self.element, shape }
    }

    /// The element type of the body, and so of what the reducer combines.
    pub fn body_element(&self) -> ElementType {
        self.body.element(&|read| self.read_element(read), self.element)
    }

    /// The types of the computation: what is stored has the output's type, what is computed and accumulated that of the body's values.
    pub fn numerics(&self) -> Numerics {
        let compute = self.body_element().compute();
        Numerics { storage: self.element, compute, accumulate: compute }
    }

    /// The element type of a scalar of this expression.
    pub fn element_of(&self, scalar: &Scalar) -> ElementType {
        scalar.element(&|read| self.read_element(read), self.body_element())
    }

    fn read_element(&self, read: ReadId) -> ElementType {
        self.operands[self.reads[read].operand].element
    }

    /// The range of an axis: 0 … extent − 1.
    pub fn range(&self, axis: AxisId) -> Range {
        Range { minimum: 0, maximum: (self.axes[axis].extent as i64 - 1).max(0) }
    }

    /// The expression's value at a point: the epilogue if there is one, else the body.
    pub fn result(&self) -> &Scalar {
        self.epilogue.as_ref().unwrap_or(&self.body)
    }

    /// The reads of a scalar of this expression, those inside their indices and guards too.
    pub fn reads_of(&self, scalar: &Scalar) -> BTreeSet<ReadId> {
        let mut found = BTreeSet::new();
        let mut open: Vec<ReadId> = Vec::new();
        scalar.visit(&mut |scalar| match scalar {
            Scalar::Read(read) => open.push(*read),
            Scalar::Index(index, _) => index.visit(&mut |_| {}, &mut |read| open.push(read)),
            Scalar::Holds(guard) => {
                let conditions = guard.conditions().iter();
                conditions.for_each(|condition| condition.index.visit(&mut |_| {}, &mut |read| open.push(read)));
            }
            _ => {}
        });
        while let Some(read) = open.pop() {
            if found.insert(read) {
                let read = &self.reads[read];
                let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
                let indices = read.index.iter().chain(conditions);
                indices.for_each(|index| index.visit(&mut |_| {}, &mut |read| open.push(read)));
            }
        }
        found
    }

    /// Calls `visit` with every index of reads, guards and scalars.
    pub fn visit_indices(&self, visit: &mut impl FnMut(&Index)) {
        for read in self.reads.values() {
            read.index.iter().for_each(&mut *visit);
            read.guard.conditions().iter().for_each(|condition| visit(&condition.index));
        }
        for scalar in std::iter::once(&self.body).chain(&self.epilogue) {
            scalar.visit(&mut |scalar| match scalar {
                Scalar::Index(index, _) => visit(index),
                Scalar::Holds(guard) => guard.conditions().iter().for_each(|condition| visit(&condition.index)),
                Scalar::Literal(_)
                | Scalar::Read(_)
                | Scalar::Reduced
                | Scalar::Unary(..)
                | Scalar::Binary(..)
                | Scalar::Select(..)
                | Scalar::Cast(..) => {}
            });
        }
    }

    /// If this only moves data — one unguarded-or-guarded read, no arithmetic — the read.
    pub fn as_movement(&self) -> Option<&Read> {
        match (&self.body, self.reducer) {
            (Scalar::Read(read), None) => Some(&self.reads[*read]),
            _ => None,
        }
    }
}
