//! Which tensors never hold a signalling NaN.
//!
//! Marks of sentinels are bits of signalling NaNs, and no floating-point operation of IEEE 754 delivers one: only copies
//! do. So values that come of arithmetic are never taken for marks, whatever the data are, and may share their bytes with
//! sentinels. What the host writes, constants and what is merely moved from them may not.

use std::collections::BTreeSet;

use warpweave_graph::arena::Arena;
use warpweave_graph::expr::{BinaryOp, Literal, Read, ReadId, Reducer, Scalar, TensorExpr, UnaryOp};
use warpweave_graph::program::TensorId;
use warpweave_graph::types::ElementType;

use crate::body::{Stage, StageSource};
use crate::plan::{MemoryPlan, OperatorId, ROperator};

/// The roots that may hold a signalling NaN's bits, or other elements than singles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quiet {
    others: BTreeSet<TensorId>,
}

impl Quiet {
    /// Of the tensors that these rOperators, in a topological order, read and write.
    pub fn of(operators: &Arena<OperatorId, ROperator>, memory: &MemoryPlan) -> Self {
        let mut written = BTreeSet::new();
        let mut others = BTreeSet::new();
        let root = |tensor: TensorId| memory.tensors[tensor].layout.root;
        others.extend(memory.inputs.iter().map(|input| root(*input)));
        for operator in operators.values() {
            let body = &operator.body;
            let is_quiet = |tensor: TensorId| written.contains(&root(tensor)) && !others.contains(&root(tensor));
            let operands: Vec<bool> = body.operands.iter().map(|tensor| is_quiet(*tensor)).collect();
            let mut staged = Vec::new();
            for stage in &body.staged {
                staged.push(is_quiet_stage(stage, &Sources { operands: &operands, staged: &staged, stages: &[] }));
            }
            let mut stages = Vec::new();
            for stage in &body.stages {
                stages.push(is_quiet_stage(stage, &Sources { operands: &operands, staged: &staged, stages: &stages }));
            }
            for (stage, is_quiet) in body.stages.iter().zip(stages) {
                let Some(output) = &stage.output else { continue };
                let tensor = root(body.outputs[output.position]);
                written.insert(tensor);
                if !is_quiet {
                    others.insert(tensor);
                }
            }
        }
        Self { others }
    }

    /// Whether nothing that a root's bytes ever hold can be taken for a mark.
    pub fn is_quiet(&self, root: TensorId) -> bool {
        !self.others.contains(&root)
    }
}

/// Which of what a stage reads is quiet.
struct Sources<'s> {
    operands: &'s [bool],
    staged: &'s [bool],
    stages: &'s [bool],
}

fn is_quiet_stage(stage: &Stage, sources: &Sources) -> bool {
    let TensorExpr { reads, body, reducer, epilogue, element, .. } = &stage.expr;
    let read = |read: &Read| {
        let is_quiet = match stage.sources[read.operand] {
            StageSource::Operand(at) => sources.operands[at],
            StageSource::Staged(at) => sources.staged[at],
            StageSource::Stage(at) => sources.stages[at],
        };
        is_quiet && is_quiet_literal(read.fill)
    };
    let leaf = |id| read(&reads[id]);
    let of_body = is_quiet(body, &leaf, false);
    let reduced = match reducer {
        Some(Reducer::Sum) => true,
        Some(Reducer::Product | Reducer::Maximum | Reducer::Minimum) | None => of_body,
    };
    let result = epilogue.as_ref().map_or(reduced, |epilogue| is_quiet(epilogue, &leaf, reduced));
    *element == ElementType::F32 && result
}

/// Whether a scalar's bits are never those of a signalling NaN. Operations with a literal may be folded to their other
/// operand, and functions may be put together bit by bit.
fn is_quiet(scalar: &Scalar, read: &impl Fn(ReadId) -> bool, reduced: bool) -> bool {
    let of = |scalar: &Scalar| is_quiet(scalar, read, reduced);
    match scalar {
        Scalar::Literal(literal) => is_quiet_literal(*literal),
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

fn is_quiet_literal(literal: Literal) -> bool {
    match literal {
        Literal::Bool(_) | Literal::Integer(..) => true,
        Literal::Float(_, bits) => !f64::from_bits(bits).is_nan(),
    }
}
