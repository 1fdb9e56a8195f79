//! The meaning of every operation on one lane: the definition that folding and the vector interpreter share.
//!
//! Narrow registers hold 32 bits: the bits of an `F32`, an `I32`, or a `Bool` as all ones or zero. Wide registers hold
//! an `I64`.

use warpweave_graph::ElementType;
use warpweave_graph::arithmetic::power;
use warpweave_graph::halves::{bf16_of_single, f16_of_single, single_of_bf16, single_of_f16};

use crate::kernel_ir::{BinaryOp, ScalarType, UnaryOp};

/// What a `Bool` that holds looks like in a narrow register.
pub const TRUE: u32 = !0;

/// Operations from one narrow register to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NarrowUnary {
    NegateI32,
    AbsoluteI32,
    NegateF32,
    AbsoluteF32,
    Not,
    Exp,
    Log,
    Sqrt,
    Tanh,
    Logistic,
    Erf,
    Sin,
    Cos,
    Atan,
    Floor,
    Ceil,
    RoundEven,
    ToF16,
    ToBF16,
    OfF16,
    SameBits,
    I32ToF32,
    F32ToI32,
    BoolToI32,
    BoolToF32,
    I32ToBool,
    F32ToBool,
}

/// Operations from two narrow registers to one; comparisons give a `Bool`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NarrowBinary {
    AddI32,
    SubtractI32,
    MultiplyI32,
    DivideI32,
    RemainderI32,
    PowerI32,
    MinimumI32,
    MaximumI32,
    LessI32,
    LessEqualI32,
    EqualBits,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeftI32,
    ShiftRightI32,
    AddF32,
    SubtractF32,
    MultiplyF32,
    DivideF32,
    MinimumF32,
    MaximumF32,
    RemainderF32,
    PowerF32,
    LessF32,
    LessEqualF32,
    EqualF32,
}

/// Operations from one wide register to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WideUnary {
    Negate,
    Absolute,
}

/// Operations from two wide registers to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WideBinary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
    Minimum,
    Maximum,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

/// Comparisons of two wide registers, giving a `Bool`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WideCompare {
    Less,
    LessEqual,
    Equal,
}

/// The narrow operation that `op` is on `scalar`, `None` where it is not defined or not narrow.
pub fn narrow_unary(op: UnaryOp, scalar: ScalarType) -> Option<NarrowUnary> {
    let [bool_only, i32_only, f32_only] =
        [ScalarType::Bool, ScalarType::I32, ScalarType::F32].map(|only| only == scalar);
    let (defined, code) = match op {
        UnaryOp::Negate if i32_only => (true, NarrowUnary::NegateI32),
        UnaryOp::Absolute if i32_only => (true, NarrowUnary::AbsoluteI32),
        UnaryOp::Negate => (f32_only, NarrowUnary::NegateF32),
        UnaryOp::Absolute => (f32_only, NarrowUnary::AbsoluteF32),
        UnaryOp::Not => (bool_only, NarrowUnary::Not),
        UnaryOp::Exp => (f32_only, NarrowUnary::Exp),
        UnaryOp::Log => (f32_only, NarrowUnary::Log),
        UnaryOp::Sqrt => (f32_only, NarrowUnary::Sqrt),
        UnaryOp::Tanh => (f32_only, NarrowUnary::Tanh),
        UnaryOp::Logistic => (f32_only, NarrowUnary::Logistic),
        UnaryOp::Erf => (f32_only, NarrowUnary::Erf),
        UnaryOp::Sin => (f32_only, NarrowUnary::Sin),
        UnaryOp::Cos => (f32_only, NarrowUnary::Cos),
        UnaryOp::Atan => (f32_only, NarrowUnary::Atan),
        UnaryOp::Floor => (f32_only, NarrowUnary::Floor),
        UnaryOp::Ceil => (f32_only, NarrowUnary::Ceil),
        UnaryOp::RoundEven => (f32_only, NarrowUnary::RoundEven),
        UnaryOp::ToF16 => (f32_only, NarrowUnary::ToF16),
        UnaryOp::ToBF16 => (f32_only, NarrowUnary::ToBF16),
        UnaryOp::OfF16 => (i32_only, NarrowUnary::OfF16),
        UnaryOp::Bits => (f32_only, NarrowUnary::SameBits),
        UnaryOp::OfBits => (i32_only, NarrowUnary::SameBits),
    };
    defined.then_some(code)
}

