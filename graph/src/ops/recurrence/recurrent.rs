//! What the recurrent layers have in common: attributes, shapes, and the walk over time.

use crate::expr::{AxisId, BinaryOp, ExprBuilder, Index, Reducer, Scalar};
use crate::ops::gate_functions::{Function, GateFunctions};
use crate::ops::sequence_lengths::SequenceLengths;
use crate::ops::{Attribute, AttributeError, AttributeReader, Context, InferError, elementwise, movement};
use crate::program::{ProgramBuilder, TensorId};
use crate::types::{ElementType, Shape, TensorType};

/// The attributes that recurrent layers share.
#[derive(Clone, PartialEq, Debug)]
pub struct Recurrent {
    /// The functions of the gates.
    pub functions: GateFunctions,
    hidden: Option<i64>,
    direction: Direction,
    batch_first: bool,
}

/// Which ways a layer walks over time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    Forward,
    Reverse,
    Bidirectional,
}

/// The extents of a layer.
#[derive(Clone, Copy, Debug)]
pub struct Extents {
    /// Steps in time.
    pub steps: usize,
    /// Examples.
    pub batch: usize,
    /// Features of the input.
    pub inputs: usize,
    /// Features of the state.
    pub hidden: usize,
    /// Directions, 1 or 2.
    pub directions: usize,
}

/// A state `[batch, hidden]` at some step.
#[derive(Clone, Copy, Debug)]
pub enum State {
    /// Zero everywhere.
    Zero,
    /// What the caller gives, for a direction.
    Initial(TensorId, usize),
    /// What a step computed.
    Step(TensorId),
}

/// Longest sequence that is unrolled.
const MOST_STEPS: usize = 1 << 14;

const DIRECTIONS: [(Direction, &str); 3] =
    [(Direction::Forward, "forward"), (Direction::Reverse, "reverse"), (Direction::Bidirectional, "bidirectional")];

impl Recurrent {
    /// Takes the shared attributes; `usual` are the functions of a direction's gates where none are named.
    pub fn from_attributes(attributes: &mut AttributeReader, usual: &[Function]) -> Result<Self, AttributeError> {
        let unsupported = |name: &'static str, reason: String| Err(AttributeError::Value { name, reason });
        let name = attributes.string("direction")?.unwrap_or_else(|| "forward".to_owned());
        let Some((direction, _)) = DIRECTIONS.iter().find(|(_, known)| *known == name) else {
            return unsupported("direction", format!("`{name}` is unknown"));
        };
        let directions = if *direction == Direction::Bidirectional { 2 } else { 1 };
        let functions = GateFunctions::from_attributes(attributes, usual, directions)?;
        let batch_first = attributes.flag("layout")?.unwrap_or(false);
        // Before opset 7 this said whether the first output is there; its name says so too.
        attributes.int("output_sequence")?;
        Ok(Self { functions, hidden: attributes.int("hidden_size")?, direction: *direction, batch_first })
    }

    /// The number of directions.
    pub fn directions(&self) -> usize {
        if self.direction == Direction::Bidirectional { 2 } else { 1 }
    }

    /// The shared attributes; `usual` as for [`Recurrent::from_attributes`].
    pub fn attributes(&self, usual: &[Function]) -> Vec<(&'static str, Attribute)> {
        let name = DIRECTIONS.iter().find(|(direction, _)| *direction == self.direction).map_or("", |(_, name)| name);
        let hidden = self.hidden.map(|hidden| ("hidden_size", Attribute::Int(hidden)));
        let own = [
            ("direction", Attribute::String(name.to_owned())),
            ("layout", Attribute::Int(i64::from(self.batch_first))),
        ];
        own.into_iter().chain(hidden).chain(self.functions.attributes(usual)).collect()
    }

    /// Checks the inputs that layers with this many gates share — x, weight, recurrent weight, bias, lengths and
    /// initial state — and returns the extents.
    pub fn extents(&self, context: &Context, gates: usize) -> Result<Extents, InferError> {
        let (x, weight, recurrent) = (context.tensor(0)?, context.tensor(1)?, context.tensor(2)?);
        let mismatch =
            |what: &TensorType| InferError::Mismatch(format!("{what} does not fit a recurrent layer over {x}"));
        elementwise::floating(x.element)?;
        let ([first, second, inputs], [directions, rows, _]) = (&x.shape[..], &recurrent.shape[..]) else {
            return Err(mismatch(recurrent));
        };
        let (steps, batch) = if self.batch_first { (*second, *first) } else { (*first, *second) };
        let hidden = rows / gates;
        let extents = Extents { steps, batch, inputs: *inputs, hidden, directions: *directions };
        let expected = self.directions();
        let named = self.hidden.is_none_or(|named| usize::try_from(named) == Ok(hidden));
        let check = |ty: &TensorType, shape: &[usize]| {
            if *ty.shape == *shape && ty.element == x.element { Ok(()) } else { Err(mismatch(ty)) }
        };
        if !named || *directions != expected {
            return Err(mismatch(recurrent));
        }
        if steps == 0 {
            return Err(InferError::Unsupported("a sequence without steps is not supported".to_owned()));
        }
        if steps > MOST_STEPS {
            return Err(InferError::Unsupported(format!("{steps} steps are too many to unroll")));
        }
        let gated = gates * hidden;
        check(recurrent, &[*directions, gated, hidden])?;
        check(weight, &[*directions, gated, *inputs])?;
        if let Some(bias) = context.optional(3)? {
            check(bias, &[*directions, 2 * gated])?;
        }
        SequenceLengths::accept(context, &extents)?;
        self.check_state(context, 5, &extents)?;
        Ok(extents)
    }

