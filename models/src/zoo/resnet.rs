//! Residual networks of bottleneck blocks:
//! - ResNet-50 (He et al., "Deep residual learning for image recognition", 2015; the stride in the 3 × 3 convolution);
//! - ResNeXt-50 32×4d (Xie et al., "Aggregated residual transformations for deep neural networks", 2016).

use crate::blocks::image::{self, Unit};
use crate::builder::{Builder, Convolution, Value, Window};
use crate::{Family, ModelInfo};

/// ResNet-50.
pub(crate) const RESNET_50: ModelInfo = ModelInfo {
    name: "resnet50",
    family: Family::Convolutional,
    parameters: Some(25_557_032),
    summary: "ResNet-50, 224x224 (He et al. 2015)",
    build: |builder| build(builder, 1, 64),
};

/// ResNeXt-50 with 32 groups of 4 channels.
pub(crate) const RESNEXT_50: ModelInfo = ModelInfo {
    name: "resnext50",
    family: Family::Convolutional,
    parameters: Some(25_028_904),
    summary: "ResNeXt-50 32x4d, 224x224 (Xie et al. 2016)",
    build: |builder| build(builder, 32, 4),
};

/// Channels of a block's output against the first stage's width.
const EXPANSION: usize = 4;

/// `groups` groups of `group_width` channels in the first stage's 3 × 3 convolutions.
fn build(builder: &mut Builder, groups: usize, group_width: usize) {
    let scale = builder.options.scale;
    let (resolution, divisor, classes) = scale.pick((224, 1, 1000), (64, 8, 10));
    let depths = scale.pick([3, 4, 6, 3], [1, 2, 1, 1]);
    let groups = if groups == 1 { 1 } else { groups / divisor };
    let group_width = if groups == 1 { group_width / divisor } else { group_width };
    let stem = Window { kernel: [7; 2], stride: [2; 2], padding: [3; 2] };
    let mut x = image::input(builder, resolution);
    x = Unit::relu(Convolution::new(64 / divisor, stem)).build(builder, "stem", &x);
    x = builder.max_pool(&x, Window::same(3).stride(2));
    for (stage, depth) in depths.into_iter().enumerate() {
        let block = Block {
            inner: (groups * group_width) << stage,
            groups,
            outputs: (64 / divisor * EXPANSION) << stage,
            stride: if stage == 0 { 1 } else { 2 },
        };
        for at in 0..depth {
            let stride = if at == 0 { block.stride } else { 1 };
            let block = Block { stride, ..block };
            x = builder.scoped(&format!("stage{stage}.block{at}"), |builder| block.build(builder, &x));
        }
    }
    image::classify(builder, &x, classes);
}

/// A bottleneck block.
#[derive(Clone, Copy)]
struct Block {
    inner: usize,
    groups: usize,
    outputs: usize,
    stride: usize,
}

impl Block {
    fn build(&self, builder: &mut Builder, x: &Value) -> Value {
        let window = Window::same(3).stride(self.stride);
        let point = Window::same(1);
        let inner = Unit::relu(Convolution::new(self.inner, point)).build(builder, "reduce", x);
        let inner = Unit::relu(Convolution::new(self.inner, window).groups(self.groups)).build(builder, "mix", &inner);
        let branch = Unit::linear(Convolution::new(self.outputs, point), 0.3).build(builder, "expand", &inner);
        let sum = if x.shape == branch.shape {
            builder.add(&branch, x)
        } else {
            let shortcut = Convolution::new(self.outputs, point.stride(self.stride));
            let shortcut = Unit::linear(shortcut, 0.7).build(builder, "shortcut", x);
            builder.add(&branch, &shortcut)
        };
        builder.relu(&sum)
    }
}
