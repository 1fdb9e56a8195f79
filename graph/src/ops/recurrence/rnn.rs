//! `RNN`: a simple recurrent layer.

use std::ops::RangeInclusive;

use crate::expr::ExprBuilder;
use crate::ops::gate_functions::Function;
use crate::ops::recurrent::{Addend, AddendKind, Recurrent, State};
use crate::ops::sequence_lengths::SequenceLengths;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// A layer of which each state is a function of weighted sums of the input and of the state before, unrolled over time.
///
/// Inputs: x, weight, recurrent weight, bias, lengths, initial state. Outputs: the states of all steps, the last state.
#[derive(Clone, PartialEq, Debug)]
pub struct Rnn {
    recurrent: Recurrent,
}

const USUAL: [Function; 1] = [Function::Tanh];

impl Operator for Rnn {
    const NAME: &'static str = "RNN";
    const INPUTS: RangeInclusive<usize> = 3..=6;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        Ok(Self { recurrent: Recurrent::from_attributes(attributes, &USUAL)? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.recurrent.attributes(&USUAL)
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
                let body = self.recurrent.functions.apply(direction, 0, element, sum);
                let next = program.compute(expr.map(element, body), &[sums.tensor]);
                states[at] = Some(lengths.shown(&self.recurrent, program, at, next));
                let kept = lengths.kept(&self.recurrent, program, at, next, state);
                end = Some(kept);
                state = State::Step(kept);
            }
            all.push(states.into_iter().flatten().collect());
            last.push(end.expect("inference found a step"));
        }
        let states = self.recurrent.concat(program, &all);
        vec![states, self.recurrent.concat_last(program, &extents, &last)]
    }
}
