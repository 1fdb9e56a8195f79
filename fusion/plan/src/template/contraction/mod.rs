//! Recognises sums of products of two factors: matrix products and convolutions, of singles and of 32-bit integers.

pub mod column_runs;
pub mod joined;
pub mod operand_staging;
pub mod rules;
pub mod shape;
pub mod tile_load;
pub mod unit;

use serde::{Deserialize, Serialize};
use warpweave_graph::Numerics;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{AxisId, AxisKind, BinaryOp, Index, Literal, ReadId, Reducer, Scalar, TensorExpr};
use warpweave_graph::types::ElementType;

use crate::body::{GroupBody, Stage, StageSource};
use crate::template::contraction::shape::ContractionShape;
use crate::template::contraction::tile_load::{SideLoad, is_widened, plain_read};

/// How an axis of a contraction takes part.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum AxisClass {
    /// Parallel, in both factors or in none.
    Batch,
    /// Parallel, in the row factor only.
    Row,
    /// Parallel, in the column factor only.
    Column,
    /// Reduced, in both factors.
    Reduction,
}

/// A contraction: the classes of the first stage's axes and its two factors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contraction {
    /// What is multiplied and summed: `F32` or `I32`. Halves are multiplied as singles.
    pub element: ElementType,
    /// What the factors' tiles hold in shared memory: the narrow type of both factors' values, or what is multiplied.
    pub storage: ElementType,
    /// One class an axis of the first stage, in order.
    pub classes: Vec<AxisClass>,
    /// The factor that varies along rows.
    pub row_factor: Scalar,
    /// The factor that varies along columns; the output's innermost axis is a column where the factors allow.
    pub column_factor: Scalar,
}

impl Contraction {
    /// The contraction that a body is: its first stage sums products, and any other stage is a pointwise epilogue.
    pub fn of(body: &GroupBody) -> Option<Self> {
        let mut later = body.stages.iter().enumerate().skip(1);
        let pointwise = later.all(|(at, stage)| stage.expr.reducer.is_none() && body.extra_axes(at).is_empty());
        if pointwise { Self::of_expression(&body.stages[0].expr) } else { None }
    }

    /// The contraction that an expression is.
    pub fn of_expression(expr: &TensorExpr) -> Option<Self> {
        let element = expr.body_element().compute();
        if expr.reducer != Some(Reducer::Sum) || !matches!(element, ElementType::F32 | ElementType::I32) {
            return None;
        }
        let Scalar::Binary(BinaryOp::Multiply, left, right) = &expr.body else { return None };
        let stored = [left, right].map(|factor| stored(expr, factor, element));
        let storage = if stored[0] == stored[1] { stored[0] } else { element };
        let (left_axes, right_axes) = (expr.scalar_axes(left), expr.scalar_axes(right));
        let class = |id: AxisId| match (expr.axes[id].kind, left_axes.contains(&id), right_axes.contains(&id)) {
            (AxisKind::Parallel, true, false) => Some(AxisClass::Row),
            (AxisKind::Parallel, false, true) => Some(AxisClass::Column),
            (AxisKind::Parallel, ..) => Some(AxisClass::Batch),
            (AxisKind::Reduced, true, true) => Some(AxisClass::Reduction),
            (AxisKind::Reduced, ..) => None,
        };
        let classes: Vec<AxisClass> = expr.axes.ids().map(class).collect::<Option<_>>()?;
        let innermost = expr.parallel().last().map(|last| classes[last.index()]);
        if innermost != Some(AxisClass::Row) {
            return Some(Self {
                element,
                storage,
                classes,
                row_factor: (**left).clone(),
                column_factor: (**right).clone(),
            });
        }
        let swapped = classes.into_iter().map(|class| match class {
            AxisClass::Row => AxisClass::Column,
            AxisClass::Column => AxisClass::Row,
            AxisClass::Batch => AxisClass::Batch,
            AxisClass::Reduction => AxisClass::Reduction,
        });
        let classes = swapped.collect();
        Some(Self { element, storage, classes, row_factor: (**right).clone(), column_factor: (**left).clone() })
    }

