//! `STFT`: Fourier transforms of a signal's frames.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Reducer};
use crate::ops::fourier::{MOST_POINTS, Transform};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, elementwise,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// The transform of every frame of `[N, length]` or `[N, length, 1 or 2]`, multiplied by a window if there is one. The step
/// from frame to frame and the length of a frame, which may be the window's, are constant inputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stft {
    one_sided: bool,
}

/// The extents of the frames.
struct Frames {
    count: usize,
    step: usize,
    length: usize,
    components: usize,
}

impl Stft {
    fn frames(&self, context: &Context) -> Result<Frames, InferError> {
        let signal = context.tensor(0)?;
        elementwise::floating(signal.element)?;
        let mismatch = |what: &str| InferError::Mismatch(format!("{what} does not go with the signal {signal}"));
        let (samples, components) = match *signal.shape {
            [_, samples] => (samples, 1),
            [_, samples, components @ 1..=2] => (samples, components),
            _ => return Err(mismatch("an axis of real and imaginary parts")),
        };
        let number = |input: usize| match context.integers(input)?.as_deref() {
            None => Ok(None),
            Some(&[value @ 1..=0x7fff_ffff]) => Ok(Some(value as usize)),
            Some(_) => Err(mismatch(&format!("input {input}"))),
        };
        let step = number(1)?.ok_or(InferError::Missing(1))?;
        let window = context.optional(2)?;
        if let Some(window) = window
            && (window.shape.len() != 1 || window.element != signal.element)
        {
            return Err(mismatch(&format!("the window {window}")));
        }
        let length = match (number(3)?, window) {
            (Some(length), None) => length,
            (Some(length), Some(window)) if window.shape[0] == length => length,
            (Some(length), Some(window)) => return Err(mismatch(&format!("a window {window} of frames of {length}"))),
            (None, Some(window)) => window.shape[0],
            (None, None) => return Err(InferError::Missing(3)),
        };
        if length == 0 || length > samples {
            return Err(mismatch(&format!("a frame of {length} samples")));
        }
        if length > MOST_POINTS {
            return Err(InferError::Unsupported(format!("a transform of {length} points, more than {MOST_POINTS}")));
        }
        if self.one_sided && components == 2 {
            return Err(InferError::Mismatch("one-sided frequencies are those of real values".to_owned()));
        }
        Ok(Frames { count: (samples - length) / step + 1, step, length, components })
    }
}

impl Operator for Stft {
    const NAME: &'static str = "STFT";
    const OPSETS: RangeInclusive<i64> = 17..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=4;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { one_sided: attributes.flag("onesided")?.unwrap_or(true) })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![("onesided", Attribute::Int(i64::from(self.one_sided)))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let Frames { count, length, .. } = self.frames(context)?;
        let signal = context.tensor(0)?;
        let (results, numbers) = Transform::Forward { one_sided: self.one_sided }.results(length);
        Ok(vec![TensorType::new(signal.element, [signal.shape[0], count, results, numbers]).into()])
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let Frames { step, length, components, .. } = self.frames(context).expect("inference accepted the frames");
        let signal = context.accepted(0);
        let transform = Transform::Forward { one_sided: self.one_sided };
        let matrix = program.constant(transform.matrix(signal.element, length, components));
        let matrix = match inputs.get(2).copied().flatten() {
            None => matrix,
            Some(window) => windowed(program, matrix, window),
        };
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&self.output(context).shape);
        let (point, component) = (expr.reduced(length), expr.reduced(components));
        let sample = Index::axis(axes[1]).times(step as i64).add(&Index::axis(point));
        let place = [Index::axis(axes[0]), sample, Index::axis(component)];
        let (values, factors) = (expr.operand(signal), expr.operand(program.ty(matrix)));
        let value = expr.read(values, place[..signal.shape.len()].to_vec());
        let factor = expr.read(factors, [axes[2], axes[3], point, component].map(Index::axis).to_vec());
        let body = value.binary(BinaryOp::Multiply, factor);
        let expr = expr.reduce(signal.element, Reducer::Sum, body, None);
        vec![program.compute(expr, &[inputs[0].expect("inference found the signal"), matrix])]
    }
}

/// The matrix with the factors of every point multiplied by the window's.
fn windowed(program: &mut ProgramBuilder, matrix: TensorId, window: TensorId) -> TensorId {
    let ty = program.ty(matrix).clone();
    let mut expr = ExprBuilder::new();
    let axes = expr.parallels(&ty.shape);
    let (factors, weights) = (expr.operand(&ty), expr.operand(program.ty(window)));
    let factor = expr.read(factors, axes.iter().map(|&axis| Index::axis(axis)).collect());
    let weight = expr.read(weights, vec![Index::axis(axes[2])]);
    let body = factor.binary(BinaryOp::Multiply, weight);
    program.compute(expr.map(ty.element, body), &[matrix, window])
}
