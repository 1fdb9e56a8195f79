//! Functions of scalars, applied at many points at once.

use crate::arithmetic::{float_binary, float_unary, integer_binary, integer_unary, round, truncate, wrap};
use crate::expr::{BinaryOp, Literal, Reducer, UnaryOp};
use crate::types::ElementType;

/// The values of a scalar at the points of a block; truth values are the integers 0 and 1.
#[derive(Clone, Debug)]
pub(super) enum Lanes {
    Float(Vec<f64>),
    Integer(Vec<i64>),
}

impl Lanes {
    pub(super) fn filled(literal: Literal, count: usize) -> Self {
        match literal {
            Literal::Float(_, bits) => Self::Float(vec![f64::from_bits(bits); count]),
            Literal::Integer(_, value) => Self::Integer(vec![value; count]),
            Literal::Bool(value) => Self::Integer(vec![i64::from(value); count]),
        }
    }

    /// The value before the first combination.
    pub(super) fn identity(reducer: Reducer, element: ElementType, count: usize) -> Self {
        Self::filled(reducer.identity(element), count)
    }

    pub(super) fn integers(&self) -> &[i64] {
        match self {
            Self::Integer(lanes) => lanes,
            Self::Float(_) => unreachable!("conditions and indices are not floating point"),
        }
    }

    /// `self = reducer(self, other)`, of the given type.
    pub(super) fn combine(&mut self, reducer: Reducer, other: &Self, element: ElementType) {
        let op = match reducer {
            Reducer::Sum => BinaryOp::Add,
            Reducer::Product => BinaryOp::Multiply,
            Reducer::Maximum => BinaryOp::Maximum,
            Reducer::Minimum => BinaryOp::Minimum,
        };
        match (self, other) {
            (Self::Float(total), Self::Float(lanes)) if op == BinaryOp::Add => {
                total.iter_mut().zip(lanes).for_each(|(total, lane)| *total += lane);
            }
            (Self::Float(total), Self::Float(lanes)) => {
                total.iter_mut().zip(lanes).for_each(|(total, lane)| *total = float_binary(op, *total, *lane));
            }
            (Self::Integer(total), Self::Integer(lanes)) => {
                let function = |a, b| integer_binary(op, element, a, b);
                total.iter_mut().zip(lanes).for_each(|(total, lane)| *total = function(*total, *lane));
            }
            _ => unreachable!("a reduction combines values of one type"),
        }
    }

    pub(super) fn unary(&self, op: UnaryOp, element: ElementType) -> Self {
        match self {
            Self::Float(lanes) => Self::Float(lanes.iter().map(|&lane| float_unary(op, lane)).collect()),
            Self::Integer(lanes) => Self::Integer(lanes.iter().map(|&lane| integer_unary(op, element, lane)).collect()),
        }
    }

    /// `op(self, other)`, the operands being of type `element`.
    pub(super) fn binary(&self, op: BinaryOp, other: &Self, element: ElementType) -> Self {
        match (self, other) {
            (Self::Float(left), Self::Float(right)) => {
                let pairs = left.iter().zip(right);
                match op {
                    BinaryOp::Multiply => Self::Float(pairs.map(|(a, b)| a * b).collect()),
                    BinaryOp::Less => Self::Integer(pairs.map(|(a, b)| i64::from(a < b)).collect()),
                    BinaryOp::LessEqual => Self::Integer(pairs.map(|(a, b)| i64::from(a <= b)).collect()),
                    BinaryOp::Equal => Self::Integer(pairs.map(|(a, b)| i64::from(a == b)).collect()),
                    BinaryOp::Add
                    | BinaryOp::Subtract
                    | BinaryOp::Divide
                    | BinaryOp::Remainder
                    | BinaryOp::Minimum
                    | BinaryOp::Maximum
                    | BinaryOp::Power
                    | BinaryOp::And
                    | BinaryOp::Or
                    | BinaryOp::BitAnd
                    | BinaryOp::BitOr
                    | BinaryOp::BitXor
                    | BinaryOp::ShiftLeft
                    | BinaryOp::ShiftRight => Self::Float(pairs.map(|(&a, &b)| float_binary(op, a, b)).collect()),
                }
            }
            (Self::Integer(left), Self::Integer(right)) => {
                let pairs = left.iter().zip(right);
                Self::Integer(pairs.map(|(&a, &b)| integer_binary(op, element, a, b)).collect())
            }
            _ => unreachable!("both operands have one type"),
        }
    }

    pub(super) fn select(&self, then: &Self, otherwise: &Self) -> Self {
        let condition = self.integers();
        match (then, otherwise) {
            (Self::Float(then), Self::Float(otherwise)) => Self::Float(choose(condition, then, otherwise)),
            (Self::Integer(then), Self::Integer(otherwise)) => Self::Integer(choose(condition, then, otherwise)),
            _ => unreachable!("both choices have one type"),
        }
    }

    /// Conversion from one type to another.
    pub(super) fn cast(&self, from: ElementType, to: ElementType) -> Self {
        match self {
            Self::Float(lanes) if to.is_float() => Self::Float(lanes.iter().map(|&lane| round(to, lane)).collect()),
            Self::Float(lanes) => Self::Integer(lanes.iter().map(|&lane| truncate(to, lane)).collect()),
            Self::Integer(lanes) if to.is_float() => {
                let float = |lane: i64| if from == ElementType::U64 { lane as u64 as f64 } else { lane as f64 };
                Self::Float(lanes.iter().map(|&lane| round(to, float(lane))).collect())
            }
            Self::Integer(lanes) => Self::Integer(lanes.iter().map(|&lane| wrap(to, lane)).collect()),
        }
    }
}

fn choose<T: Copy>(condition: &[i64], then: &[T], otherwise: &[T]) -> Vec<T> {
    let choices = then.iter().zip(otherwise);
    condition
        .iter()
        .zip(choices)
        .map(|(&holds, (&then, &otherwise))| if holds != 0 { then } else { otherwise })
        .collect()
}