/// The wide operation that `op` is on `I64`.
pub fn wide_unary(op: UnaryOp) -> Option<WideUnary> {
    match op {
        UnaryOp::Negate => Some(WideUnary::Negate),
        UnaryOp::Absolute => Some(WideUnary::Absolute),
        _ => None,
    }
}

/// The narrow operation that `op` is on two values of type `scalar`, `None` where it is not defined or not narrow.
pub fn narrow_binary(op: BinaryOp, scalar: ScalarType) -> Option<NarrowBinary> {
    use NarrowBinary as N;
    match scalar {
        ScalarType::Bool => match op {
            BinaryOp::And => Some(N::BitAnd),
            BinaryOp::Or => Some(N::BitOr),
            BinaryOp::Equal => Some(N::EqualBits),
            _ => None,
        },
        ScalarType::I32 => match op {
            BinaryOp::Add => Some(N::AddI32),
            BinaryOp::Subtract => Some(N::SubtractI32),
            BinaryOp::Multiply => Some(N::MultiplyI32),
            BinaryOp::Divide => Some(N::DivideI32),
            BinaryOp::Remainder => Some(N::RemainderI32),
            BinaryOp::Minimum => Some(N::MinimumI32),
            BinaryOp::Maximum => Some(N::MaximumI32),
            BinaryOp::Less => Some(N::LessI32),
            BinaryOp::LessEqual => Some(N::LessEqualI32),
            BinaryOp::Equal => Some(N::EqualBits),
            BinaryOp::BitAnd => Some(N::BitAnd),
            BinaryOp::BitOr => Some(N::BitOr),
            BinaryOp::BitXor => Some(N::BitXor),
            BinaryOp::ShiftLeft => Some(N::ShiftLeftI32),
            BinaryOp::ShiftRight => Some(N::ShiftRightI32),
            BinaryOp::Power => Some(N::PowerI32),
            BinaryOp::And | BinaryOp::Or => None,
        },
        ScalarType::F32 => match op {
            BinaryOp::Add => Some(N::AddF32),
            BinaryOp::Subtract => Some(N::SubtractF32),
            BinaryOp::Multiply => Some(N::MultiplyF32),
            BinaryOp::Divide => Some(N::DivideF32),
            BinaryOp::Minimum => Some(N::MinimumF32),
            BinaryOp::Maximum => Some(N::MaximumF32),
            BinaryOp::Remainder => Some(N::RemainderF32),
            BinaryOp::Power => Some(N::PowerF32),
            BinaryOp::Less => Some(N::LessF32),
            BinaryOp::LessEqual => Some(N::LessEqualF32),
            BinaryOp::Equal => Some(N::EqualF32),
            BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight => None,
        },
        ScalarType::I64 => None,
    }
}

/// The wide operation that `op` is on two `I64`, `None` where it is not defined or compares.
pub fn wide_binary(op: BinaryOp) -> Option<WideBinary> {
    match op {
        BinaryOp::Add => Some(WideBinary::Add),
        BinaryOp::Subtract => Some(WideBinary::Subtract),
        BinaryOp::Multiply => Some(WideBinary::Multiply),
        BinaryOp::Divide => Some(WideBinary::Divide),
        BinaryOp::Remainder => Some(WideBinary::Remainder),
        BinaryOp::Power => Some(WideBinary::Power),
        BinaryOp::Minimum => Some(WideBinary::Minimum),
        BinaryOp::Maximum => Some(WideBinary::Maximum),
        BinaryOp::BitAnd => Some(WideBinary::BitAnd),
        BinaryOp::BitOr => Some(WideBinary::BitOr),
        BinaryOp::BitXor => Some(WideBinary::BitXor),
        BinaryOp::ShiftLeft => Some(WideBinary::ShiftLeft),
        BinaryOp::ShiftRight => Some(WideBinary::ShiftRight),
        BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Equal | BinaryOp::And | BinaryOp::Or => None,
    }
}

