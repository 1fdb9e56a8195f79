//! Instructions and latencies that estimates of all templates count alike.

use warpweave_graph::expr::{BinaryOp, Scalar, TensorExpr, UnaryOp};

/// Cycles that a meeting of a block's threads takes.
pub(crate) const BARRIER_CYCLES: f64 = 20.0;

/// Cycles until the first-level cache answers.
pub(crate) const NEAR_CYCLES: f64 = 41.0;

/// Cycles from the last product of a row to its sum in every lane.
pub(crate) const COMBINE_LATENCY: f64 = 150.0;

/// Cycles from one instruction of a warp to its next on average, where no other warp has to be waited for.
pub(crate) const DEPENDENT_CYCLES: f64 = 2.6;

/// Cycles an instruction of a function that branches on its operands: each waits for the one before it.
pub(crate) const BRANCHING_CYCLES: f64 = 6.0;

/// Cycles from an element that names a place to that place, checked.
pub(crate) const CHECK_CYCLES: f64 = 45.0;

/// Instructions of an approximate reciprocal.
const RECIPROCAL_INSTRUCTIONS: f64 = 3.0;

/// Instructions a point, index arithmetic included.
pub(crate) fn work(expr: &TensorExpr) -> f64 {
    let reads =
        expr.reads.values().map(|read| 2.0 + read.index.len() as f64 + 2.0 * read.guard.conditions().len() as f64);
    expr.body.operations() as f64 + 1.0 + reads.sum::<f64>()
}

/// Instructions of a scalar's operations, reads left out: functions are sequences of them, as ordinary operands take them.
pub(crate) fn arithmetic(scalar: &Scalar) -> f64 {
    sum(scalar, instructions_of)
}

/// Of these, the instructions of functions that branch on their operands: nothing beside them fills their latencies.
pub(crate) fn branching(scalar: &Scalar) -> f64 {
    sum(scalar, branching_of)
}

/// Instructions of a scalar whose operands are known.
pub(crate) fn instructions_of(scalar: &Scalar) -> f64 {
    match scalar {
        _ if scalar.logistic_argument().is_some() => RECIPROCAL_INSTRUCTIONS,
        Scalar::Unary(op, _) => unary(*op),
        Scalar::Binary(op, ..) => binary(*op),
        Scalar::Select(..) | Scalar::Cast(..) | Scalar::Index(..) => 1.0,
        // Conditions are those that guard a read beside them.
        Scalar::Literal(_) | Scalar::Reduced | Scalar::Read(_) | Scalar::Holds(_) => 0.0,
    }
}

/// Of these, those of a function that branches.
pub(crate) fn branching_of(scalar: &Scalar) -> f64 {
    match scalar {
        Scalar::Binary(op @ (BinaryOp::Divide | BinaryOp::Remainder | BinaryOp::Power), ..)
            if scalar.logistic_argument().is_none() =>
        {
            binary(*op)
        }
        Scalar::Unary(op @ UnaryOp::Sqrt, _) => unary(*op),
        _ => 0.0,
    }
}

fn sum(scalar: &Scalar, of_part: impl Fn(&Scalar) -> f64) -> f64 {
    let mut sum = 0.0;
    scalar.visit(&mut |part| sum += of_part(part));
    sum
}

fn unary(op: UnaryOp) -> f64 {
    match op {
        UnaryOp::Negate | UnaryOp::Absolute | UnaryOp::Not | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven => 1.0,
        UnaryOp::Exp => 8.0,
        UnaryOp::Sqrt => 12.0,
        UnaryOp::Log => 20.0,
        UnaryOp::Tanh | UnaryOp::Erf => 25.0,
        UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Atan => 40.0,
    }
}

fn binary(op: BinaryOp) -> f64 {
    match op {
        BinaryOp::Divide => 20.0,
        BinaryOp::Remainder => 40.0,
        BinaryOp::Power => 60.0,
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Minimum
        | BinaryOp::Maximum
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Equal
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => 1.0,
    }
}
