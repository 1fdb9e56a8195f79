//! DenseNet with bottlenecks and compression (Huang et al., "Densely connected convolutional networks", 2016).

use crate::blocks::image::{self, Unit};
use crate::builder::{Builder, Convolution, Value, Window};
use crate::{Family, ModelInfo};

/// DenseNet-121.
pub(crate) const DENSENET_121: ModelInfo = ModelInfo {
    name: "densenet121",
    family: Family::Convolutional,
    parameters: Some(7_978_856),
    summary: "DenseNet-121, growth 32, 224x224 (Huang et al. 2016)",
    build,
};

const EPSILON: f32 = 1e-5;

fn build(builder: &mut Builder) {
    let scale = builder.options.scale;
    let (resolution, growth, classes) = scale.pick((224, 32, 1000), (64, 8, 10));
    let depths = scale.pick([6, 12, 24, 16], [2, 3, 2, 2]);
    let stem = Window { kernel: [7; 2], stride: [2; 2], padding: [3; 2] };
    let mut x = image::input(builder, resolution);
    x = Unit::relu(Convolution::new(2 * growth, stem)).build(builder, "stem", &x);
    x = builder.max_pool(&x, Window::same(3).stride(2));
    for (stage, depth) in depths.into_iter().enumerate() {
        for layer in 0..depth {
            x = builder.scoped(&format!("block{stage}.layer{layer}"), |builder| dense_layer(builder, &x, growth));
        }
        if stage + 1 < depths.len() {
            x = builder.scoped(&format!("transition{stage}"), |builder| {
                let halved = x.shape[1] / 2;
                let x = activated(builder, "conv", &x, &Convolution::new(halved, Window::same(1)));
                builder.average_pool(&x, Window::valid(2, 2), false)
            });
        }
    }
    let x = builder.batch_normalization("norm", &x, EPSILON, 1.0);
    let x = builder.relu(&x);
    image::classify(builder, &x, classes);
}

/// `growth` channels more than `x` has.
fn dense_layer(builder: &mut Builder, x: &Value, growth: usize) -> Value {
    let inner = activated(builder, "reduce", x, &Convolution::new(4 * growth, Window::same(1)));
    let fresh = activated(builder, "mix", &inner, &Convolution::new(growth, Window::same(3)));
    builder.concat(&[x, &fresh], 1)
}

/// Batch normalisation, rectifier and convolution, in this order.
fn activated(builder: &mut Builder, name: &str, x: &Value, convolution: &Convolution) -> Value {
    builder.scoped(name, |builder| {
        let x = builder.batch_normalization("norm", x, EPSILON, 1.0);
        let x = builder.relu(&x);
        builder.convolution("conv", &x, convolution)
    })
}
