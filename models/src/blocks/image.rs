//! Parts of image networks.

use crate::builder::{Builder, Convolution, Value};

/// What follows a convolution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum After {
    /// Nothing.
    Linear,
    /// `max(x, 0)`.
    Relu,
    /// `min(max(x, 0), 6)`.
    Relu6,
}

/// Convolution, batch normalisation and activation. `gain` is the mean of the normalisation's scales: below 1 where the
/// result is added to something, so that magnitudes stay as depth grows.
pub(crate) struct Unit {
    pub(crate) convolution: Convolution,
    /// Added to the variance.
    pub(crate) epsilon: f32,
    /// The mean of the scales.
    pub(crate) gain: f32,
    pub(crate) after: After,
}

impl Unit {
    /// A unit with a rectifier.
    pub(crate) fn relu(convolution: Convolution) -> Self {
        Self { convolution, epsilon: 1e-5, gain: 1.0, after: After::Relu }
    }

    /// A unit without activation.
    pub(crate) fn linear(convolution: Convolution, gain: f32) -> Self {
        Self { convolution, epsilon: 1e-5, gain, after: After::Linear }
    }

    /// The unit's nodes.
    pub(crate) fn build(&self, builder: &mut Builder, name: &str, x: &Value) -> Value {
        builder.scoped(name, |builder| {
            let x = builder.convolution("conv", x, &self.convolution);
            let x = builder.batch_normalization("norm", &x, self.epsilon, self.gain);
            match self.after {
                After::Linear => x,
                After::Relu => builder.relu(&x),
                After::Relu6 => builder.clip(&x, 0.0, 6.0),
            }
        })
    }
}

/// The input of an image network: `[batch, 3, resolution, resolution]`.
pub(crate) fn input(builder: &mut Builder, resolution: usize) -> Value {
    let shape = [builder.batch(), 3, resolution, resolution];
    builder.input("image", &shape)
}

/// The end of an image network: the mean of every channel, a linear layer, and the output `logits`.
pub(crate) fn classify(builder: &mut Builder, x: &Value, classes: usize) {
    let pooled = builder.global_average(x);
    let logits = builder.linear("classifier", &pooled, classes, 1.0);
    builder.output("logits", &logits);
}
