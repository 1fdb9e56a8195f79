//! Functions of scalars, applied at many points at once.

use super::values::{round, truncate, wrap};
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
        if element.is_float() {
            let start = match reducer {
                Reducer::Sum => 0.0,
                Reducer::Product => 1.0,
                Reducer::Maximum => f64::NEG_INFINITY,
                Reducer::Minimum => f64::INFINITY,
            };
            return Self::Float(vec![start; count]);
        }
        let start = match reducer {
            Reducer::Sum => 0,
            Reducer::Product => 1,
            Reducer::Maximum => lowest(element),
            Reducer::Minimum => highest(element),
        };
        Self::Integer(vec![start; count])
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
                    | BinaryOp::Or => Self::Float(pairs.map(|(&a, &b)| float_binary(op, a, b)).collect()),
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

fn float_unary(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::Negate => -x,
        UnaryOp::Absolute => x.abs(),
        UnaryOp::Not => f64::from(u8::from(x == 0.0)),
        UnaryOp::Exp => x.exp(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Tanh => x.tanh(),
        UnaryOp::Erf => libm::erf(x),
        UnaryOp::Sin => x.sin(),
        UnaryOp::Cos => x.cos(),
        UnaryOp::Floor => x.floor(),
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::RoundEven => x.round_ties_even(),
    }
}

fn integer_unary(op: UnaryOp, element: ElementType, x: i64) -> i64 {
    match op {
        UnaryOp::Negate => wrap(element, x.wrapping_neg()),
        UnaryOp::Absolute if element == ElementType::U64 => x,
        UnaryOp::Absolute => wrap(element, x.wrapping_abs()),
        UnaryOp::Not => i64::from(x == 0),
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven => x,
        UnaryOp::Exp | UnaryOp::Log | UnaryOp::Sqrt | UnaryOp::Tanh | UnaryOp::Erf | UnaryOp::Sin | UnaryOp::Cos => {
            truncate(element, float_unary(op, x as f64))
        }
    }
}

fn float_binary(op: BinaryOp, x: f64, y: f64) -> f64 {
    match op {
        BinaryOp::Add => x + y,
        BinaryOp::Subtract => x - y,
        BinaryOp::Multiply => x * y,
        BinaryOp::Divide => x / y,
        BinaryOp::Remainder => x % y,
        BinaryOp::Minimum if x.is_nan() || y.is_nan() => f64::NAN,
        BinaryOp::Minimum => x.min(y),
        BinaryOp::Maximum if x.is_nan() || y.is_nan() => f64::NAN,
        BinaryOp::Maximum => x.max(y),
        BinaryOp::Power => x.powf(y),
        BinaryOp::Less => f64::from(u8::from(x < y)),
        BinaryOp::LessEqual => f64::from(u8::from(x <= y)),
        BinaryOp::Equal => f64::from(u8::from(x == y)),
        BinaryOp::And => f64::from(u8::from(x != 0.0 && y != 0.0)),
        BinaryOp::Or => f64::from(u8::from(x != 0.0 || y != 0.0)),
    }
}

fn integer_binary(op: BinaryOp, element: ElementType, x: i64, y: i64) -> i64 {
    let unsigned = element == ElementType::U64;
    let (x_unsigned, y_unsigned) = (x as u64, y as u64);
    let less = if unsigned { x_unsigned < y_unsigned } else { x < y };
    match op {
        BinaryOp::Add => wrap(element, x.wrapping_add(y)),
        BinaryOp::Subtract => wrap(element, x.wrapping_sub(y)),
        BinaryOp::Multiply => wrap(element, x.wrapping_mul(y)),
        BinaryOp::Divide | BinaryOp::Remainder if y == 0 => 0,
        BinaryOp::Divide if unsigned => (x_unsigned / y_unsigned) as i64,
        BinaryOp::Divide => wrap(element, x.wrapping_div(y)),
        BinaryOp::Remainder if unsigned => (x_unsigned % y_unsigned) as i64,
        BinaryOp::Remainder => wrap(element, x.wrapping_rem(y)),
        BinaryOp::Minimum => {
            if less {
                x
            } else {
                y
            }
        }
        BinaryOp::Maximum => {
            if less {
                y
            } else {
                x
            }
        }
        BinaryOp::Power => power(element, x, y),
        BinaryOp::Less => i64::from(less),
        BinaryOp::LessEqual => i64::from(less || x == y),
        BinaryOp::Equal => i64::from(x == y),
        BinaryOp::And => i64::from(x != 0 && y != 0),
        BinaryOp::Or => i64::from(x != 0 || y != 0),
    }
}

/// xʸ by squaring; a negative exponent truncates, as division does.
fn power(element: ElementType, x: i64, y: i64) -> i64 {
    if y < 0 {
        return match x {
            1 => 1,
            -1 => 1 - 2 * y.rem_euclid(2),
            _ => 0,
        };
    }
    let (mut result, mut base, mut exponent) = (1i64, x, y);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = result.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent /= 2;
    }
    wrap(element, result)
}

fn lowest(element: ElementType) -> i64 {
    match element {
        ElementType::I8 => i64::from(i8::MIN),
        ElementType::I16 => i64::from(i16::MIN),
        ElementType::I32 => i64::from(i32::MIN),
        ElementType::I64 => i64::MIN,
        ElementType::Bool
        | ElementType::U8
        | ElementType::U16
        | ElementType::U32
        | ElementType::U64
        | ElementType::F16
        | ElementType::BF16
        | ElementType::F32
        | ElementType::F64 => 0,
    }
}

fn highest(element: ElementType) -> i64 {
    match element {
        ElementType::Bool => 1,
        ElementType::I8 => i64::from(i8::MAX),
        ElementType::I16 => i64::from(i16::MAX),
        ElementType::I32 => i64::from(i32::MAX),
        ElementType::I64 => i64::MAX,
        ElementType::U8 => i64::from(u8::MAX),
        ElementType::U16 => i64::from(u16::MAX),
        ElementType::U32 => i64::from(u32::MAX),
        ElementType::U64 | ElementType::F16 | ElementType::BF16 | ElementType::F32 | ElementType::F64 => -1,
    }
}
