//! Which tensors never hold a signalling NaN.
//!
//! Tags of tagged values are bits of signalling NaNs, and no floating-point operation of IEEE 754 delivers one: only copies
//! do. So values that come of arithmetic are never taken for tags, whatever the data are, and may share their bytes with
//! tagged values. What the host writes, constants and what is merely moved from them may not.

use std::collections::BTreeSet;

use warpweave_graph::arena::Arena;
use warpweave_graph::expr::{BinaryOp, Literal, Read, ReadId, Reducer, Scalar, TensorExpr, UnaryOp};
use warpweave_graph::program::TensorId;
use warpweave_graph::types::ElementType;

use crate::body::{Stage, StageSource};
use crate::plan::{MemoryPlan, OperatorId, ROperator};

/// The roots that may hold a signalling NaN's bits, or other elements than singles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NeverSignalling {
    others: BTreeSet<TensorId>,
}

impl NeverSignalling {
    /// Of the tensors that these rOperators, in a topological order, read and write.
    pub fn of(operators: &Arena<OperatorId, ROperator>, memory: &MemoryPlan) -> Self {
        let mut written = BTreeSet::new();
        let mut others = BTreeSet::new();
        let root = |tensor: TensorId| memory.tensors[tensor].layout.root;
        others.extend(memory.live_in().map(root));
        for operator in operators.values() {
            let body = operator.kernel.body();
            let never_signals = |tensor: TensorId| written.contains(&root(tensor)) && !others.contains(&root(tensor));
            let operands: Vec<bool> = body.operands.iter().map(|tensor| never_signals(*tensor)).collect();
            let mut staged = Vec::new();
            for stage in &body.staged {
                staged.push(stage_never_signals(stage, &Sources { operands: &operands, staged: &staged, stages: &[] }));
            }
            let mut stages = Vec::new();
            for stage in &body.stages {
                stages.push(stage_never_signals(
                    stage,
                    &Sources { operands: &operands, staged: &staged, stages: &stages },
                ));
            }
            for (stage, never_signals) in body.stages.iter().zip(stages) {
                let Some(output) = &stage.output else { continue };
                let tensor = root(body.outputs[output.position]);
                written.insert(tensor);
                if !never_signals {
                    others.insert(tensor);
                }
            }
        }
        Self { others }
    }

    /// Whether nothing that a root's bytes ever hold can be taken for a tag.
    pub fn never_signals(&self, root: TensorId) -> bool {
        !self.others.contains(&root)
    }
}

/// Which of what a stage reads is never signalling.
struct Sources<'s> {
    operands: &'s [bool],
    staged: &'s [bool],
    stages: &'s [bool],
}

fn stage_never_signals(stage: &Stage, sources: &Sources) -> bool {
    let TensorExpr { reads, body, reducer, epilogue, element, .. } = &stage.expr;
    let read = |read: &Read| {
        let never_signals = match stage.sources[read.operand] {
            StageSource::Operand(at) => sources.operands[at],
            StageSource::Staged(at) => sources.staged[at],
            StageSource::Stage(at) => sources.stages[at],
        };
        never_signals && literal_never_signals(read.fill)
    };
    let leaf = |id| read(&reads[id]);
    let of_body = never_signals(body, &leaf, false);
    let reduced = match reducer {
        Some(Reducer::Sum) => true,
        Some(Reducer::Product | Reducer::Maximum | Reducer::Minimum) | None => of_body,
    };
    let result = epilogue.as_ref().map_or(reduced, |epilogue| never_signals(epilogue, &leaf, reduced));
    // What is rounded to 16 bits has one NaN, which does not signal.
    element.is_half() || *element == ElementType::F32 && result
}

/// Whether a scalar's bits are never those of a signalling NaN. Operations with a literal may be folded to their other
/// operand, and functions may be put together bit by bit.
fn never_signals(scalar: &Scalar, read: &impl Fn(ReadId) -> bool, reduced: bool) -> bool {
    let of = |scalar: &Scalar| never_signals(scalar, read, reduced);
    match scalar {
        Scalar::Literal(literal) => literal_never_signals(*literal),
        Scalar::Read(id) => read(*id),
        Scalar::Index(..) | Scalar::Holds(_) => true,
        Scalar::Reduced => reduced,
        Scalar::Unary(op, operand) => match op {
            UnaryOp::Negate | UnaryOp::Absolute | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven => of(operand),
            UnaryOp::Not => true,
            UnaryOp::Exp
            | UnaryOp::Log
            | UnaryOp::Sqrt
            | UnaryOp::Tanh
            | UnaryOp::Erf
            | UnaryOp::Sin
            | UnaryOp::Cos
            | UnaryOp::Atan => false,
        },
        Scalar::Binary(op, left, right) => match op {
            BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply => {
                !is_literal(left) && !is_literal(right) || of(left) && of(right)
            }
            BinaryOp::Minimum | BinaryOp::Maximum => of(left) && of(right),
            BinaryOp::Divide | BinaryOp::Remainder | BinaryOp::Power => false,
            BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Equal | BinaryOp::And | BinaryOp::Or => true,
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::ShiftLeft | BinaryOp::ShiftRight => false,
        },
        Scalar::Select(_, then, otherwise) => of(then) && of(otherwise),
        Scalar::Cast(_, operand) => of(operand),
    }
}

fn is_literal(scalar: &Scalar) -> bool {
    matches!(scalar, Scalar::Literal(_))
}

fn literal_never_signals(literal: Literal) -> bool {
    match literal {
        Literal::Bool(_) | Literal::Integer(..) => true,
        Literal::Float(_, bits) => !f64::from_bits(bits).is_nan(),
    }
}
