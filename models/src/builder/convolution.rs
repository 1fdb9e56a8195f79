//! Convolution and pooling over images `[batch, channels, height, width]`.

use super::attribute::Attribute;
use super::{Builder, Value};

/// A window that moves over images.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    /// Height and width.
    pub(crate) kernel: [usize; 2],
    /// Steps downwards and to the right.
    pub(crate) stride: [usize; 2],
    /// Zeros on both sides of height and width.
    pub(crate) padding: [usize; 2],
}

impl Window {
    /// A square window with stride 1, padded so that the extents stay.
    pub(crate) const fn same(kernel: usize) -> Self {
        Self { kernel: [kernel; 2], stride: [1; 2], padding: [kernel / 2; 2] }
    }

    /// A square window without padding.
    pub(crate) const fn valid(kernel: usize, stride: usize) -> Self {
        Self { kernel: [kernel; 2], stride: [stride; 2], padding: [0; 2] }
    }

    /// The window with another stride.
    pub(crate) const fn stride(self, stride: usize) -> Self {
        Self { stride: [stride; 2], ..self }
    }

    fn attributes(&self) -> Vec<Attribute> {
        let [top, left] = self.padding;
        vec![
            Attribute::Ints("kernel_shape", self.kernel.to_vec()),
            Attribute::Ints("strides", self.stride.to_vec()),
            Attribute::Ints("pads", vec![top, left, top, left]),
        ]
    }

    /// The shape of an image with `channels` after the window has moved over it.
    fn shape(&self, x: &Value, channels: usize) -> Vec<usize> {
        let extent = |at: usize| (x.shape[at + 2] + 2 * self.padding[at] - self.kernel[at]) / self.stride[at] + 1;
        vec![x.shape[0], channels, extent(0), extent(1)]
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Convolution {
    /// Channels of the output.
    pub(crate) outputs: usize,
    pub(crate) window: Window,
    /// Groups of channels that do not mix.
    pub(crate) groups: usize,
    /// Whether a learnable number is added to every channel.
    pub(crate) bias: bool,
}

impl Convolution {
    /// A convolution of all channels without bias.
    pub(crate) const fn new(outputs: usize, window: Window) -> Self {
        Self { outputs, window, groups: 1, bias: false }
    }

    /// One filter a channel.
    pub(crate) const fn depthwise(channels: usize, window: Window) -> Self {
        Self { outputs: channels, window, groups: channels, bias: false }
    }

    /// With groups of channels that do not mix.
    pub(crate) const fn groups(self, groups: usize) -> Self {
        Self { groups, ..self }
    }

    /// With a learnable number a channel.
    pub(crate) const fn biased(self) -> Self {
        Self { bias: true, ..self }
    }
}

impl Builder {
    /// A convolution with He et al.'s (2015) weights: the variance stays when a rectifier comes before or after.
    pub(crate) fn convolution(&mut self, name: &str, x: &Value, convolution: &Convolution) -> Value {
        let Convolution { outputs, window, groups, bias } = *convolution;
        let inputs = x.shape[1] / groups;
        let [height, width] = window.kernel;
        let bound = (6.0 / (inputs * height * width) as f32).sqrt();
        self.scoped(name, |builder| {
            let weight = builder.weight("weight", &[outputs, inputs, height, width], bound);
            let bias = bias.then(|| builder.weight("bias", &[outputs], 0.05));
            let operands: Vec<&Value> = [x, &weight].into_iter().chain(&bias).collect();
            let mut attributes = window.attributes();
            attributes.push(Attribute::Int("group", groups));
            builder.node("Conv", &operands, attributes, window.shape(x, outputs))
        })
    }

    /// Normalisation of every channel by running statistics. `gain` is the mean of the learnable scales.
    pub(crate) fn batch_normalization(&mut self, name: &str, x: &Value, epsilon: f32, gain: f32) -> Value {
        let channels = [x.shape[1]];
        self.scoped(name, |builder| {
            let scale = builder.learnable("weight", &channels, gain, 0.1 * gain);
            let shift = builder.weight("bias", &channels, 0.1 * gain);
            let mean = builder.statistic("running_mean", &channels, 0.0, 0.1);
            let variance = builder.statistic("running_var", &channels, 1.0, 0.1);
            let attributes = vec![Attribute::Float("epsilon", epsilon)];
            builder.node("BatchNormalization", &[x, &scale, &shift, &mean, &variance], attributes, x.shape.clone())
        })
    }

    /// The maximum of every window.
    pub(crate) fn max_pool(&mut self, x: &Value, window: Window) -> Value {
        self.node("MaxPool", &[x], window.attributes(), window.shape(x, x.shape[1]))
    }

    /// The mean of every window; padding counts if `count_padding`.
    pub(crate) fn average_pool(&mut self, x: &Value, window: Window, count_padding: bool) -> Value {
        let mut attributes = window.attributes();
        attributes.push(Attribute::Int("count_include_pad", usize::from(count_padding)));
        self.node("AveragePool", &[x], attributes, window.shape(x, x.shape[1]))
    }

    /// The mean of every channel, as `[batch, channels]`.
    pub(crate) fn global_average(&mut self, x: &Value) -> Value {
        let (batch, channels) = (x.shape[0], x.shape[1]);
        let pooled = self.node("GlobalAveragePool", &[x], Vec::new(), vec![batch, channels, 1, 1]);
        self.flatten(&pooled)
    }
}
