//! `GRU`: gated recurrent units.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Scalar};
use crate::ops::gate_functions::Function;
use crate::ops::recurrent::{Addend, AddendKind, Extents, Recurrent, State};
use crate::ops::sequence_lengths::SequenceLengths;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::ValueType;

/// A layer of gated recurrent units, unrolled over time.
///
/// Inputs: x, weight, recurrent weight, bias, lengths, initial state. Gates stand in the order update, reset, candidate.
/// Outputs: the states of all steps, the last state.
#[derive(Clone, PartialEq, Debug)]
pub struct Gru {
    recurrent: Recurrent,
    /// Whether the reset gate applies to the state's product with the weight instead of the state.
    linear_before_reset: bool,
}

/// The functions of update and reset gate, and of the candidate.
const USUAL: [Function; 2] = [Function::Sigmoid, Function::Tanh];

const GATES: usize = 3;
const UPDATE: usize = 0;
const RESET: usize = 1;
const CANDIDATE: usize = 2;

/// What one step reads.
struct Step<'a> {
    extents: &'a Extents,
    direction: usize,
    /// The projected input with the input's bias.
    projection: Addend,
    bias: Option<TensorId>,
    weight: TensorId,
    state: State,
}

/// An expression over the axes of one state.
struct Cell {
    expr: ExprBuilder,
    operands: Vec<TensorId>,
}

impl Cell {
    fn new(gru: &Gru, extents: &Extents) -> Self {
        let mut expr = ExprBuilder::new();
        expr.parallels(&gru.recurrent.step_shape(extents));
        Self { expr, operands: Vec::new() }
    }

    /// Reads a gate's row of something that has a row a gate and feature.
    fn gate(&mut self, gru: &Gru, step: &Step, addend: Addend, gate: usize, program: &ProgramBuilder) -> Scalar {
        let (batch, feature) = gru.recurrent.step_axes(&self.expr.parallel_axes());
        self.operands.push(addend.tensor);
        let operand = self.expr.operand(program.ty(addend.tensor));
        self.expr.read(operand, addend.index(&batch, &feature.plus((gate * step.extents.hidden) as i64)))
    }

    fn state(&mut self, gru: &Gru, state: State, program: &ProgramBuilder) -> Option<Scalar> {
        let (batch, feature) = gru.recurrent.step_axes(&self.expr.parallel_axes());
        gru.recurrent.read(state, batch, feature, &mut self.expr, &mut self.operands, program)
    }
}

impl Gru {
    /// Everything that is added to make a gate's sum: the projection, and the recurrent part where there is one.
    fn sum(
        &self,
        cell: &mut Cell,
        step: &Step,
        parts: &[Addend],
        gate: usize,
        program: &ProgramBuilder,
    ) -> Option<Scalar> {
        let reads = parts.iter().map(|&part| cell.gate(self, step, part, gate, program));
        let reads: Vec<Scalar> = reads.collect();
        reads.into_iter().reduce(|total, part| total.binary(BinaryOp::Add, part))
    }

    /// `(1 − update) · candidate + update · state`.
    fn blend(
        &self,
        update: Scalar,
        candidate: Scalar,
        state: Option<Scalar>,
        step: &Step,
        program: &ProgramBuilder,
    ) -> Scalar {
        let one = Scalar::literal(program.ty(step.weight).element, 1.0);
        let fresh = one.binary(BinaryOp::Subtract, update.clone()).binary(BinaryOp::Multiply, candidate);
        match state {
            Some(state) => fresh.binary(BinaryOp::Add, update.binary(BinaryOp::Multiply, state)),
            None => fresh,
        }
    }

    /// The reset gate applied to the product: one product for all gates.
    fn step_linear(&self, program: &mut ProgramBuilder, step: &Step) -> TensorId {
        let rows = GATES * step.extents.hidden;
        let element = program.ty(step.weight).element;
        let bias = step
            .bias
            .map(|tensor| Addend { tensor, kind: AddendKind::Bias { direction: step.direction, first: rows } });
        let bias: Vec<Addend> = bias.into_iter().collect();
        let part = (step.direction, 0..rows);
        let product = self.recurrent.recur(program, step.weight, step.state, step.extents, part, &bias);
        let recurrent: Vec<Addend> = match product {
            Some(tensor) => vec![Addend { tensor, kind: AddendKind::Plain }],
            None => bias,
        };
        let mut cell = Cell::new(self, step.extents);
        let all: Vec<Addend> = [step.projection].into_iter().chain(recurrent.iter().copied()).collect();
        let mut sum = |parts: &[Addend], gate: usize| self.sum(&mut cell, step, parts, gate, program);
        let (update, reset) = (sum(&all, UPDATE), sum(&all, RESET));
        let (input, recurrent) = (sum(&all[..1], CANDIDATE), sum(&recurrent, CANDIDATE));
        let function =
            |number: usize, sum: Scalar| self.recurrent.functions.apply(step.direction, number, element, sum);
        let gate = |sum: Option<Scalar>| function(0, sum.expect("the projection is always there"));
        let input = input.expect("the projection is always there");
        let candidate = match recurrent {
            Some(recurrent) => input.binary(BinaryOp::Add, gate(reset).binary(BinaryOp::Multiply, recurrent)),
            None => input,
        };
        let state = cell.state(self, step.state, program);
        let body = self.blend(gate(update), function(1, candidate), state, step, program);
        program.compute(cell.expr.map(element, body), &cell.operands)
    }

