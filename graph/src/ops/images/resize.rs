//! `Resize`: interpolation to other spatial extents.

use std::ops::RangeInclusive;

use crate::arithmetic::{highest, lowest};
use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Scalar, UnaryOp};
use crate::ops::interpolation::{Coordinates, Interpolation, Nearest, Ratio};
use crate::ops::resampling::{Positions, Resampling};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes, compose, elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, TensorType, ValueType};

/// The input sampled at other points along some dimensions: the nearest elements, or an interpolation. Integers are interpolated in
/// singles; what lies between two of them becomes the one nearer to zero, and an average over more elements the nearest one.
#[derive(Clone, PartialEq, Debug)]
pub struct Resize {
    interpolation: Interpolation,
    coordinates: Coordinates,
    axes: Option<Vec<i64>>,
    sampling: Sampling,
    aspect: Aspect,
    /// Whether scales are the second input, as opset 10 has it, not the third.
    early: bool,
}

/// What quasi-affine positions and a fixed number of samples cannot express.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Sampling {
    antialias: bool,
    exclude_outside: bool,
    /// Positions that [`Coordinates`] does not know.
    special: Option<Special>,
}

/// A transformation of positions by a table.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Special {
    /// Half pixels around the middle.
    Symmetric,
    /// A part of the input that a constant second input names, and the value beyond the input.
    Crop { beyond: f32 },
}

/// What becomes of sizes that would change the aspect ratio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Aspect {
    /// The ratio changes.
    Stretch,
    /// No extent is larger than asked.
    NotLarger,
    /// No extent is smaller than asked.
    NotSmaller,
}

