//! MobileNetV2, width 1 (Sandler et al., "MobileNetV2: inverted residuals and linear bottlenecks", 2018).

use crate::blocks::image::{self, After, Unit};
use crate::builder::{Builder, Convolution, Value, Window};
use crate::{Family, ModelInfo};

/// MobileNetV2.
pub(crate) const MOBILENET_V2: ModelInfo = ModelInfo {
    name: "mobilenet_v2",
    family: Family::Convolutional,
    parameters: Some(3_504_872),
    summary: "MobileNetV2, width 1, 224x224 (Sandler et al. 2018)",
    build,
};

/// Expansion, channels, blocks and stride of every stage.
const STAGES: [(usize, usize, usize, usize); 7] =
    [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)];

fn build(builder: &mut Builder) {
    let scale = builder.options.scale;
    let (resolution, divisor, most_blocks, classes) = scale.pick((224, 1, 4, 1000), (64, 4, 2, 10));
    let stem = Convolution::new(32 / divisor, Window::same(3).stride(2));
    let mut x = image::input(builder, resolution);
    x = relu6(stem).build(builder, "stem", &x);
    for (stage, (expansion, channels, blocks, stride)) in STAGES.into_iter().enumerate() {
        for at in 0..blocks.min(most_blocks) {
            let stride = if at == 0 { stride } else { 1 };
            x = builder.scoped(&format!("stage{stage}.block{at}"), |builder| {
                inverted_residual(builder, &x, expansion, channels / divisor, stride)
            });
        }
    }
    x = relu6(Convolution::new(1280 / divisor, Window::same(1))).build(builder, "head", &x);
    image::classify(builder, &x, classes);
}

fn inverted_residual(builder: &mut Builder, x: &Value, expansion: usize, channels: usize, stride: usize) -> Value {
    let wide = x.shape[1] * expansion;
    let mut inner = x.clone();
    if expansion != 1 {
        inner = relu6(Convolution::new(wide, Window::same(1))).build(builder, "expand", &inner);
    }
    inner = relu6(Convolution::depthwise(wide, Window::same(3).stride(stride))).build(builder, "depthwise", &inner);
    inner = Unit::linear(Convolution::new(channels, Window::same(1)), 0.7).build(builder, "project", &inner);
    if inner.shape == x.shape { builder.add(x, &inner) } else { inner }
}

fn relu6(convolution: Convolution) -> Unit {
    Unit { after: After::Relu6, ..Unit::relu(convolution) }
}
