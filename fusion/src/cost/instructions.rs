//! Instructions and latencies that estimates of all templates count alike.

use warpweave_graph::expr::{BinaryOp, Scalar, TensorExpr, UnaryOp};

/// Cycles that a meeting of a block's threads takes.
pub(crate) const BARRIER_CYCLES: f64 = 20.0;

/// Cycles from the last product of a row to its sum in every lane.
pub(crate) const COMBINE_LATENCY: f64 = 150.0;

/// Instructions a point, index arithmetic included.
pub(crate) fn work(expr: &TensorExpr) -> f64 {
    let reads =
        expr.reads.values().map(|read| 2.0 + read.index.len() as f64 + 2.0 * read.guard.conditions().len() as f64);
    expr.body.operations() as f64 + 1.0 + reads.sum::<f64>()
}

/// Instructions of a scalar's operations, reads left out: functions are sequences of them, and a division is one in doubles.
pub(crate) fn arithmetic(scalar: &Scalar) -> f64 {
    let mut count = 0.0;
    scalar.visit(&mut |part| {
        count += match part {
            Scalar::Unary(op, _) => unary(*op),
            Scalar::Binary(op, ..) => binary(*op),
            Scalar::Select(..) | Scalar::Cast(..) | Scalar::Index(..) | Scalar::Holds(_) => 1.0,
            Scalar::Literal(_) | Scalar::Reduced | Scalar::Read(_) => 0.0,
        };
    });
    count
}

fn unary(op: UnaryOp) -> f64 {
    match op {
        UnaryOp::Negate | UnaryOp::Absolute | UnaryOp::Not | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven => 1.0,
        UnaryOp::Exp => 8.0,
        UnaryOp::Sqrt => 15.0,
        UnaryOp::Log => 20.0,
        UnaryOp::Tanh | UnaryOp::Erf => 25.0,
        UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Atan => 40.0,
    }
}

fn binary(op: BinaryOp) -> f64 {
    match op {
        BinaryOp::Divide | BinaryOp::Remainder => 40.0,
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
