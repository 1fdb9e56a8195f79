//! `RNN`: a simple recurrent layer.

use std::ops::RangeInclusive;

use super::elementwise::sigmoid;
use super::recurrent::{Addend, AddendKind, Recurrent, State};
use super::sequence_lengths::SequenceLengths;
use super::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::expr::{BinaryOp, ExprBuilder, Scalar, UnaryOp};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, ValueType};

/// A layer of which each state is a function of weighted sums of the input and of the state before, unrolled over time.
///
/// Inputs: x, weight, recurrent weight, bias, lengths, initial state. Outputs: the states of all steps, the last state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rnn {
    recurrent: Recurrent,
    activation: Activation,
}

/// The function of the sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Activation {
    Tanh,
    Relu,
    Sigmoid,
}

impl Activation {
    const NAMES: [(Self, &'static str); 3] = [(Self::Tanh, "Tanh"), (Self::Relu, "Relu"), (Self::Sigmoid, "Sigmoid")];

    /// The function that all directions share.
    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let given = attributes.strings("activations")?.unwrap_or_default();
        let Some(first) = given.first() else { return Ok(Self::Tanh) };
        let known = Self::NAMES.iter().find(|(_, known)| known.eq_ignore_ascii_case(first));
        match known {
            Some((activation, known)) if given.iter().all(|name| known.eq_ignore_ascii_case(name)) => Ok(*activation),
            _ => Err(AttributeError::Value { name: "activations", reason: format!("{given:?} are not supported") }),
        }
    }

    fn apply(self, element: ElementType, x: Scalar) -> Scalar {
        match self {
            Self::Tanh => x.unary(UnaryOp::Tanh),
            Self::Relu => x.binary(BinaryOp::Maximum, Scalar::literal(element, 0.0)),
            Self::Sigmoid => sigmoid(element, x),
        }
    }
}

impl Operator for Rnn {
    const NAME: &'static str = "RNN";
    const INPUTS: RangeInclusive<usize> = 3..=6;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let activation = Activation::from_attributes(attributes)?;
        Ok(Self { recurrent: Recurrent::from_attributes(attributes, &[])?, activation })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let name = Activation::NAMES.iter().find(|(known, _)| *known == self.activation).map_or("", |(_, name)| name);
        let activations = Attribute::Strings(vec![name.to_owned(); self.recurrent.directions()]);
        self.recurrent.attributes().into_iter().chain([("activations", activations)]).collect()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let extents = self.recurrent.extents(context, 1)?;
        let element = context.tensor(0)?.element;
        let all = [self.recurrent.all_states(&extents, element), self.recurrent.last_state(&extents, element)];
        Ok(all.into_iter().take(context.outputs().max(1)).map(ValueType::from).collect())
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let extents = self.recurrent.extents(context, 1).expect("inference accepted the inputs");
        let lengths = SequenceLengths::of(context, inputs, &extents);
        let weight = inputs[2].expect("inference found the recurrent weight");
        let (mut all, mut last): (Vec<Vec<TensorId>>, Vec<TensorId>) = Default::default();
        for direction in 0..extents.directions {
            let projected = self.recurrent.project(program, inputs, &extents, direction, &[0, extents.hidden]);
            let mut state = self.recurrent.initial(context, inputs, 5, direction);
            let mut states = vec![None; extents.steps];
            let mut end = None;
            for at in self.recurrent.order(direction, extents.steps) {
                let projection = Addend { tensor: projected, kind: AddendKind::Projection(at) };
                let part = (direction, 0..extents.hidden);
                let sums = self.recurrent.recur(program, weight, state, &extents, part, &[projection]);
                let sums = sums.map_or(projection, |tensor| Addend { tensor, kind: AddendKind::Plain });
                let mut expr = ExprBuilder::new();
                let axes = expr.parallels(&self.recurrent.step_shape(&extents));
                let (batch, feature) = self.recurrent.step_axes(&axes);
                let operand = expr.operand(program.ty(sums.tensor));
                let sum = expr.read(operand, sums.index(&batch, &feature));
                let element = program.ty(sums.tensor).element;
                let body = self.activation.apply(element, sum);
                let next = program.compute(expr.map(element, body), &[sums.tensor]);
                states[at] = Some(lengths.shown(&self.recurrent, program, at, next));
                let kept = lengths.kept(&self.recurrent, program, at, next, state);
                end = Some(kept);
                state = State::Step(kept);
            }
            all.push(states.into_iter().flatten().collect());
            last.push(end.expect("inference found a step"));
        }
        let states = self.recurrent.join(program, &all);
        vec![states, self.recurrent.join_last(program, &extents, &last)]
    }
}
