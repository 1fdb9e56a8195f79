//! `MelWeightMatrix`: what takes a spectrum to the bands of the mel scale.

use std::ops::RangeInclusive;

use crate::ops::cast::{element_number, element_type};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType, ValueType};

/// A matrix `[bins of a spectrum, bands]` of triangles, as ONNX's reference computes it. The inputs are constants: the number of
/// bands, the length of the transform, the sample rate, and the least and the largest frequency in hertz.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MelWeightMatrix {
    element: ElementType,
}

/// Most elements of the matrix, which is a constant of the program.
const LIMIT: usize = 1 << 24;

/// The numbers that the inputs hold.
struct Scale {
    bands: usize,
    length: usize,
    rate: f64,
    lowest: f64,
    highest: f64,
}

impl Scale {
    fn of(context: &Context) -> Result<Self, InferError> {
        let number = |input: usize| {
            let constant = context.constant(input)?.ok_or(InferError::Missing(input))?;
            let values = constant.to_f64();
            match values.as_slice() {
                [value] if value.is_finite() && *value >= 0.0 => Ok(*value),
                _ => Err(InferError::Mismatch(format!("input {input} is not one number that is not negative"))),
            }
        };
        let scale = Self {
            bands: number(0)? as usize,
            length: number(1)? as usize,
            rate: number(2)?,
            lowest: number(3)?,
            highest: number(4)?,
        };
        let fits = scale.bins().checked_mul(scale.bands).is_some_and(|elements| elements <= LIMIT);
        if !fits || scale.rate == 0.0 || scale.lowest > scale.highest {
            return Err(InferError::Mismatch("bands, length, rate and frequencies do not go together".to_owned()));
        }
        if scale.corners().iter().any(|&corner| corner >= scale.bins()) {
            return Err(InferError::Mismatch(format!("{} Hz lies outside the spectrum", scale.highest)));
        }
        Ok(scale)
    }

    fn bins(&self) -> usize {
        self.length / 2 + 1
    }

    /// The bins in which triangles begin, have their tops, and end: those of band `b` from `b` on.
    fn corners(&self) -> Vec<usize> {
        let mel = |frequency: f64| 2595.0 * (1.0 + frequency / 700.0).log10();
        let count = self.bands + 2;
        let step = (mel(self.highest) - mel(self.lowest)) / count as f64;
        let corner = |at: usize| {
            let frequency = 700.0 * (10f64.powf((at as f64 * step + mel(self.lowest)) / 2595.0) - 1.0);
            ((self.length as f64 + 1.0) * frequency / self.rate).floor() as usize
        };
        (0..count).map(corner).collect()
    }

    fn matrix(&self) -> Vec<f64> {
        let mut matrix = vec![0.0; self.bins() * self.bands];
        for (band, corner) in self.corners().windows(3).enumerate() {
            let [low, top, high] = [corner[0], corner[1], corner[2]];
            for bin in low..=top {
                let part = if low == top { 1.0 } else { (bin - low) as f64 / (top - low) as f64 };
                matrix[bin * self.bands + band] = part;
            }
            for bin in top..high {
                matrix[bin * self.bands + band] = (high - bin) as f64 / (high - top) as f64;
            }
        }
        matrix
    }
}

impl Operator for MelWeightMatrix {
    const NAME: &'static str = "MelWeightMatrix";
    const OPSETS: RangeInclusive<i64> = 17..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 5..=5;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let number = attributes.int("output_datatype")?.unwrap_or(1);
        let reason = || format!("element type {number} is not supported");
        let element = element_type(number).filter(|element| *element != ElementType::Bool);
        let error = || AttributeError::Value { name: "output_datatype", reason: reason() };
        Ok(Self { element: element.ok_or_else(error)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("output_datatype", Attribute::Int(element_number(self.element)))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let scale = Scale::of(context)?;
        Ok(vec![TensorType::new(self.element, [scale.bins(), scale.bands]).into()])
    }

    fn lower(&self, context: &Context, _: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let scale = Scale::of(context).expect("inference accepted the numbers");
        vec![program.constant(Tensor::from_f64(self.output(context), &scale.matrix()))]
    }
}