/// The comparison that `op` is on two `I64`.
pub fn wide_compare(op: BinaryOp) -> Option<WideCompare> {
    match op {
        BinaryOp::Less => Some(WideCompare::Less),
        BinaryOp::LessEqual => Some(WideCompare::LessEqual),
        BinaryOp::Equal => Some(WideCompare::Equal),
        _ => None,
    }
}

impl NarrowUnary {
    /// The operation on one lane's bits.
    #[inline(always)]
    pub fn apply(self, x: u32) -> u32 {
        let f = f32::from_bits(x);
        match self {
            Self::NegateI32 => x.wrapping_neg(),
            Self::AbsoluteI32 => (x as i32).wrapping_abs() as u32,
            Self::NegateF32 => x ^ 0x8000_0000,
            Self::AbsoluteF32 => x & 0x7fff_ffff,
            Self::Not => !x,
            Self::Exp => libm::expf(f).to_bits(),
            Self::Log => libm::logf(f).to_bits(),
            Self::Sqrt => f.sqrt().to_bits(),
            Self::Tanh => libm::tanhf(f).to_bits(),
            Self::Logistic => (1.0 / (1.0 + libm::expf(-f))).to_bits(),
            Self::Erf => libm::erff(f).to_bits(),
            Self::Sin => libm::sinf(f).to_bits(),
            Self::Cos => libm::cosf(f).to_bits(),
            Self::Atan => libm::atanf(f).to_bits(),
            Self::Floor => f.floor().to_bits(),
            Self::Ceil => f.ceil().to_bits(),
            Self::RoundEven => f.round_ties_even().to_bits(),
            Self::ToF16 => single_of_f16(f16_of_single(f)).to_bits(),
            Self::ToBF16 => single_of_bf16(bf16_of_single(f)).to_bits(),
            Self::OfF16 => single_of_f16(x as u16).to_bits(),
            Self::SameBits => x,
            Self::I32ToF32 => (x as i32 as f32).to_bits(),
            Self::F32ToI32 => f as i32 as u32,
            Self::BoolToI32 => x & 1,
            Self::BoolToF32 => x & 0x3f80_0000,
            Self::I32ToBool => truth(x != 0),
            Self::F32ToBool => truth(f != 0.0),
        }
    }
}

impl NarrowBinary {
    /// The operation on one lane's bits.
    #[inline(always)]
    pub fn apply(self, x: u32, y: u32) -> u32 {
        let (i, j) = (x as i32, y as i32);
        let (f, g) = (f32::from_bits(x), f32::from_bits(y));
        match self {
            Self::AddI32 => x.wrapping_add(y),
            Self::SubtractI32 => x.wrapping_sub(y),
            Self::MultiplyI32 => x.wrapping_mul(y),
            Self::DivideI32 => {
                if j == 0 {
                    0
                } else {
                    i.wrapping_div(j) as u32
                }
            }
            Self::RemainderI32 => {
                if j == 0 {
                    0
                } else {
                    i.wrapping_rem(j) as u32
                }
            }
            Self::PowerI32 => power(ElementType::I32, i64::from(i), i64::from(j)) as u32,
            Self::MinimumI32 => i.min(j) as u32,
            Self::MaximumI32 => i.max(j) as u32,
            Self::LessI32 => truth(i < j),
            Self::LessEqualI32 => truth(i <= j),
            Self::EqualBits => truth(x == y),
            Self::BitAnd => x & y,
            Self::BitOr => x | y,
            Self::BitXor => x ^ y,
            Self::ShiftLeftI32 => x.wrapping_shl(y),
            Self::ShiftRightI32 => i.wrapping_shr(y) as u32,
            Self::AddF32 => (f + g).to_bits(),
            Self::SubtractF32 => (f - g).to_bits(),
            Self::MultiplyF32 => (f * g).to_bits(),
            Self::DivideF32 => (f / g).to_bits(),
            Self::MinimumF32 => extreme(f, g, f < g, x | y),
            Self::MaximumF32 => extreme(f, g, f > g, x & y),
            Self::RemainderF32 => (f % g).to_bits(),
            Self::PowerF32 => libm::powf(f, g).to_bits(),
            Self::LessF32 => truth(f < g),
            Self::LessEqualF32 => truth(f <= g),
            Self::EqualF32 => truth(f == g),
        }
    }
}