    /// The reset gate applied to the state: update and reset first, then the candidate.
    fn step_reset(&self, program: &mut ProgramBuilder, step: &Step) -> TensorId {
        let hidden = step.extents.hidden;
        let element = program.ty(step.weight).element;
        let function =
            |number: usize, sum: Scalar| self.recurrent.functions.apply(step.direction, number, element, sum);
        let part = (step.direction, 0..2 * hidden);
        let gates = self.recurrent.recur(program, step.weight, step.state, step.extents, part, &[step.projection]);
        let gates = gates.map_or(step.projection, |tensor| Addend { tensor, kind: AddendKind::Plain });

        let mut cell = Cell::new(self, step.extents);
        let reset = cell.gate(self, step, gates, RESET, program);
        let damped = cell.state(self, step.state, program).map(|state| {
            let body = function(0, reset).binary(BinaryOp::Multiply, state);
            program.compute(cell.expr.map(element, body), &cell.operands)
        });
        let damped = damped.map_or(State::Zero, State::Step);
        let part = (step.direction, CANDIDATE * hidden..GATES * hidden);
        let sums = self.recurrent.recur(program, step.weight, damped, step.extents, part, &[step.projection]);

        let mut cell = Cell::new(self, step.extents);
        let update = function(0, cell.gate(self, step, gates, UPDATE, program));
        let candidate = match sums {
            Some(tensor) => cell.gate(self, step, Addend { tensor, kind: AddendKind::Plain }, 0, program),
            None => cell.gate(self, step, step.projection, CANDIDATE, program),
        };
        let state = cell.state(self, step.state, program);
        let body = self.blend(update, function(1, candidate), state, step, program);
        program.compute(cell.expr.map(element, body), &cell.operands)
    }
}

impl Operator for Gru {
    const NAME: &'static str = "GRU";
    const INPUTS: RangeInclusive<usize> = 3..=6;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let linear_before_reset = attributes.int("linear_before_reset")?.unwrap_or(0) != 0;
        Ok(Self { recurrent: Recurrent::from_attributes(attributes, &USUAL)?, linear_before_reset })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mut attributes = self.recurrent.attributes(&USUAL);
        attributes.push(("linear_before_reset", Attribute::Int(i64::from(self.linear_before_reset))));
        attributes
    }

    fn infer(&self, context: &Context) -> Result<Vec<ValueType>, InferError> {
        let extents = self.recurrent.extents(context, GATES)?;
        let element = context.tensor(0)?.element;
        let all = [self.recurrent.all_states(&extents, element), self.recurrent.last_state(&extents, element)];
        Ok(all.into_iter().take(context.outputs().max(1)).map(ValueType::from).collect())
    }

    fn lower(&self, context: &Context, inputs: &[Option<TensorId>], program: &mut ProgramBuilder) -> Vec<TensorId> {
        let extents = self.recurrent.extents(context, GATES).expect("inference accepted the inputs");
        let lengths = SequenceLengths::of(context, inputs, &extents);
        let weight = inputs[2].expect("inference found the recurrent weight");
        let rows = GATES * extents.hidden;
        let bias_rows: &[usize] = if self.linear_before_reset { &[0] } else { &[0, rows] };
        let (mut all, mut last): (Vec<Vec<TensorId>>, Vec<TensorId>) = Default::default();
        for direction in 0..extents.directions {
            let projected = self.recurrent.project(program, inputs, &extents, direction, bias_rows);
            let mut state = self.recurrent.initial(context, inputs, 5, direction);
            let mut states = vec![None; extents.steps];
            let mut end = None;
            for at in self.recurrent.order(direction, extents.steps) {
                let projection = Addend { tensor: projected, kind: AddendKind::Projection(at) };
                let bias = inputs.get(3).copied().flatten();
                let step = Step { extents: &extents, direction, projection, bias, weight, state };
                let next = match self.linear_before_reset {
                    true => self.step_linear(program, &step),
                    false => self.step_reset(program, &step),
                };
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
