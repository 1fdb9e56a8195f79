//! `CausalConvWithState`: convolution of every channel with what came before.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Guard, Index, Literal, Reducer, Scalar};
use crate::ops::elementwise::sigmoid;
use crate::ops::normalization::precision;
use crate::ops::{
    Attribute, AttributeError, AttributeReader, Context, InferError, NEWEST_OPSET, Operator, elementwise, movement,
};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// Convolution of `[batch, channels, length]`, each channel with a kernel of its own, over the places up to each one; those before
/// the first are the past state, or zero. The inputs are the data, the weight `[channels, 1, k]`, a bias `[channels]` and the past
/// `[batch, channels, k − 1]`; the second output is the past of what follows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CausalConvWithState {
    activation: Activation,
}

/// What is applied to the sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Activation {
    None,
    /// x / (1 + e⁻ˣ).
    Silu,
}

const BIAS: usize = 2;
const PAST: usize = 3;

impl CausalConvWithState {
    /// The type of the state.
    fn state(context: &Context) -> Result<TensorType, InferError> {
        let (data, weight) = (context.tensor(0)?, context.tensor(1)?);
        elementwise::floating(data.element)?;
        let mismatch = || InferError::Mismatch(format!("{weight} does not go with {data}"));
        let (&[batch, channels, _], &[outputs, 1, taps]) = (&data.shape[..], &weight.shape[..]) else {
            return Err(mismatch());
        };
        if outputs != channels || taps == 0 || weight.element != data.element {
            return Err(mismatch());
        }
        let state = TensorType::new(data.element, [batch, channels, taps - 1]);
        let bias = TensorType::new(data.element, [channels]);
        for (input, expected) in [(BIAS, &bias), (PAST, &state)] {
            if let Some(ty) = context.optional(input)?
                && ty != expected
            {
                return Err(InferError::Mismatch(format!("input {input} is {ty} instead of {expected}")));
            }
        }
        Ok(state)
    }

    /// Appends the past and the data behind it.
    fn extended(context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> TensorId {
        let data = inputs[0].expect("inference found the data");
        let state = Self::state(context).expect("inference accepted the inputs");
        let before = state.shape[2];
        if before == 0 {
            return data;
        }
        if let Some(past) = inputs.get(PAST).copied().flatten() {
            return program.concat(2, &[past, data]);
        }
        let ty = program.ty(data).clone();
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[ty.shape[0], ty.shape[1], ty.shape[2] + before]);
        let operand = expr.operand(&ty);
        let place = Index::axis(axes[2]).plus(-(before as i64));
        let guard = expr.guard(Guard::always(), place.clone(), 0, ty.shape[2] as i64);
        let index = vec![Index::axis(axes[0]), Index::axis(axes[1]), place];
        let body = expr.guarded_read(operand, index, guard, Literal::new(ty.element, 0.0));
        program.compute(expr.map(ty.element, body), &[data])
    }
}

impl Operator for CausalConvWithState {
    const NAME: &'static str = "CausalConvWithState";
    const OPSETS: RangeInclusive<i64> = 27..=NEWEST_OPSET;
    const INPUTS: RangeInclusive<usize> = 2..=4;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let name = "activation";
        match attributes.string(name)?.as_deref() {
            None | Some("none") => Ok(Self { activation: Activation::None }),
            Some("silu" | "swish") => Ok(Self { activation: Activation::Silu }),
            Some(other) => Err(AttributeError::Value { name, reason: format!("`{other}` is unknown") }),
        }
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let name = if self.activation == Activation::Silu { "silu" } else { "none" };
        vec![("activation", Attribute::String(name.to_owned()))]
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let types = [context.tensor(0)?.clone(), Self::state(context)?];
        Ok(types.into_iter().take(context.outputs().max(1)).map(ValueType::from).collect())
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let (data, weight) = (context.accepted(0), context.accepted(1));
        let element = precision(data.element);
        let extended = Self::extended(context, inputs, program);
        let state = Self::state(context).expect("inference accepted the inputs");
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&data.shape);
        let tap = expr.reduced(weight.shape[2]);
        let (x, w) = (expr.operand(program.ty(extended)), expr.operand(weight));
        let place = Index::axis(axes[2]).add(&Index::axis(tap));
        let x = expr.read(x, vec![Index::axis(axes[0]), Index::axis(axes[1]), place]);
        let w = expr.read(w, vec![Index::axis(axes[1]), Index::constant(0), Index::axis(tap)]);
        let mut operands = vec![extended, inputs[1].expect("inference found the weight")];
        let mut sum = Scalar::Reduced;
        if let Some(bias) = inputs.get(BIAS).copied().flatten() {
            let operand = expr.operand(program.ty(bias));
            operands.push(bias);
            let bias = expr.read(operand, vec![Index::axis(axes[1])]).cast(data.element, element);
            sum = sum.binary(BinaryOp::Add, bias);
        }
        let result = match self.activation {
            Activation::None => sum,
            Activation::Silu => sum.clone().binary(BinaryOp::Multiply, sigmoid(element, sum)),
        };
        let product = x.cast(data.element, element).binary(BinaryOp::Multiply, w.cast(data.element, element));
        let result = result.cast(element, data.element);
        let output = program.compute(expr.reduce(data.element, Reducer::Sum, product, Some(result)), &operands);
        if context.outputs() < 2 {
            return vec![output];
        }
        let last = movement::slice(program, extended, &[0, 0, data.shape[2] as i64], &[1; 3], &state.shape);
        vec![output, last]
    }
}
