//! Translation by recurrent layers (Sutskever et al., "Sequence to sequence learning with neural networks", 2014).
//! Attention is by products (Luong et al., "Effective approaches to attention-based neural machine translation", 2015).
//! What is attended to enters the decoder beside the word before. Source and target share a table; the target is given.

use crate::blocks::sequence::{Cell, Direction, Layer, Sequence, stack, steps};
use crate::builder::{Builder, Recurrence, Value};
use crate::{Family, ModelInfo};

/// The translator over 32 source and 32 target words.
pub(crate) const SEQ_2_SEQ: ModelInfo = ModelInfo {
    name: "seq2seq",
    family: Family::Recurrent,
    parameters: Some(40_203_568),
    summary: "Seq2Seq, 2+2 LSTM of 512, attention, vocabulary 30,000, 32 steps (Luong et al. 2015)",
    build,
};

const LAYERS: usize = 2;

fn build(builder: &mut Builder) {
    let (vocabulary, hidden, count) = builder.options.scale.pick((30_000, 512, 32), (100, 32, 6));
    let batch = builder.batch();
    let source = builder.indices("source", &[count, batch]);
    let target = builder.indices("target", &[count, batch]);
    let words = builder.weight("words", &[vocabulary, hidden], 1.0);
    let embedded = builder.gather(&words, &source);
    let mut x = Sequence::new(builder, embedded);
    let layer = Layer { recurrence: Recurrence::Lstm, hidden, direction: Direction::Forward };
    let mut states = Vec::new();
    for at in 0..LAYERS {
        let (next, last) = layer.build(builder, &format!("encoder{at}"), &x);
        states.extend(last);
        x = next;
    }
    let memory = x.whole(builder);
    let memory = builder.transpose(&memory, &[1, 0, 2]);
    let turned = builder.transpose(&memory, &[0, 2, 1]);
    let cells: Vec<Cell> = (0..LAYERS)
        .map(|at| {
            let inputs = if at == 0 { 2 * hidden } else { hidden };
            Cell::new(builder, &format!("decoder{at}"), Recurrence::Lstm, [inputs, hidden], 1)
        })
        .collect();
    let embedded = builder.gather(&words, &target);
    let mut outputs = Vec::new();
    for word in steps(builder, &embedded) {
        let attended = attend(builder, &states[LAYERS - 1][0], &memory, &turned);
        let mut x = builder.concat(&[&word, &attended], 1);
        for (cell, states) in cells.iter().zip(&mut states) {
            *states = cell.step(builder, &x, states);
            x = states[0].clone();
        }
        outputs.push(x);
    }
    let states = stack(builder, &outputs);
    let logits = builder.linear("classifier", &states, vocabulary, 2.0);
    builder.output("logits", &logits);
}

/// The mean of `memory` `[batch, steps, features]`, weighted by its products with `query` `[batch, features]`.
fn attend(builder: &mut Builder, query: &Value, memory: &Value, turned: &Value) -> Value {
    let query = builder.unsqueeze(query, 1);
    let scores = builder.matmul(&query, turned);
    let shares = builder.softmax(&scores);
    let mixed = builder.matmul(&shares, memory);
    builder.squeeze(&mixed, 1)
}
