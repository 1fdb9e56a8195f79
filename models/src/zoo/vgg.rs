//! VGG, configuration D (Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition",
//! 2014).

use crate::blocks::image;
use crate::builder::{Builder, Convolution, Window};
use crate::{Family, ModelInfo};

/// VGG-16.
pub(crate) const VGG_16: ModelInfo = ModelInfo {
    name: "vgg16",
    family: Family::Convolutional,
    parameters: Some(138_357_544),
    summary: "VGG-16 without batch normalisation, 224x224 (Simonyan and Zisserman 2014)",
    build,
};

/// Channels and convolutions of every stage.
const STAGES: [(usize, usize); 5] = [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)];

fn build(builder: &mut Builder) {
    let scale = builder.options.scale;
    let (resolution, divisor, hidden, classes) = scale.pick((224, 1, 4096, 1000), (64, 16, 64, 10));
    let mut x = image::input(builder, resolution);
    for (stage, (channels, convolutions)) in STAGES.into_iter().enumerate() {
        for at in 0..convolutions {
            let convolution = Convolution::new(channels / divisor, Window::same(3)).biased();
            x = builder.convolution(&format!("stage{stage}.conv{at}"), &x, &convolution);
            x = builder.relu(&x);
        }
        x = builder.max_pool(&x, Window::valid(2, 2));
    }
    let mut x = builder.flatten(&x);
    for name in ["hidden0", "hidden1"] {
        x = builder.linear(name, &x, hidden, 1.0);
        x = builder.relu(&x);
    }
    let logits = builder.linear("classifier", &x, classes, 1.0);
    builder.output("logits", &logits);
}
