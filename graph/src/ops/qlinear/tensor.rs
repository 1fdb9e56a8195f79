//! Quantised tensors as operands and results: a value beside its scale and zero point.

use crate::expr::{BinaryOp, Scalar};
use crate::ops::quantization::{centered, centered_factor, quantized, rounded};
use crate::ops::{Context, Fact, InferError, broadcast, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType};

/// The positions of a value, its scale and its zero point among the inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quantized {
    value: usize,
    parameters: Parameters,
}

/// The positions of a scale and a zero point among the inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    scale: usize,
    zero: usize,
}

impl Parameters {
    /// The scale at a position and the zero point behind it.
    pub const fn at(position: usize) -> Self {
        Self { scale: position, zero: position + 1 }
    }

    /// Checks that there is one scale of singles and at most one zero point, of type `element`.
    pub fn check(self, context: &Context, element: ElementType) -> Result<(), InferError> {
        let is_one = |ty: &TensorType| ty.shape.checked_elements() == Some(1);
        let scale = context.tensor(self.scale)?;
        if scale.element != ElementType::F32 || !is_one(scale) {
            return Err(InferError::Mismatch(format!("a scale of {scale} is not one single")));
        }
        match context.optional(self.zero)? {
            Some(zero) if zero.element != element || !is_one(zero) => {
                Err(InferError::Mismatch(format!("a zero point of {zero} does not go with {element}")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Appends the singles `value`, quantised to `element`.
    pub fn quantize(
        self,
        program: &mut ProgramBuilder,
        inputs: &[Option<TensorId>],
        value: TensorId,
        element: ElementType,
    ) -> TensorId {
        let operands = with_scalars(program, value, inputs, [self.scale, self.zero]);
        broadcast::map(&operands, program, element, |operands| {
            let (value, scale, zero) = parts(operands);
            rounded(ElementType::F32, element, value, scale, zero)
        })
    }
}

impl Quantized {
    /// The value at a position, and its scale and zero point behind it.
    pub const fn at(position: usize) -> Self {
        Self { value: position, parameters: Parameters::at(position + 1) }
    }

    /// The dimension of operands that are broadcast where a dimension of one of them is, the input at a position.
    pub fn broadcast(context: &Context, operands: &[Self], input: usize, dimension: usize) -> Option<usize> {
        let rank = |input: usize| context.accepted(input).shape.len();
        let widest = operands.iter().map(|operand| rank(operand.value)).max()?;
        let is_operand = operands.iter().any(|operand| operand.value == input);
        is_operand.then(|| dimension + widest - rank(input))
    }

    /// The value's type, if it is a quantised one that scale and zero point go with.
    pub fn infer<'a>(self, context: &Context<'a>) -> Result<&'a TensorType, InferError> {
        let ty = context.tensor(self.value)?;
        quantized(ty.element)?;
        self.parameters.check(context, ty.element)?;
        Ok(ty)
    }

    /// What is known of the value as singles.
    pub fn fact(self, context: &Context) -> Result<Option<Fact>, InferError> {
        let ty = TensorType { element: ElementType::F32, shape: self.infer(context)?.shape.clone() };
        Ok(Some(Fact { ty: ty.into(), value: None }))
    }

    /// Appends the value less its zero point, in 32 bits.
    pub fn center(self, program: &mut ProgramBuilder, inputs: &[Option<TensorId>]) -> TensorId {
        let value = inputs[self.value].expect("inference found the value");
        let zero = inputs.get(self.parameters.zero).copied().flatten();
        centered_factor(program, value, zero.map(|zero| (zero, Shape::scalar())))
    }

    /// Appends the value as singles.
    pub fn dequantize(self, program: &mut ProgramBuilder, inputs: &[Option<TensorId>]) -> TensorId {
        let value = inputs[self.value].expect("inference found the value");
        let element = program.ty(value).element;
        let operands = with_scalars(program, value, inputs, [self.parameters.scale, self.parameters.zero]);
        broadcast::map(&operands, program, ElementType::F32, |operands| {
            let (value, scale, zero) = parts(operands);
            let steps = centered(element, value, zero).cast(ElementType::I32, ElementType::F32);
            steps.binary(BinaryOp::Multiply, scale)
        })
    }
}

/// A value and the inputs at the positions that are there, these as scalars.
fn with_scalars(
    program: &mut ProgramBuilder,
    value: TensorId,
    inputs: &[Option<TensorId>],
    positions: [usize; 2],
) -> Vec<Option<TensorId>> {
    let present = positions.into_iter().filter_map(|at| inputs.get(at).copied().flatten());
    let scalars: Vec<_> = present.map(|tensor| Some(movement::reshape(program, tensor, &Shape::scalar()))).collect();
    [Some(value)].into_iter().chain(scalars).collect()
}

/// Value, scale and zero point.
fn parts(operands: Vec<Scalar>) -> (Scalar, Scalar, Option<Scalar>) {
    let mut operands = operands.into_iter();
    let mut next = || operands.next();
    let (value, scale) = next().zip(next()).expect("value and scale are operands");
    (value, scale, next())
}
