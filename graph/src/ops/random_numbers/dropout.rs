//! `Dropout`: the input in inference, in training without elements that are drawn.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Literal, Scalar};
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, FLOAT8, InferError, Operator, compose, elementwise, movement,
    random,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::tensor::Tensor;
use crate::types::{ElementType, Shape, TensorType, ValueType};

/// The input, unchanged, with a mask that keeps everything. In training each element is dropped with a probability and the others
/// are scaled so that their mean stays; the mask says which are kept. Numbers are those of this crate for a seed, 0 without one,
/// and the same in every run. In a training step the step's seed is an input, and no two dropouts draw alike.
#[derive(Clone, PartialEq, Debug)]
pub struct Dropout {
    ratio: Option<f32>,
    seed: Option<i64>,
    /// In a training step, which of the model's dropouts it is; the third input is then the step's seed.
    stream: Option<u32>,
}

impl Dropout {
    /// The type of a step's seed. Of 0 everything is kept, unscaled, as in inference.
    pub fn seed_type() -> TensorType {
        TensorType::new(ElementType::U32, [])
    }

    /// The dropout of a training step whose third input is the step's seed.
    pub fn in_step(&self, stream: u32) -> Self {
        Self { stream: Some(stream), ..self.clone() }
    }

    fn is_training(&self, context: &Context) -> Result<bool, InferError> {
        if self.stream.is_some() {
            return Ok(true);
        }
        Ok(context.integers(2)?.is_some_and(|training| training.iter().any(|&flag| flag != 0)))
    }

    /// Appends the scaled elements that are kept, and which they are.
    fn training(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (data, input) = (context.accepted(0), inputs[0].expect("inference found the input"));
        let element = data.element;
        let ratio = match inputs.get(1).copied().flatten() {
            Some(ratio) => movement::reshape(program, ratio, &Shape::scalar()),
            None => program.constant(Tensor::scalar(self.ratio.unwrap_or(0.5))),
        };
        let ratio = self.stream.map_or(ratio, |_| {
            let seed = inputs[2].expect("inference found the seed");
            let element = program.ty(ratio).element;
            compose::map(program, [ratio, seed], element, |[ratio, seed]| {
                let none = Scalar::Literal(Literal::integer(ElementType::U32, 0));
                seed.binary(BinaryOp::Equal, none).select(Scalar::literal(element, 0.0), ratio)
            })
        });
        let ratio_ty = program.ty(ratio).clone();
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let operand = expr.operand(&ratio_ty);
        let bound = expr.read(operand, Vec::new()).cast(ratio_ty.element, ElementType::F32);
        let mut operands = vec![ratio];
        let drawn = match self.stream {
            Some(stream) => {
                operands.extend(inputs[2]);
                let operand = expr.operand(&Self::seed_type());
                random::uniform_of(expr.read(operand, Vec::new()), &axes, &data.shape, stream)
            }
            None => random::Source::seeded(self.seed.unwrap_or(0)).uniform(&axes, &data.shape, 0, false),
        };
        let mask = program.compute(expr.map(ElementType::Bool, bound.binary(BinaryOp::LessEqual, drawn)), &operands);
        let output = compose::map(program, [input, mask, ratio], element, |[x, mask, ratio]| {
            let rest = Scalar::literal(element, 1.0).binary(BinaryOp::Subtract, ratio.cast(ratio_ty.element, element));
            let factor = Scalar::literal(element, 1.0).binary(BinaryOp::Divide, rest);
            mask.select(x.binary(BinaryOp::Multiply, factor), Scalar::literal(element, 0.0))
        });
        vec![output, mask]
    }
}

impl Operator for Dropout {
    const NAME: &'static str = "Dropout";
    const INPUTS: RangeInclusive<usize> = 1..=3;
    const STORAGE: &'static [ElementType] = FLOAT8;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        if attributes.opset() < 7 && attributes.flag("is_test")? != Some(true) {
            let reason = "training is not supported: 1 is needed".to_owned();
            return Err(AttributeError::Value { name: "is_test", reason });
        }
        Ok(Self { ratio: attributes.float("ratio")?, seed: attributes.int("seed")?, stream: None })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let ratio = self.ratio.map(|ratio| ("ratio", Attribute::Float(ratio)));
        let seed = self.seed.map(|seed| ("seed", Attribute::Int(seed)));
        let stream = self.stream.map(|stream| ("stream", Attribute::Int(i64::from(stream))));
        ratio.into_iter().chain(seed).chain(stream).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let ty = context.tensor(0)?.clone();
        if self.is_training(context)? {
            elementwise::floating(ty.element)?;
            random::countable(ty.clone())?;
        }
        let ratio = context.optional(1)?;
        if ratio.is_some_and(|ratio| ratio.shape.checked_elements() != Some(1) || !ratio.element.is_float()) {
            return Err(InferError::Mismatch("the ratio is not one number".to_owned()));
        }
        if self.stream.is_some() && context.optional(2)? != Some(&Self::seed_type()) {
            return Err(InferError::Mismatch(format!("the seed of a step is {}", Self::seed_type())));
        }
        let mask = TensorType { element: ElementType::Bool, shape: ty.shape.clone() };
        Ok([ty, mask].into_iter().take(context.outputs().max(1)).map(ValueType::from).collect())
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0).then_some(dimension)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        if self.is_training(context).expect("inference accepted the mode") {
            return self.training(context, inputs, program);
        }
        let mut outputs: Vec<TensorId> = inputs.iter().take(1).flatten().copied().collect();
        if context.outputs() > 1 {
            let mut mask = ExprBuilder::new();
            mask.parallels(&context.accepted(0).shape);
            outputs.push(program.compute(mask.map(ElementType::Bool, Scalar::literal(ElementType::Bool, 1.0)), &[]));
        }
        outputs
    }
}
