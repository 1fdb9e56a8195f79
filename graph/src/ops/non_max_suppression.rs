//! `NonMaxSuppression`: boxes that do not overlap better ones.

use std::ops::RangeInclusive;

use super::compaction::{self, MOST_ELEMENTS, Marked};
use super::top_k::TopK;
use super::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, boxes, compose, movement,
};
use crate::counted::CountedOutput;
use crate::expr::{BinaryOp, ExprBuilder, Index, Literal, Reducer, Scalar};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType, ValueType};

/// Of `[N, B, 4]` boxes and `[N, C, B]` scores, the triples of example, class and box that remain: of each class the best
/// box, then the best of those that overlap it by no more than a threshold, and so on, at most as many as a constant third
/// input says. As many triples count as a second output says.
///
/// Boxes are ordered by their scores once; every box that is chosen takes one step over all boxes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NonMaxSuppression {
    form: boxes::Form,
}

/// Most boxes that are chosen of a class: the length of the chain of steps.
const MOST_CHOSEN: usize = 1 << 10;

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
        if chosen > MOST_CHOSEN || extents.candidates() > MOST_ELEMENTS {
            let reason = format!("{chosen} boxes of a class are more than {MOST_CHOSEN}, or of all too many");
            return Err(InferError::Unsupported(reason));
        }
        Ok(extents)
    }

    /// Appends the boxes in the order of their scores, `[N, C, B, 4]`.
    fn ordered(program: &mut ProgramBuilder, boxes: TensorId, order: TensorId) -> TensorId {
        let (ty, order_ty) = (program.ty(boxes).clone(), program.ty(order).clone());
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[order_ty.shape[0], order_ty.shape[1], order_ty.shape[2], 4]);
        let [example, class, rank, side] = [0, 1, 2, 3].map(|at| Index::axis(axes[at]));
        let operand = expr.operand(&order_ty);
        let named = expr.read(operand, vec![example.clone(), class, rank]);
        let place = expr.indirect(&named, ty.shape[1]);
        let operand = expr.operand(&ty);
        let body = expr.read(operand, vec![example, place, side]);
        program.compute(expr.map(ty.element, body), &[order, boxes])
    }

    /// Appends the first rank that is alive in each class, −1 if none is.
    fn best(program: &mut ProgramBuilder, alive: TensorId) -> TensorId {
        let ty = program.ty(alive).clone();
        let none = Scalar::literal(ElementType::I64, ty.shape[2] as f64);
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape[..2]);
        let rank = expr.reduced(ty.shape[2]);
        let operand = expr.operand(&ty);
        let lives = expr.read(operand, [axes[0], axes[1], rank].map(Index::axis).to_vec());
        let body = lives.select(Scalar::Index(Index::axis(rank), ElementType::I64), none.clone());
        let absent = Scalar::Reduced.binary(BinaryOp::Equal, none);
        let result = absent.select(Scalar::literal(ElementType::I64, -1.0), Scalar::Reduced);
        program.compute(expr.reduce(ElementType::I64, Reducer::Minimum, body, Some(result)), &[alive])
    }

    /// Appends what is alive after a box was chosen: what does not overlap it.
    fn survivors(
        &self,
        program: &mut ProgramBuilder,
        alive: TensorId,
        ordered: TensorId,
        best: TensorId,
        threshold: TensorId,
    ) -> TensorId {
        let (ty, boxes_ty) = (program.ty(alive).clone(), program.ty(ordered).clone());
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape);
        let [example, class, rank] = [0, 1, 2].map(|at| Index::axis(axes[at]));
        let operand = expr.operand(&ty);
        let lives = expr.read(operand, vec![example.clone(), class.clone(), rank.clone()]);
        let operand = expr.operand(program.ty(best));
        let chosen = expr.read(operand, vec![example.clone(), class.clone()]);
        let place = expr.indirect(&chosen, ty.shape[2]);
        let operand = expr.operand(program.ty(threshold));
        let threshold_read = expr.read(operand, vec![]);
        let operand = expr.operand(&boxes_ty);
        let mut sides = |rank: &Index| {
            [0, 1, 2, 3].map(|side| {
                expr.read(operand, vec![example.clone(), class.clone(), rank.clone(), Index::constant(side)])
            })
        };
        let overlaps = boxes::overlap(self.form, sides(&place), sides(&rank), threshold_read);
        let is_chosen = chosen.binary(BinaryOp::Equal, Scalar::Index(rank, ElementType::I64));
        let goes = overlaps.binary(BinaryOp::Or, is_chosen);
        let body = goes.select(Scalar::Literal(Literal::Bool(false)), lives);
        program.compute(expr.map(ElementType::Bool, body), &[alive, best, threshold, ordered])
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
        let Extents { examples, classes, boxes, chosen } = extents;
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
        let ordered = Self::ordered(program, given, sorted[1]);
        let mut alive = compose::map(program, [sorted[0], least], ElementType::Bool, |[score, least]| {
            if is_bounded { least.binary(BinaryOp::Less, score) } else { Scalar::Literal(Literal::Bool(true)) }
        });
        let mut steps = Vec::with_capacity(chosen);
        for step in 0..chosen {
            let best = Self::best(program, alive);
            steps.push(movement::reshape(program, best, &[examples, classes, 1].into()));
            if step + 1 < chosen {
                alive = self.survivors(program, alive, ordered, best, overlap);
            }
        }
        let ranks = if steps.len() == 1 { steps[0] } else { program.join(2, &steps) };
        let triples = triples(program, ranks, sorted[1], candidates);
        let flat = movement::reshape(program, ranks, &[candidates].into());
        let marks = compose::map(program, [flat], ElementType::Bool, |[rank]| {
            Scalar::literal(ElementType::I64, 0.0).binary(BinaryOp::LessEqual, rank)
        });
        let Marked { places, count } = compaction::marked(program, marks);
        let picked = super::gather::Gather::along(0);
        let picked = program.apply(&picked, &[Some(triples), Some(places)], 1)[0];
        vec![picked, count]
    }
}

/// Example, class and box of every candidate, `[candidates, 3]`; of those that are none, the last box.
fn triples(program: &mut ProgramBuilder, ranks: TensorId, order: TensorId, candidates: usize) -> TensorId {
    let (ty, order_ty) = (program.ty(ranks).clone(), program.ty(order).clone());
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&[ty.shape[0], ty.shape[1], ty.shape[2], 3]);
    let [example, class, step, column] = [0, 1, 2, 3].map(|at| Index::axis(axes[at]));
    let operand = expr.operand(&ty);
    let rank = expr.read(operand, vec![example.clone(), class.clone(), step]);
    let place = expr.indirect(&rank, order_ty.shape[2]);
    let operand = expr.operand(&order_ty);
    let named = expr.read(operand, vec![example.clone(), class.clone(), place]);
    let whole = |index: Index| Scalar::Index(index, ElementType::I64);
    let is = |which: f64| whole(column.clone()).binary(BinaryOp::Equal, Scalar::literal(ElementType::I64, which));
    let body = is(0.0).select(whole(example), is(1.0).select(whole(class), named));
    let all = program.compute(expr.map(ElementType::I64, body), &[ranks, order]);
    movement::reshape(program, all, &[candidates, 3].into())
}
