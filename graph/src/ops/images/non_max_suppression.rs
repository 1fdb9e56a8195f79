//! `NonMaxSuppression`: boxes that do not overlap better ones.

use std::ops::RangeInclusive;

use crate::counted::CountedOutput;
use crate::expr::{BinaryOp, ExprBuilder, Index, Literal, Scalar, UnaryOp};
use crate::ops::compaction::{self, Marked};
use crate::ops::top_k::TopK;
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, boxes, compose, movement,
    ordering,
};
use crate::procedure::sort::Direction;
use crate::procedure::{Opaque, Procedure, suppress};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType, ValueType};

/// Of `[N, B, 4]` boxes and `[N, C, B]` scores, the triples of example, class and box that remain. Of each class these
/// are the best box, then the best of those that overlap it by no more than a threshold, and so on. Of a class there
/// are at most as many as a constant third input says. As many triples count as a second output says.
///
/// Boxes are ordered by their scores, and those that overlap a box before them that remains are suppressed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NonMaxSuppression {
    form: boxes::Form,
}

/// The extents of the inputs.
#[derive(Clone, Copy, Debug)]
struct Extents {
    examples: usize,
    classes: usize,
    boxes: usize,
    /// Most boxes that are chosen of a class.
    chosen: usize,
}

impl Extents {
    fn candidates(&self) -> usize {
        self.examples.saturating_mul(self.classes).saturating_mul(self.chosen)
    }
}

impl NonMaxSuppression {
    fn extents(context: &Context) -> Result<Extents, InferError> {
        let (given, scores) = (context.tensor(0)?, context.tensor(1)?);
        let mismatch = || InferError::Mismatch(format!("scores {scores} do not go with boxes {given}"));
        let (&[examples, boxes, 4], &[of, classes, scored]) = (&*given.shape, &*scores.shape) else {
            return Err(mismatch());
        };
        let single = given.element == ElementType::F32 && scores.element == ElementType::F32;
        if of != examples || scored != boxes || !single {
            return Err(mismatch());
        }
        for input in 3..5 {
            let number = context.optional(input)?;
            if number.is_some_and(|ty| ty.shape.checked_elements() != Some(1) || ty.element != ElementType::F32) {
                return Err(InferError::Mismatch(format!("input {input} is not one threshold")));
            }
        }
        let chosen = match context.integers(2)?.as_deref() {
            None => 0,
            Some(&[most]) => usize::try_from(most).unwrap_or(0).min(boxes),
            Some(_) => return Err(InferError::Mismatch("the number of boxes is not one number".to_owned())),
        };
        let extents = Extents { examples, classes, boxes, chosen };
        if boxes > suppress::LONGEST_ROW {
            let most = suppress::LONGEST_ROW;
            let reason = format!("{boxes} boxes are more than {most}; keep the best of them by TopK before");
            return Err(InferError::Unsupported(reason));
        }
        compaction::accept(extents.candidates().checked_mul(3), "the output")?;
        Ok(extents)
    }

    /// Appends the extents of the boxes in the order of their scores, `[N, C, numbers, B]`.
    fn ordered(&self, program: &mut ProgramBuilder, given: TensorId, order: TensorId) -> TensorId {
        let (ty, order_ty) = (program.ty(given).clone(), program.ty(order).clone());
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[order_ty.shape[0], order_ty.shape[1], boxes::NUMBERS, order_ty.shape[2]]);
        let [example, class, column, rank] = [0, 1, 2, 3].map(|at| Index::axis(axes[at]));
        let operand = expr.operand(&order_ty);
        let named = expr.read(operand, vec![example.clone(), class, rank]);
        let place = expr.indirect(&named, ty.shape[1]);
        let operand = expr.operand(&ty);
        let side = |side| expr.read(operand, vec![example.clone(), place.clone(), Index::constant(side)]);
        let sides = [0, 1, 2, 3].map(side);
        let column = Scalar::Index(column, ElementType::I32);
        let mut numbers = boxes::Extent::of(self.form, &sides).numbers().into_iter().enumerate().rev();
        let (_, last) = numbers.next().expect("an extent has numbers");
        let body = numbers.fold(last, |others, (at, number)| {
            column.clone().binary(BinaryOp::Equal, Scalar::literal(ElementType::I32, at as f64)).select(number, others)
        });
        program.compute(expr.map(ty.element, body), &[order, given])
    }

    /// Appends of the boxes in their order whether each remains, at most `most` of a class. A box suppresses those
    /// behind it that overlap it, and itself where `eligible` does not hold.
    fn remaining(
        &self,
        program: &mut ProgramBuilder,
        eligible: TensorId,
        ordered: TensorId,
        threshold: TensorId,
        most: usize,
    ) -> TensorId {
        let (ty, boxes_ty) = (program.ty(eligible).clone(), program.ty(ordered).clone());
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape);
        let [example, class, place] = [0, 1, 2].map(|at| Index::axis(axes[at]));
        let each = Index::axis(expr.reduced(ty.shape[2]));
        let operand = expr.operand(&ty);
        let is_eligible = expr.read(operand, vec![example.clone(), class.clone(), place.clone()]);
        let operand = expr.operand(program.ty(threshold));
        let threshold_read = expr.read(operand, vec![]);
        let operand = expr.operand(&boxes_ty);
        let mut extent = |at: &Index| {
            boxes::Extent::from_numbers(std::array::from_fn(|number| {
                let column = Index::constant(number as i64);
                expr.read(operand, vec![example.clone(), class.clone(), column, at.clone()])
            }))
        };
        let overlaps = boxes::overlap(extent(&each), extent(&place), threshold_read);
        let number = |index| Scalar::Index(index, ElementType::I32);
        let is_itself = number(each).binary(BinaryOp::Equal, number(place));
        let body = is_itself.select(is_eligible.unary(UnaryOp::Not), overlaps);
        let procedure = Procedure::Suppress { most: most as u64 };
        let access = expr.access(procedure.element(), body);
        program.opaque(Opaque { procedure, access }, &[eligible, threshold, ordered])
    }
}

