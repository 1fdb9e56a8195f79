//! Values of neighbouring points, and the functions of scalars on them.

use warpweave_graph::ElementType;
use warpweave_graph::arithmetic;
use warpweave_graph::expr::{BinaryOp, Literal, UnaryOp};

use super::simd::{maximum, minimum};

/// Up to this many elements are worked on at once.
pub(super) const LANES: usize = 128;

/// The values of one scalar for neighbouring points.
///
/// Every value has its element type after every step: singles are computed as singles and doubles as doubles, integers wrap
/// at their width. 16-bit floating point is held in singles and rounded by conversions and stores.
#[derive(Clone, Debug)]
pub(super) enum Lanes {
    /// `F32`, `F16`, `BF16` and floating point of storage only.
    Float([f32; LANES]),
    /// `F64`.
    Double([f64; LANES]),
    /// Integers, `U64` as its two's complement, and truth values as 0 and 1.
    Integer([i64; LANES]),
}

/// Lanes that all hold a literal.
pub(super) fn splat(literal: Literal) -> Lanes {
    match literal {
        Literal::Float(ElementType::F64, _) => Lanes::Double([literal.to_f64(); LANES]),
        Literal::Float(..) => Lanes::Float([literal.to_f64() as f32; LANES]),
        Literal::Integer(..) | Literal::Bool(_) => Lanes::Integer([literal.to_i64(); LANES]),
    }
}

/// Lanes `from … to − 1` of what is loaded there, the first of it in lane `from`; the literal elsewhere.
pub(super) fn shifted(loaded: &Lanes, fill: Literal, from: usize, to: usize) -> Lanes {
    let mut values = splat(fill);
    match (loaded, &mut values) {
        (Lanes::Float(loaded), Lanes::Float(values)) => values[from..to].copy_from_slice(&loaded[..to - from]),
        (Lanes::Double(loaded), Lanes::Double(values)) => values[from..to].copy_from_slice(&loaded[..to - from]),
        (Lanes::Integer(loaded), Lanes::Integer(values)) => values[from..to].copy_from_slice(&loaded[..to - from]),
        _ => unreachable!("a fill has the type of what is read"),
    }
    values
}

/// Puts the first lane of `from` into a lane of `to`, which is of the same type.
pub(super) fn copy_lane(from: &Lanes, to: &mut Lanes, lane: usize) {
    match (from, to) {
        (Lanes::Float(from), Lanes::Float(to)) => to[lane] = from[0],
        (Lanes::Double(from), Lanes::Double(to)) => to[lane] = from[0],
        (Lanes::Integer(from), Lanes::Integer(to)) => to[lane] = from[0],
        _ => unreachable!("a fill has the type of what is read"),
    }
}

/// A function of one scalar of an element type, lane by lane.
pub(super) fn unary(op: UnaryOp, element: ElementType, operand: &Lanes) -> Lanes {
    match operand {
        Lanes::Float(values) => Lanes::Float(values.map(single_function(op))),
        Lanes::Double(values) => Lanes::Double(values.map(|value| arithmetic::float_unary(op, value))),
        Lanes::Integer(values) => Lanes::Integer(values.map(|value| arithmetic::integer_unary(op, element, value))),
    }
}

/// A function of one single.
pub(super) fn single_function(op: UnaryOp) -> fn(f32) -> f32 {
    match op {
        UnaryOp::Negate => |x| -x,
        UnaryOp::Absolute => f32::abs,
        UnaryOp::Not => |x| if x == 0.0 { 1.0 } else { 0.0 },
        UnaryOp::Exp => f32::exp,
        UnaryOp::Log => f32::ln,
        UnaryOp::Sqrt => f32::sqrt,
        UnaryOp::Tanh => f32::tanh,
        UnaryOp::Erf => libm::erff,
        UnaryOp::Sin => f32::sin,
        UnaryOp::Cos => f32::cos,
        UnaryOp::Atan => f32::atan,
        UnaryOp::Floor => f32::floor,
        UnaryOp::Ceil => f32::ceil,
        UnaryOp::RoundEven => f32::round_ties_even,
    }
}

/// A function of two scalars of an element type, lane by lane.
pub(super) fn binary(op: BinaryOp, element: ElementType, left: &Lanes, right: &Lanes) -> Lanes {
    match (left, right) {
        (Lanes::Float(left), Lanes::Float(right)) => single_binary(op, left, right),
        (Lanes::Double(left), Lanes::Double(right)) => {
            let value = |lane: usize| arithmetic::float_binary(op, left[lane], right[lane]);
            if op.is_comparison() {
                Lanes::Integer(std::array::from_fn(|lane| i64::from(value(lane) != 0.0)))
            } else {
                Lanes::Double(std::array::from_fn(value))
            }
        }
        (Lanes::Integer(left), Lanes::Integer(right)) => {
            Lanes::Integer(std::array::from_fn(|lane| arithmetic::integer_binary(op, element, left[lane], right[lane])))
        }
        _ => unreachable!("operands of one function have one type"),
    }
}

