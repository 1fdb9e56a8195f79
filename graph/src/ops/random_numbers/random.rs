//! Numbers that look random: each is a function of a seed and of its place, so that every device and every order of execution
//! gives the same ones.

use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Literal, Scalar, UnaryOp};
use crate::ops::cast::{element_number, element_type};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, elementwise};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType};

/// Where numbers come from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Source {
    seed: f32,
}

/// How numbers are distributed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distribution {
    /// Evenly from a bound on, below another one.
    Uniform {
        /// The lower bound.
        low: f32,
        /// The upper bound.
        high: f32,
    },
    /// Normally.
    Normal {
        mean: f32,
        /// The standard deviation.
        scale: f32,
    },
}

/// Most numbers: places are counted in 32 bits, twice over.
const MOST_NUMBERS: usize = 1 << 31;

/// What keeps the numbers of neighbouring seeds and streams apart.
const SEED_FACTOR: u32 = 0x9e37_79b9;
const STREAM_FACTOR: u32 = 0x85eb_ca6b;

fn number(value: u32) -> Scalar {
    Scalar::Literal(Literal::integer(ElementType::U32, i64::from(value)))
}

/// As [`Source::uniform`], from 0 on, of a seed of 32 bits that a run gives.
pub fn uniform_of(seed: Scalar, axes: &[AxisId], shape: &Shape, stream: u32) -> Scalar {
    let own = number(stream.wrapping_mul(STREAM_FACTOR));
    let start = seed.binary(BinaryOp::Multiply, number(SEED_FACTOR)).binary(BinaryOp::BitXor, own);
    uniform_from(start, axes, shape, false)
}

/// Numbers of a start and of their places.
fn uniform_from(start: Scalar, axes: &[AxisId], shape: &Shape, includes_one: bool) -> Scalar {
    let index: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
    let place = Scalar::Index(Index::linear(&index, &shape.strides(), 0), ElementType::U32);
    let mut bits = place.binary(BinaryOp::Multiply, number(0x9e37_79b1)).binary(BinaryOp::Add, start);
    // The mixing function `lowbias32` of hash-prospector: two rounds of a shift and a product, then a shift.
    for (shift, factor) in [(16, Some(0x7feb_352d)), (15, Some(0x846c_a68b)), (16, None)] {
        let shifted = bits.clone().binary(BinaryOp::ShiftRight, number(shift));
        bits = bits.binary(BinaryOp::BitXor, shifted);
        if let Some(factor) = factor {
            bits = bits.binary(BinaryOp::Multiply, number(factor));
        }
    }
    let high = bits.binary(BinaryOp::ShiftRight, number(8));
    let high = if includes_one { high.binary(BinaryOp::Add, number(1)) } else { high };
    let unit = Scalar::literal(ElementType::F32, 1.0 / f64::from(1 << 24));
    high.cast(ElementType::U32, ElementType::F32).binary(BinaryOp::Multiply, unit)
}

impl Source {
    /// Takes the seed; without one it is 0, and every run gives the same numbers.
    pub fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { seed: attributes.float("seed")?.unwrap_or(0.0) })
    }

    /// The numbers of a seed.
    pub fn seeded(seed: i64) -> Self {
        Self { seed: seed as f32 }
    }

    pub fn attribute(self) -> (&'static str, Attribute) {
        ("seed", Attribute::Float(self.seed))
    }

    /// Even numbers from 0 on, below 1, or above 0, up to 1: singles of 24 random bits, one a place of a shape. Streams give
    /// different ones.
    pub fn uniform(self, axes: &[AxisId], shape: &Shape, stream: u32, includes_one: bool) -> Scalar {
        let start = self.seed.to_bits().wrapping_mul(SEED_FACTOR) ^ stream.wrapping_mul(STREAM_FACTOR);
        uniform_from(number(start), axes, shape, includes_one)
    }

    /// Appends a tensor of numbers.
    pub fn tensor(self, program: &mut ProgramBuilder, ty: &TensorType, distribution: Distribution) -> TensorId {
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape);
        let literal = |value: f64| Scalar::literal(ElementType::F32, value);
        let value = match distribution {
            Distribution::Uniform { low, high } => {
                let span = literal(f64::from(high) - f64::from(low));
                let part = self.uniform(&axes, &ty.shape, 0, false).binary(BinaryOp::Multiply, span);
                part.binary(BinaryOp::Add, literal(f64::from(low)))
            }
            Distribution::Normal { mean, scale } => {
                // Box and Muller's transformation of two even numbers.
                let radius = self.uniform(&axes, &ty.shape, 1, true).unary(UnaryOp::Log);
                let radius = radius.binary(BinaryOp::Multiply, literal(-2.0)).unary(UnaryOp::Sqrt);
                let turn = self.uniform(&axes, &ty.shape, 2, false);
                let angle = turn.binary(BinaryOp::Multiply, literal(std::f64::consts::TAU)).unary(UnaryOp::Cos);
                let normal = radius.binary(BinaryOp::Multiply, angle);
                let scaled = normal.binary(BinaryOp::Multiply, literal(f64::from(scale)));
                scaled.binary(BinaryOp::Add, literal(f64::from(mean)))
            }
        };
        program.compute(expr.map(ty.element, value.cast(ElementType::F32, ty.element)), &[])
    }
}

impl Distribution {
    /// Takes the bounds of an even distribution.
    pub fn uniform(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let low = attributes.float("low")?.unwrap_or(0.0);
        Ok(Self::Uniform { low, high: attributes.float("high")?.unwrap_or(1.0) })
    }

    /// Takes mean and deviation of a normal distribution.
    pub fn normal(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let mean = attributes.float("mean")?.unwrap_or(0.0);
        Ok(Self::Normal { mean, scale: attributes.float("scale")?.unwrap_or(1.0) })
    }

    pub fn attributes(self) -> Vec<(&'static str, Attribute)> {
        let pairs = match self {
            Self::Uniform { low, high } => [("low", low), ("high", high)],
            Self::Normal { mean, scale } => [("mean", mean), ("scale", scale)],
        };
        pairs.map(|(name, value)| (name, Attribute::Float(value))).to_vec()
    }
}

/// Takes the element type of a random tensor, `dtype`.
pub fn dtype(attributes: &mut AttributeReader) -> Result<Option<ElementType>, AttributeError> {
    let Some(number) = attributes.int("dtype")? else { return Ok(None) };
    let reason = || format!("element type {number} is not supported");
    element_type(number).map(Some).ok_or_else(|| AttributeError::Value { name: "dtype", reason: reason() })
}

/// The attribute of an element type.
pub fn dtype_attribute(element: Option<ElementType>) -> Option<(&'static str, Attribute)> {
    element.map(|element| ("dtype", Attribute::Int(element_number(element))))
}

/// Refuses more numbers than there are places.
pub fn countable(ty: TensorType) -> Result<TensorType, InferError> {
    match ty.shape.checked_elements() {
        Some(0..=MOST_NUMBERS) => Ok(ty),
        _ => Err(InferError::Unsupported(format!("{ty} has more than {MOST_NUMBERS} elements"))),
    }
}

/// The type of a tensor like the first input, of another floating-point type if one is given.
pub fn like(context: &Context, element: Option<ElementType>) -> Result<TensorType, InferError> {
    let data = context.tensor(0)?;
    let element = elementwise::floating(element.unwrap_or(data.element))?;
    countable(TensorType { element, shape: data.shape.clone() })
}
