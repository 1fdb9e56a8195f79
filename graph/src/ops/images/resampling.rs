//! Resampling of one dimension by a table: what each output element reads, with which weights.
//!
//! Positions may be no quasi-affine functions of the output's, or the number of samples may depend on the scale. Then
//! places and weights are computed at compile time, as ONNX's `Resize` defines them, and read from constants.

use crate::expr::{BinaryOp, ExprBuilder, Index, Reducer, Scalar};
use crate::ops::interpolation::Interpolation;
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, TensorType};

/// How positions of the output become positions of the input.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Positions {
    /// Centres of elements correspond.
    HalfPixel,
    /// As half pixel, with the middles of input and output on each other.
    HalfPixelSymmetric,
    /// As half pixel, and an output of extent 1 reads the first element.
    PytorchHalfPixel,
    /// The first elements correspond.
    Asymmetric,
    /// The first and the last elements correspond.
    AlignCorners,
    /// The output spans a part of the input, from its start to its end, both of 0 to 1.
    Crop { start: f64, end: f64 },
}

/// One dimension that is resampled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Resampling {
    /// The extent of the input.
    pub input: usize,
    /// The extent of the output.
    pub output: usize,
    /// Output over input.
    pub scale: f64,
    /// How positions correspond.
    pub positions: Positions,
    /// How values between elements are found.
    pub interpolation: Interpolation,
    /// Whether a smaller output averages over as many more elements.
    pub antialias: bool,
    /// Whether elements beyond the input have no weight, instead of standing for the nearest one.
    pub exclude_outside: bool,
}

/// What the elements of an output read.
struct Table {
    places: Vec<i64>,
    weights: Vec<f64>,
    taps: usize,
}

impl Resampling {
    /// The position of the input that an output element reads.
    fn position(&self, at: usize) -> f64 {
        let (input, output, x) = (self.input as f64, self.output as f64, at as f64);
        let half_pixel = (x + 0.5) / self.scale - 0.5;
        match self.positions {
            Positions::HalfPixel => half_pixel,
            Positions::HalfPixelSymmetric => f64::from(self.symmetric(x as f32)),
            Positions::PytorchHalfPixel if self.output <= 1 => -0.5,
            Positions::PytorchHalfPixel => half_pixel,
            Positions::Asymmetric => x / self.scale,
            Positions::AlignCorners if self.output <= 1 => 0.0,
            Positions::AlignCorners => x * (input - 1.0) / (output - 1.0),
            Positions::Crop { start, end } => {
                let span = (end - start) * (input - 1.0);
                let place = if self.output <= 1 { span / 2.0 } else { x * span / (output - 1.0) };
                place + start * (input - 1.0)
            }
        }
    }

    /// The position of an output element where the middles lie on each other. It is computed in singles and in this order, as ONNX's
    /// definition does with its scales: rounding decides which element is nearest to a position that is whole.
    fn symmetric(&self, x: f32) -> f32 {
        let (input, output, scale) = (self.input as f32, self.output as f32, self.scale as f32);
        let offset = input / 2.0 * (1.0 - output / (scale * input));
        offset + (x + 0.5) / scale - 0.5
    }

    /// Whether a position lies outside the input, which only a crop can reach.
    fn is_outside(&self, at: usize) -> bool {
        let position = self.position(at);
        matches!(self.positions, Positions::Crop { .. }) && !(0.0..=self.input as f64 - 1.0).contains(&position)
    }

    /// The reach of the samples in elements of the input.
    fn stretch(&self) -> f64 {
        if self.antialias { self.scale.min(1.0) } else { 1.0 }
    }

    fn weight(&self, distance: f64) -> f64 {
        let x = (distance * self.stretch()).abs();
        match self.interpolation {
            Interpolation::Nearest(_) => 1.0,
            Interpolation::Linear => (1.0 - x).max(0.0),
            Interpolation::Cubic(coefficient) => {
                let a = f64::from(coefficient);
                if x <= 1.0 {
                    ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
                } else if x < 2.0 {
                    ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
                } else {
                    0.0
                }
            }
        }
    }