impl Aspect {
    const NAMES: [(Self, &'static str); 3] =
        [(Self::Stretch, "stretch"), (Self::NotLarger, "not_larger"), (Self::NotSmaller, "not_smaller")];

    /// The sizes with one ratio to the extents, each rounded half up, and that ratio.
    fn kept(self, sizes: &[i64], extents: &[usize]) -> Option<(Vec<usize>, Ratio)> {
        let ratio = |at: usize| sizes[at] as f64 / extents[at] as f64;
        let by_ratio = |a: &usize, b: &usize| ratio(*a).total_cmp(&ratio(*b));
        let chosen = match self {
            Self::Stretch => return None,
            Self::NotLarger => (0..sizes.len()).min_by(by_ratio)?,
            Self::NotSmaller => (0..sizes.len()).max_by(by_ratio)?,
        };
        let shared = Ratio::new(usize::try_from(sizes[chosen]).ok()?, extents[chosen])?;
        let scaled = extents.iter().map(|&extent| (shared.value() * extent as f64 + 0.5).floor() as usize);
        Some((scaled.collect(), shared))
    }
}

/// Most dimensions that change: the number of samples is exponential in it.
const MOST_RESIZED: usize = 3;

impl Resize {
    /// The resize whose second input holds the scales, and whose elements correspond by their first corners.
    pub(in crate::ops) fn by_scales(interpolation: Interpolation) -> Self {
        let (sampling, aspect) = (Sampling::default(), Aspect::Stretch);
        Self { interpolation, coordinates: Coordinates::Asymmetric, axes: None, sampling, aspect, early: true }
    }

    /// For each dimension of the input, the output's extent and the ratio of output to input.
    fn ratios(&self, context: &Context) -> Result<Vec<(usize, Ratio)>, InferError> {
        let shape = &context.tensor(0)?.shape;
        let dimensions = match &self.axes {
            Some(named) => axes::dimensions(named, shape.len())?,
            None => (0..shape.len()).collect(),
        };
        let scales = context.constant(if self.early { 1 } else { 2 })?.filter(|scales| scales.shape().elements() > 0);
        let sizes = if self.early { None } else { context.integers(3)?.filter(|sizes| !sizes.is_empty()) };
        let mut ratios: Vec<(usize, Ratio)> = shape.iter().map(|&extent| (extent, Ratio::ONE)).collect();
        let mismatch = || InferError::Mismatch(format!("[{shape}] cannot be resized as asked"));
        let count = scales.map(|scales| scales.shape().elements()).or(sizes.as_ref().map(Vec::len));
        if count != Some(dimensions.len()) {
            return Err(mismatch());
        }
        let asked: Vec<usize> = dimensions.iter().map(|&dimension| shape[dimension]).collect();
        if let Some(sizes) = sizes.as_ref().filter(|_| self.aspect != Aspect::Stretch) {
            let possible = sizes.iter().all(|size| (0..1 << 40).contains(size)) && !asked.contains(&0);
            let (extents, ratio) = self.aspect.kept(sizes, &asked).filter(|_| possible).ok_or_else(mismatch)?;
            dimensions.iter().zip(extents).for_each(|(&dimension, extent)| ratios[dimension] = (extent, ratio));
            return Ok(ratios);
        }
        for (at, &dimension) in dimensions.iter().enumerate() {
            let extent = shape[dimension];
            ratios[dimension] = match (scales, &sizes) {
                (Some(scales), _) => {
                    let ratio = Ratio::approximate(scales.to_f64()[at]).ok_or_else(mismatch)?;
                    (ratio.scaled(extent).ok_or_else(mismatch)?, ratio)
                }
                (None, Some(sizes)) => {
                    let size = usize::try_from(sizes[at]).map_err(|_| mismatch())?;
                    (size, Ratio::new(size, extent).ok_or_else(mismatch)?)
                }
                (None, None) => return Err(mismatch()),
            };
        }
        Ok(ratios)
    }
}

impl Resize {
    /// The part of the input along each dimension, if the output spans a part.
    fn crops(&self, context: &Context) -> Result<Option<Vec<(f64, f64)>>, InferError> {
        let Some(Special::Crop { .. }) = self.sampling.special else { return Ok(None) };
        let rank = context.tensor(0)?.shape.len();
        let dimensions = match &self.axes {
            Some(named) => axes::dimensions(named, rank)?,
            None => (0..rank).collect(),
        };
        let bounds = context.constant(1)?.ok_or(InferError::Missing(1))?.to_f64();
        let count = dimensions.len();
        if bounds.len() != 2 * count {
            return Err(InferError::Mismatch(format!("{} numbers are no part of {count} dimensions", bounds.len())));
        }
        let mut crops = vec![(0.0, 1.0); rank];
        for (at, &dimension) in dimensions.iter().enumerate() {
            crops[dimension] = (bounds[at], bounds[at + count]);
        }
        Ok(Some(crops))
    }

    /// Appends one dimension after another, by tables.
    fn resample(
        &self,
        context: &Context,
        ratios: &[(usize, Ratio)],
        input: TensorId,
        program: &mut ProgramBuilder,
    ) -> TensorId {
        let shape = context.accepted(0).shape.clone();
        let crops = self.crops(context).expect("inference accepted the part");
        let steps = ratios.iter().zip(shape.iter()).enumerate().map(|(dimension, (&(output, ratio), &input))| {
            let positions = match (&crops, self.sampling.special) {
                (Some(crops), _) => Positions::Crop { start: crops[dimension].0, end: crops[dimension].1 },
                (None, Some(_)) => Positions::HalfPixelSymmetric,
                (None, None) => self.coordinates.positions(),
            };
            let Sampling { antialias, exclude_outside, .. } = self.sampling;
            let interpolation = self.interpolation;
            let scale = ratio.value();
            Resampling { input, output, scale, positions, interpolation, antialias, exclude_outside }
        });
        let unchanged = |step: &Resampling| {
            let whole = !matches!(step.positions, Positions::Crop { start, end } if (start, end) != (0.0, 1.0));
            whole && step.input == step.output && step.scale == 1.0
        };
        let steps: Vec<(usize, Resampling)> = steps.enumerate().filter(|(_, step)| !unchanged(step)).collect();
        let element = program.ty(input).element;
        let precision = self.precision(element);
        let wide = if precision == element { input } else { compose::cast(program, input, precision) };
        // The last dimension first, as images are averaged: along rows, then along columns.
        let resampled = steps.iter().rev().fold(wide, |tensor, (dimension, step)| {
            let resampled = step.apply(program, tensor, *dimension);
            if precision == element || !self.sampling.antialias {
                resampled
            } else {
                nearest(program, resampled, element)
            }
        });
        let narrow = if precision == element { resampled } else { compose::cast(program, resampled, element) };
        match self.sampling.special {
            Some(Special::Crop { beyond }) => steps
                .iter()
                .fold(narrow, |tensor, (dimension, step)| step.fill_outside(program, tensor, *dimension, beyond)),
            Some(Special::Symmetric) | None => narrow,
        }
    }

    /// The type in which elements are interpolated.
    fn precision(&self, element: ElementType) -> ElementType {
        match self.interpolation {
            Interpolation::Linear | Interpolation::Cubic(_) if !element.is_float() => ElementType::F32,
            _ => element,
        }
    }
}

/// Integers that are interpolated: singles hold all of them, or ONNX Runtime takes them.
const INTERPOLATED: [ElementType; 5] =
    [ElementType::I8, ElementType::U8, ElementType::I16, ElementType::U16, ElementType::I32];

/// Appends the nearest integer that an element type has; of two that are as near, the larger one.
fn nearest(program: &mut ProgramBuilder, input: TensorId, element: ElementType) -> TensorId {
    let from = program.ty(input).element;
    let literal = |value: f64| Scalar::literal(from, value);
    let [low, high] = [lowest(element), highest(element)].map(|bound| literal(bound as f64));
    compose::map(program, [input], from, |[x]| {
        let rounded = x.binary(BinaryOp::Add, literal(0.5)).unary(UnaryOp::Floor);
        rounded.binary(BinaryOp::Maximum, low).binary(BinaryOp::Minimum, high)
    })
}

impl Operator for Resize {
    const NAME: &'static str = "Resize";
    const OPSETS: RangeInclusive<i64> = 10..=crate::ops::NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=4;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let early = attributes.flag("scales_second")?.unwrap_or(attributes.opset() < 11);
        let unsupported = |name: &'static str, value: &str| {
            Err(AttributeError::Value { name, reason: format!("`{value}` is not supported") })
        };
        let mut sampling = Sampling {
            antialias: attributes.flag("antialias")?.unwrap_or(false),
            exclude_outside: attributes.flag("exclude_outside")?.unwrap_or(false),
            special: None,
        };
        let beyond = attributes.float("extrapolation_value")?.unwrap_or(0.0);
        let policy = attributes.string("keep_aspect_ratio_policy")?.unwrap_or_else(|| "stretch".to_owned());
        let Some((aspect, _)) = Aspect::NAMES.iter().find(|(_, known)| *known == policy) else {
            return unsupported("keep_aspect_ratio_policy", &policy);
        };
        let nearest = attributes.string("nearest_mode")?;
        let coefficient = attributes.float("cubic_coeff_a")?.unwrap_or(-0.75);
        let interpolation = match attributes.string("mode")?.as_deref() {
            None | Some("nearest") => {
                let default = if early { Nearest::Simple } else { Nearest::RoundPreferFloor };
                let rounding = match nearest.as_deref() {
                    None => Some(default),
                    Some(name) => Nearest::named(name),
                };
                match rounding {
                    Some(rounding) => Interpolation::Nearest(rounding),
                    None => return unsupported("nearest_mode", nearest.as_deref().unwrap_or_default()),
                }
            }
            Some("linear") => Interpolation::Linear,
            Some("cubic") => Interpolation::Cubic(coefficient),
            Some(other) => return unsupported("mode", other),
        };
        let coordinates = match attributes.string("coordinate_transformation_mode")?.as_deref() {
            None if early => Coordinates::Asymmetric,
            None => Coordinates::HalfPixel,
            Some("half_pixel_symmetric") => {
                sampling.special = Some(Special::Symmetric);
                Coordinates::HalfPixel
            }
            Some("tf_crop_and_resize") => {
                sampling.special = Some(Special::Crop { beyond });
                Coordinates::HalfPixel
            }
            Some(name) => match Coordinates::named(name) {
                Some(coordinates) => coordinates,
                None => return unsupported("coordinate_transformation_mode", name),
            },
        };
        Ok(Self { interpolation, coordinates, axes: attributes.ints("axes")?, sampling, aspect: *aspect, early })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let text = |text: &str| Attribute::String(text.to_owned());
        let (coordinates, beyond) = match self.sampling.special {
            None => (self.coordinates.name(), None),
            Some(Special::Symmetric) => ("half_pixel_symmetric", None),
            Some(Special::Crop { beyond }) => ("tf_crop_and_resize", Some(beyond)),
        };
        let mut attributes = vec![("coordinate_transformation_mode", text(coordinates))];
        let flags = [("antialias", self.sampling.antialias), ("exclude_outside", self.sampling.exclude_outside)];
        attributes.extend(flags.into_iter().filter(|(_, flag)| *flag).map(|(name, _)| (name, Attribute::Int(1))));
        attributes.extend(beyond.map(|value| ("extrapolation_value", Attribute::Float(value))));
        let policy = Aspect::NAMES.iter().find(|(known, _)| *known == self.aspect).map_or("", |(_, name)| name);
        attributes.push(("keep_aspect_ratio_policy", text(policy)));
        match self.interpolation {
            Interpolation::Nearest(rounding) => {
                attributes.extend([("mode", text("nearest")), ("nearest_mode", text(rounding.name()))]);
            }
            Interpolation::Linear => attributes.push(("mode", text("linear"))),
            Interpolation::Cubic(coefficient) => {
                attributes.extend([("mode", text("cubic")), ("cubic_coeff_a", Attribute::Float(coefficient))]);
            }
        }
        attributes.extend(self.axes.clone().map(|axes| ("axes", Attribute::Ints(axes))));
        attributes.extend(self.early.then_some(("scales_second", Attribute::Int(1))));
        attributes
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let data = context.tensor(0)?;
        match self.interpolation {
            Interpolation::Nearest(_) => data.element,
            Interpolation::Linear if INTERPOLATED.contains(&data.element) => data.element,
            Interpolation::Linear | Interpolation::Cubic(_) => elementwise::floating(data.element)?,
        };
        let ratios = self.ratios(context)?;
        self.crops(context)?;
        if ratios.iter().filter(|(_, ratio)| *ratio != Ratio::ONE).count() > MOST_RESIZED {
            return Err(InferError::Unsupported(format!("more than {MOST_RESIZED} dimensions change")));
        }
        let shape = ratios.into_iter().map(|(extent, _)| extent).collect();
        Ok(vec![TensorType { element: data.element, shape }.into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let data = context.accepted(0);
        let ratios = self.ratios(context).expect("inference accepted the scales");
        let input = inputs[0].expect("inference found the input");
        if self.sampling != Sampling::default() {
            return vec![self.resample(context, &ratios, input, program)];
        }
        if ratios.iter().all(|(_, ratio)| *ratio == Ratio::ONE) {
            return vec![input];
        }
        let mut expr = ExprBuilder::new();
        let axes: Vec<AxisId> = ratios.iter().map(|(extent, _)| expr.parallel(*extent)).collect();
        let operand = expr.operand(data);
        let precision = self.precision(data.element);
        // Every combination of one tap a dimension, with the product of the taps' weights.
        let mut samples: Vec<(Vec<Index>, Option<Scalar>)> = vec![(Vec::new(), None)];
        for ((&axis, &(output, ratio)), &extent) in axes.iter().zip(&ratios).zip(data.shape.iter()) {
            let place = self.coordinates.place(axis, ratio, extent, output);
            let taps = self.interpolation.taps(&place, extent, precision, &|axis| expr.range(axis));
            let with = |(index, weight): &(Vec<Index>, Option<Scalar>)| {
                let extended = |(place, own): &(Index, Option<Scalar>)| {
                    let index = index.iter().chain([place]).cloned().collect();
                    let weight = match (weight.clone(), own.clone()) {
                        (Some(weight), Some(own)) => Some(weight.binary(BinaryOp::Multiply, own)),
                        (weight, own) => weight.or(own),
                    };
                    (index, weight)
                };
                taps.iter().map(extended).collect::<Vec<_>>()
            };
            samples = samples.iter().flat_map(with).collect();
        }
        let weighted = samples.into_iter().map(|(index, weight)| {
            let read = expr.read(operand, index).cast(data.element, precision);
            match weight {
                Some(weight) => read.binary(BinaryOp::Multiply, weight),
                None => read,
            }
        });
        let body = weighted.reduce(|total, sample| total.binary(BinaryOp::Add, sample));
        let body = body.expect("there is a sample").cast(precision, data.element);
        vec![program.compute(expr.map(data.element, body), &[input])]
    }
}
