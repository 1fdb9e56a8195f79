//! NASNet-A large, 6 cells at 4,032 features (Zoph et al., "Learning transferable architectures for scalable image
//! recognition", 2017). Strided windows are padded on both sides alike.

use crate::blocks::image;
use crate::builder::{Builder, Convolution, Value, Window};
use crate::{Family, ModelInfo};

/// NASNet-A large.
pub(crate) const NASNET_A_LARGE: ModelInfo = ModelInfo {
    name: "nasnet",
    family: Family::Convolutional,
    parameters: Some(88_753_150),
    summary: "NASNet-A large (6 @ 4032), 331x331 (Zoph et al. 2017)",
    build,
};

const EPSILON: f32 = 1e-3;

/// The mean of the scales before a sum of two branches.
const GAIN: f32 = 0.7;

fn build(builder: &mut Builder) {
    let scale = builder.options.scale;
    let (resolution, stem, width, classes) = scale.pick((331, 96, 168, 1000), (67, 8, 8, 10));
    let cells = scale.pick(6, 2);
    let image = image::input(builder, resolution);
    let first = builder.convolution("stem", &image, &Convolution::new(stem, Window::valid(3, 2)));
    let first = normalised(builder, "stem.norm", &first, 1.0);
    let stem0 = builder.scoped("stem0", |builder| {
        let narrow = point(builder, "narrow", &first, width / 4);
        reduction(builder, &narrow, &first, width / 4)
    });
    let stem1 = builder.scoped("stem1", |builder| {
        let narrow = point(builder, "narrow", &stem0, width / 2);
        let halved = halved(builder, &first, width / 2);
        reduction(builder, &narrow, &halved, width / 2)
    });
    // The last two cells' outputs.
    let (mut before, mut x) = (stem0, stem1);
    for stage in 0..3 {
        let channels = width << stage;
        if stage > 0 {
            let reduced = builder.scoped(&format!("reduction{stage}"), |builder| {
                let right = point(builder, "previous", &before, channels);
                let left = point(builder, "current", &x, channels);
                reduction(builder, &left, &right, channels)
            });
            x = reduced;
        }
        for cell in 0..cells {
            let next = builder.scoped(&format!("stage{stage}.cell{cell}"), |builder| {
                let previous = match cell {
                    0 => halved(builder, &before, channels),
                    _ => point(builder, "previous", &before, channels),
                };
                let current = point(builder, "current", &x, channels);
                normal(builder, &current, &previous)
            });
            (before, x) = (x, next);
        }
    }
    let x = builder.relu(&x);
    image::classify(builder, &x, classes);
}

fn normalised(builder: &mut Builder, name: &str, x: &Value, gain: f32) -> Value {
    builder.batch_normalization(name, x, EPSILON, gain)
}

/// Rectifier, 1 × 1 convolution and normalisation.
fn point(builder: &mut Builder, name: &str, x: &Value, channels: usize) -> Value {
    let x = builder.relu(x);
    let x = builder.convolution(name, &x, &Convolution::new(channels, Window::same(1)));
    normalised(builder, &format!("{name}.norm"), &x, 1.0)
}

/// Height and width halved without windows: every other pixel, beside the same of the image moved by one.
fn halved(builder: &mut Builder, x: &Value, channels: usize) -> Value {
    let x = builder.relu(x);
    let every_other = Convolution::new(channels / 2, Window::valid(1, 2));
    let even = builder.convolution("even", &x, &every_other);
    let lower = builder.slice(&x, 2, 1, x.shape[2]);
    let mut moved = builder.slice(&lower, 3, 1, x.shape[3]);
    if x.shape[2] % 2 == 1 {
        moved = builder.pad_after(&moved, 1);
    }
    let odd = builder.convolution("odd", &moved, &every_other);
    let joined = builder.concat(&[&even, &odd], 1);
    normalised(builder, "halved.norm", &joined, 1.0)
}

/// Rectifier, depthwise and 1 × 1 convolution and normalisation, twice; the first time with a stride. Channels change
/// in the first half, as the stem's cells do it.
fn separable(builder: &mut Builder, name: &str, x: &Value, channels: usize, [taps, stride]: [usize; 2]) -> Value {
    let mut x = x.clone();
    builder.scoped(name, |builder| {
        for (half, stride, gain) in [("first", stride, 1.0), ("second", 1, GAIN)] {
            x = builder.relu(&x);
            let depthwise = Convolution::depthwise(x.shape[1], Window::same(taps).stride(stride));
            x = builder.scoped(half, |builder| {
                let x = builder.convolution("depthwise", &x, &depthwise);
                let x = builder.convolution("point", &x, &Convolution::new(channels, Window::same(1)));
                normalised(builder, "norm", &x, gain)
            });
        }
        x
    })
}

fn mean(builder: &mut Builder, x: &Value, stride: usize) -> Value {
    builder.average_pool(x, Window::same(3).stride(stride), false)
}

/// A normal cell: five sums of two branches over the current and the previous cell's output.
fn normal(builder: &mut Builder, current: &Value, previous: &Value) -> Value {
    let channels = current.shape[1];
    let mut branch = |name: &str, x: &Value, taps: usize| separable(builder, name, x, channels, [taps, 1]);
    let parts = [
        (branch("sum0.left", current, 5), branch("sum0.right", previous, 3)),
        (branch("sum1.left", previous, 5), branch("sum1.right", previous, 3)),
    ];
    let last = branch("sum4.left", current, 3);
    let [zeroth, first] = parts.map(|(left, right)| builder.add(&left, &right));
    let pooled = mean(builder, current, 1);
    let second = builder.add(&pooled, previous);
    let (left, right) = (mean(builder, previous, 1), mean(builder, previous, 1));
    let third = builder.add(&left, &right);
    let fourth = builder.add(&last, current);
    builder.concat(&[previous, &zeroth, &first, &second, &third, &fourth], 1)
}

/// A reduction cell of two values: five sums of two branches, four of which make the output.
fn reduction(builder: &mut Builder, left: &Value, right: &Value, channels: usize) -> Value {
    let mut branch =
        |name: &str, x: &Value, taps: usize, stride: usize| separable(builder, name, x, channels, [taps, stride]);
    let zeroth = (branch("sum0.left", left, 5, 2), branch("sum0.right", right, 7, 2));
    let (seven, five) = (branch("sum1.right", right, 7, 2), branch("sum2.right", right, 5, 2));
    let zeroth = builder.add(&zeroth.0, &zeroth.1);
    let largest = builder.max_pool(left, Window::same(3).stride(2));
    let first = builder.add(&largest, &seven);
    let pooled = mean(builder, left, 2);
    let second = builder.add(&pooled, &five);
    let pooled = mean(builder, &zeroth, 1);
    let third = builder.add(&pooled, &first);
    let fourth = separable(builder, "sum4.left", &zeroth, channels, [3, 1]);
    let largest = builder.max_pool(left, Window::same(3).stride(2));
    let fourth = builder.add(&fourth, &largest);
    builder.concat(&[&first, &second, &third, &fourth], 1)
}
