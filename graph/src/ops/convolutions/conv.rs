//! `Conv`: convolution.

use std::ops::RangeInclusive;

use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Literal, Reducer, Scalar};
use crate::ops::window::{Span, Window};
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator, elementwise, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{Shape, TensorType, ValueType};

/// Convolution of `[N, C, …]` with a weight `[M, C / group, …]` and an optional bias `[M]`, over up to three spatial
/// dimensions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conv {
    window: Window,
    group: usize,
}

/// Takes the number of groups.
pub fn group(attributes: &mut AttributeReader) -> Result<usize, AttributeError> {
    let group = attributes.int("group")?.unwrap_or(1);
    let reason = || format!("{group} groups are not possible");
    let valid = usize::try_from(group).ok().filter(|&group| group > 0);
    valid.ok_or_else(|| AttributeError::Value { name: "group", reason: reason() })
}

/// Checks that an optional bias has one element a channel.
pub fn check_bias(context: &Context, channels: usize) -> Result<(), InferError> {
    let data = context.tensor(0)?;
    match context.optional(2)? {
        Some(bias) if *bias.shape != [channels] || bias.element != data.element => {
            Err(InferError::Mismatch(format!("a bias of {bias} does not go with {channels} channels")))
        }
        Some(_) | None => Ok(()),
    }
}

impl Conv {
    /// A convolution whose windows are single pixels.
    pub fn pointwise(group: usize) -> Self {
        Self { window: Window::SINGLE, group }
    }

    fn spans(&self, context: &Context) -> Result<Vec<Span>, InferError> {
        let (data, weight) = (context.tensor(0)?, context.tensor(1)?);
        let mismatch = || InferError::Mismatch(format!("{data} and {weight} in {} groups do not fit", self.group));
        let rank = data.shape.len();
        if !(3..=5).contains(&rank) || weight.shape.len() != rank || weight.element != data.element {
            return Err(mismatch());
        }
        let (outputs, inputs) = (weight.shape[0], weight.shape[1]);
        if inputs.checked_mul(self.group) != Some(data.shape[1]) || outputs % self.group != 0 {
            return Err(mismatch());
        }
        check_bias(context, outputs)?;
        let taps = self.window.taps(Some(&weight.shape[2..]))?;
        self.window.spans(&data.shape[2..], &taps, false)
    }
}

impl Operator for Conv {
    const NAME: &'static str = "Conv";
    const INPUTS: RangeInclusive<usize> = 2..=3;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { window: Window::from_attributes(attributes)?, group: group(attributes)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mut attributes = self.window.attributes();
        attributes.push(("group", Attribute::Int(self.group as i64)));
        attributes
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        elementwise::floating(context.tensor(0)?.element)?;
        Ok(vec![self.convolved(context)?.into()])
    }

    fn follows(&self, _: &Context, input: usize, dimension: usize) -> Option<usize> {
        (input == 0 && dimension == 0).then_some(0)
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        self.convolve(context, inputs, program)
    }
}

impl Conv {
    /// The type of the output, whatever numbers the elements are.
    pub fn convolved(&self, context: &Context) -> Result<TensorType, InferError> {
        let spans = self.spans(context)?;
        let (data, weight) = (context.tensor(0)?, context.tensor(1)?);
        let spatial = spans.iter().map(|span| span.output);
        let shape: Shape = [data.shape[0], weight.shape[0]].into_iter().chain(spatial).collect();
        Ok(TensorType { element: data.element, shape })
    }

    /// Appends the convolution, for inputs that [`Conv::convolved`] accepts.
    pub fn convolve(
        &self,
        context: &Context,
        inputs: &[Option<TensorId>],
        program: &mut ProgramBuilder,
    ) -> Vec<TensorId> {
        let spans = self.spans(context).expect("inference accepted the shapes");
        let (data, weight) = (context.accepted(0), context.accepted(1));
        let (outputs, inner) = (weight.shape[0], weight.shape[1]);
        let outputs_per_group = outputs / self.group;
        let mut expr = ExprBuilder::new();
        let batch = expr.parallel(data.shape[0]);
        let apart = self.group > 1 && outputs_per_group > 1;
        let group = apart.then(|| expr.parallel(self.group));
        let output = expr.parallel(if apart { outputs_per_group } else { outputs });
        let windows: Vec<AxisId> = spans.iter().map(|span| expr.parallel(span.output)).collect();
        let input = expr.reduced(inner);
        let taps: Vec<AxisId> = spans.iter().map(|span| expr.reduced(span.taps)).collect();

        let output_channel = match group {
            Some(group) => Index::axis(group).times(outputs_per_group as i64).add(&Index::axis(output)),
            None => Index::axis(output),
        };
        let input_channel = match group {
            Some(group) => Index::axis(group).times(inner as i64).add(&Index::axis(input)),
            None if self.group > 1 => Index::axis(output).times(inner as i64).add(&Index::axis(input)),
            None => Index::axis(input),
        };
        let places = spans.iter().zip(windows.iter().zip(&taps));
        let places = places.map(|(span, (&window, &tap))| span.place(window, tap));
        let (x, w) = (expr.operand(data), expr.operand(weight));
        let zero = Literal::new(data.element, 0.0);
        let x = expr.padded_read(x, [Index::axis(batch), input_channel].into_iter().chain(places).collect(), zero);
        let kernel = [output_channel.clone(), Index::axis(input)].into_iter();
        let w = expr.read(w, kernel.chain(taps.iter().map(|&tap| Index::axis(tap))).collect());
        let epilogue = context.optional(2).ok().flatten().map(|bias| {
            let bias = expr.operand(bias);
            Scalar::Reduced.binary(BinaryOp::Add, expr.read(bias, vec![output_channel]))
        });
        let expr = expr.reduce(data.element, Reducer::Sum, x.binary(BinaryOp::Multiply, w), epilogue);
        let operands: Vec<TensorId> = inputs.iter().flatten().copied().collect();
        let result = program.compute(expr, &operands);
        let shape = self.convolved(context).expect("the inputs are accepted").shape;
        vec![movement::reshape(program, result, &shape)]
    }
}
