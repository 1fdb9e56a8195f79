//! What a sampled image has beyond its borders.

use crate::expr::{BinaryOp, Scalar, UnaryOp};
use crate::ops::{Attribute, AttributeError, AttributeReader};

/// What an image has beyond its borders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GridPadding {
    Zeros,
    /// The nearest pixel.
    Border,
    /// The image mirrored at its borders.
    Reflection,
}

/// The borders of an image along one dimension, in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Border {
    first: f64,
    last: f64,
    /// The last pixel.
    end: f64,
}

impl GridPadding {
    const NAMES: [(Self, &'static str); 3] =
        [(Self::Zeros, "zeros"), (Self::Border, "border"), (Self::Reflection, "reflection")];

    /// Takes the attribute.
    pub fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = attributes.string("padding_mode")?.unwrap_or_else(|| "zeros".to_owned());
        let known = Self::NAMES.iter().find(|(_, known)| *known == name).map(|(padding, _)| *padding);
        let reason = || format!("`{name}` is not one of zeros, border and reflection");
        known.ok_or_else(|| AttributeError::Value { name: "padding_mode", reason: reason() })
    }

    pub fn attribute(self) -> (&'static str, Attribute) {
        let name = Self::NAMES.iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name);
        ("padding_mode", Attribute::String(name.to_owned()))
    }

    /// The borders along a dimension: the middles of the outer pixels, or their outer edges.
    pub fn border(self, extent: usize, align_corners: bool) -> Border {
        let end = extent as f64 - 1.0;
        if align_corners { Border { first: 0.0, last: end, end } } else { Border { first: -0.5, last: end + 0.5, end } }
    }

    /// A place brought to the image, before its neighbours are known.
    pub fn place(self, place: Scalar, border: &Border, literal: &impl Fn(f64) -> Scalar) -> Scalar {
        match self {
            Self::Zeros => place,
            Self::Border => {
                let before = place.clone().binary(BinaryOp::Less, literal(border.first));
                let behind = literal(border.last).binary(BinaryOp::Less, place.clone());
                before.select(literal(0.0), behind.select(literal(border.end), place))
            }
            Self::Reflection => reflected(place, border, literal),
        }
    }

    /// A pixel's number brought to the image; −1 if it lies beyond and counts as zero.
    pub fn pixel(self, pixel: Scalar, border: &Border, literal: &impl Fn(f64) -> Scalar) -> Scalar {
        let inside = |pixel: Scalar| {
            pixel.binary(BinaryOp::Maximum, literal(0.0)).binary(BinaryOp::Minimum, literal(border.end))
        };
        match self {
            Self::Zeros => {
                // What is not between the pixels is beyond, and so is NaN.
                let from = literal(0.0).binary(BinaryOp::LessEqual, pixel.clone());
                let within = from.binary(BinaryOp::And, pixel.clone().binary(BinaryOp::LessEqual, literal(border.end)));
                within.select(pixel, literal(-1.0))
            }
            Self::Border => inside(pixel),
            Self::Reflection => inside(reflected(pixel, border, literal)),
        }
    }
}

/// A place mirrored at the borders until it lies between them.
fn reflected(place: Scalar, border: &Border, literal: &impl Fn(f64) -> Scalar) -> Scalar {
    let span = border.last - border.first;
    if span <= 0.0 {
        return literal(border.first);
    }
    let distance = place.binary(BinaryOp::Subtract, literal(border.first)).unary(UnaryOp::Absolute);
    let periods = distance.clone().binary(BinaryOp::Divide, literal(2.0 * span)).unary(UnaryOp::Floor);
    let rest = distance.binary(BinaryOp::Subtract, periods.binary(BinaryOp::Multiply, literal(2.0 * span)));
    let mirrored = literal(2.0 * span).binary(BinaryOp::Subtract, rest.clone());
    rest.binary(BinaryOp::Minimum, mirrored).binary(BinaryOp::Add, literal(border.first))
}