impl WideUnary {
    /// The operation on one lane.
    #[inline(always)]
    pub fn apply(self, x: i64) -> i64 {
        match self {
            Self::Negate => x.wrapping_neg(),
            Self::Absolute => x.wrapping_abs(),
        }
    }
}

impl WideBinary {
    /// The operation on one lane.
    #[inline(always)]
    pub fn apply(self, x: i64, y: i64) -> i64 {
        match self {
            Self::Add => x.wrapping_add(y),
            Self::Subtract => x.wrapping_sub(y),
            Self::Multiply => x.wrapping_mul(y),
            Self::Divide => {
                if y == 0 {
                    0
                } else {
                    x.wrapping_div(y)
                }
            }
            Self::Remainder => {
                if y == 0 {
                    0
                } else {
                    x.wrapping_rem(y)
                }
            }
            Self::Power => power(ElementType::I64, x, y),
            Self::Minimum => x.min(y),
            Self::Maximum => x.max(y),
            Self::BitAnd => x & y,
            Self::BitOr => x | y,
            Self::BitXor => x ^ y,
            Self::ShiftLeft => x.wrapping_shl(y as u32),
            Self::ShiftRight => x.wrapping_shr(y as u32),
        }
    }
}

impl WideCompare {
    /// The comparison on one lane, as a narrow `Bool`.
    #[inline(always)]
    pub fn apply(self, x: i64, y: i64) -> u32 {
        truth(match self {
            Self::Less => x < y,
            Self::LessEqual => x <= y,
            Self::Equal => x == y,
        })
    }
}

/// `x · y + z` with one rounding.
pub fn fused_multiply_add(x: u32, y: u32, z: u32) -> u32 {
    f32::from_bits(x).mul_add(f32::from_bits(y), f32::from_bits(z)).to_bits()
}

/// A `Bool` in a narrow register.
#[inline(always)]
pub fn truth(holds: bool) -> u32 {
    if holds { TRUE } else { 0 }
}

