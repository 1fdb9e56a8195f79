//! Default selection of trained initializers: those that the model uses as weights.

use std::path::Path;

use warpweave::Model;
use warpweave::frontend::{ImportOptions, NameFilter};
use warpweave::graph::text::parse;
use warpweave::graph::training::{Loss, Objective, Optimizer, StepOptions, with_weights_only};
use warpweave::training::{TrainingRequest, TrainingSummary};
use warpweave_tests::suite::Suite;

/// The knots of a spline, beside its weights: buffers of PyTorch that were exported as initializers.
const SPLINE: &str = "reported/train_kan_buffers.onnx";
const KNOTS: &str = "0.k";

/// Adds the trials.
pub fn add(suite: &mut Suite) {
    suite.trial("weights of a spline", || {
        let summary = summary(NameFilter::default());
        assert!(!summary.trained.contains(&KNOTS.to_owned()) && summary.trained.len() == 6, "{summary:?}");
        assert_eq!(summary.frozen, [KNOTS]);
        assert!(summary.warnings.iter().any(|warning| warning.contains(KNOTS)), "{summary:?}");
        let all = self::summary(NameFilter { included: vec!["*".to_owned()], ..NameFilter::default() });
        assert!(all.trained.contains(&KNOTS.to_owned()) && all.warnings.is_empty(), "{all:?}");
    });
    for (name, body, is_weight) in USES {
        suite.trial(format!("weights used by {name}"), move || check(body, is_weight));
    }
}

/// A use of `v1`, beside a weight `v2`, and whether it is one of a weight.
const USES: [(&str, &str, bool); 12] = [
    ("a product", "v4 \"y\": f32[2x2] = MatMul \"n\" (v0, v1)", true),
    ("a bias", "v4 \"y\": f32[2x2] = Add \"n\" (v1, v0)", true),
    ("a scale", "v4 \"y\": f32[2x2] = Mul \"n\" (v0, v1)", true),
    (
        "a scale of computed weights",
        "v4 \"r\": f32[2x2] = Exp \"e\" (v1)\nv5 \"y\": f32[2x2] = Mul \"n\" (v0, v4)",
        true,
    ),
    ("a token", "v4 \"y\": f32[4x2] = Concat \"n\" (v0, v1) {axis = int 0}", true),
    ("a choice", "v4 \"c\": bool[2x2] = Greater \"g\" (v0, v2)\nv5 \"y\": f32[2x2] = Where \"n\" (v4, v1, v0)", true),
    (
        "a table",
        "v4 \"i\": i64[2x2] = Cast \"c\" (v0) {to = int 7}\nv5 \"y\": f32[2x2x2] = Gather \"n\" (v1, v4) {axis = int 0}",
        true,
    ),
    ("a slope", "v4 \"y\": f32[2x2] = PRelu \"n\" (v0, v1)", true),
    ("a difference", "v4 \"y\": f32[2x2] = Sub \"n\" (v0, v1)", false),
    ("a quotient", "v4 \"y\": f32[2x2] = Div \"n\" (v0, v1)", false),
    ("a bound", "v4 \"y\": f32[2x2] = Max \"n\" (v0, v1)", false),
    (
        "a comparison",
        "v4 \"c\": bool[2x2] = Greater \"g\" (v0, v1)\nv5 \"y\": f32[2x2] = Where \"n\" (v4, v0, v2)",
        false,
    ),
];

fn check(body: &str, is_weight: bool) {
    let last = 3 + body.lines().count();
    let text = format!(
        "graph \"g\"\nv0 \"x\": f32[2x2] = input\nv1 \"p\": f32[2x2] = variable [1, 2, 3, 4]\n\
         v2 \"w\": f32[2x2] = variable [1, 2, 3, 4]\nv3 \"z\": f32[2x2] = Mul \"m\" (v0, v2)\n{body}\n\
         input v0\noutput v3, v{last}\n"
    );
    let graph = parse(&text, &Default::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (_, left) = with_weights_only(&graph).expect("it can be trained");
    assert_eq!(left.is_empty(), is_weight, "{left:?} are left\n{text}");
}

fn summary(trainable: NameFilter) -> TrainingSummary {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(SPLINE);
    let loss = Objective::Loss(Loss::MeanSquaredError);
    let step = StepOptions { loss, output: None, optimizer: Optimizer::SGD, largest_norm: None };
    let request = TrainingRequest { step, learning_rate: 0.1, trainable };
    Model::import_step(&path, &ImportOptions::default(), &request).expect("it can be trained").1
}
