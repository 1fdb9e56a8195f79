//! Losses and weights of whole models' training steps against PyTorch's.

use std::path::{Path, PathBuf};

use warpweave::graph::training::{Loss, Objective, Optimizer, StepOptions};
use warpweave::runtime::session::Device;
use warpweave_tests::suite::{Suite, is_full};

use super::steps::{Noise, Steps, check};

/// The models, each in a folder with its results.
pub(super) const MODELS: [&str; 5] = ["mlp", "dlrm", "resnet", "lstm", "bert"];
const DEVICES: [Device; 5] = [Device::Reference, Device::Host, Device::Emulator, Device::Text, Device::MachineCode];
/// What of machine code the default run executes.
const EXECUTED: [&str; 3] = ["mlp", "dlrm", "lstm"];
/// The name in the archives, the optimizer, its learning rate, and what it makes of noise.
const OPTIMIZERS: [(&str, Optimizer, f64, Noise); 2] = [
    ("sgd", Optimizer::Sgd { momentum: 0.9, dampening: 0.0, weight_decay: 1e-4, nesterov: false }, 0.05, Noise::Kept),
    ("adam", Optimizer::ADAM, 1e-3, Noise::ScaledUp),
];

/// A trial a model, optimizer and device.
pub fn add(suite: &mut Suite) {
    for model in MODELS {
        for (name, optimizer, rate, noise) in OPTIMIZERS {
            let steps = Steps {
                model: file(model, "model.onnx"),
                archive: file(model, "steps.npz"),
                inputs: "in_".to_owned(),
                target: "target".to_owned(),
                results: format!("{name}_"),
                options: StepOptions {
                    loss: Objective::Loss(Loss::CROSS_ENTROPY),
                    output: None,
                    optimizer,
                    largest_norm: None,
                },
                rate,
                compared: [1, 3],
                noise,
            };
            for device in DEVICES {
                // Emulator and text are one program: each takes another optimizer.
                let other = if name == "sgd" { Device::Text } else { Device::Emulator };
                let is_left_out = device == Device::MachineCode && (name != "sgd" || !EXECUTED.contains(&model));
                if (device == other || is_left_out) && !is_full() {
                    continue;
                }
                let steps = steps.clone();
                suite.trial(format!("steps {model} {name} {device}"), move || check(&steps, device));
            }
        }
    }
}

/// A file of a model.
pub(super) fn file(model: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("training").join(model).join(name)
}
