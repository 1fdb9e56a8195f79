//! Which values of a body are equal: stages at the same point of the tile axes have them in common.

use rustc_hash::FxHashMap;
use warpweave_graph::expr::{BinaryOp, Guard, Index, Literal, Scalar, UnaryOp};
use warpweave_graph::program::TensorId;
use warpweave_graph::types::ElementType;

use crate::body::{GroupBody, Stage, StageSource};

/// Gives the values at one point numbers, equal ones the same: what equal functions give of equal operands, and reads of the
/// same element.
pub struct ValueNumbers<'b> {
    body: &'b GroupBody,
    known: FxHashMap<Value<'b>, usize>,
    /// How many values there have been.
    count: usize,
    /// The values of the stages so far.
    stages: Vec<usize>,
}

/// A part of a scalar.
#[derive(Clone, Copy, Debug)]
pub struct NumberedPart<'b> {
    /// The part.
    pub scalar: &'b Scalar,
    /// The number of its value.
    pub number: usize,
    /// Whether no part before it has this value.
    pub is_new: bool,
    /// The parts that it consists of, itself included. They stand before it.
    pub size: usize,
}

/// How a value comes about; its operands go by their numbers.
#[derive(PartialEq, Eq, Hash)]
enum Value<'b> {
    /// Of one stage, or the same in all.
    Leaf(Option<usize>, &'b Scalar),
    Loaded(TensorId, &'b [Index], &'b Guard, Literal),
    Unary(UnaryOp, usize),
    Binary(BinaryOp, usize, usize),
    Select(usize, usize, usize),
    Cast(ElementType, usize),
}

impl<'b> ValueNumbers<'b> {
    /// Of a body none of whose stages has been looked at.
    pub fn new(body: &'b GroupBody) -> Self {
        Self { body, known: FxHashMap::default(), count: 0, stages: Vec::new() }
    }

    /// The parts of the next stage's value at a point: of its epilogue, or of its body if it does not reduce. Operands stand
    /// before what takes them.
    pub fn next_stage(&mut self) -> Vec<NumberedPart<'b>> {
        let stage = &self.body.stages[self.stages.len()];
        let expr = &stage.expr;
        let own = if expr.reducer.is_some() { &Scalar::Reduced } else { &expr.body };
        let parts = self.parts(expr.epilogue.as_ref().unwrap_or(own));
        let whole = parts.last().map_or(0, |whole| whole.number);
        let read = if stage.is_rounded() { self.rounded(expr.element, whole) } else { whole };
        self.stages.push(read);
        parts
    }

    /// The number of a value that is rounded to an element type.
    fn rounded(&mut self, element: ElementType, whole: usize) -> usize {
        let next = self.count;
        let number = *self.known.entry(Value::Cast(element, whole)).or_insert(next);
        self.count += usize::from(number == next);
        number
    }

    /// The parts of what the next stage reduces, at one of many points: nothing else has its values.
    pub fn reduced_parts(&mut self) -> Vec<NumberedPart<'b>> {
        let known = std::mem::take(&mut self.known);
        let parts = self.parts(&self.body.stages[self.stages.len()].expr.body);
        self.known = known;
        parts
    }

    fn parts(&mut self, scalar: &'b Scalar) -> Vec<NumberedPart<'b>> {
        let mut parts = Vec::new();
        self.number(scalar, &mut parts);
        parts
    }

    fn number(&mut self, scalar: &'b Scalar, parts: &mut Vec<NumberedPart<'b>>) -> usize {
        let before = parts.len();
        let mut of = |scalar: &'b Scalar| self.number(scalar, parts);
        let value = match scalar {
            Scalar::Unary(op, operand) => Value::Unary(*op, of(operand)),
            Scalar::Binary(op, left, right) => Value::Binary(*op, of(left), of(right)),
            Scalar::Select(condition, then, otherwise) => Value::Select(of(condition), of(then), of(otherwise)),
            Scalar::Cast(element, operand) => Value::Cast(*element, of(operand)),
            Scalar::Literal(_) | Scalar::Read(_) | Scalar::Index(..) | Scalar::Holds(_) | Scalar::Reduced => {
                self.leaf(scalar)
            }
        };
        let next = self.count;
        let number = match self.earlier_stage(scalar) {
            Some(number) => number,
            None => *self.known.entry(value).or_insert(next),
        };
        let is_new = number == next;
        self.count += usize::from(is_new);
        parts.push(NumberedPart { scalar, number, is_new, size: parts.len() + 1 - before });
        number
    }

    /// The number of the value of an earlier stage, if that is what a scalar reads.
    fn earlier_stage(&self, scalar: &Scalar) -> Option<usize> {
        let Stage { expr, sources, .. } = &self.body.stages[self.stages.len()];
        let Scalar::Read(read) = scalar else { return None };
        match sources[expr.reads[*read].operand] {
            StageSource::Stage(earlier) => self.stages.get(earlier).copied(),
            StageSource::Operand(_) | StageSource::Staged(_) => None,
        }
    }

    fn leaf(&self, scalar: &'b Scalar) -> Value<'b> {
        let own = self.stages.len();
        let Stage { expr, sources, .. } = &self.body.stages[own];
        match scalar {
            Scalar::Read(read) => {
                let read = &expr.reads[*read];
                match sources[read.operand] {
                    StageSource::Operand(operand) if read.is_free_of_reads() => {
                        Value::Loaded(self.body.operands[operand], &read.index, &read.guard, read.fill)
                    }
                    _ => Value::Leaf(Some(own), scalar),
                }
            }
            Scalar::Literal(_) => Value::Leaf(None, scalar),
            _ => Value::Leaf(Some(own), scalar),
        }
    }
}