fn single_binary(op: BinaryOp, left: &[f32; LANES], right: &[f32; LANES]) -> Lanes {
    let float =
        |function: fn(f32, f32) -> f32| Lanes::Float(std::array::from_fn(|lane| function(left[lane], right[lane])));
    let truth = |function: fn(f32, f32) -> bool| {
        Lanes::Integer(std::array::from_fn(|lane| i64::from(function(left[lane], right[lane]))))
    };
    match op {
        BinaryOp::Add => Lanes::Float(std::array::from_fn(|lane| left[lane] + right[lane])),
        BinaryOp::Subtract => Lanes::Float(std::array::from_fn(|lane| left[lane] - right[lane])),
        BinaryOp::Multiply => Lanes::Float(std::array::from_fn(|lane| left[lane] * right[lane])),
        BinaryOp::Divide => Lanes::Float(std::array::from_fn(|lane| left[lane] / right[lane])),
        BinaryOp::Remainder => float(|x, y| x % y),
        BinaryOp::Minimum => Lanes::Float(std::array::from_fn(|lane| minimum(left[lane], right[lane]))),
        BinaryOp::Maximum => Lanes::Float(std::array::from_fn(|lane| maximum(left[lane], right[lane]))),
        BinaryOp::Power => float(f32::powf),
        BinaryOp::Less => truth(|x, y| x < y),
        BinaryOp::LessEqual => truth(|x, y| x <= y),
        BinaryOp::Equal => truth(|x, y| x == y),
        BinaryOp::And => truth(|x, y| x != 0.0 && y != 0.0),
        BinaryOp::Or => truth(|x, y| x != 0.0 || y != 0.0),
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor | BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
            unreachable!("operators refuse the bits of floating point")
        }
    }
}

/// The second where the first is not 0, the third elsewhere.
pub(super) fn select(condition: &Lanes, then: &Lanes, otherwise: &Lanes) -> Lanes {
    let Lanes::Integer(condition) = condition else { unreachable!("conditions are truth values") };
    match (then, otherwise) {
        (Lanes::Float(a), Lanes::Float(b)) => Lanes::Float(choose(condition, a, b)),
        (Lanes::Double(a), Lanes::Double(b)) => Lanes::Double(choose(condition, a, b)),
        (Lanes::Integer(a), Lanes::Integer(b)) => Lanes::Integer(choose(condition, a, b)),
        _ => unreachable!("both sides of a choice have one type"),
    }
}

fn choose<T: Copy>(condition: &[i64; LANES], then: &[T; LANES], otherwise: &[T; LANES]) -> [T; LANES] {
    std::array::from_fn(|lane| if condition[lane] != 0 { then[lane] } else { otherwise[lane] })
}

/// Conversion from one element type to another.
pub(super) fn cast(from: ElementType, to: ElementType, operand: &Lanes) -> Lanes {
    match (operand, to) {
        (Lanes::Float(values), ElementType::F32) => Lanes::Float(*values),
        (Lanes::Float(values), to) if to.is_float() && to != ElementType::F64 => {
            Lanes::Float(values.map(|value| arithmetic::round(to, value.into()) as f32))
        }
        (Lanes::Float(values), ElementType::F64) => Lanes::Double(values.map(f64::from)),
        (Lanes::Float(values), _) => Lanes::Integer(values.map(|value| arithmetic::truncate(to, value.into()))),
        (Lanes::Double(values), ElementType::F64) => Lanes::Double(*values),
        (Lanes::Double(values), to) if to.is_float() => {
            Lanes::Float(values.map(|value| arithmetic::round(to, value) as f32))
        }
        (Lanes::Double(values), _) => Lanes::Integer(values.map(|value| arithmetic::truncate(to, value))),
        (Lanes::Integer(values), ElementType::F32) => Lanes::Float(values.map(|value| match from {
            ElementType::U64 => value as u64 as f32,
            _ => value as f32,
        })),
        (Lanes::Integer(values), to) if to.is_float() && to != ElementType::F64 => {
            Lanes::Float(values.map(|value| arithmetic::round(to, integer_as_double(from, value)) as f32))
        }
        (Lanes::Integer(values), ElementType::F64) => Lanes::Double(values.map(|value| integer_as_double(from, value))),
        (Lanes::Integer(values), _) => Lanes::Integer(values.map(|value| arithmetic::wrap(to, value))),
    }
}

fn integer_as_double(element: ElementType, value: i64) -> f64 {
    if element == ElementType::U64 { value as u64 as f64 } else { value as f64 }
}

/// A value of an element type as a store keeps it: 16-bit floating point is rounded.
pub(super) fn stored(element: ElementType, value: Lanes) -> Lanes {
    if element.is_half() { cast(element, element, &value) } else { value }
}
