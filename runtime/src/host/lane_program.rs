//! Scalar bodies as straight-line programs over lanes.

use std::collections::HashMap;

use warpweave_graph::ElementType;
use warpweave_graph::expr::{BinaryOp, Guard, Index, Literal, ReadId, Scalar, TensorExpr, UnaryOp};

/// A position in the registers of a program's run.
pub(super) type Register = usize;

/// One step: computes a register from earlier ones.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Literal(Literal),
    Read(ReadId),
    Index(Index, ElementType),
    Holds(Guard),
    Reduced,
    /// A function of a value of an element type.
    Unary(UnaryOp, ElementType, Register),
    /// A function of two values of an element type.
    Binary(BinaryOp, ElementType, Register, Register),
    Select(Register, Register, Register),
    /// Conversion from one element type to another.
    Cast(ElementType, ElementType, Register),
}

/// A scalar body, equal parts computed once.
#[derive(Clone, Debug)]
pub(super) struct LaneProgram {
    pub(super) steps: Vec<Step>,
    pub(super) result: Register,
}

impl LaneProgram {
    /// The program of a scalar of `expr`.
    pub(super) fn new(expr: &TensorExpr, scalar: &Scalar) -> Self {
        let mut builder = Builder { steps: Vec::new(), known: HashMap::new(), expr };
        let result = builder.add(scalar);
        Self { steps: builder.steps, result }
    }
}

struct Builder<'e> {
    steps: Vec<Step>,
    known: HashMap<Scalar, Register>,
    expr: &'e TensorExpr,
}

impl Builder<'_> {
    fn add(&mut self, scalar: &Scalar) -> Register {
        if let Some(&known) = self.known.get(scalar) {
            return known;
        }
        let step = match scalar {
            Scalar::Literal(literal) => Step::Literal(*literal),
            Scalar::Read(read) => {
                self.add_indirect(*read);
                Step::Read(*read)
            }
            Scalar::Index(index, element) => {
                self.add_indices(std::iter::once(index));
                Step::Index(index.clone(), *element)
            }
            Scalar::Holds(guard) => {
                self.add_indices(guard.conditions().iter().map(|condition| &condition.index));
                Step::Holds(guard.clone())
            }
            Scalar::Reduced => Step::Reduced,
            Scalar::Unary(op, operand) => Step::Unary(*op, self.expr.element_of(operand), self.add(operand)),
            Scalar::Binary(op, left, right) => {
                Step::Binary(*op, self.expr.element_of(left), self.add(left), self.add(right))
            }
            Scalar::Select(condition, then, otherwise) => {
                Step::Select(self.add(condition), self.add(then), self.add(otherwise))
            }
            Scalar::Cast(element, operand) => Step::Cast(self.expr.element_of(operand), *element, self.add(operand)),
        };
        self.steps.push(step);
        let register = self.steps.len() - 1;
        self.known.insert(scalar.clone(), register);
        register
    }

    fn add_indirect(&mut self, read: ReadId) {
        let read = &self.expr.reads[read];
        let conditions = read.guard.conditions().iter().map(|condition| &condition.index);
        self.add_indices(read.index.iter().chain(conditions));
    }

    fn add_indices<'i>(&mut self, indices: impl Iterator<Item = &'i Index>) {
        let mut reads = Vec::new();
        indices.for_each(|index| index.visit(&mut |_| {}, &mut |read| reads.push(read)));
        for read in reads {
            self.add(&Scalar::Read(read));
        }
    }
}
