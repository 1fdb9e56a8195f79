//! Scalar bodies of tensor expressions.

use serde::{Deserialize, Serialize};

use super::{Guard, Index, ReadId};
use crate::arithmetic::{highest, lowest, truncate, wrap};
use crate::types::ElementType;

/// A typed literal. Floats are held as the bits of a double, so that equality is exact and NaN is a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Literal {
    /// A truth value.
    Bool(bool),
    /// An integer of the given type.
    Integer(ElementType, i64),
    /// The bits of a double, of the given floating type.
    Float(ElementType, u64),
}

impl Literal {
    /// The literal of `element` with this value: exact for floating point, truncated and saturated for integers.
    pub fn new(element: ElementType, value: f64) -> Self {
        if element == ElementType::Bool {
            Self::Bool(value != 0.0)
        } else if element.is_float() {
            Self::Float(element, value.to_bits())
        } else {
            Self::Integer(element, truncate(element, value))
        }
    }

    /// The literal of `element` with the value of an integer, which wraps.
    pub fn integer(element: ElementType, value: i64) -> Self {
        if element == ElementType::Bool {
            Self::Bool(value != 0)
        } else if element.is_float() {
            Self::new(element, value as f64)
        } else {
            Self::Integer(element, wrap(element, value))
        }
    }

    /// What no value of `element` is less than: −∞, the smallest integer, false.
    pub fn lowest(element: ElementType) -> Self {
        if element.is_float() { Self::new(element, f64::NEG_INFINITY) } else { Self::integer(element, lowest(element)) }
    }

    /// What no value of `element` is greater than: +∞, the largest integer, true.
    pub fn highest(element: ElementType) -> Self {
        if element.is_float() { Self::new(element, f64::INFINITY) } else { Self::integer(element, highest(element)) }
    }

    pub fn element(self) -> ElementType {
        match self {
            Self::Bool(_) => ElementType::Bool,
            Self::Integer(element, _) | Self::Float(element, _) => element,
        }
    }

    /// The value as a double.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Bool(value) => f64::from(u8::from(value)),
            Self::Integer(_, value) => value as f64,
            Self::Float(_, bits) => f64::from_bits(bits),
        }
    }

    /// The value as an integer; floating point truncates.
    pub fn to_i64(self) -> i64 {
        match self {
            Self::Bool(value) => i64::from(value),
            Self::Integer(_, value) => value,
            Self::Float(_, bits) => f64::from_bits(bits) as i64,
        }
    }
}

/// Functions of one scalar; the result has the operand's type unless stated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum UnaryOp {
    /// −x.
    Negate,
    /// |x|.
    Absolute,
    /// Logical not of a truth value.
    Not,
    /// eˣ.
    Exp,
    /// Natural logarithm.
    Log,
    /// Square root.
    Sqrt,
    /// Hyperbolic tangent.
    Tanh,
    /// Gauss error function.
    Erf,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Inverse tangent.
    Atan,
    /// ⌊x⌋.
    Floor,
    /// ⌈x⌉.
    Ceil,
    /// Nearest integer, halves to even.
    RoundEven,
}

impl UnaryOp {
    /// Whether it takes many instructions or the special function unit.
    pub fn is_function(self) -> bool {
        match self {
            Self::Exp | Self::Log | Self::Sqrt | Self::Tanh | Self::Erf | Self::Sin | Self::Cos | Self::Atan => true,
            Self::Negate | Self::Absolute | Self::Not | Self::Floor | Self::Ceil | Self::RoundEven => false,
        }
    }
}