    /// The types of the computation; its storage is the memory that the factors' tiles lie in.
    pub fn numerics(&self) -> Numerics {
        Numerics { storage: self.storage, compute: self.element, accumulate: self.element }
    }

    /// The class of an axis.
    pub fn class(&self, axis: AxisId) -> AxisClass {
        self.classes[axis.index()]
    }

    /// The factor that varies along a side's axes.
    pub fn factor(&self, class: AxisClass) -> &Scalar {
        match class {
            AxisClass::Row => &self.row_factor,
            AxisClass::Column | AxisClass::Batch | AxisClass::Reduction => &self.column_factor,
        }
    }

    /// The tile axes of a class, in order.
    pub fn tile_axes(&self, body: &GroupBody, class: AxisClass) -> Vec<usize> {
        (0..body.tile_rank).filter(|&axis| self.classes[axis] == class).collect()
    }

    /// Whether both factors are plain reads of stored singles in memory that give 0 outside, so that copies can bring them.
    pub fn is_plain(&self, body: &GroupBody) -> bool {
        [AxisClass::Row, AxisClass::Column].into_iter().all(|class| self.is_plain_side(body, class))
    }

    /// Whether the factor of a class is such a read.
    pub fn is_plain_side(&self, body: &GroupBody, class: AxisClass) -> bool {
        let Stage { expr, sources, .. } = &body.stages[0];
        let in_memory = |operand: usize| matches!(sources[operand], StageSource::Operand(_));
        let Some(read) = plain_read(expr, self.factor(class)).map(|read| &expr.reads[read]) else { return false };
        let element = expr.operands[read.operand].element;
        let zero = read.guard.is_always() || read.fill == Literal::new(element, 0.0);
        let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
        let free = read.index.iter().chain(conditions).all(Index::is_free_of_reads);
        in_memory(read.operand) && element.is_single() && element == self.storage && zero && free
    }

    /// Whether a kernel of this shape and tile brings the factors by asynchronous copies, of a word at least.
    pub fn is_copied(&self, body: &GroupBody, shape: &ContractionShape, tile: &[usize]) -> bool {
        let is_copied = |class| SideLoad::new(body, self, class, shape, tile).is_copied(body, self, (class, shape));
        [AxisClass::Row, AxisClass::Column].into_iter().all(is_copied)
    }

    /// The axes of a class, in order.
    pub fn axes(&self, class: AxisClass) -> Vec<AxisId> {
        let of_class = self.classes.iter().enumerate().filter(|(_, other)| **other == class);
        of_class.map(|(at, _)| AxisId::from_index(at)).collect()
    }
}

/// The type in which a factor's values fit: that of its values, or the narrower one that they were widened from.
fn stored(expr: &TensorExpr, factor: &Scalar, element: ElementType) -> ElementType {
    let narrow = match factor {
        Scalar::Cast(_, inner) => expr.element_of(inner),
        _ => element,
    };
    [narrow, expr.element_of(factor)].into_iter().find(|narrow| is_widened(*narrow, element)).unwrap_or(element)
}

/// A factor without its zero point, and that.
pub fn zero_point(factor: &Scalar) -> (&Scalar, Option<&Scalar>) {
    match factor {
        Scalar::Binary(BinaryOp::Subtract, stored, zero) => (stored, Some(zero)),
        _ => (factor, None),
    }
}

/// The read that a factor is, of values that may be stored in fewer bits.
pub fn stored_read(expr: &TensorExpr, factor: &Scalar) -> Option<ReadId> {
    match factor {
        Scalar::Cast(ElementType::I32, stored) => match **stored {
            Scalar::Read(read) => {
                Some(read).filter(|_| is_word_integer(expr.operands[expr.reads[read].operand].element))
            }
            _ => None,
        },
        _ => plain_read(expr, factor),
    }
}

/// Whether values of an element type are computed as integers of 32 bits.
pub fn is_word_integer(element: ElementType) -> bool {
    matches!(element, ElementType::I32 | ElementType::I16 | ElementType::U16 | ElementType::I8 | ElementType::U8)
}
