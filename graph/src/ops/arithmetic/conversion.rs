//! How numbers become those of another element type, with what ONNX lets a node say of floating point of 8 bits.

use crate::expr::{BinaryOp, Scalar};
use crate::minifloat::{largest, least};
use crate::ops::{Attribute, AttributeError, AttributeReader};
use crate::types::ElementType;

/// What nodes say of conversions to floating point of 8 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conversion {
    overflow: Overflow,
    rounding: Rounding,
}

/// What becomes of a number whose size is larger than that of the largest finite one, and of infinities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Overflow {
    /// The largest finite number of the same sign.
    Saturates,
    /// An infinity of the same sign where the type has one, else NaN.
    Overflows,
}

/// Which of the two nearest powers of two a number becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rounding {
    /// The larger.
    Up,
    /// The smaller.
    Down,
    /// The nearer, the larger of a number halfway.
    Nearest,
}

/// The names of the roundings in ONNX.
const ROUNDINGS: [(&str, Rounding); 3] =
    [("up", Rounding::Up), ("down", Rounding::Down), ("nearest", Rounding::Nearest)];

impl Conversion {
    /// As where the attributes are left out.
    pub const PLAIN: Self = Self { overflow: Overflow::Saturates, rounding: Rounding::Up };

    /// Takes `saturate`.
    pub fn saturation(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let overflow = match attributes.flag("saturate")? {
            Some(true) | None => Overflow::Saturates,
            Some(false) => Overflow::Overflows,
        };
        Ok(Self { overflow, ..Self::PLAIN })
    }

    /// Takes `saturate` and `round_mode`.
    pub fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = "round_mode";
        let mode = attributes.string(name)?;
        let known = |mode: String| {
            let found = ROUNDINGS.into_iter().find(|(known, _)| *known == mode);
            let reason = || format!("{mode:?} is none of up, down and nearest");
            found.map(|(_, rounding)| rounding).ok_or_else(|| AttributeError::Value { name, reason: reason() })
        };
        let rounding = mode.map(known).transpose()?.unwrap_or(Self::PLAIN.rounding);
        Ok(Self { rounding, ..Self::saturation(attributes)? })
    }

    /// The attributes that are not as where they are left out.
    pub fn attributes(self) -> Vec<(&'static str, Attribute)> {
        let saturate = (self.overflow == Overflow::Overflows).then_some(("saturate", Attribute::Int(0)));
        let mode = ROUNDINGS.into_iter().find(|(_, rounding)| *rounding == self.rounding && *rounding != Rounding::Up);
        let mode = mode.map(|(name, _)| ("round_mode", Attribute::String(name.to_owned())));
        saturate.into_iter().chain(mode).collect()
    }

    /// A number of one type as another's.
    pub fn apply(self, from: ElementType, to: ElementType, value: Scalar) -> Scalar {
        let is_minifloat = to.is_float() && to.is_storage();
        if from == to || !is_minifloat {
            return value.cast(from, to);
        }
        let work = if from == ElementType::F64 { from } else { ElementType::F32 };
        let value = value.cast(from, work);
        let value = match (self.overflow, to) {
            // All of its conversions saturate, also that of an infinity.
            (_, ElementType::F4E2M1) | (Overflow::Overflows, _) => value,
            (Overflow::Saturates, ElementType::F8E8M0) => bounded(work, value, (least(to), largest(to))),
            (Overflow::Saturates, _) => bounded(work, value, (-largest(to), largest(to))),
        };
        let value = if to == ElementType::F8E8M0 { self.rounding.apply(work, value) } else { value };
        value.cast(work, to)
    }
}

/// A number between two bounds; NaN stays.
pub fn bounded(element: ElementType, value: Scalar, (low, high): (f64, f64)) -> Scalar {
    let [low, high] = [low, high].map(|bound| Scalar::literal(element, bound));
    value.binary(BinaryOp::Maximum, low).binary(BinaryOp::Minimum, high)
}

impl Rounding {
    /// A number as a power of two, where conversions take the one that is not larger.
    fn apply(self, work: ElementType, value: Scalar) -> Scalar {
        let below = value.clone().cast(work, ElementType::F8E8M0).cast(ElementType::F8E8M0, work);
        let times = |factor| below.clone().binary(BinaryOp::Multiply, Scalar::literal(work, factor));
        match self {
            Self::Down => value,
            Self::Up => below.clone().binary(BinaryOp::Less, value).select(times(2.0), below),
            Self::Nearest => times(1.5).binary(BinaryOp::LessEqual, value).select(times(2.0), below),
        }
    }
}