    /// Checks an optional initial state.
    pub fn check_state(&self, context: &Context, input: usize, extents: &Extents) -> Result<(), InferError> {
        let element = context.tensor(0)?.element;
        match context.optional(input)? {
            Some(ty) if ty.shape != self.state_shape(extents) || ty.element != element => {
                Err(InferError::Mismatch(format!("{ty} is no initial state")))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The type of the states of all steps.
    pub fn all_states(&self, extents: &Extents, element: ElementType) -> TensorType {
        let Extents { steps, batch, hidden, directions, .. } = *extents;
        let shape =
            if self.batch_first { [batch, steps, directions, hidden] } else { [steps, directions, batch, hidden] };
        TensorType::new(element, shape)
    }

    /// The type of the last state.
    pub fn last_state(&self, extents: &Extents, element: ElementType) -> TensorType {
        TensorType { element, shape: self.state_shape(extents) }
    }

    fn state_shape(&self, extents: &Extents) -> Shape {
        let Extents { batch, hidden, directions, .. } = *extents;
        if self.batch_first { [batch, directions, hidden].into() } else { [directions, batch, hidden].into() }
    }

    /// The steps in the order in which a direction visits them.
    pub fn order(&self, direction: usize, steps: usize) -> Vec<usize> {
        let backwards = self.direction == Direction::Reverse || direction == 1;
        if backwards { (0..steps).rev().collect() } else { (0..steps).collect() }
    }

    /// The state from which a direction starts; a constant that is zero everywhere is [`State::Zero`].
    pub fn initial(&self, context: &Context, inputs: &[Option<TensorId>], input: usize, direction: usize) -> State {
        let constant = context.fact(input).and_then(|fact| fact.value.as_ref());
        let zero = constant.is_some_and(|value| value.bytes().iter().all(|&byte| byte == 0));
        match inputs.get(input).copied().flatten() {
            Some(tensor) if !zero => State::Initial(tensor, direction),
            Some(_) | None => State::Zero,
        }
    }

    /// Appends `x · weightᵀ` of one direction for all steps, `[steps, batch, gates · hidden]`, plus the parts of the
    /// bias that start at the given rows.
    pub fn project(
        &self,
        program: &mut ProgramBuilder,
        inputs: &[Option<TensorId>],
        extents: &Extents,
        direction: usize,
        bias_rows: &[usize],
    ) -> TensorId {
        let (x, weight) = (inputs[0].expect("inference found x"), inputs[1].expect("inference found the weight"));
        let bias = inputs.get(3).copied().flatten();
        let rows = program.ty(weight).shape[1];
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[extents.steps, extents.batch, rows]);
        let (step, batch, row) = (Index::axis(axes[0]), Index::axis(axes[1]), Index::axis(axes[2]));
        let feature = Index::axis(expr.reduced(extents.inputs));
        let fixed = Index::constant(direction as i64);
        let (data, matrix) = (expr.operand(program.ty(x)), expr.operand(program.ty(weight)));
        let outer = if self.batch_first { [batch, step] } else { [step, batch] };
        let read = expr.read(data, outer.into_iter().chain([feature.clone()]).collect());
        let factor = expr.read(matrix, vec![fixed.clone(), row.clone(), feature]);
        let mut operands = vec![x, weight];
        let epilogue = bias.map(|bias| {
            operands.push(bias);
            let operand = expr.operand(program.ty(bias));
            bias_rows.iter().fold(Scalar::Reduced, |total, &first| {
                let part = expr.read(operand, vec![fixed.clone(), row.plus(first as i64)]);
                total.binary(BinaryOp::Add, part)
            })
        });
        let element = program.ty(x).element;
        program
            .compute(expr.reduce(element, Reducer::Sum, read.binary(BinaryOp::Multiply, factor), epilogue), &operands)
    }

    /// The index of a state of one step, `[batch, hidden]` in the layout of [`Recurrent::step_shape`].
    fn step_index(&self, batch: Index, hidden: Index) -> Vec<Index> {
        let zero = Index::constant(0);
        if self.batch_first { vec![batch, zero.clone(), zero, hidden] } else { vec![zero.clone(), zero, batch, hidden] }
    }

    /// The shape of a state of one step: a slice of the states of all steps.
    pub fn step_shape(&self, extents: &Extents) -> [usize; 4] {
        let Extents { batch, hidden, .. } = *extents;
        if self.batch_first { [batch, 1, 1, hidden] } else { [1, 1, batch, hidden] }
    }

    /// The axes of batch and hidden among the axes of a state of one step.
    pub fn step_axes(&self, axes: &[AxisId]) -> (Index, Index) {
        let batch = if self.batch_first { axes[0] } else { axes[2] };
        (Index::axis(batch), Index::axis(axes[3]))
    }

    /// Reads a state, which becomes the next operand; `None` if it is zero.
    pub fn read(
        &self,
        state: State,
        batch: Index,
        hidden: Index,
        expr: &mut ExprBuilder,
        operands: &mut Vec<TensorId>,
        program: &ProgramBuilder,
    ) -> Option<Scalar> {
        let (tensor, index) = match state {
            State::Zero => return None,
            State::Step(tensor) => (tensor, self.step_index(batch, hidden)),
            State::Initial(tensor, direction) => {
                let direction = Index::constant(direction as i64);
                (tensor, if self.batch_first { vec![batch, direction, hidden] } else { vec![direction, batch, hidden] })
            }
        };
        operands.push(tensor);
        let operand = expr.operand(program.ty(tensor));
        Some(expr.read(operand, index))
    }

    /// Appends `state · recurrentᵀ` for some rows of the recurrent weight, `[1, batch, rows]` as a step of a projection; the
    /// epilogue may read more.
    /// `None` if the state is zero.
    pub fn recur(
        &self,
        program: &mut ProgramBuilder,
        recurrent: TensorId,
        state: State,
        extents: &Extents,
        (direction, rows): (usize, std::ops::Range<usize>),
        addends: &[Addend],
    ) -> Option<TensorId> {
        let mut expr = ExprBuilder::new();
        let axes = expr.parallels(&[1, extents.batch, rows.len()]);
        let (batch, row) = (Index::axis(axes[1]), Index::axis(axes[2]));
        let feature = Index::axis(expr.reduced(extents.hidden));
        let mut operands = Vec::new();
        let read = self.read(state, batch.clone(), feature.clone(), &mut expr, &mut operands, program)?;
        let place = row.plus(rows.start as i64);
        let matrix = expr.operand(program.ty(recurrent));
        operands.push(recurrent);
        let factor = expr.read(matrix, vec![Index::constant(direction as i64), place.clone(), feature]);
        let mut result = Scalar::Reduced;
        for addend in addends {
            let operand = expr.operand(program.ty(addend.tensor));
            operands.push(addend.tensor);
            let index = addend.index(&batch, &place);
            result = result.binary(BinaryOp::Add, expr.read(operand, index));
        }
        let epilogue = (!addends.is_empty()).then_some(result);
        let element = program.ty(recurrent).element;
        let body = read.binary(BinaryOp::Multiply, factor);
        Some(program.compute(expr.reduce(element, Reducer::Sum, body, epilogue), &operands))
    }

    /// The states of all steps of all directions, from those of each step in time order.
    pub fn concat(&self, program: &mut ProgramBuilder, directions: &[Vec<TensorId>]) -> TensorId {
        let (time, direction) = if self.batch_first { (1, 2) } else { (0, 1) };
        let mut whole = Vec::with_capacity(directions.len());
        for steps in directions {
            whole.push(concat(program, time, steps));
        }
        concat(program, direction, &whole)
    }

    /// The last states of all directions.
    pub fn concat_last(&self, program: &mut ProgramBuilder, extents: &Extents, states: &[TensorId]) -> TensorId {
        let shape = self.state_shape(&Extents { directions: 1, ..*extents });
        let mut parts = Vec::with_capacity(states.len());
        for &state in states {
            parts.push(movement::reshape(program, state, &shape));
        }
        concat(program, usize::from(self.batch_first), &parts)
    }
}

/// Something with a row a gate and feature that is added to a product.
#[derive(Clone, Copy, Debug)]
pub struct Addend {
    pub tensor: TensorId,
    /// How it is indexed.
    pub kind: AddendKind,
}

/// How an [`Addend`] is indexed.
#[derive(Clone, Copy, Debug)]
pub enum AddendKind {
    /// `[step, batch, row]` of the projected input, at this step.
    Projection(usize),
    /// `[direction, first + row]` of the bias.
    Bias {
        direction: usize,
        /// The row of the bias that belongs to row 0.
        first: usize,
    },
    /// `[0, batch, row]` of one step.
    Plain,
}

impl Addend {
    /// The index at a place.
    pub fn index(&self, batch: &Index, row: &Index) -> Vec<Index> {
        match self.kind {
            AddendKind::Projection(step) => vec![Index::constant(step as i64), batch.clone(), row.clone()],
            AddendKind::Bias { direction, first } => {
                vec![Index::constant(direction as i64), row.plus(first as i64)]
            }
            AddendKind::Plain => vec![Index::constant(0), batch.clone(), row.clone()],
        }
    }
}

fn concat(program: &mut ProgramBuilder, axis: usize, parts: &[TensorId]) -> TensorId {
    match parts {
        [only] => *only,
        _ => program.concat(axis, parts),
    }
}
