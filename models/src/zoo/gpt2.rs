//! GPT-2 small (Radford et al., "Language models are unsupervised multitask learners", 2019): the prefill of a prompt.

use crate::blocks::attention::{Activation, Layer, causal_mask};
use crate::builder::Builder;
use crate::{Family, ModelInfo};

/// The small model over a prompt of 128 tokens.
pub(crate) const GPT_2: ModelInfo = ModelInfo {
    name: "gpt2",
    family: Family::Transformer,
    parameters: Some(124_439_808),
    summary: "GPT-2 small, 12 layers of 768, prefill of 128 tokens (Radford et al. 2019)",
    build,
};

const EPSILON: f32 = 1e-5;

fn build(builder: &mut Builder) {
    let scale = builder.options.scale;
    let (vocabulary, most_positions, positions) = scale.pick((50_257, 1024, 128), (200, 32, 16));
    let (layers, features, heads) = scale.pick((12, 768, 12), (2, 32, 4));
    let batch = builder.batch();
    let tokens = builder.indices("input_ids", &[batch, positions]);
    let words = builder.weight("embeddings.words", &[vocabulary, features], 0.035);
    let places = builder.weight("embeddings.positions", &[most_positions, features], 0.035);
    let embedded = builder.gather(&words, &tokens);
    let places = builder.slice(&places, 0, 0, positions);
    let mask = causal_mask(builder, positions);
    let layer = Layer { heads, inner: 4 * features, activation: Activation::GeluTanh, epsilon: EPSILON };
    let x = builder.add(&embedded, &places);
    let x = (0..layers).fold(x, |x, at| {
        builder.scoped(&format!("layer{at}"), |builder| layer.normalised_before(builder, &x, Some(&mask)))
    });
    let x = builder.layer_normalization("norm", &x, EPSILON);
    let rows = builder.reshape(&x, &[batch * positions, features]);
    let logits = builder.gemm(&rows, &words, None);
    let logits = builder.reshape(&logits, &[batch, positions, vocabulary]);
    builder.output("logits", &logits);
}
