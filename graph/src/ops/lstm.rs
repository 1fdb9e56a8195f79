//! `LSTM`: long short-term memory.

use std::ops::RangeInclusive;

use super::elementwise::sigmoid;
use super::recurrent::{Addend, AddendKind, Extents, Recurrent, State};
use super::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::expr::{BinaryOp, ExprBuilder, UnaryOp};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// A layer of long short-term memory with the usual activations, unrolled over time. Peepholes are not supported.
///
/// Inputs: x, weight, recurrent weight, bias, lengths, initial state, initial cell. Gates stand in the order input,
/// output, forget, cell. Outputs: the states of all steps, the last state, the last cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lstm {
    recurrent: Recurrent,
}

const GATES: usize = 4;

impl Lstm {
    fn extents(&self, context: &Context) -> Result<Extents, InferError> {
        let extents = self.recurrent.extents(context, GATES)?;
        self.recurrent.check_state(context, 6, &extents)?;
        if context.fact(7).is_some() {
            return Err(InferError::Unsupported("peepholes are not supported".to_owned()));
        }
        Ok(extents)
    }

    /// Appends one step: the next cell and state from the gates' sums.
    fn step(
        &self,
        program: &mut ProgramBuilder,
        extents: &Extents,
        gates: Addend,
        cell: State,
    ) -> (TensorId, TensorId) {
        let element = program.ty(gates.tensor).element;
        let shape = self.recurrent.step_shape(extents);
        let gate = |expr: &mut ExprBuilder, operand: usize, number: usize| {
            let (batch, feature) = self.recurrent.step_axes(&expr.parallel_axes());
            expr.read(operand, gates.index(&batch, &feature.plus((number * extents.hidden) as i64)))
        };
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&shape);
        let (batch, feature) = self.recurrent.step_axes(&axes);
        let sums = expr.operand(program.ty(gates.tensor));
        let mut operands = vec![gates.tensor];
        let input = sigmoid(element, gate(&mut expr, sums, 0));
        let forget = sigmoid(element, gate(&mut expr, sums, 2));
        let candidate = gate(&mut expr, sums, 3).unary(UnaryOp::Tanh);
        let fresh = input.binary(BinaryOp::Multiply, candidate);
        let kept = self.recurrent.read(cell, batch, feature, &mut expr, &mut operands, program);
        let body = match kept {
            Some(cell) => forget.binary(BinaryOp::Multiply, cell).binary(BinaryOp::Add, fresh),
            None => fresh,
        };
        let cell = program.compute(expr.map(element, body), &operands);

        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&shape);
        let (batch, feature) = self.recurrent.step_axes(&axes);
        let sums = expr.operand(program.ty(gates.tensor));
        let mut operands = vec![gates.tensor];
        let output = sigmoid(element, gate(&mut expr, sums, 1));
        let read = self.recurrent.read(State::Step(cell), batch, feature, &mut expr, &mut operands, program);
        let squashed = read.expect("the cell of a step is computed").unary(UnaryOp::Tanh);
        let state = program.compute(expr.map(element, output.binary(BinaryOp::Multiply, squashed)), &operands);
        (cell, state)
    }
}

impl Lstm {
    /// Appends the layer, in which the products with the recurrent weight have `consume` of the states.
    pub(super) fn lower_with(
        &self,
        context: &Context,
        inputs: &[Option<TensorId>],
        program: &mut ProgramBuilder,
        consume: impl Fn(&mut ProgramBuilder, TensorId) -> TensorId,
    ) -> Vec<TensorId> {
        let extents = self.extents(context).expect("inference accepted the inputs");
        let weight = inputs[2].expect("inference found the recurrent weight");
        let rows = GATES * extents.hidden;
        let (mut all, mut last, mut cells): (Vec<Vec<TensorId>>, Vec<TensorId>, Vec<TensorId>) = Default::default();
        for direction in 0..extents.directions {
            let projected = self.recurrent.project(program, inputs, &extents, direction, &[0, rows]);
            let mut state = self.recurrent.initial(context, inputs, 5, direction);
            let mut cell = self.recurrent.initial(context, inputs, 6, direction);
            let mut states = vec![None; extents.steps];
            let mut ends = None;
            for step in self.recurrent.order(direction, extents.steps) {
                let projection = Addend { tensor: projected, kind: AddendKind::Projection(step) };
                let part = (direction, 0..rows);
                let consumed = match state {
                    State::Zero => State::Zero,
                    State::Step(tensor) => State::Step(consume(program, tensor)),
                    State::Initial(tensor, direction) => State::Initial(consume(program, tensor), direction),
                };
                let sums = self.recurrent.recur(program, weight, consumed, &extents, part, &[projection]);
                let gates = sums.map_or(projection, |tensor| Addend { tensor, kind: AddendKind::Plain });
                let (next_cell, next_state) = self.step(program, &extents, gates, cell);
                states[step] = Some(next_state);
                ends = Some((next_state, next_cell));
                (state, cell) = (State::Step(next_state), State::Step(next_cell));
            }
            let (end_state, end_cell) = ends.expect("inference found a step");
            all.push(states.into_iter().flatten().collect());
            last.push(end_state);
            cells.push(end_cell);
        }
        let states = self.recurrent.join(program, &all);
        let last = self.recurrent.join_last(program, &extents, &last);
        vec![states, last, self.recurrent.join_last(program, &extents, &cells)]
    }
}

impl Operator for Lstm {
    const NAME: &'static str = "LSTM";
    const INPUTS: RangeInclusive<usize> = 3..=8;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        if attributes.flag("input_forget")? == Some(true) {
            let reason = "coupled gates are not supported".to_owned();
            return Err(AttributeError::Value { name: "input_forget", reason });
        }
        Ok(Self { recurrent: Recurrent::from_attributes(attributes, &["Sigmoid", "Tanh", "Tanh"])? })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        self.recurrent.attributes()
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let extents = self.extents(context)?;
        let element = context.tensor(0)?.element;
        let last = self.recurrent.last_state(&extents, element);
        let all = [self.recurrent.all_states(&extents, element), last.clone(), last];
        Ok(all.into_iter().take(context.outputs().max(1)).map(ValueType::from).collect())
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        self.lower_with(context, inputs, program, |_, state| state)
    }
}
