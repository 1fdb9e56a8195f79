//! Normalisations, reductions and recurrent layers.

use super::attribute::Attribute;
use super::{Binary, Builder, Unary, Value};

/// The sort of a recurrent layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Recurrence {
    /// Long short-term memory (Hochreiter and Schmidhuber, 1997), gates in the order input, output, forget, cell.
    Lstm,
    /// Gated recurrent units (Cho et al., 2014), gates in the order update, reset, candidate; the reset gate applies to
    /// the state's product with the weight.
    Gru,
}

impl Recurrence {
    /// How many gates there are.
    pub(crate) fn gates(self) -> usize {
        match self {
            Self::Lstm => 4,
            Self::Gru => 3,
        }
    }

    /// How many tensors make the state: for LSTM the state and the cell.
    pub(crate) fn states(self) -> usize {
        match self {
            Self::Lstm => 2,
            Self::Gru => 1,
        }
    }

    fn operator(self) -> &'static str {
        match self {
            Self::Lstm => "LSTM",
            Self::Gru => "GRU",
        }
    }
}

impl Builder {
    /// The softmax over the last dimension.
    pub(crate) fn softmax(&mut self, x: &Value) -> Value {
        self.node("Softmax", &[x], vec![Attribute::Axis("axis", -1)], x.shape.clone())
    }

    /// The sum over a dimension, which vanishes.
    pub(crate) fn sum(&mut self, x: &Value, axis: usize) -> Value {
        let axes = self.integers(vec![axis as i64]);
        let mut shape = x.shape.clone();
        shape.remove(axis);
        self.node("ReduceSum", &[x, &axes], vec![Attribute::Int("keepdims", 0)], shape)
    }

    /// Normalisation of the last dimension to mean 0 and variance 1, then scaled and shifted (Ba et al., 2016).
    pub(crate) fn layer_normalization(&mut self, name: &str, x: &Value, epsilon: f32) -> Value {
        let features = [x.features()];
        self.scoped(name, |builder| {
            let scale = builder.learnable("weight", &features, 1.0, 0.1);
            let shift = builder.weight("bias", &features, 0.1);
            let attributes = vec![Attribute::Axis("axis", -1), Attribute::Float("epsilon", epsilon)];
            builder.node("LayerNormalization", &[x, &scale, &shift], attributes, x.shape.clone())
        })
    }

    /// Normalisation of the last dimension to mean square 1, then scaled (Zhang and Sennrich, 2019).
    pub(crate) fn root_mean_square_normalization(&mut self, name: &str, x: &Value, epsilon: f32) -> Value {
        let features = [x.features()];
        self.scoped(name, |builder| {
            let scale = builder.learnable("weight", &features, 1.0, 0.1);
            let square = builder.multiply(x, x);
            let mut shape = x.shape.clone();
            shape.pop();
            shape.push(1);
            let axes = Attribute::Ints("axes", vec![x.shape.len() - 1]);
            let mean = builder.node("ReduceMean", &[&square], vec![axes, Attribute::Int("keepdims", 1)], shape);
            let shifted = builder.with_scalar(Binary::Add, &mean, epsilon);
            let root = builder.unary(Unary::SquareRoot, &shifted);
            let normalised = builder.binary(Binary::Divide, x, &root);
            builder.multiply(&normalised, &scale)
        })
    }

    /// A recurrent layer as one node, over `x` `[steps, batch, inputs]` with weights `[directions, gates · hidden, …]` and
    /// biases `[directions, 2 · gates · hidden]`. Initial states are `[directions, batch, hidden]`, or none for zeros.
    /// Returns the states of all steps `[steps, directions, batch, hidden]` and then the last states.
    pub(crate) fn recurrent(
        &mut self,
        recurrence: Recurrence,
        x: &Value,
        [input, recurrent, bias]: [&Value; 3],
        initial: &[Value],
    ) -> Vec<Value> {
        let (directions, hidden) = (recurrent.shape[0], recurrent.shape[2]);
        let direction = if directions == 2 { "bidirectional" } else { "forward" };
        let mut attributes = vec![Attribute::Int("hidden_size", hidden), Attribute::Text("direction", direction)];
        match recurrence {
            Recurrence::Lstm => {}
            Recurrence::Gru => attributes.push(Attribute::Int("linear_before_reset", 1)),
        }
        let mut inputs = vec![Some(x), Some(input), Some(recurrent), Some(bias)];
        if !initial.is_empty() {
            inputs.push(None);
            inputs.extend(initial.iter().map(Some));
        }
        let (steps, batch) = (x.shape[0], x.shape[1]);
        let mut shapes = vec![vec![steps, directions, batch, hidden]];
        shapes.extend(vec![vec![directions, batch, hidden]; recurrence.states()]);
        self.nodes(recurrence.operator(), &inputs, attributes, shapes)
    }
}
