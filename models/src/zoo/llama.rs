//! One decoding step of a language model in the style of Llama, with the sizes of Llama 3.2 1B.
//!
//! It follows three papers:
//! - Touvron et al., "LLaMA: open and efficient foundation language models", 2023;
//! - for grouped queries Ainslie et al., "GQA", 2023;
//! - for rotary positions Su et al., "RoFormer", 2021.
//!
//! The cache of keys and values is an input and, one position longer, an output.

use crate::blocks::attention::split_heads;
use crate::builder::{Binary, Builder, Unary, Value};
use crate::waves::{angles, sine_cosine};
use crate::{Family, ModelInfo};

/// One token after 1,024.
pub(crate) const LLAMA_1B: ModelInfo = ModelInfo {
    name: "llama_1b_decode",
    family: Family::Transformer,
    parameters: Some(1_235_814_400),
    summary: "Llama-1B decode, 16 layers of 2048, 32/8 heads, one token after a cache of 1,024 (Touvron et al. 2023)",
    build,
};

const EPSILON: f32 = 1e-5;

/// The base of the positions' wave lengths.
const WAVE_BASE: f64 = 500_000.0;

#[derive(Clone, Copy)]
struct Sizes {
    vocabulary: usize,
    cached: usize,
    layers: usize,
    features: usize,
    inner: usize,
    heads: usize,
    cached_heads: usize,
}

impl Sizes {
    /// Features of a head.
    fn width(&self) -> usize {
        self.features / self.heads
    }
}

const FULL: Sizes =
    Sizes { vocabulary: 128_256, cached: 1024, layers: 16, features: 2048, inner: 8192, heads: 32, cached_heads: 8 };
const REDUCED: Sizes =
    Sizes { vocabulary: 200, cached: 15, layers: 2, features: 64, inner: 128, heads: 8, cached_heads: 2 };

fn build(builder: &mut Builder) {
    let sizes = builder.options.scale.pick(FULL, REDUCED);
    let batch = builder.batch();
    let token = builder.indices("input_ids", &[batch, 1]);
    let caches: Vec<[Value; 2]> = (0..sizes.layers)
        .map(|at| {
            let shape = [batch, sizes.cached_heads, sizes.cached, sizes.width()];
            ["key", "value"].map(|name| builder.input(&format!("past_{name}_{at}"), &shape))
        })
        .collect();
    // The published deviation of weights, 0.02.
    let words = builder.weight("words", &[sizes.vocabulary, sizes.features], 0.035);
    let rotation = rotation(builder, &sizes);
    let mut x = builder.gather(&words, &token);
    let mut grown = Vec::new();
    for (at, cache) in caches.iter().enumerate() {
        x = builder.scoped(&format!("layer{at}"), |builder| {
            let normalised = builder.root_mean_square_normalization("attention_norm", &x, EPSILON);
            let (attended, cache) = attention(builder, &sizes, &normalised, cache, &rotation);
            grown.push(cache);
            let x = builder.add(&x, &attended);
            let normalised = builder.root_mean_square_normalization("feed_forward_norm", &x, EPSILON);
            let fed = feed_forward(builder, &normalised, sizes.inner);
            builder.add(&x, &fed)
        });
    }
    let x = builder.root_mean_square_normalization("norm", &x, EPSILON);
    let x = builder.reshape(&x, &[batch, sizes.features]);
    let logits = builder.gemm(&x, &words, None);
    builder.output("logits", &logits);
    for (at, cache) in grown.iter().enumerate() {
        for (name, value) in ["key", "value"].into_iter().zip(cache) {
            builder.output(&format!("present_{name}_{at}"), value);
        }
    }
}

/// Cosines and sines of the token's position, for both halves of a head's features.
fn rotation(builder: &mut Builder, sizes: &Sizes) -> [Value; 2] {
    let half = sizes.width() / 2;
    let waves: Vec<(f64, f64)> = angles(sizes.cached, half, WAVE_BASE).map(sine_cosine).collect();
    let twice = |part: fn(&(f64, f64)) -> f64| waves.iter().chain(&waves).map(|wave| part(wave) as f32).collect();
    let (cosines, sines) = (twice(|wave| wave.1), twice(|wave| wave.0));
    [builder.table("cosines", &[2 * half], cosines), builder.table("sines", &[2 * half], sines)]
}

/// `[batch, heads, 1, width]` turned by the position: the halves of a head's features are the planes' coordinates.
fn rotated(builder: &mut Builder, x: &Value, [cosines, sines]: &[Value; 2]) -> Value {
    let halves = builder.split(x, 3, 2);
    let negated = builder.with_scalar(Binary::Multiply, &halves[1], -1.0);
    let swapped = builder.concat(&[&negated, &halves[0]], 3);
    let kept = builder.multiply(x, cosines);
    let turned = builder.multiply(&swapped, sines);
    builder.add(&kept, &turned)
}

/// Attention of the token to the cache and itself; the grown cache.
fn attention(
    builder: &mut Builder,
    sizes: &Sizes,
    x: &Value,
    [keys, values]: &[Value; 2],
    rotation: &[Value; 2],
) -> (Value, [Value; 2]) {
    let &Sizes { features, heads, cached_heads, .. } = sizes;
    let (batch, width) = (x.shape[0], sizes.width());
    let query = builder.projection("query", x, features, 1.0);
    let key = builder.projection("key", x, cached_heads * width, 1.0);
    let value = builder.projection("value", x, cached_heads * width, 1.0);
    let [query, key, value] = [(&query, heads), (&key, cached_heads), (&value, cached_heads)]
        .map(|(x, heads)| split_heads(builder, x, heads, &[0, 2, 1, 3]));
    let (query, key) = (rotated(builder, &query, rotation), rotated(builder, &key, rotation));
    let keys = builder.concat(&[keys, &key], 2);
    let values = builder.concat(&[values, &value], 2);
    // The heads that share keys and values stand together, as the rows of one product.
    let query = builder.reshape(&query, &[batch, cached_heads, heads / cached_heads, width]);
    let turned = builder.transpose(&keys, &[0, 1, 3, 2]);
    let scores = builder.matmul(&query, &turned);
    let scores = builder.with_scalar(Binary::Multiply, &scores, 1.0 / (width as f32).sqrt());
    let shares = builder.softmax(&scores);
    let mixed = builder.matmul(&shares, &values);
    let mixed = builder.reshape(&mixed, &[batch, 1, features]);
    (builder.projection("output", &mixed, features, 1.0), [keys, values])
}

/// A feed-forward layer gated by the sigmoid linear unit (Shazeer, "GLU variants improve transformer", 2020).
fn feed_forward(builder: &mut Builder, x: &Value, inner: usize) -> Value {
    let gate = builder.projection("gate", x, inner, 1.0);
    let squashed = builder.unary(Unary::Sigmoid, &gate);
    let gate = builder.multiply(&gate, &squashed);
    let raised = builder.projection("up", x, inner, 1.0);
    let gated = builder.multiply(&gate, &raised);
    builder.projection("down", &gated, x.features(), 1.0)
}
