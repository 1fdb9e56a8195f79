//! Running statistics by PyTorch's rule.

use warpweave::graph::Tensor;
use warpweave::graph::reference::evaluate;
use warpweave::graph::text::parse;
use warpweave::graph::training::{Loss, Objective, Optimizer, Step, StepOptions, TrainingError, training_step};
use warpweave_tests::suite::Suite;

/// How the two normalisations of [`TWICE`] keep their statistics.
struct Kept {
    name: &'static str,
    /// What both call the mean.
    mean: &'static str,
    /// What the second gives beside its data.
    outputs: &'static str,
    attributes: &'static str,
    momentum: f64,
}

const PLAIN: Kept = Kept { name: "of two normalisations", mean: "v4", outputs: "", attributes: "", momentum: 0.9 };

const KEPT: [Kept; 4] = [
    PLAIN,
    Kept { name: "behind an identity", mean: "v6", ..PLAIN },
    Kept {
        name: "by a momentum of the node",
        attributes: "{epsilon = float 0.00001, momentum = float 0.75}",
        momentum: 0.75,
        ..PLAIN
    },
    Kept {
        name: "of nodes in training mode",
        outputs: ", v9 \"m\": f32[1], v10 \"v\": f32[1]",
        attributes: "{momentum = float 0.5, training_mode = int 1}",
        momentum: 0.5,
        ..PLAIN
    },
];

/// Graphs without a training step, by what their statistics are, and a part of the reason.
const REFUSED: [(&str, [&str; 2], &str); 6] = [
    (
        "frozen variance",
        ["\"variance\": f32[1] = variable", "\"variance\": f32[1] = constant"],
        "node `a`: `variance` is frozen",
    ),
    ("frozen mean", ["\"mean\": f32[1] = variable", "\"mean\": f32[1] = constant"], "node `a`: `mean` is frozen"),
    (
        "a bias is a mean",
        ["(v0, v2, v3,", "(v0, v2, v4,"],
        "`mean` is a running statistic of node `b` and input 2 of node `a`",
    ),
    ("a statistic is read", ["Sub \"s\" (v7, v8)", "Sub \"s\" (v7, v5)"], "and input 1 of node `s`"),
    (
        "an optimizer's name",
        ["\"scale\"", "\"optimizer.scale\""],
        "`optimizer.scale` cannot be trained under this name",
    ),
    ("a header's name", ["\"mean\"", "\"__metadata__\""], "`__metadata__` cannot be trained under this name"),
];

/// Trials of statistics that several normalisations keep, of those that a node says how to keep, and of those that no step can keep.
pub fn add(suite: &mut Suite) {
    for kept in KEPT {
        suite.trial(format!("statistics {}", kept.name), move || check(&kept));
    }
    for (name, change, reason) in REFUSED {
        suite.trial(format!("no statistics: {name}"), move || check_refused(change, reason));
    }
}

/// Two normalisations that keep the same statistics.
fn twice(kept: &Kept) -> String {
    let Kept { mean, outputs, attributes, .. } = kept;
    let last = if outputs.is_empty() { "v9" } else { "v11" };
    format!(
        "graph \"g\"\nv0 \"x\": f32[2x1x2] = input\nv1 \"z\": f32[2x1x2] = input\n\
        v2 \"scale\": f32[1] = variable [1]\nv3 \"bias\": f32[1] = variable [0]\n\
        v4 \"mean\": f32[1] = variable [0]\nv5 \"variance\": f32[1] = variable [1]\n\
        v6 \"same\": f32[1] = Identity \"i\" (v4)\n\
        v7 \"a\": f32[2x1x2] = BatchNormalization \"a\" (v0, v2, v3, {mean}, v5) {attributes}\n\
        v8 \"b\": f32[2x1x2]{outputs} = BatchNormalization \"b\" (v1, v2, v3, {mean}, v5) {attributes}\n\
        {last} \"y\": f32[2x1x2] = Sub \"s\" (v7, v8)\ninput v0, v1\noutput {last}\n"
    )
}

fn step(text: &str) -> Result<Step, TrainingError> {
    let graph = parse(text, &Default::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = StepOptions {
        loss: Objective::Loss(Loss::MeanSquaredError),
        output: None,
        optimizer: Optimizer::SGD,
        largest_norm: None,
    };
    training_step(&graph, &options)
}

fn check_refused([what, instead]: [&str; 2], reason: &str) {
    let text = twice(&PLAIN);
    assert!(text.contains(what), "{text}");
    let error = step(&text.replace(what, instead)).expect_err("there is no step").to_string();
    assert!(error.contains(reason), "{error}");
}

fn check(kept: &Kept) {
    let step = step(&twice(kept)).expect("there is a step");
    assert_eq!(step.statistics, ["mean", "variance"]);
    assert_eq!(step.trained, ["bias", "scale"]);
    let next = |name: &str| {
        let is_named = |tensor| step.program.names.tensors.get(&tensor).is_some_and(|known| known == name);
        step.program.states().find(|(state, _)| is_named(*state)).expect("it is a state").1
    };
    let mut program = step.program.clone();
    program.outputs = vec![next("mean"), next("variance")];
    let of = |values: &[f64], input: usize| Tensor::from_f64(program.tensors[program.inputs[input]].ty.clone(), values);
    // Means 2 and -4, unbiased variances 20/3 and 8/3.
    let inputs = [of(&[-1.0, 1.0, 3.0, 5.0], 0), of(&[-6.0, -4.0, -4.0, -2.0], 1), of(&[0.0; 4], 2), of(&[0.1], 3)];
    let found: Vec<f64> =
        evaluate(&program, &inputs).expect("it has values").iter().map(|one| one.to_f64()[0]).collect();
    let momentum = kept.momentum;
    let after = |start: f64, batches: [f64; 2]| {
        batches.iter().fold(start, |before, own| momentum * before + (1.0 - momentum) * own)
    };
    let wanted = [after(0.0, [2.0, -4.0]), after(1.0, [20.0 / 3.0, 8.0 / 3.0])];
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - wanted).abs() < 1e-6, "{found} instead of {wanted}");
    }
}
