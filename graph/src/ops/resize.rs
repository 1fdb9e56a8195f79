//! `Resize`: interpolation to other spatial extents.

use std::ops::RangeInclusive;

use super::interpolation::{Coordinates, Interpolation, Nearest, Ratio};
use super::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, axes, elementwise};
use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Scalar};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// The input sampled at other points along some dimensions: the nearest elements, or an interpolation.
#[derive(Clone, PartialEq, Debug)]
pub struct Resize {
    interpolation: Interpolation,
    coordinates: Coordinates,
    axes: Option<Vec<i64>>,
    /// Whether scales are the second input, as opset 10 has it, not the third.
    early: bool,
}

/// Most dimensions that change: the number of samples is exponential in it.
const MOST_RESIZED: usize = 3;

impl Resize {
    /// The resize whose second input holds the scales, and whose elements correspond by their first corners.
    pub(super) fn by_scales(interpolation: Interpolation) -> Self {
        Self { interpolation, coordinates: Coordinates::Asymmetric, axes: None, early: true }
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

impl Operator for Resize {
    const NAME: &'static str = "Resize";
    const OPSETS: RangeInclusive<i64> = 10..=super::NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 1..=4;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let early = attributes.flag("scales_second")?.unwrap_or(attributes.opset() < 11);
        let unsupported = |name: &'static str, value: &str| {
            Err(AttributeError::Value { name, reason: format!("`{value}` is not supported") })
        };
        if attributes.flag("antialias")? == Some(true) {
            return unsupported("antialias", "1");
        }
        if attributes.flag("exclude_outside")? == Some(true) {
            return unsupported("exclude_outside", "1");
        }
        attributes.float("extrapolation_value")?;
        if let Some(policy) = attributes.string("keep_aspect_ratio_policy")?
            && policy != "stretch"
        {
            return unsupported("keep_aspect_ratio_policy", &policy);
        }
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
            Some(name) => match Coordinates::named(name) {
                Some(coordinates) => coordinates,
                None => return unsupported("coordinate_transformation_mode", name),
            },
        };
        Ok(Self { interpolation, coordinates, axes: attributes.ints("axes")?, early })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let text = |text: &str| Attribute::String(text.to_owned());
        let mut attributes = vec![("coordinate_transformation_mode", text(self.coordinates.name()))];
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
            Interpolation::Linear | Interpolation::Cubic(_) => elementwise::floating(data.element)?,
        };
        let ratios = self.ratios(context)?;
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
        if ratios.iter().all(|(_, ratio)| *ratio == Ratio::ONE) {
            return vec![input];
        }
        let mut expr = ExprBuilder::new();
        let axes: Vec<AxisId> = ratios.iter().map(|(extent, _)| expr.parallel(*extent)).collect();
        let operand = expr.operand(data);
        // Every combination of one tap a dimension, with the product of the taps' weights.
        let mut samples: Vec<(Vec<Index>, Option<Scalar>)> = vec![(Vec::new(), None)];
        for ((&axis, &(output, ratio)), &extent) in axes.iter().zip(&ratios).zip(data.shape.iter()) {
            let place = self.coordinates.place(axis, ratio, extent, output);
            let taps = self.interpolation.taps(&place, extent, data.element, &|axis| expr.range(axis));
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
            let read = expr.read(operand, index);
            match weight {
                Some(weight) => read.binary(BinaryOp::Multiply, weight),
                None => read,
            }
        });
        let body = weighted.reduce(|total, sample| total.binary(BinaryOp::Add, sample));
        let body = body.expect("there is a sample");
        vec![program.compute(expr.map(data.element, body), &[input])]
    }
}