/// Functions of two scalars of one type; comparisons give truth values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum BinaryOp {
    /// x + y.
    Add,
    /// x − y.
    Subtract,
    /// x · y.
    Multiply,
    /// x / y; integers truncate, by zero gives zero.
    Divide,
    /// Remainder of that division.
    Remainder,
    /// The smaller; NaN if either is.
    Minimum,
    /// The larger; NaN if either is.
    Maximum,
    /// xʸ.
    Power,
    /// x < y.
    Less,
    /// x ≤ y.
    LessEqual,
    /// x = y.
    Equal,
    /// Both.
    And,
    /// Either.
    Or,
    /// The bits that both integers have.
    BitAnd,
    /// The bits that either integer has.
    BitOr,
    /// The bits that one of two integers has.
    BitXor,
    /// x · 2ʸ of integers that are not negative; 0 where y reaches the width.
    ShiftLeft,
    /// ⌊x / 2ʸ⌋ of integers that are not negative; 0 where y reaches the width.
    ShiftRight,
}

impl BinaryOp {
    /// Whether it is a function of the bits of integers.
    pub fn is_bitwise(self) -> bool {
        matches!(self, Self::BitAnd | Self::BitOr | Self::BitXor | Self::ShiftLeft | Self::ShiftRight)
    }

    /// Whether the result is a truth value whatever the operands' type.
    pub fn is_comparison(self) -> bool {
        match self {
            Self::Less | Self::LessEqual | Self::Equal => true,
            Self::Add
            | Self::Subtract
            | Self::Multiply
            | Self::Divide
            | Self::Remainder
            | Self::Minimum
            | Self::Maximum
            | Self::Power
            | Self::And
            | Self::Or
            | Self::BitAnd
            | Self::BitOr
            | Self::BitXor
            | Self::ShiftLeft
            | Self::ShiftRight => false,
        }
    }
}

/// A scalar computed at one point of an expression's axes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Scalar {
    Literal(Literal),
    /// A read's value.
    Read(ReadId),
    /// The value of an index, as an integer of the given type.
    Index(Index, ElementType),
    /// Whether a guard holds.
    Holds(Guard),
    /// In an epilogue, the reduced value.
    Reduced,
    /// A function of one scalar.
    Unary(UnaryOp, Box<Scalar>),
    /// A function of two scalars.
    Binary(BinaryOp, Box<Scalar>, Box<Scalar>),
    /// The second if the first holds, else the third.
    Select(Box<Scalar>, Box<Scalar>, Box<Scalar>),
    /// Conversion; floating point to integer truncates and saturates, anything to a truth value is `≠ 0`. What functions
    /// give in 16-bit floating point is exact until a conversion to the same type, or a store, rounds it.
    Cast(ElementType, Box<Scalar>),
}

impl Scalar {
    /// A literal of `element`.
    pub fn literal(element: ElementType, value: f64) -> Self {
        Self::Literal(Literal::new(element, value))
    }

    /// `op(self)`.
    pub fn unary(self, op: UnaryOp) -> Self {
        Self::Unary(op, Box::new(self))
    }

    /// `op(self, other)`.
    pub fn binary(self, op: BinaryOp, other: Self) -> Self {
        Self::Binary(op, Box::new(self), Box::new(other))
    }

    /// `then` where self holds, else `otherwise`.
    pub fn select(self, then: Self, otherwise: Self) -> Self {
        Self::Select(Box::new(self), Box::new(then), Box::new(otherwise))
    }

    /// self converted to `element`; itself if it is of that type already.
    pub fn cast(self, from: ElementType, to: ElementType) -> Self {
        if from == to { self } else { Self::Cast(to, Box::new(self)) }
    }

    /// The type of the scalar, given each read's type and the reduced value's.
    pub fn element(&self, read: &impl Fn(ReadId) -> ElementType, reduced: ElementType) -> ElementType {
        match self {
            Self::Literal(literal) => literal.element(),
            Self::Read(id) => read(*id),
            Self::Index(_, element) | Self::Cast(element, _) => *element,
            Self::Holds(_) => ElementType::Bool,
            Self::Reduced => reduced,
            Self::Unary(_, operand) => operand.element(read, reduced),
            Self::Binary(op, left, _) => {
                if op.is_comparison() {
                    ElementType::Bool
                } else {
                    left.element(read, reduced)
                }
            }
            Self::Select(_, then, _) => then.element(read, reduced),
        }
    }

