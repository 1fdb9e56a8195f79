//! The vision transformer with patches of 16 × 16 (Dosovitskiy et al., "An image is worth 16x16 words", 2020).

use crate::blocks::attention::{Activation, Layer};
use crate::blocks::image;
use crate::builder::{Builder, Convolution, Window};
use crate::{Family, ModelInfo};

/// The base model.
pub(crate) const VIT_B_16: ModelInfo = ModelInfo {
    name: "vit_b_16",
    family: Family::Transformer,
    parameters: Some(86_567_656),
    summary: "ViT-B/16, 12 layers of 768, 224x224 (Dosovitskiy et al. 2020)",
    build,
};

const EPSILON: f32 = 1e-6;

fn build(builder: &mut Builder) {
    let scale = builder.options.scale;
    let (resolution, patch, classes) = scale.pick((224, 16, 1000), (32, 8, 10));
    let (layers, features, heads) = scale.pick((12, 768, 12), (2, 32, 4));
    let batch = builder.batch();
    let image = image::input(builder, resolution);
    let patches = Convolution::new(features, Window::valid(patch, patch)).biased();
    let patches = builder.convolution("patches", &image, &patches);
    let count = patches.shape[2] * patches.shape[3];
    let patches = builder.reshape(&patches, &[batch, features, count]);
    let patches = builder.transpose(&patches, &[0, 2, 1]);
    let class = builder.weight("class", &[1, 1, features], 0.035);
    let class = builder.expand(&class, &[batch, 1, features]);
    let places = builder.weight("positions", &[1, count + 1, features], 0.035);
    let x = builder.concat(&[&class, &patches], 1);
    let x = builder.add(&x, &places);
    let layer = Layer { heads, inner: 4 * features, activation: Activation::Gelu, epsilon: EPSILON };
    let x = (0..layers)
        .fold(x, |x, at| builder.scoped(&format!("layer{at}"), |builder| layer.normalised_before(builder, &x, None)));
    let x = builder.layer_normalization("norm", &x, EPSILON);
    let class = builder.slice(&x, 1, 0, 1);
    let class = builder.squeeze(&class, 1);
    let logits = builder.linear("classifier", &class, classes, 1.0);
    builder.output("logits", &logits);
}
