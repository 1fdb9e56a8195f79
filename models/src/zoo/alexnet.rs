//! AlexNet in its one-column form (Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014).

use crate::blocks::image;
use crate::builder::{Builder, Convolution, Window};
use crate::{Family, ModelInfo};

pub(crate) const ALEXNET: ModelInfo = ModelInfo {
    name: "alexnet",
    family: Family::Convolutional,
    parameters: Some(61_100_840),
    summary: "AlexNet, one column, 224x224 (Krizhevsky 2014)",
    build,
};

fn build(builder: &mut Builder) {
    let scale = builder.options.scale;
    let (resolution, divisor, hidden, classes) = scale.pick((224, 1, 4096, 1000), (96, 8, 64, 10));
    let first = Window { kernel: [11; 2], stride: [4; 2], padding: [2; 2] };
    let layers = [
        (64, first, true),
        (192, Window::same(5), true),
        (384, Window::same(3), false),
        (256, Window::same(3), false),
        (256, Window::same(3), true),
    ];
    let mut x = image::input(builder, resolution);
    for (at, (channels, window, pooled)) in layers.into_iter().enumerate() {
        let convolution = Convolution::new(channels / divisor, window).biased();
        x = builder.convolution(&format!("conv{at}"), &x, &convolution);
        x = builder.relu(&x);
        if pooled {
            x = builder.max_pool(&x, Window::valid(3, 2));
        }
    }
    // The published adaptive pooling to 6 × 6 is the identity at 224 × 224.
    let mut x = builder.flatten(&x);
    for name in ["hidden0", "hidden1"] {
        x = builder.linear(name, &x, hidden, 1.0);
        x = builder.relu(&x);
    }
    let logits = builder.linear("classifier", &x, classes, 1.0);
    builder.output("logits", &logits);
}
