//! Translation with additive attention (Bahdanau et al., "Neural machine translation by jointly learning to align and
//! translate", 2014). It has a bidirectional encoder, a decoder that attends to it at every step, and a readout of
//! state, attended memory and word. The target is given.

use crate::blocks::sequence::{Cell, Direction, Layer, Sequence, stack, steps};
use crate::builder::{Builder, Recurrence, Unary, Value, linear_bound};
use crate::{Family, ModelInfo};

/// The translator over 32 source and 32 target words.
pub(crate) const ATTENTION_RNN: ModelInfo = ModelInfo {
    name: "attention_rnn",
    family: Family::Recurrent,
    parameters: None,
    summary: "Attention-RNN, bidirectional GRU encoder and GRU decoder of 512, vocabulary 30,000, 32+32 steps (Bahdanau et al. 2014)",
    build,
};

fn build(builder: &mut Builder) {
    let (vocabulary, hidden, count) = builder.options.scale.pick((30_000, 512, 32), (100, 32, 6));
    let batch = builder.batch();
    let source = builder.indices("source", &[count, batch]);
    let target = builder.indices("target", &[count, batch]);
    let source_words = builder.weight("source_words", &[vocabulary, hidden], 1.0);
    let target_words = builder.weight("target_words", &[vocabulary, hidden], 1.0);
    let embedded = builder.gather(&source_words, &source);
    let x = Sequence::new(builder, embedded);
    let layer = Layer { recurrence: Recurrence::Gru, hidden, direction: Direction::Concatenate };
    let (annotations, last) = layer.build(builder, "encoder", &x);
    let annotations = annotations.whole(builder);
    let memory = builder.transpose(&annotations, &[1, 0, 2]);
    let attention = Attention::new(builder, memory, hidden);
    // The backward direction ends at the first word.
    let initial = builder.linear("initial", &last[1][0], hidden, 1.0);
    let mut states = vec![builder.unary(Unary::Tanh, &initial)];
    let cell = Cell::new(builder, "decoder", Recurrence::Gru, [3 * hidden, hidden], 1);
    let embedded = builder.gather(&target_words, &target);
    let mut readouts = Vec::new();
    for word in steps(builder, &embedded) {
        let attended = attention.attend(builder, &states[0]);
        let x = builder.concat(&[&word, &attended], 1);
        states = cell.step(builder, &x, &states);
        readouts.push(builder.concat(&[&states[0], &attended, &word], 1));
    }
    let readouts = stack(builder, &readouts);
    let readout = builder.linear("readout", &readouts, hidden, 1.0);
    let readout = builder.unary(Unary::Tanh, &readout);
    let logits = builder.linear("classifier", &readout, vocabulary, 1.0);
    builder.output("logits", &logits);
}

/// Additive attention: positions are scored by a layer over the sum of projected state and memory.
struct Attention {
    /// `[batch, steps, 2 · hidden]`.
    memory: Value,
    /// The memory's projection `[batch, steps, hidden]`.
    keys: Value,
    query: Value,
    score: Value,
}

impl Attention {
    fn new(builder: &mut Builder, memory: Value, hidden: usize) -> Self {
        let keys = builder.linear("attention.keys", &memory, hidden, 1.0);
        let query = builder.weight("attention.query", &[hidden, hidden], linear_bound(hidden, 1.0));
        let score = builder.weight("attention.score", &[hidden, 1], linear_bound(hidden, 2.0));
        Self { memory, keys, query, score }
    }

    /// The mean of the memory, weighted by the scores, for a state `[batch, hidden]`.
    fn attend(&self, builder: &mut Builder, state: &Value) -> Value {
        let query = builder.matmul(state, &self.query);
        let query = builder.unsqueeze(&query, 1);
        let sum = builder.add(&self.keys, &query);
        let squashed = builder.unary(Unary::Tanh, &sum);
        let scores = builder.matmul(&squashed, &self.score);
        let scores = builder.transpose(&scores, &[0, 2, 1]);
        let shares = builder.softmax(&scores);
        let mixed = builder.matmul(&shares, &self.memory);
        builder.squeeze(&mixed, 1)
    }
}