impl Operator for NonMaxSuppression {
    const NAME: &'static str = "NonMaxSuppression";
    const OPSETS: RangeInclusive<i64> = 10..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=5;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let center = attributes.flag("center_point_box")?.unwrap_or(false);
        Ok(Self { form: if center { boxes::Form::Center } else { boxes::Form::Corners } })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("center_point_box", Attribute::Int(i64::from(self.form == boxes::Form::Center)))]
    }

    fn counted(&self, _: &Context) -> Vec<CountedOutput> {
        vec![CountedOutput { output: 0, dimension: 0, count: 1 }]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let extents = Self::extents(context)?;
        let triples = TensorType::new(ElementType::I64, [extents.candidates(), 3]);
        Ok(vec![triples.into(), TensorType::new(ElementType::I64, []).into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let extents = Self::extents(context).expect("inference accepted the inputs");
        let Extents { boxes, chosen, .. } = extents;
        let candidates = extents.candidates();
        if candidates == 0 {
            let triples = Tensor::from_i64(TensorType::new(ElementType::I64, [0, 3]), &[]);
            return vec![program.constant(triples), program.constant(Tensor::scalar(0i64))];
        }
        let [given, scores] = [0, 1].map(|input| inputs[input].expect("inference found the inputs"));
        let mut number = |input: usize, otherwise: f32| match inputs.get(input).copied().flatten() {
            Some(tensor) => movement::reshape(program, tensor, &[].into()),
            None => program.constant(Tensor::scalar(otherwise)),
        };
        let (overlap, least) = (number(3, 0.0), number(4, f32::NEG_INFINITY));
        let is_bounded = inputs.get(4).copied().flatten().is_some();
        let all = program.constant(Tensor::vector_i64(&[boxes as i64]));
        let sorted = program.apply(&TopK::largest(2), &[Some(scores), Some(all)], 2);
        let ordered = self.ordered(program, given, sorted[1]);
        let eligible = compose::map(program, [sorted[0], least], ElementType::Bool, |[score, least]| {
            if is_bounded { least.binary(BinaryOp::Less, score) } else { Scalar::Literal(Literal::Bool(true)) }
        });
        let mut remain = self.remaining(program, eligible, ordered, overlap, chosen);
        let mut order = sorted[1];
        if chosen < boxes {
            let first = ordering::first_places(program, remain, Direction::Descending, chosen);
            [remain, order] = [remain, order].map(|rows| ordering::at_places(program, rows, first));
        }
        let triples = triples(program, order);
        let marks = movement::reshape(program, remain, &[candidates].into());
        let Marked { places, count } = compaction::marked(program, marks);
        let picked = crate::ops::gather::Gather::along(0);
        let picked = program.apply(&picked, &[Some(triples), Some(places)], 1)[0];
        vec![picked, count]
    }
}

/// Example, class and box of every candidate, whose boxes `[N, C, candidates]` are given.
fn triples(program: &mut ProgramBuilder, order: TensorId) -> TensorId {
    let ty = program.ty(order).clone();
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&[ty.shape[0], ty.shape[1], ty.shape[2], 3]);
    let [example, class, candidate, column] = [0, 1, 2, 3].map(|at| Index::axis(axes[at]));
    let operand = expr.operand(&ty);
    let named = expr.read(operand, vec![example.clone(), class.clone(), candidate]);
    let whole = |index: Index| Scalar::Index(index, ElementType::I64);
    let is = |which: f64| whole(column.clone()).binary(BinaryOp::Equal, Scalar::literal(ElementType::I64, which));
    let body = is(0.0).select(whole(example), is(1.0).select(whole(class), named));
    let all = program.compute(expr.map(ElementType::I64, body), &[order]);
    movement::reshape(program, all, &[ty.shape.elements(), 3].into())
}
