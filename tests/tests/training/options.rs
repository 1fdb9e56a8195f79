//! Every option of losses and optimizers against PyTorch, which `scripts/training_fixtures.py` has run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use warpweave::graph::training::{Loss, Objective, Optimizer, StepOptions};
use warpweave::runtime::npz;
use warpweave::runtime::session::Device;
use warpweave_tests::suite::Suite;

use super::steps::{Noise, Steps, check};

const DEVICES: [Device; 4] = [Device::Reference, Device::Host, Device::Emulator, Device::Text];
const FIRST_LOSS: &str = "/loss_1";

/// The name in the archive, the model, the kind of target, the loss, the optimizer, its learning rate, and the largest norm of the
/// gradients.
type Case = (&'static str, &'static str, &'static str, Loss, Optimizer, f64, Option<f64>);

const PLAIN: Optimizer = Optimizer::SGD;
const CLASSES: Loss = Loss::CROSS_ENTROPY;
const IGNORED: i64 = 2;

const fn cross_entropy(label_smoothing: f64, ignored: i64) -> Loss {
    Loss::CrossEntropy { label_smoothing, ignored }
}

const fn sgd(momentum: f64, dampening: f64, weight_decay: f64) -> Optimizer {
    Optimizer::Sgd { momentum, dampening, weight_decay, nesterov: false }
}

const fn nesterov(momentum: f64, weight_decay: f64) -> Optimizer {
    Optimizer::Sgd { momentum, dampening: 0.0, weight_decay, nesterov: true }
}

const fn adam(betas: [f64; 2], epsilon: f64, weight_decay: f64) -> Optimizer {
    Optimizer::Adam { betas, epsilon, weight_decay, decoupled: false }
}

const fn adam_w(betas: [f64; 2], epsilon: f64, weight_decay: f64) -> Optimizer {
    Optimizer::Adam { betas, epsilon, weight_decay, decoupled: true }
}

const BETAS: [f64; 2] = [0.9, 0.999];
const OTHER_BETAS: [f64; 2] = [0.7, 0.95];
const EPSILON: f64 = 1e-8;

const CASES: [Case; 29] = [
    ("cross_entropy", "scores", "classes", CLASSES, PLAIN, 0.3, None),
    ("cross_entropy_smoothed", "scores", "classes", cross_entropy(0.1, -100), PLAIN, 0.3, None),
    ("cross_entropy_default_ignored", "scores", "some", CLASSES, PLAIN, 0.3, None),
    ("cross_entropy_ignored", "scores", "classes", cross_entropy(0.0, IGNORED), PLAIN, 0.3, None),
    ("cross_entropy_smoothed_ignored", "scores", "classes", cross_entropy(0.2, IGNORED), PLAIN, 0.3, None),
    ("cross_entropy_map", "map", "classes", CLASSES, PLAIN, 0.3, None),
    ("cross_entropy_map_smoothed_ignored", "map", "classes", cross_entropy(0.2, IGNORED), PLAIN, 0.3, None),
    ("mse", "scores", "values", Loss::MeanSquaredError, PLAIN, 0.3, None),
    ("mse_map", "map", "values", Loss::MeanSquaredError, PLAIN, 0.3, None),
    ("bce", "scores", "chances", Loss::BinaryCrossEntropy, PLAIN, 0.3, None),
    ("bce_map", "map", "chances", Loss::BinaryCrossEntropy, PLAIN, 0.3, None),
    ("sgd_momentum", "scores", "classes", CLASSES, sgd(0.9, 0.0, 0.0), 0.3, None),
    ("sgd_dampening", "scores", "classes", CLASSES, sgd(0.9, 0.3, 0.0), 0.3, None),
    ("sgd_nesterov", "scores", "classes", CLASSES, nesterov(0.9, 0.0), 0.3, None),
    ("sgd_decay", "scores", "classes", CLASSES, sgd(0.0, 0.0, 0.1), 0.3, None),
    ("sgd_momentum_decay", "scores", "classes", CLASSES, sgd(0.5, 0.0, 0.1), 0.3, None),
    ("sgd_dampening_decay", "scores", "classes", CLASSES, sgd(0.5, 0.2, 0.1), 0.3, None),
    ("sgd_nesterov_decay", "scores", "classes", CLASSES, nesterov(0.5, 0.1), 0.3, None),
    ("adam", "scores", "classes", CLASSES, Optimizer::ADAM, 0.02, None),
    ("adam_betas", "scores", "classes", CLASSES, adam(OTHER_BETAS, EPSILON, 0.0), 0.02, None),
    ("adam_eps", "scores", "classes", CLASSES, adam(BETAS, 0.01, 0.0), 0.02, None),
    ("adam_decay", "scores", "classes", CLASSES, adam(BETAS, EPSILON, 0.1), 0.02, None),
    ("adamw", "scores", "classes", CLASSES, Optimizer::ADAM_W, 0.02, None),
    ("adamw_decay", "scores", "classes", CLASSES, adam_w(BETAS, EPSILON, 0.3), 0.02, None),
    ("adamw_all", "scores", "classes", CLASSES, adam_w(OTHER_BETAS, 0.01, 0.3), 0.02, None),
    ("clip_sgd", "scores", "classes", CLASSES, PLAIN, 0.3, Some(0.1)),
    ("clip_nothing", "scores", "classes", CLASSES, PLAIN, 0.3, Some(1000.0)),
    ("clip_nesterov", "scores", "classes", CLASSES, nesterov(0.9, 0.0), 0.3, Some(0.1)),
    ("clip_adam_decay", "map", "classes", CLASSES, adam(BETAS, 0.01, 0.1), 0.02, Some(0.1)),
];

/// Models that end in their own loss, which is that of the case.
const OWN_LOSSES: [(&str, &str); 2] =
    [("scores_loss", "cross_entropy_ignored"), ("scores_likelihood", "cross_entropy_ignored")];

/// A trial a device and case, and one that no case of the archive is left out.
pub fn add(suite: &mut Suite) {
    for case in CASES {
        for device in DEVICES {
            suite.trial(format!("options {} {device}", case.0), move || check(&steps(case), device));
        }
    }
    for (model, case) in OWN_LOSSES {
        let case = CASES.into_iter().find(|known| known.0 == case).expect("the case is there");
        for device in DEVICES {
            suite.trial(format!("own loss {model} {device}"), move || {
                let own = Steps { model: folder().join(model).with_extension("onnx"), ..steps(case) };
                let options = StepOptions { loss: Objective::Output, ..own.options.clone() };
                check(&Steps { options, ..own }, device);
            });
        }
    }
    suite.trial("options complete", || {
        let arrays = npz::read(&folder().join("steps.npz")).expect("the fixture is an archive");
        let stored: BTreeSet<&str> = arrays.keys().filter_map(|name| name.strip_suffix(FIRST_LOSS)).collect();
        assert_eq!(CASES.iter().map(|case| case.0).collect::<BTreeSet<&str>>(), stored);
    });
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("training").join("options")
}

fn steps((name, model, target, loss, optimizer, rate, largest_norm): Case) -> Steps {
    Steps {
        model: folder().join(model).with_extension("onnx"),
        archive: folder().join("steps.npz"),
        inputs: format!("{model}/in_"),
        target: format!("{model}/target_{target}"),
        results: format!("{name}/"),
        options: StepOptions { loss: Objective::Loss(loss), output: None, optimizer, largest_norm },
        rate,
        compared: [1, 4],
        noise: Noise::Kept,
    }
}
