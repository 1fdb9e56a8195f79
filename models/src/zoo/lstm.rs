//! The stack of long short-term memory layers by which compilers of recurrent networks are compared (Ma et al.,
//! "Rammer: enabling holistic deep learning compiler optimizations with rTasks", 2020). It has 10 layers of 256 over
//! 100 steps.

use crate::blocks::sequence::{Direction, Layer, Sequence};
use crate::builder::{Builder, Recurrence};
use crate::{Family, ModelInfo};

/// The stack.
pub(crate) const LSTM: ModelInfo = ModelInfo {
    name: "lstm_tc",
    family: Family::Recurrent,
    parameters: Some(5_263_360),
    summary: "LSTM-TC, 10 layers, hidden 256, 100 steps (Ma et al. 2020)",
    build,
};

fn build(builder: &mut Builder) {
    let (layers, hidden, steps) = builder.options.scale.pick((10, 256, 100), (3, 32, 10));
    let shape = [steps, builder.batch(), hidden];
    let x = builder.input("sequence", &shape);
    let mut x = Sequence::new(builder, x);
    let layer = Layer { recurrence: Recurrence::Lstm, hidden, direction: Direction::Forward };
    let mut last = Vec::new();
    for at in 0..layers {
        (x, last) = layer.build(builder, &format!("layer{at}"), &x);
    }
    let states = x.whole(builder);
    builder.output("states", &states);
    for (name, state) in ["last_state", "last_cell"].into_iter().zip(last.iter().flatten()) {
        builder.output(name, state);
    }
}
