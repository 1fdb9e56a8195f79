//! Pure scalar expressions of one thread.

use serde::{Deserialize, Serialize};

use super::ids::{ArrayId, LocalId};

/// The type of a scalar in a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum ScalarType {
    /// A truth value.
    Bool,
    /// A 32-bit integer; arithmetic wraps.
    I32,
    /// A 64-bit integer; arithmetic wraps.
    I64,
    /// An IEEE single.
    F32,
}

/// A literal. Floats are held as bits, so that equal literals are equal bytes and NaN is a value like any other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Constant {
    /// A truth value.
    Bool(bool),
    /// A 32-bit integer.
    I32(i32),
    /// A 64-bit integer.
    I64(i64),
    /// The bits of a single.
    F32(u32),
}

impl Constant {
    /// The literal's type.
    pub fn scalar_type(self) -> ScalarType {
        match self {
            Self::Bool(_) => ScalarType::Bool,
            Self::I32(_) => ScalarType::I32,
            Self::I64(_) => ScalarType::I64,
            Self::F32(_) => ScalarType::F32,
        }
    }
}

/// Values that the hardware gives each thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Builtin {
    /// The thread's index in its block, `I32`.
    Thread,
    /// The block's index in the grid: the vEU, `I32`, block-uniform.
    Block,
    /// The number of blocks, `I32`, block-uniform.
    Grid,
    /// Index of the node's first operand in [`Table::Operands`](super::Table::Operands), `I32`, the same in the whole grid. Only
    /// in nodes.
    FirstOperand,
}

/// Operations on one scalar.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum UnaryOp {
    /// −x for `I32`, `I64`, `F32`.
    Negate,
    /// |x| for `I32`, `I64`, `F32`.
    Absolute,
    /// Logical not of a `Bool`.
    Not,
    /// eˣ of an `F32`.
    Exp,
    /// Natural logarithm of an `F32`.
    Log,
    /// Square root of an `F32`, correctly rounded.
    Sqrt,
    /// Hyperbolic tangent of an `F32`.
    Tanh,
    /// 1 / (1 + e⁻ˣ) of an `F32`.
    Logistic,
    /// Gauss error function of an `F32`.
    Erf,
    /// Sine of an `F32`.
    Sin,
    /// Cosine of an `F32`.
    Cos,
    /// Inverse tangent of an `F32`.
    Atan,
    /// Largest integer not above an `F32`.
    Floor,
    /// Smallest integer not below an `F32`.
    Ceil,
    /// Nearest integer of an `F32`, halves to even.
    RoundEven,
    /// The value of IEEE binary16 that is nearest to an `F32`, ties to even, as an `F32`.
    ToF16,
    /// The `F32` without its lower 16 bits that is nearest to an `F32`, ties to even.
    ToBF16,
    /// The value of IEEE binary16 whose code is the lower 16 bits of an `I32`, as an `F32`.
    OfF16,
    /// The bits of an `F32`, as an `I32`.
    Bits,
    /// The `F32` that has the bits of an `I32`.
    OfBits,
}

/// Operations on two scalars of one type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum BinaryOp {
    /// x + y.
    Add,
    /// x − y.
    Subtract,
    /// x · y.
    Multiply,
    /// x / y: IEEE for `F32`, towards zero for integers; an integer division by zero gives zero.
    Divide,
    /// Remainder of the integer division above; zero by zero.
    Remainder,
    /// The smaller; for `F32`, NaN if either is NaN.
    Minimum,
    /// The larger; for `F32`, NaN if either is NaN.
    Maximum,
    /// xʸ of `F32`.
    Power,
    /// x < y, a `Bool`.
    Less,
    /// x ≤ y, a `Bool`.
    LessEqual,
    /// x = y, a `Bool`.
    Equal,
    /// Both, of `Bool`.
    And,
    /// Either, of `Bool`.
    Or,
    /// Bitwise and of integers.
    BitAnd,
    /// Bitwise or of integers.
    BitOr,
    /// Bitwise exclusive or of integers.
    BitXor,
    /// x · 2ʸ of integers, 0 ≤ y < width.
    ShiftLeft,
    /// ⌊x / 2ʸ⌋ of integers (arithmetic), 0 ≤ y < width.
    ShiftRight,
}

