//! Attention with several heads, and the layers of transformers (Vaswani et al., "Attention is all you need", 2017).

use crate::builder::{Binary, Builder, Value};

/// Added to the scores of positions that must not be seen; representable in halves.
pub(crate) const HIDDEN: f32 = -1e4;

/// Attention of `queries` `[batch, positions, features]` to `memory` `[batch, positions, features]`, with projections of
/// queries, keys, values and result, all with bias. `mask` is added to the scores.
pub(crate) fn attention(
    builder: &mut Builder,
    name: &str,
    [queries, memory]: [&Value; 2],
    heads: usize,
    mask: Option<&Value>,
) -> Value {
    let features = queries.features();
    builder.scoped(name, |builder| {
        let query = builder.linear("query", queries, features, 1.0);
        let key = builder.linear("key", memory, features, 1.0);
        let value = builder.linear("value", memory, features, 1.0);
        let mixed = heads_attention(builder, [&query, &key, &value], heads, mask);
        builder.linear("output", &mixed, features, 1.0)
    })
}

/// Attention between projected queries, keys and values, heads side by side in the features.
pub(crate) fn heads_attention(
    builder: &mut Builder,
    [query, key, value]: [&Value; 3],
    heads: usize,
    mask: Option<&Value>,
) -> Value {
    let width = query.features() / heads;
    let query = split_heads(builder, query, heads, &[0, 2, 1, 3]);
    let key = split_heads(builder, key, heads, &[0, 2, 3, 1]);
    let value = split_heads(builder, value, heads, &[0, 2, 1, 3]);
    let scores = builder.matmul(&query, &key);
    let mut scores = builder.with_scalar(Binary::Multiply, &scores, 1.0 / (width as f32).sqrt());
    if let Some(mask) = mask {
        scores = builder.add(&scores, mask);
    }
    let shares = builder.softmax(&scores);
    let mixed = builder.matmul(&shares, &value);
    let joined = builder.transpose(&mixed, &[0, 2, 1, 3]);
    let [batch, positions] = [joined.shape[0], joined.shape[1]];
    builder.reshape(&joined, &[batch, positions, heads * width])
}

/// `[batch, positions, heads, width]` from `[batch, positions, features]`, in another order.
pub(crate) fn split_heads(builder: &mut Builder, x: &Value, heads: usize, order: &[usize]) -> Value {
    let split = builder.reshape(x, &[x.shape[0], x.shape[1], heads, x.features() / heads]);
    builder.transpose(&split, order)
}

/// The table `[positions, positions]` that hides later positions.
pub(crate) fn causal_mask(builder: &mut Builder, positions: usize) -> Value {
    let hidden = |row: usize, column: usize| if column > row { HIDDEN } else { 0.0 };
    let values = (0..positions * positions).map(|at| hidden(at / positions, at % positions)).collect();
    builder.table("causal_mask", &[positions, positions], values)
}

/// The activation of a feed-forward layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// The Gaussian error linear unit.
    Gelu,
    /// Its hyperbolic approximation.
    GeluTanh,
}

/// Two linear layers with an activation between.
pub(crate) fn feed_forward(
    builder: &mut Builder,
    name: &str,
    x: &Value,
    inner: usize,
    activation: Activation,
) -> Value {
    builder.scoped(name, |builder| {
        let hidden = builder.linear("inner", x, inner, 1.0);
        let hidden = match activation {
            Activation::Relu => builder.relu(&hidden),
            Activation::Gelu => builder.gelu(&hidden),
            Activation::GeluTanh => builder.gelu_tanh(&hidden),
        };
        builder.linear("outer", &hidden, x.features(), 1.0)
    })
}

/// The sizes of a layer of a transformer's encoder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer {
    /// Heads of the attention.
    pub(crate) heads: usize,
    /// Features between the two linear layers.
    pub(crate) inner: usize,
    /// The activation between them.
    pub(crate) activation: Activation,
    /// Added to variances.
    pub(crate) epsilon: f32,
}

impl Layer {
    /// A layer that normalises after each sum, as published first.
    pub(crate) fn normalised_after(&self, builder: &mut Builder, x: &Value, mask: Option<&Value>) -> Value {
        let attended = attention(builder, "attention", [x, x], self.heads, mask);
        let sum = builder.add(x, &attended);
        let x = builder.layer_normalization("attention_norm", &sum, self.epsilon);
        let fed = feed_forward(builder, "feed_forward", &x, self.inner, self.activation);
        let sum = builder.add(&x, &fed);
        builder.layer_normalization("feed_forward_norm", &sum, self.epsilon)
    }

    /// A layer that normalises what enters attention and feed-forward layers.
    pub(crate) fn normalised_before(&self, builder: &mut Builder, x: &Value, mask: Option<&Value>) -> Value {
        let normalised = builder.layer_normalization("attention_norm", x, self.epsilon);
        let attended = attention(builder, "attention", [&normalised, &normalised], self.heads, mask);
        let x = builder.add(x, &attended);
        let normalised = builder.layer_normalization("feed_forward_norm", &x, self.epsilon);
        let fed = feed_forward(builder, "feed_forward", &normalised, self.inner, self.activation);
        builder.add(&x, &fed)
    }
}
