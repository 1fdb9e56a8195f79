//! `LSTM`: long short-term memory.

use std::ops::RangeInclusive;

use crate::expr::{BinaryOp, ExprBuilder, Index, Scalar};
use crate::ops::gate_functions::Function;
use crate::ops::recurrent::{Addend, AddendKind, Extents, Recurrent, State};
use crate::ops::sequence_lengths::SequenceLengths;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, Operator};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{TensorType, ValueType};

/// A layer of long short-term memory, unrolled over time.
///
/// Inputs: x, weight, recurrent weight, bias, lengths, initial state, initial cell, peepholes. Gates stand in the order
/// input, output, forget, cell. Outputs: the states of all steps, the last state, the last cell.
#[derive(Clone, PartialEq, Debug)]
pub struct Lstm {
    recurrent: Recurrent,
    /// Whether a cell forgets as much as it takes in, instead of by a gate of its own.
    coupled: bool,
}

/// The functions of input, output and forget gate, of what a cell takes in, and of the cell.
const USUAL: [Function; 3] = [Function::Sigmoid, Function::Tanh, Function::Tanh];

const GATES: usize = 4;

/// Gates that see the cell: input, output, forget.
const PEEPHOLES: usize = 3;

/// The weights with which gates see the cell, of one direction.
#[derive(Clone, Copy, Debug)]
struct Peepholes {
    weights: TensorId,
    direction: usize,
}

impl Peepholes {
    /// `sum` of a gate and the weighted cell.
    fn add(
        self,
        (sum, cell): (Scalar, &Option<Scalar>),
        row: Index,
        expr: &mut ExprBuilder,
        operands: &mut Vec<TensorId>,
        program: &ProgramBuilder,
    ) -> Scalar {
        let Some(cell) = cell else { return sum };
        let operand = expr.operand(program.ty(self.weights));
        operands.push(self.weights);
        let weight = expr.read(operand, vec![Index::constant(self.direction as i64), row]);
        sum.binary(BinaryOp::Add, weight.binary(BinaryOp::Multiply, cell.clone()))
    }
}

impl Lstm {
    fn extents(&self, context: &Context) -> Result<Extents, InferError> {
        let extents = self.recurrent.extents(context, GATES)?;
        self.recurrent.check_state(context, 6, &extents)?;
        let element = context.tensor(0)?.element;
        let expected = TensorType::new(element, [extents.directions, PEEPHOLES * extents.hidden]);
        match context.optional(7)? {
            Some(peepholes) if *peepholes != expected => {
                Err(InferError::Mismatch(format!("peepholes {peepholes} are not {expected}")))
            }
            Some(_) | None => Ok(extents),
        }
    }

    /// Appends one step of a direction: the next cell and state from the gates' sums.
    fn step(
        &self,
        program: &mut ProgramBuilder,
        extents: &Extents,
        (direction, gates): (usize, Addend),
        cell: State,
        peepholes: Option<Peepholes>,
    ) -> (TensorId, TensorId) {
        let element = program.ty(gates.tensor).element;
        let function = |number: usize, sum: Scalar| self.recurrent.functions.apply(direction, number, element, sum);
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
        let [mut input, mut forget] = [0, 2].map(|number| gate(&mut expr, sums, number));
        let candidate = function(1, gate(&mut expr, sums, 3));
        let kept = self.recurrent.read(cell, batch, feature.clone(), &mut expr, &mut operands, program);
        if let Some(peepholes) = peepholes {
            let rows = [0, 2].map(|number| feature.plus((number * extents.hidden) as i64));
            let [first, second] = rows;
            input = peepholes.add((input, &kept), first, &mut expr, &mut operands, program);
            forget = peepholes.add((forget, &kept), second, &mut expr, &mut operands, program);
        }
        let input = function(0, input);
        let forget = match self.coupled {
            true => Scalar::literal(element, 1.0).binary(BinaryOp::Subtract, input.clone()),
            false => function(0, forget),
        };
        let fresh = input.binary(BinaryOp::Multiply, candidate);
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
        let mut output = gate(&mut expr, sums, 1);
        let read = self.recurrent.read(State::Step(cell), batch, feature.clone(), &mut expr, &mut operands, program);
        if let Some(peepholes) = peepholes {
            let row = feature.plus(extents.hidden as i64);
            output = peepholes.add((output, &read), row, &mut expr, &mut operands, program);
        }
        let output = function(0, output);
        // As ONNX Runtime does: the bound is for sums of gates.
        let cell_value = read.expect("the cell of a step is computed");
        let squashed = self.recurrent.functions.unbounded(direction, 2, element, cell_value);
        let state = program.compute(expr.map(element, output.binary(BinaryOp::Multiply, squashed)), &operands);
        (cell, state)
    }
}

impl Lstm {
    /// Appends the layer, in which the products with the recurrent weight have `consume` of the states.
    pub(in crate::ops) fn lower_with(
        &self,
        context: &Context,
        inputs: &[Option<TensorId>],
        program: &mut ProgramBuilder,
        consume: impl Fn(&mut ProgramBuilder, TensorId) -> TensorId,
    ) -> Vec<TensorId> {
        let extents = self.extents(context).expect("inference accepted the inputs");
        let lengths = SequenceLengths::of(context, inputs, &extents);
        let weight = inputs[2].expect("inference found the recurrent weight");
        let rows = GATES * extents.hidden;
        let (mut all, mut last, mut cells): (Vec<Vec<TensorId>>, Vec<TensorId>, Vec<TensorId>) = Default::default();
        for direction in 0..extents.directions {
            let projected = self.recurrent.project(program, inputs, &extents, direction, &[0, rows]);
            let mut state = self.recurrent.initial(context, inputs, 5, direction);
            let mut cell = self.recurrent.initial(context, inputs, 6, direction);
            let peepholes = inputs.get(7).copied().flatten().map(|weights| Peepholes { weights, direction });
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
                let (next_cell, next_state) = self.step(program, &extents, (direction, gates), cell, peepholes);
                states[step] = Some(lengths.shown(&self.recurrent, program, step, next_state));
                let kept_state = lengths.kept(&self.recurrent, program, step, next_state, state);
                let kept_cell = lengths.kept(&self.recurrent, program, step, next_cell, cell);
                ends = Some((kept_state, kept_cell));
                (state, cell) = (State::Step(kept_state), State::Step(kept_cell));
            }
            let (end_state, end_cell) = ends.expect("inference found a step");
            all.push(states.into_iter().flatten().collect());
            last.push(end_state);
            cells.push(end_cell);
        }
        let states = self.recurrent.concat(program, &all);
        let last = self.recurrent.concat_last(program, &extents, &last);
        vec![states, last, self.recurrent.concat_last(program, &extents, &cells)]
    }
}

impl Operator for Lstm {
    const NAME: &'static str = "LSTM";
    const INPUTS: RangeInclusive<usize> = 3..=8;

    fn from_attributes(attributes: &mut AttributeReader) -> Result<Self, AttributeError> {
        let coupled = attributes.flag("input_forget")?.unwrap_or(false);
        Ok(Self { recurrent: Recurrent::from_attributes(attributes, &USUAL)?, coupled })
    }

    fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        let mut attributes = self.recurrent.attributes(&USUAL);
        attributes.extend(self.coupled.then_some(("input_forget", Attribute::Int(1))));
        attributes
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
