//! Instructions of a thread's arithmetic at one point: equal parts, also of several stages, are computed once.

use rustc_hash::FxHashMap;
use warpweave_graph::expr::{BinaryOp, Guard, Index, Literal, Scalar, UnaryOp};
use warpweave_graph::program::TensorId;
use warpweave_graph::types::ElementType;
use warpweave_plan::body::{GroupBody, Stage, StageSource};

use crate::cost::instructions::{branching_of, instructions_of};
use crate::template::kernel::reduced;

/// Instructions of a thread at one point, reads left out.
#[derive(Clone, Copy, Default)]
pub(super) struct Computed {
    /// All of them.
    pub(super) instructions: f64,
    /// Of these, those of functions that branch on their operands.
    pub(super) branching: f64,
}

impl Computed {
    /// Those of all stages of a body: of a reduction the body at every tap, and what follows once. Stages whose loads are their
    /// own have no values in common.
    pub(super) fn of(body: &GroupBody, loads_are_shared: bool) -> Self {
        let mut found = Self::default();
        let mut values = Values::default();
        for (number, stage) in body.stages.iter().enumerate() {
            if !loads_are_shared {
                values.known.clear();
            }
            let once = match (stage.expr.reducer, &stage.expr.epilogue) {
                (Some(_), epilogue) => {
                    let at_tap = Values::default().take(body, (number, stage), &stage.expr.body);
                    let taps = reduced(&stage.expr);
                    found.instructions += at_tap.instructions.max(1.0) * taps;
                    found.branching += at_tap.branching * taps;
                    epilogue.as_ref().unwrap_or(&Scalar::Reduced)
                }
                (None, epilogue) => epilogue.as_ref().unwrap_or(&stage.expr.body),
            };
            let once = values.take(body, (number, stage), once);
            found.instructions += once.instructions.max(1.0);
            found.branching += once.branching;
        }
        found
    }
}

/// The values that a thread has at a point.
#[derive(Default)]
struct Values<'b> {
    known: FxHashMap<Value<'b>, usize>,
    /// How many there have been.
    count: usize,
    /// Those of the stages.
    stages: Vec<usize>,
}

/// How a value comes about; other values go by their numbers.
#[derive(PartialEq, Eq, Hash)]
enum Value<'b> {
    /// Of one stage, or the same for all.
    Leaf(Option<usize>, &'b Scalar),
    Loaded(TensorId, &'b [Index], &'b Guard, Literal),
    Unary(UnaryOp, usize),
    Binary(BinaryOp, usize, usize),
    Select(usize, usize, usize),
    Cast(ElementType, usize),
}

impl<'b> Values<'b> {
    /// Instructions that a stage's scalar adds; its value becomes the stage's.
    fn take(&mut self, body: &'b GroupBody, (number, stage): (usize, &'b Stage), scalar: &'b Scalar) -> Computed {
        let mut added = Computed::default();
        let value = self.number(body, (number, stage), scalar, &mut added);
        self.stages.resize(number, value);
        self.stages.push(value);
        added
    }

    fn number(
        &mut self,
        body: &'b GroupBody,
        of: (usize, &'b Stage),
        scalar: &'b Scalar,
        added: &mut Computed,
    ) -> usize {
        let mut number = |scalar: &'b Scalar| self.number(body, of, scalar, added);
        let value = match scalar {
            Scalar::Unary(op, operand) => Value::Unary(*op, number(operand)),
            Scalar::Binary(op, left, right) => Value::Binary(*op, number(left), number(right)),
            Scalar::Select(condition, then, otherwise) => {
                Value::Select(number(condition), number(then), number(otherwise))
            }
            Scalar::Cast(element, operand) => Value::Cast(*element, number(operand)),
            Scalar::Read(read) => {
                let read = &of.1.expr.reads[*read];
                match of.1.sources[read.operand] {
                    StageSource::Stage(earlier) if earlier < self.stages.len() => return self.stages[earlier],
                    StageSource::Operand(operand) if read.is_free_of_reads() => {
                        Value::Loaded(body.operands[operand], &read.index, &read.guard, read.fill)
                    }
                    StageSource::Stage(_) | StageSource::Operand(_) | StageSource::Staged(_) => {
                        Value::Leaf(Some(of.0), scalar)
                    }
                }
            }
            Scalar::Literal(_) => Value::Leaf(None, scalar),
            Scalar::Index(..) | Scalar::Holds(_) | Scalar::Reduced => Value::Leaf(Some(of.0), scalar),
        };
        if let Some(known) = self.known.get(&value) {
            return *known;
        }
        self.count += 1;
        self.known.insert(value, self.count);
        added.instructions += instructions_of(scalar);
        added.branching += branching_of(scalar);
        self.count
    }
}
