//! Recurrent layers, as nodes or unrolled.

use crate::builder::{Binary, Builder, Recurrence, Unary, Value, linear_bound};
use crate::options::Form;

/// A sequence over time: as a whole where layers are nodes, step by step where they are unrolled.
#[derive(Clone, Debug)]
pub(crate) enum Sequence {
    /// `[steps, batch, features]`.
    Whole(Value),
    /// `[batch, features]` for every step.
    Steps(Vec<Value>),
}

impl Sequence {
    /// `[steps, batch, features]` as the model's form needs it.
    pub(crate) fn new(builder: &mut Builder, x: Value) -> Self {
        match builder.options.form {
            Form::Nodes => Self::Whole(x),
            Form::Unrolled => Self::Steps(steps(builder, &x)),
        }
    }

    /// `[steps, batch, features]`.
    pub(crate) fn whole(&self, builder: &mut Builder) -> Value {
        match self {
            Self::Whole(x) => x.clone(),
            Self::Steps(steps) => stack(builder, steps),
        }
    }

    fn features(&self) -> usize {
        match self {
            Self::Whole(x) => x.features(),
            Self::Steps(steps) => steps[0].features(),
        }
    }
}

/// `[batch, features]` for every step of `[steps, batch, features]`.
pub(crate) fn steps(builder: &mut Builder, x: &Value) -> Vec<Value> {
    let parts = builder.split(x, 0, x.shape[0]);
    parts.iter().map(|part| builder.squeeze(part, 0)).collect()
}

/// `[steps, batch, features]` from `[batch, features]` for every step.
pub(crate) fn stack(builder: &mut Builder, steps: &[Value]) -> Value {
    let parts: Vec<Value> = steps.iter().map(|step| builder.unsqueeze(step, 0)).collect();
    builder.concat(&parts.iter().collect::<Vec<_>>(), 0)
}

/// Which ways a layer walks over time, and what becomes of the two ways' states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Forward,
    /// Both ways, the states added.
    Sum,
    /// Both ways, the states one after another.
    Concatenate,
}

impl Direction {
    fn count(self) -> usize {
        match self {
            Self::Forward => 1,
            Self::Sum | Self::Concatenate => 2,
        }
    }
}

/// The weights of a recurrent layer.
pub(crate) struct Cell {
    recurrence: Recurrence,
    hidden: usize,
    /// Input weight `[directions, gates · hidden, inputs]`, recurrent weight, bias `[directions, 2 · gates · hidden]`.
    weights: [Value; 3],
    /// For every direction, where the form is unrolled: input weight, recurrent weight and their biases, as matrices.
    matrices: Vec<[Value; 4]>,
}

impl Cell {
    /// New weights. Input weights are larger than those that keep the variance: gates halve what passes them.
    pub(crate) fn new(
        builder: &mut Builder,
        name: &str,
        recurrence: Recurrence,
        [inputs, hidden]: [usize; 2],
        directions: usize,
    ) -> Self {
        let rows = recurrence.gates() * hidden;
        builder.scoped(name, |builder| {
            let input = builder.weight("input_weight", &[directions, rows, inputs], linear_bound(inputs, 2.5));
            let recurrent = builder.weight("recurrent_weight", &[directions, rows, hidden], linear_bound(hidden, 1.0));
            let bias = builder.weight("bias", &[directions, 2 * rows], 0.05);
            let weights = [input, recurrent, bias];
            let matrices = match builder.options.form {
                Form::Nodes => Vec::new(),
                Form::Unrolled => matrices(builder, &weights, directions),
            };
            Self { recurrence, hidden, weights, matrices }
        })
    }

    /// States of zeros `[batch, hidden]`.
    pub(crate) fn initial(&self, builder: &mut Builder) -> Vec<Value> {
        let shape = [builder.batch(), self.hidden];
        let zeros = builder.zeros("initial_state", &shape);
        vec![zeros; self.recurrence.states()]
    }

    /// One step of a cell of one direction: the next states from `x` `[batch, inputs]` and `states` `[batch, hidden]`.
    pub(crate) fn step(&self, builder: &mut Builder, x: &Value, states: &[Value]) -> Vec<Value> {
        let Some(matrices) = self.matrices.first() else {
            let x = builder.unsqueeze(x, 0);
            let states: Vec<Value> = states.iter().map(|state| builder.unsqueeze(state, 0)).collect();
            let outputs = self.node(builder, &x, &states);
            return outputs[1..].iter().map(|state| builder.squeeze(state, 0)).collect();
        };
        unrolled_step(builder, self.recurrence, matrices, x, states)
    }

    fn node(&self, builder: &mut Builder, x: &Value, states: &[Value]) -> Vec<Value> {
        let [input, recurrent, bias] = &self.weights;
        builder.recurrent(self.recurrence, x, [input, recurrent, bias], states)
    }
}

/// Every direction's weights as matrices.
fn matrices(builder: &mut Builder, [input, recurrent, bias]: &[Value; 3], directions: usize) -> Vec<[Value; 4]> {
    let cut = |builder: &mut Builder, x: &Value| match directions {
        1 => vec![x.clone()],
        count => builder.split(x, 0, count),
    };
    let biases = builder.split(bias, 1, 2);
    let parts = [input, recurrent, &biases[0], &biases[1]].map(|part| cut(builder, part));
    let direction = |at: usize| {
        let weight = |builder: &mut Builder, part: usize| builder.squeeze(&parts[part][at], 0);
        [weight(builder, 0), weight(builder, 1), parts[2][at].clone(), parts[3][at].clone()]
    };
    (0..directions).map(direction).collect()
}

