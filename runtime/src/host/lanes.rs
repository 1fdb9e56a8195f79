//! Scalar bodies as straight-line programs over lanes.

use std::collections::HashMap;

use warpweave_graph::ElementType;
use warpweave_graph::expr::{BinaryOp, Guard, Index, Literal, ReadId, Scalar, TensorExpr, UnaryOp};

use super::memory::{LANES, Lanes};

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
    Unary(UnaryOp, Register),
    Binary(BinaryOp, Register, Register),
    Select(Register, Register, Register),
    Cast(ElementType, Register),
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
            Scalar::Unary(op, operand) => Step::Unary(*op, self.add(operand)),
            Scalar::Binary(op, left, right) => Step::Binary(*op, self.add(left), self.add(right)),
            Scalar::Select(condition, then, otherwise) => {
                Step::Select(self.add(condition), self.add(then), self.add(otherwise))
            }
            Scalar::Cast(element, operand) => Step::Cast(*element, self.add(operand)),
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

/// Lanes that all hold a literal.
pub(super) fn splat(literal: Literal) -> Lanes {
    if literal.element().is_float() {
        Lanes::Float([literal.to_f64() as f32; LANES])
    } else {
        Lanes::Integer([literal.to_i64(); LANES])
    }
}

/// A function of one scalar, lane by lane.
pub(super) fn unary(op: UnaryOp, operand: &Lanes) -> Lanes {
    match operand {
        Lanes::Float(values) => Lanes::Float(values.map(match op {
            UnaryOp::Negate => |x: f32| -x,
            UnaryOp::Absolute => f32::abs,
            UnaryOp::Not => |x: f32| if x == 0.0 { 1.0 } else { 0.0 },
            UnaryOp::Exp => f32::exp,
            UnaryOp::Log => f32::ln,
            UnaryOp::Sqrt => f32::sqrt,
            UnaryOp::Tanh => f32::tanh,
            UnaryOp::Erf => libm::erff,
            UnaryOp::Sin => f32::sin,
            UnaryOp::Cos => f32::cos,
            UnaryOp::Floor => f32::floor,
            UnaryOp::Ceil => f32::ceil,
            UnaryOp::RoundEven => f32::round_ties_even,
        })),
        Lanes::Integer(values) => Lanes::Integer(values.map(match op {
            UnaryOp::Negate => i64::wrapping_neg,
            UnaryOp::Absolute => i64::wrapping_abs,
            UnaryOp::Not => |x: i64| i64::from(x == 0),
            UnaryOp::Exp
            | UnaryOp::Log
            | UnaryOp::Sqrt
            | UnaryOp::Tanh
            | UnaryOp::Erf
            | UnaryOp::Sin
            | UnaryOp::Cos
            | UnaryOp::Floor
            | UnaryOp::Ceil
            | UnaryOp::RoundEven => |x: i64| x,
        })),
    }
}

/// A function of two scalars of one type, lane by lane.
pub(super) fn binary(op: BinaryOp, left: &Lanes, right: &Lanes) -> Lanes {
    match (left, right) {
        (Lanes::Float(left), Lanes::Float(right)) => float_binary(op, left, right),
        (Lanes::Integer(left), Lanes::Integer(right)) => Lanes::Integer(zip(left, right, integer_function(op))),
        _ => unreachable!("operands of one function have one type"),
    }
}

fn float_binary(op: BinaryOp, left: &[f32; LANES], right: &[f32; LANES]) -> Lanes {
    let float = |function: fn(f32, f32) -> f32| Lanes::Float(zip(left, right, function));
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
    }
}

/// The smaller; NaN if either is.
pub(super) fn minimum(x: f32, y: f32) -> f32 {
    if x.is_nan() || x < y { x } else { y }
}

/// The larger; NaN if either is.
pub(super) fn maximum(x: f32, y: f32) -> f32 {
    if x.is_nan() || x > y { x } else { y }
}

fn integer_function(op: BinaryOp) -> fn(i64, i64) -> i64 {
    match op {
        BinaryOp::Add => i64::wrapping_add,
        BinaryOp::Subtract => i64::wrapping_sub,
        BinaryOp::Multiply => i64::wrapping_mul,
        BinaryOp::Divide => |x, y| if y == 0 { 0 } else { x.wrapping_div(y) },
        BinaryOp::Remainder => |x, y| if y == 0 { 0 } else { x.wrapping_rem(y) },
        BinaryOp::Minimum => i64::min,
        BinaryOp::Maximum => i64::max,
        BinaryOp::Power => |x, y| x.wrapping_pow(u32::try_from(y).unwrap_or(0)),
        BinaryOp::Less => |x, y| i64::from(x < y),
        BinaryOp::LessEqual => |x, y| i64::from(x <= y),
        BinaryOp::Equal => |x, y| i64::from(x == y),
        BinaryOp::And => |x, y| i64::from(x != 0 && y != 0),
        BinaryOp::Or => |x, y| i64::from(x != 0 || y != 0),
    }
}

/// The second where the first is not 0, the third elsewhere.
pub(super) fn select(condition: &Lanes, then: &Lanes, otherwise: &Lanes) -> Lanes {
    let Lanes::Integer(condition) = condition else { unreachable!("conditions are truth values") };
    match (then, otherwise) {
        (Lanes::Float(a), Lanes::Float(b)) => {
            Lanes::Float(std::array::from_fn(|lane| if condition[lane] != 0 { a[lane] } else { b[lane] }))
        }
        (Lanes::Integer(a), Lanes::Integer(b)) => {
            Lanes::Integer(std::array::from_fn(|lane| if condition[lane] != 0 { a[lane] } else { b[lane] }))
        }
        _ => unreachable!("both sides of a choice have one type"),
    }
}

/// Conversion to an element type.
pub(super) fn cast(element: ElementType, operand: &Lanes) -> Lanes {
    match (operand, element) {
        (Lanes::Float(values), ElementType::Bool) => Lanes::Integer(values.map(|value| i64::from(value != 0.0))),
        (Lanes::Integer(values), ElementType::Bool) => Lanes::Integer(values.map(|value| i64::from(value != 0))),
        (Lanes::Float(values), element) if element.is_float() => Lanes::Float(*values),
        (Lanes::Float(values), element) => Lanes::Integer(values.map(|value| wrap(element, saturate(element, value)))),
        (Lanes::Integer(values), element) if element.is_float() => Lanes::Float(values.map(|value| value as f32)),
        (Lanes::Integer(values), element) => Lanes::Integer(values.map(|value| wrap(element, value))),
    }
}

fn saturate(element: ElementType, value: f32) -> i64 {
    match element {
        ElementType::I32 => i64::from(value as i32),
        _ => value as i64,
    }
}

fn wrap(element: ElementType, value: i64) -> i64 {
    match element {
        ElementType::I8 => i64::from(value as i8),
        ElementType::I16 => i64::from(value as i16),
        ElementType::I32 => i64::from(value as i32),
        ElementType::U8 => i64::from(value as u8),
        ElementType::U16 => i64::from(value as u16),
        ElementType::U32 => i64::from(value as u32),
        ElementType::I64
        | ElementType::U64
        | ElementType::Bool
        | ElementType::F16
        | ElementType::BF16
        | ElementType::F32
        | ElementType::F64 => value,
    }
}

fn zip<T: Copy>(left: &[T; LANES], right: &[T; LANES], function: fn(T, T) -> T) -> [T; LANES] {
    std::array::from_fn(|lane| function(left[lane], right[lane]))
}