    fn table(&self) -> Table {
        let radius = match self.interpolation {
            Interpolation::Nearest(_) => 0.0,
            Interpolation::Linear => 1.0 / self.stretch(),
            Interpolation::Cubic(_) => 2.0 / self.stretch(),
        };
        let taps = if radius == 0.0 { 1 } else { 2 * radius.ceil() as usize };
        let last = self.input as i64 - 1;
        let mut table = Table { places: Vec::new(), weights: Vec::new(), taps };
        for at in 0..self.output {
            let position = self.position(at);
            let first = match self.interpolation {
                Interpolation::Nearest(rounding) => rounding.nearest(position, self.scale) as i64,
                Interpolation::Linear | Interpolation::Cubic(_) => position.floor() as i64 + 1 - taps as i64 / 2,
            };
            let places = first..first + taps as i64;
            let inside = |place: i64| !self.exclude_outside || (0..=last).contains(&place);
            let weights: Vec<f64> = places
                .clone()
                .map(|place| if inside(place) { self.weight(place as f64 - position) } else { 0.0 })
                .collect();
            let total: f64 = weights.iter().sum();
            let unit = if (self.antialias || self.exclude_outside) && total != 0.0 { total } else { 1.0 };
            table.places.extend(places.map(|place| place.clamp(0, last.max(0))));
            table.weights.extend(weights.into_iter().map(|weight| weight / unit));
        }
        table
    }

    /// Appends the resampling of a dimension.
    pub fn apply(&self, program: &mut ProgramBuilder, input: TensorId, dimension: usize) -> TensorId {
        let ty = program.ty(input).clone();
        let element = if ty.element == ElementType::F64 { ElementType::F64 } else { ElementType::F32 };
        let Table { places, weights, taps } = self.table();
        let shape = [self.output, taps];
        let places = program.constant(Tensor::from_i64(TensorType::new(ElementType::I64, shape), &places));
        let mut extents = ty.shape.to_vec();
        extents[dimension] = self.output;
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&extents);
        let copies = matches!(self.interpolation, Interpolation::Nearest(_));
        let tap = if copies { Index::constant(0) } else { Index::axis(expr.reduced(taps)) };
        let entry = vec![Index::axis(axes[dimension]), tap];
        let place_operand = expr.operand(program.ty(places));
        let place = expr.read(place_operand, entry.clone());
        let mut index: Vec<Index> = axes.iter().map(|&axis| Index::axis(axis)).collect();
        index[dimension] = expr.indirect(&place, self.input);
        let operand = expr.operand(&ty);
        let value = expr.read(operand, index);
        if copies {
            return program.compute(expr.map(ty.element, value), &[places, input]);
        }
        let weights = program.constant(Tensor::from_f64(TensorType::new(element, shape), &weights));
        let weight_operand = expr.operand(program.ty(weights));
        let weight = expr.read(weight_operand, entry);
        let value = value.cast(ty.element, element).binary(BinaryOp::Multiply, weight);
        let back = (element != ty.element).then(|| Scalar::Reduced.cast(element, ty.element));
        program.compute(expr.reduce(ty.element, Reducer::Sum, value, back), &[places, input, weights])
    }

    /// Appends `value` in place of what stands where the position along a dimension lies outside the input.
    pub fn fill_outside(
        &self,
        program: &mut ProgramBuilder,
        output: TensorId,
        dimension: usize,
        value: f32,
    ) -> TensorId {
        let outside: Vec<bool> = (0..self.output).map(|at| self.is_outside(at)).collect();
        if !outside.contains(&true) {
            return output;
        }
        let ty = program.ty(output).clone();
        let marks = program.constant(Tensor::from_bools([self.output], &outside));
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&ty.shape);
        let (marks_operand, operand) = (expr.operand(program.ty(marks)), expr.operand(&ty));
        let mark = expr.read(marks_operand, vec![Index::axis(axes[dimension])]);
        let own = expr.read(operand, axes.iter().map(|&axis| Index::axis(axis)).collect());
        let body = mark.select(Scalar::literal(ty.element, f64::from(value)), own);
        program.compute(expr.map(ty.element, body), &[marks, output])
    }
}