/// A recurrent layer over a sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer {
    pub(crate) recurrence: Recurrence,
    /// Features of the state.
    pub(crate) hidden: usize,
    /// The ways it walks.
    pub(crate) direction: Direction,
}

impl Layer {
    /// The layer's states at all steps, and the last states `[batch, hidden]` of every direction.
    pub(crate) fn build(&self, builder: &mut Builder, name: &str, x: &Sequence) -> (Sequence, Vec<Vec<Value>>) {
        let directions = self.direction.count();
        let extents = [x.features(), self.hidden];
        let cell = Cell::new(builder, name, self.recurrence, extents, directions);
        builder.scoped(name, |builder| match x {
            Sequence::Whole(x) => self.whole(builder, &cell, x),
            Sequence::Steps(steps) => self.unrolled(builder, &cell, steps),
        })
    }

    fn whole(&self, builder: &mut Builder, cell: &Cell, x: &Value) -> (Sequence, Vec<Vec<Value>>) {
        let outputs = cell.node(builder, x, &[]);
        let all = &outputs[0];
        let (steps, batch) = (all.shape[0], all.shape[2]);
        let joined = match self.direction {
            Direction::Forward => builder.squeeze(all, 1),
            Direction::Sum => builder.sum(all, 1),
            Direction::Concatenate => {
                let moved = builder.transpose(all, &[0, 2, 1, 3]);
                builder.reshape(&moved, &[steps, batch, 2 * self.hidden])
            }
        };
        let directions = self.direction.count();
        let mut last = vec![Vec::new(); directions];
        for states in &outputs[1..] {
            let parts = if directions == 1 { vec![states.clone()] } else { builder.split(states, 0, directions) };
            for (direction, part) in last.iter_mut().zip(&parts) {
                direction.push(builder.squeeze(part, 0));
            }
        }
        (Sequence::Whole(joined), last)
    }

    fn unrolled(&self, builder: &mut Builder, cell: &Cell, steps: &[Value]) -> (Sequence, Vec<Vec<Value>>) {
        let mut ways: Vec<Vec<Value>> = Vec::new();
        let mut last = Vec::new();
        let initial = cell.initial(builder);
        for (direction, matrices) in cell.matrices.iter().enumerate() {
            let mut states = initial.clone();
            let mut all = Vec::new();
            let backwards = direction == 1;
            for at in 0..steps.len() {
                let at = if backwards { steps.len() - 1 - at } else { at };
                states = unrolled_step(builder, self.recurrence, matrices, &steps[at], &states);
                all.push(states[0].clone());
            }
            if backwards {
                all.reverse();
            }
            ways.push(all);
            last.push(states);
        }
        let mut join = |at: usize| match self.direction {
            Direction::Forward => ways[0][at].clone(),
            Direction::Sum => builder.add(&ways[0][at], &ways[1][at]),
            Direction::Concatenate => builder.concat(&[&ways[0][at], &ways[1][at]], 1),
        };
        (Sequence::Steps((0..steps.len()).map(&mut join).collect()), last)
    }
}

/// One step as products and activations.
fn unrolled_step(
    builder: &mut Builder,
    recurrence: Recurrence,
    [input, recurrent, input_bias, recurrent_bias]: &[Value; 4],
    x: &Value,
    states: &[Value],
) -> Vec<Value> {
    let fresh = builder.gemm(x, input, Some(input_bias));
    let kept = builder.gemm(&states[0], recurrent, Some(recurrent_bias));
    match recurrence {
        Recurrence::Lstm => {
            let sums = builder.add(&fresh, &kept);
            let gates = builder.split(&sums, 1, 4);
            let [input, output, forget] = [0, 1, 2].map(|gate| builder.unary(Unary::Sigmoid, &gates[gate]));
            let candidate = builder.unary(Unary::Tanh, &gates[3]);
            let kept = builder.multiply(&forget, &states[1]);
            let fresh = builder.multiply(&input, &candidate);
            let cell = builder.add(&kept, &fresh);
            let squashed = builder.unary(Unary::Tanh, &cell);
            vec![builder.multiply(&output, &squashed), cell]
        }
        Recurrence::Gru => {
            let (fresh, kept) = (builder.split(&fresh, 1, 3), builder.split(&kept, 1, 3));
            let [update, reset] = [0, 1].map(|gate| {
                let sum = builder.add(&fresh[gate], &kept[gate]);
                builder.unary(Unary::Sigmoid, &sum)
            });
            let remembered = builder.multiply(&reset, &kept[2]);
            let sum = builder.add(&fresh[2], &remembered);
            let candidate = builder.unary(Unary::Tanh, &sum);
            // (1 − update) · candidate + update · state
            let difference = builder.binary(Binary::Subtract, &states[0], &candidate);
            let moved = builder.multiply(&update, &difference);
            vec![builder.add(&candidate, &moved)]
        }
    }
}