/// `f` if `first`, `f` or `g` with the bits `tie` if they are equal, NaN if either is, else `g`.
#[inline(always)]
fn extreme(f: f32, g: f32, first: bool, tie: u32) -> u32 {
    if f.is_nan() | g.is_nan() {
        f32::NAN.to_bits()
    } else if f == g {
        tie
    } else if first {
        f.to_bits()
    } else {
        g.to_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::{NarrowBinary, NarrowUnary, TRUE, narrow_binary, narrow_unary, wide_binary, wide_compare, wide_unary};
    use crate::emulate::random::Random;
    use crate::kernel_ir::expression::{fast_divide, magic};
    use crate::kernel_ir::typing::{binary_result, unary_result};
    use crate::kernel_ir::{BinaryOp, ScalarType, UnaryOp};

    #[test]
    fn fast_divide_divides() {
        let mut random = Random::new(2);
        let mut check = |divisor: i32| {
            let (multiplier, shift) = magic(divisor);
            let edges = [0, 1, divisor - 1, divisor, divisor.saturating_add(1), i32::MAX - 1, i32::MAX];
            let others = std::iter::repeat_with(|| (random.bits() >> 33) as i32).take(50);
            for value in edges.into_iter().chain(others) {
                assert_eq!(fast_divide(value, multiplier, shift), value / divisor, "{value} / {divisor}");
            }
        };
        (1..2000).for_each(&mut check);
        let mut divisors = Random::new(3);
        for _ in 0..20_000 {
            check(((divisors.bits() >> (33 + divisors.below(31))) as i32).max(1));
        }
        check(i32::MAX);
    }

    const UNARY: [UnaryOp; 20] = [
        UnaryOp::Negate,
        UnaryOp::Absolute,
        UnaryOp::Not,
        UnaryOp::Exp,
        UnaryOp::Log,
        UnaryOp::Sqrt,
        UnaryOp::Tanh,
        UnaryOp::Logistic,
        UnaryOp::Erf,
        UnaryOp::Sin,
        UnaryOp::Cos,
        UnaryOp::Atan,
        UnaryOp::Floor,
        UnaryOp::Ceil,
        UnaryOp::RoundEven,
        UnaryOp::ToF16,
        UnaryOp::ToBF16,
        UnaryOp::OfF16,
        UnaryOp::Bits,
        UnaryOp::OfBits,
    ];
    const BINARY: [BinaryOp; 18] = [
        BinaryOp::Add,
        BinaryOp::Subtract,
        BinaryOp::Multiply,
        BinaryOp::Divide,
        BinaryOp::Remainder,
        BinaryOp::Minimum,
        BinaryOp::Maximum,
        BinaryOp::Power,
        BinaryOp::Less,
        BinaryOp::LessEqual,
        BinaryOp::Equal,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::BitAnd,
        BinaryOp::BitOr,
        BinaryOp::BitXor,
        BinaryOp::ShiftLeft,
        BinaryOp::ShiftRight,
    ];

    #[test]
    fn what_is_well_typed_has_an_operation() {
        let scalars = [ScalarType::Bool, ScalarType::I32, ScalarType::I64, ScalarType::F32];
        for (scalar, op) in scalars.into_iter().flat_map(|scalar| UNARY.map(|op| (scalar, op))) {
            let wide = scalar == ScalarType::I64 && wide_unary(op).is_some();
            let found = wide || narrow_unary(op, scalar).is_some();
            assert_eq!(found, unary_result(op, scalar).is_some(), "{op:?} of {scalar:?}");
        }
        for (scalar, op) in scalars.into_iter().flat_map(|scalar| BINARY.map(|op| (scalar, op))) {
            let wide = scalar == ScalarType::I64 && (wide_binary(op).is_some() || wide_compare(op).is_some());
            let found = wide || narrow_binary(op, scalar).is_some();
            assert_eq!(found, binary_result(op, scalar).is_some(), "{op:?} of {scalar:?}");
        }
    }

    #[test]
    fn integers_wrap_and_divide_by_zero() {
        let apply = |op: NarrowBinary, x: i32, y: i32| op.apply(x as u32, y as u32) as i32;
        assert_eq!(apply(NarrowBinary::AddI32, i32::MAX, 1), i32::MIN);
        assert_eq!(apply(NarrowBinary::DivideI32, 7, 0), 0);
        assert_eq!(apply(NarrowBinary::RemainderI32, 7, 0), 0);
        assert_eq!(apply(NarrowBinary::DivideI32, i32::MIN, -1), i32::MIN);
        assert_eq!(apply(NarrowBinary::DivideI32, -7, 2), -3);
        assert_eq!(apply(NarrowBinary::ShiftRightI32, -7, 1), -4);
    }

    #[test]
    fn extremes_and_casts_follow_the_definition() {
        let apply = |op: NarrowBinary, x: f32, y: f32| f32::from_bits(op.apply(x.to_bits(), y.to_bits()));
        assert!(apply(NarrowBinary::MaximumF32, f32::NAN, 1.0).is_nan());
        assert!(apply(NarrowBinary::MinimumF32, 1.0, f32::NAN).is_nan());
        assert!(apply(NarrowBinary::MinimumF32, 0.0, -0.0).is_sign_negative());
        assert!(apply(NarrowBinary::MaximumF32, -0.0, 0.0).is_sign_positive());
        assert_eq!(NarrowUnary::F32ToI32.apply(3e9f32.to_bits()) as i32, i32::MAX);
        assert_eq!(NarrowUnary::F32ToI32.apply(f32::NAN.to_bits()), 0);
        assert_eq!(NarrowUnary::F32ToBool.apply(f32::NAN.to_bits()), TRUE);
        assert_eq!(f32::from_bits(NarrowUnary::BoolToF32.apply(TRUE)), 1.0);
        assert_eq!(f32::from_bits(NarrowUnary::RoundEven.apply(2.5f32.to_bits())), 2.0);
    }
}
