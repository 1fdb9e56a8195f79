//! Deep Speech 2 (Amodei et al., "Deep Speech 2: end-to-end speech recognition in English and Mandarin", 2015). It has
//! two convolutions over spectrograms, five bidirectional recurrent layers whose directions are added, and one linear
//! layer.

use crate::blocks::sequence::{Direction, Layer, Sequence};
use crate::builder::{Builder, Convolution, Recurrence, Value, Window};
use crate::{Family, ModelInfo};

/// The speech recogniser.
pub(crate) const DEEP_SPEECH_2: ModelInfo = ModelInfo {
    name: "deepspeech2",
    family: Family::Recurrent,
    parameters: Some(41_179_997),
    summary: "Deep Speech 2, 2 convolutions, 5 bidirectional GRU of 800, 161x300, 29 symbols (Amodei et al. 2015)",
    build,
};

fn build(builder: &mut Builder) {
    let scale = builder.options.scale;
    let (frequencies, frames, symbols) = scale.pick((161, 300, 29), (41, 24, 29));
    let (channels, layers, hidden) = scale.pick((32, 5, 800), (4, 2, 32));
    let batch = builder.batch();
    let spectrogram = builder.input("spectrogram", &[batch, 1, frequencies, frames]);
    let x = convolution(builder, "conv0", &spectrogram, channels, [41, 2]);
    let x = convolution(builder, "conv1", &x, channels, [21, 1]);
    let (features, steps) = (x.shape[1] * x.shape[2], x.shape[3]);
    let x = builder.reshape(&x, &[batch, features, steps]);
    let x = builder.transpose(&x, &[2, 0, 1]);
    let mut x = Sequence::new(builder, x);
    let layer = Layer { recurrence: Recurrence::Gru, hidden, direction: Direction::Sum };
    for at in 0..layers {
        (x, _) = layer.build(builder, &format!("layer{at}"), &x);
    }
    let x = x.whole(builder);
    let logits = builder.linear("classifier", &x, symbols, 1.0);
    let shares = builder.softmax(&logits);
    builder.output("probabilities", &shares);
}

/// A convolution of 11 frames, normalised and clipped.
fn convolution(builder: &mut Builder, name: &str, x: &Value, channels: usize, [taps, stride]: [usize; 2]) -> Value {
    let window = Window { kernel: [taps, 11], stride: [2, stride], padding: [taps / 2, 5] };
    let x = builder.convolution(name, x, &Convolution::new(channels, window).biased());
    let x = builder.batch_normalization(&format!("{name}.norm"), &x, 1e-5, 1.0);
    builder.clip(&x, 0.0, 20.0)
}
