//! The base transformer for translation (Vaswani et al., "Attention is all you need", 2017): one table serves source,
//! target and output; the target is given, as in training.

use crate::blocks::attention::{Activation, Layer, attention, causal_mask, feed_forward};
use crate::builder::{Binary, Builder, Value};
use crate::waves::{angles, sine_cosine};
use crate::{Family, ModelInfo};

/// The base model over 64 source and 64 target tokens.
pub(crate) const TRANSFORMER_BASE: ModelInfo = ModelInfo {
    name: "transformer_base",
    family: Family::Transformer,
    parameters: None,
    summary: "Transformer base, 6+6 layers of 512, vocabulary 37,000, 64+64 tokens (Vaswani et al. 2017)",
    build,
};

const EPSILON: f32 = 1e-6;

/// The base of the positions' wave lengths.
const WAVE_BASE: f64 = 10_000.0;

fn build(builder: &mut Builder) {
    let scale = builder.options.scale;
    let (vocabulary, positions, layers) = scale.pick((37_000, 64, 6), (200, 12, 2));
    let (features, heads, inner) = scale.pick((512, 8, 2048), (32, 4, 64));
    let batch = builder.batch();
    let source = builder.indices("source", &[batch, positions]);
    let target = builder.indices("target", &[batch, positions]);
    // Deviation 1/√features, so that scaled embeddings and logits are of magnitude 1.
    let words = builder.weight("words", &[vocabulary, features], (3.0 / features as f32).sqrt());
    let places = places(builder, positions, features);
    let mask = causal_mask(builder, positions);
    let layer = Layer { heads, inner, activation: Activation::Relu, epsilon: EPSILON };
    let memory = embedded(builder, &words, &source, &places);
    let memory = (0..layers).fold(memory, |x, at| {
        builder.scoped(&format!("encoder{at}"), |builder| layer.normalised_after(builder, &x, None))
    });
    let x = embedded(builder, &words, &target, &places);
    let x = (0..layers).fold(x, |x, at| {
        builder.scoped(&format!("decoder{at}"), |builder| decoder_layer(builder, &layer, &x, &memory, &mask))
    });
    let rows = builder.reshape(&x, &[batch * positions, features]);
    let logits = builder.gemm(&rows, &words, None);
    let logits = builder.reshape(&logits, &[batch, positions, vocabulary]);
    builder.output("logits", &logits);
}

/// Scaled embeddings of tokens plus their positions.
fn embedded(builder: &mut Builder, words: &Value, tokens: &Value, places: &Value) -> Value {
    let x = builder.gather(words, tokens);
    let x = builder.with_scalar(Binary::Multiply, &x, (words.features() as f32).sqrt());
    builder.add(&x, places)
}

/// Sines and cosines in turn, of wave lengths that grow geometrically with the feature.
fn places(builder: &mut Builder, positions: usize, features: usize) -> Value {
    let row = |position| angles(position, features / 2, WAVE_BASE);
    let waves = (0..positions).flat_map(row).flat_map(|angle| {
        let (sine, cosine) = sine_cosine(angle);
        [sine as f32, cosine as f32]
    });
    builder.table("positions", &[positions, features], waves.collect())
}

fn decoder_layer(builder: &mut Builder, layer: &Layer, x: &Value, memory: &Value, mask: &Value) -> Value {
    let attended = attention(builder, "attention", [x, x], layer.heads, Some(mask));
    let sum = builder.add(x, &attended);
    let x = builder.layer_normalization("attention_norm", &sum, layer.epsilon);
    let attended = attention(builder, "memory", [&x, memory], layer.heads, None);
    let sum = builder.add(&x, &attended);
    let x = builder.layer_normalization("memory_norm", &sum, layer.epsilon);
    let fed = feed_forward(builder, "feed_forward", &x, layer.inner, layer.activation);
    let sum = builder.add(&x, &fed);
    builder.layer_normalization("feed_forward_norm", &sum, layer.epsilon)
}
