//! BERT's encoder without pooler (Devlin et al., "BERT: pre-training of deep bidirectional transformers for language
//! understanding", 2018). Every position is valid, so there is no mask.

use crate::blocks::attention::{Activation, Layer};
use crate::builder::Builder;
use crate::{Family, ModelInfo};

/// The base model over 128 positions.
pub(crate) const BERT_BASE: ModelInfo = ModelInfo {
    name: "bert_base_128",
    family: Family::Transformer,
    parameters: Some(108_891_648),
    summary: "BERT-base without pooler, 12 layers of 768, 128 positions (Devlin et al. 2018)",
    build: |builder| build(builder, &BASE),
};

/// The large model over 384 positions.
pub(crate) const BERT_LARGE: ModelInfo = ModelInfo {
    name: "bert_large_384",
    family: Family::Transformer,
    parameters: Some(334_092_288),
    summary: "BERT-large without pooler, 24 layers of 1024, 384 positions (Devlin et al. 2018)",
    build: |builder| build(builder, &LARGE),
};

struct Sizes {
    vocabulary: usize,
    most_positions: usize,
    positions: usize,
    layers: usize,
    features: usize,
    heads: usize,
}

const BASE: Sizes =
    Sizes { vocabulary: 30_522, most_positions: 512, positions: 128, layers: 12, features: 768, heads: 12 };
const LARGE: Sizes = Sizes { positions: 384, layers: 24, features: 1024, heads: 16, ..BASE };
const REDUCED: Sizes = Sizes { vocabulary: 200, most_positions: 32, positions: 16, layers: 2, features: 32, heads: 4 };

/// Kinds of segments.
const SEGMENTS: usize = 2;
const EPSILON: f32 = 1e-12;

fn build(builder: &mut Builder, full: &'static Sizes) {
    let sizes = builder.options.scale.pick(full, &REDUCED);
    let &Sizes { vocabulary, most_positions, positions, layers, features, heads } = sizes;
    let shape = [builder.batch(), positions];
    let tokens = builder.indices("input_ids", &shape);
    let segments = builder.indices("token_type_ids", &shape);
    let x = builder.scoped("embeddings", |builder| {
        let mut table = |name: &str, rows: usize| builder.weight(name, &[rows, features], 0.035);
        let (words, places, kinds) =
            (table("words", vocabulary), table("positions", most_positions), table("segments", SEGMENTS));
        let (words, kinds) = (builder.gather(&words, &tokens), builder.gather(&kinds, &segments));
        let places = builder.slice(&places, 0, 0, positions);
        let sum = builder.add(&words, &places);
        let sum = builder.add(&sum, &kinds);
        builder.layer_normalization("norm", &sum, EPSILON)
    });
    let layer = Layer { heads, inner: 4 * features, activation: Activation::Gelu, epsilon: EPSILON };
    let x = (0..layers)
        .fold(x, |x, at| builder.scoped(&format!("layer{at}"), |builder| layer.normalised_after(builder, &x, None)));
    builder.output("last_hidden_state", &x);
}