/// A pure expression; evaluating it reads registers and operands, never memory that can change.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Expression {
    /// A literal.
    Constant(Constant),
    /// A scalar variable.
    Local(LocalId),
    /// An element of a register array.
    Element(ArrayId, Box<Expression>),
    /// A hardware value.
    Builtin(Builtin),
    /// The `n`-th `I32` operand of the running rTask's rOperator; block-uniform. Only inside kernels.
    Operand(u32),
    /// The rTask's tile index; `I32`, block-uniform. Only inside kernels.
    Tile,
    /// An operation on one scalar.
    Unary(UnaryOp, Box<Expression>),
    /// An operation on two scalars.
    Binary(BinaryOp, Box<Expression>, Box<Expression>),
    /// `x · y + z` of `F32` with one rounding.
    FusedMultiplyAdd(Box<Expression>, Box<Expression>, Box<Expression>),
    /// The second if the first (`Bool`) holds, else the third; both are evaluated.
    Select(Box<Expression>, Box<Expression>, Box<Expression>),
    /// Conversion; `F32` to integer truncates and saturates, NaN gives 0; anything to `Bool` is `≠ 0`.
    Cast(ScalarType, Box<Expression>),
    /// ⌊value / divisor⌋ of `I32`, 0 ≤ value < 2³¹, where operands `n` and `n + 1` hold the divisor's multiplier and
    /// shift: `(umulhi(value, multiplier) + (multiplier == 0 ? value : 0)) >> shift`. See [`magic`].
    FastDivide(Box<Expression>, u32),
}

/// Multiplier and shift with which [`Expression::FastDivide`] divides by `divisor`, for every value below 2³¹.
///
/// Powers of two (one included) have multiplier 0 and are a shift. Others use the round-up method of Granlund and
/// Montgomery with 31-bit dividends, for which a 32-bit multiplier always exists.
///
/// # Panics
/// If `divisor` is not positive.
pub fn magic(divisor: i32) -> (i32, i32) {
    assert!(divisor > 0, "a divisor is positive");
    let divisor = divisor as u64;
    if divisor.is_power_of_two() {
        return (0, divisor.trailing_zeros() as i32);
    }
    let log = 64 - (divisor - 1).leading_zeros() as u64;
    let shift = log - 1;
    let multiplier = (1u64 << (32 + shift)).div_ceil(divisor);
    (multiplier as u32 as i32, shift as i32)
}

/// What [`Expression::FastDivide`] computes.
pub fn fast_divide(value: i32, multiplier: i32, shift: i32) -> i32 {
    let high = ((value as u32 as u64 * multiplier as u32 as u64) >> 32) as u32;
    let whole = if multiplier == 0 { value as u32 } else { 0 };
    (high.wrapping_add(whole) >> shift) as i32
}

/// The direct operands of an expression, borrowed as it is.
macro_rules! children {
    ($expression:expr) => {
        match $expression {
            Self::Constant(_) | Self::Local(_) | Self::Builtin(_) | Self::Operand(_) | Self::Tile => Vec::new(),
            Self::Element(_, x) | Self::Unary(_, x) | Self::Cast(_, x) | Self::FastDivide(x, _) => vec![x],
            Self::Binary(_, x, y) => vec![x, y],
            Self::FusedMultiplyAdd(x, y, z) | Self::Select(x, y, z) => vec![x, y, z],
        }
    };
}

impl Expression {
    /// An `I32` literal.
    pub fn i32(value: i32) -> Self {
        Self::Constant(Constant::I32(value))
    }

    /// An `F32` literal.
    pub fn f32(value: f32) -> Self {
        Self::Constant(Constant::F32(value.to_bits()))
    }

    /// The direct operands.
    pub fn children(&self) -> Vec<&Self> {
        children!(self)
    }

    /// The direct operands.
    pub fn children_mut(&mut self) -> Vec<&mut Self> {
        children!(self)
    }

    /// Calls `action` on the expression and on all that it holds.
    pub fn visit(&self, action: &mut impl FnMut(&Self)) {
        action(self);
        for child in self.children() {
            child.visit(action);
        }
    }

    /// `self op other`.
    pub fn binary(op: BinaryOp, left: Self, right: Self) -> Self {
        Self::Binary(op, Box::new(left), Box::new(right))
    }
}

impl From<LocalId> for Expression {
    fn from(local: LocalId) -> Self {
        Self::Local(local)
    }
}
