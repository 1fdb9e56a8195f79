//! Where resampling reads, and with which weights: exact rational positions as quasi-affine indices.

use crate::expr::index::Ranges;
use crate::expr::{AxisId, BinaryOp, Index, Scalar};
use crate::ops::resampling::Positions;
use crate::types::ElementType;

/// How values between elements are found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Interpolation {
    /// The nearest element.
    Nearest(Nearest),
    /// Linearly from two elements.
    Linear,
    /// By a cubic through four elements, with the coefficient.
    Cubic(f32),
}

/// Which element is nearest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nearest {
    /// The nearest; of two, the lower.
    RoundPreferFloor,
    /// The nearest; of two, the upper.
    RoundPreferCeil,
    /// The lower.
    Floor,
    /// The upper.
    Ceil,
    /// The upper where the output is smaller than the input, else the lower: opset 10's only way.
    Simple,
}

/// How an output position becomes an input position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coordinates {
    /// Centres of elements correspond.
    HalfPixel,
    /// As half pixel, and an output of extent 1 reads the first element.
    PytorchHalfPixel,
    /// The first elements correspond.
    Asymmetric,
    /// The first and the last elements correspond.
    AlignCorners,
}

/// The quotient of two positive integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ratio {
    numerator: i64,
    denominator: i64,
}

/// An input position `numerator / denominator`, the numerator being affine.
pub struct SourcePosition {
    numerator: Index,
    denominator: i64,
    /// Whether the output is smaller than the input.
    shrinks: bool,
}

/// Largest accepted part of a ratio.
const LIMIT: i64 = 1 << 30;

impl Ratio {
    /// No change.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// `output / input`, if both are positive and not too large.
    pub fn new(output: usize, input: usize) -> Option<Self> {
        let (mut a, mut b) = (i64::try_from(output).ok()?, i64::try_from(input).ok()?);
        if a == b {
            return Some(Self::ONE);
        }
        let ratio = (a, b);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let valid = ratio.0 > 0 && ratio.1 > 0 && ratio.0 / a < LIMIT && ratio.1 / a < LIMIT;
        valid.then(|| Self { numerator: ratio.0 / a, denominator: ratio.1 / a })
    }

    /// The simplest ratio within single precision of a factor.
    pub fn approximate(factor: f64) -> Option<Self> {
        if !(factor > 1e-6 && factor < 1e6) {
            return None;
        }
        let (mut before, mut last) = ((0i64, 1i64), (1i64, 0i64));
        let mut rest = factor;
        for _ in 0..32 {
            let whole = rest.floor();
            let next = (whole as i64 * last.0 + before.0, whole as i64 * last.1 + before.1);
            if next.0 >= LIMIT || next.1 >= LIMIT {
                break;
            }
            (before, last) = (last, next);
            let found = last.0 as f64 / last.1 as f64;
            if (found - factor).abs() <= factor * 6e-8 {
                break;
            }
            rest = 1.0 / (rest - whole);
        }
        (last.0 > 0 && last.1 > 0).then_some(Self { numerator: last.0, denominator: last.1 })
    }

    /// The ratio as a number.
    pub fn value(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// ⌊extent · ratio⌋.
    pub fn scaled(self, extent: usize) -> Option<usize> {
        let product = i64::try_from(extent).ok()?.checked_mul(self.numerator)?;
        usize::try_from(product / self.denominator).ok()
    }
}

impl Nearest {
    const NAMES: [(Self, &'static str); 5] = [
        (Self::RoundPreferFloor, "round_prefer_floor"),
        (Self::RoundPreferCeil, "round_prefer_ceil"),
        (Self::Floor, "floor"),
        (Self::Ceil, "ceil"),
        (Self::Simple, "simple"),
    ];

    /// The rounding with this ONNX name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(rounding, _)| *rounding)
    }

    /// The ONNX name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(rounding, _)| *rounding == self).map_or("", |(_, name)| name)
    }

    /// The element nearest to a position, of a resampling of this scale.
    pub fn nearest(self, position: f64, scale: f64) -> f64 {
        match self {
            Self::Simple if scale < 1.0 => position.ceil(),
            Self::Simple | Self::Floor => position.floor(),
            Self::Ceil => position.ceil(),
            Self::RoundPreferCeil => (position + 0.5).floor(),
            Self::RoundPreferFloor => (position - 0.5).ceil(),
        }
    }