    /// Calls `visit` on every node, parents first.
    pub fn visit(&self, visit: &mut impl FnMut(&Self)) {
        visit(self);
        match self {
            Self::Literal(_) | Self::Read(_) | Self::Index(..) | Self::Holds(_) | Self::Reduced => {}
            Self::Unary(_, operand) | Self::Cast(_, operand) => operand.visit(visit),
            Self::Binary(_, left, right) => {
                left.visit(visit);
                right.visit(visit);
            }
            Self::Select(condition, then, otherwise) => {
                condition.visit(visit);
                then.visit(visit);
                otherwise.visit(visit);
            }
        }
    }

    /// A copy in which `replace` may stand in for any leaf; inner nodes are rebuilt around what it returns.
    pub fn map_leaves(&self, replace: &mut impl FnMut(&Self) -> Self) -> Self {
        match self {
            Self::Literal(_) | Self::Read(_) | Self::Index(..) | Self::Holds(_) | Self::Reduced => replace(self),
            _ => self.map_parts(&mut |part| part.map_leaves(replace)),
        }
    }

    /// A copy in which `replace` stands in for each operand; a leaf has none.
    pub fn map_parts(&self, replace: &mut impl FnMut(&Self) -> Self) -> Self {
        match self {
            Self::Literal(_) | Self::Read(_) | Self::Index(..) | Self::Holds(_) | Self::Reduced => self.clone(),
            Self::Unary(op, operand) => replace(operand).unary(*op),
            Self::Cast(element, operand) => Self::Cast(*element, Box::new(replace(operand))),
            Self::Binary(op, left, right) => {
                let left = replace(left);
                left.binary(*op, replace(right))
            }
            Self::Select(condition, then, otherwise) => {
                let condition = replace(condition);
                let then = replace(then);
                condition.select(then, replace(otherwise))
            }
        }
    }

    /// The same value with the reduction's result as the first operand of every sum and product on the way to it. So
    /// `a + reduced` and `reduced + a` are one text and one kernel.
    pub fn reduced_first(self) -> Self {
        if !self.holds_reduced() {
            return self;
        }
        match self {
            Self::Unary(op, of) => of.reduced_first().unary(op),
            Self::Binary(op @ (BinaryOp::Add | BinaryOp::Multiply), left, right) if !left.holds_reduced() => {
                right.reduced_first().binary(op, *left)
            }
            Self::Binary(op, left, right) => left.reduced_first().binary(op, right.reduced_first()),
            Self::Select(condition, then, otherwise) => {
                condition.reduced_first().select(then.reduced_first(), otherwise.reduced_first())
            }
            Self::Cast(element, of) => Self::Cast(element, Box::new(of.reduced_first())),
            leaf @ (Self::Literal(_) | Self::Read(_) | Self::Index(..) | Self::Holds(_) | Self::Reduced) => leaf,
        }
    }

    fn holds_reduced(&self) -> bool {
        let mut holds = false;
        self.visit(&mut |scalar| holds |= matches!(scalar, Self::Reduced));
        holds
    }

    /// x, if this is 1 / (1 + e⁻ˣ).
    pub fn logistic_argument(&self) -> Option<&Self> {
        let is_one = |scalar: &Self| matches!(scalar, Self::Literal(literal) if literal.to_f64() == 1.0);
        let Self::Binary(BinaryOp::Divide, one, sum) = self else { return None };
        let Self::Binary(BinaryOp::Add, left, right) = &**sum else { return None };
        let (unit, power) = if is_one(left) { (left, right) } else { (right, left) };
        let Self::Unary(UnaryOp::Exp, negated) = &**power else { return None };
        let Self::Unary(UnaryOp::Negate, argument) = &**negated else { return None };
        (is_one(one) && is_one(unit)).then_some(argument)
    }

    /// Arithmetic operations in the scalar: every function counts one.
    pub fn operations(&self) -> usize {
        let mut count = 0;
        self.visit(&mut |scalar| {
            count += usize::from(matches!(scalar, Self::Unary(..) | Self::Binary(..) | Self::Select(..)));
        });
        count
    }
}