    fn round(self, place: &SourcePosition, ranges: &impl Ranges) -> Index {
        let SourcePosition { numerator, denominator, shrinks } = place;
        let double = numerator.times(2);
        match self {
            Self::Simple if *shrinks => Self::Ceil.round(place, ranges),
            Self::Simple => Self::Floor.round(place, ranges),
            Self::Floor => numerator.floor_div(*denominator, ranges),
            Self::Ceil => numerator.plus(denominator - 1).floor_div(*denominator, ranges),
            Self::RoundPreferCeil => double.plus(*denominator).floor_div(2 * denominator, ranges),
            Self::RoundPreferFloor => double.plus(denominator - 1).floor_div(2 * denominator, ranges),
        }
    }
}

impl Coordinates {
    const NAMES: [(Self, &'static str); 4] = [
        (Self::HalfPixel, "half_pixel"),
        (Self::PytorchHalfPixel, "pytorch_half_pixel"),
        (Self::Asymmetric, "asymmetric"),
        (Self::AlignCorners, "align_corners"),
    ];

    /// The transformation with this ONNX name, if it is supported.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(coordinates, _)| *coordinates)
    }

    /// The ONNX name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(coordinates, _)| *coordinates == self).map_or("", |(_, name)| name)
    }

    /// The same for a table.
    pub fn positions(self) -> Positions {
        match self {
            Self::HalfPixel => Positions::HalfPixel,
            Self::PytorchHalfPixel => Positions::PytorchHalfPixel,
            Self::Asymmetric => Positions::Asymmetric,
            Self::AlignCorners => Positions::AlignCorners,
        }
    }

    /// The input position of an output position, for `input` and `output` elements.
    pub fn place(self, axis: AxisId, ratio: Ratio, input: usize, output: usize) -> SourcePosition {
        let Ratio { numerator, denominator } = ratio;
        let axis = Index::axis(axis);
        let (numerator, denominator) = match self {
            _ if ratio == Ratio::ONE => (axis, 1),
            Self::AlignCorners if output > 1 => (axis.times((input as i64 - 1).max(0)), output as i64 - 1),
            Self::PytorchHalfPixel | Self::AlignCorners if output <= 1 => (Index::constant(0), 1),
            Self::HalfPixel | Self::PytorchHalfPixel | Self::AlignCorners => {
                (axis.times(2).plus(1).times(denominator).plus(-numerator), 2 * numerator)
            }
            Self::Asymmetric => (axis.times(denominator), numerator),
        };
        SourcePosition { numerator, denominator, shrinks: ratio.numerator < ratio.denominator }
    }
}

impl Interpolation {
    /// The elements that take part along a dimension of `extent` elements, with their weights; no weight stands for 1.
    pub fn taps(
        self,
        place: &SourcePosition,
        extent: usize,
        element: ElementType,
        ranges: &impl Ranges,
    ) -> Vec<(Index, Option<Scalar>)> {
        let last = extent.max(1) as i64 - 1;
        let low = place.numerator.floor_div(place.denominator, ranges);
        let inside = |index: Index| index.clamped(0, last, ranges);
        if let Self::Nearest(rounding) = self {
            return vec![(inside(rounding.round(place, ranges)), None)];
        }
        if place.denominator == 1 {
            return vec![(inside(low), None)];
        }
        let part = place.numerator.modulo(place.denominator, ranges);
        let literal = |value: f64| Scalar::literal(element, value);
        let index = Scalar::Index(part, ElementType::I64).cast(ElementType::I64, element);
        let part = index.binary(BinaryOp::Multiply, literal(1.0 / place.denominator as f64));
        let remaining = literal(1.0).binary(BinaryOp::Subtract, part.clone());
        match self {
            Self::Nearest(_) | Self::Linear => {
                vec![(inside(low.clone()), Some(remaining)), (inside(low.plus(1)), Some(part))]
            }
            Self::Cubic(coefficient) => {
                let a = f64::from(coefficient);
                let polynomial = |x: &Scalar, coefficients: [f64; 4]| {
                    let step = |total: Scalar, coefficient: f64| {
                        total.binary(BinaryOp::Multiply, x.clone()).binary(BinaryOp::Add, literal(coefficient))
                    };
                    coefficients[1..].iter().fold(literal(coefficients[0]), |total, &next| step(total, next))
                };
                let near = [a + 2.0, -(a + 3.0), 0.0, 1.0];
                let far = [a, -5.0 * a, 8.0 * a, -4.0 * a];
                let beyond = |x: &Scalar| x.clone().binary(BinaryOp::Add, literal(1.0));
                vec![
                    (inside(low.plus(-1)), Some(polynomial(&beyond(&part), far))),
                    (inside(low.clone()), Some(polynomial(&part, near))),
                    (inside(low.plus(1)), Some(polynomial(&remaining, near))),
                    (inside(low.plus(2)), Some(polynomial(&beyond(&remaining), far))),
                ]
            }
        }
    }
}
