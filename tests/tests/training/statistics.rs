//! Running statistics by PyTorch's rule.

use warpweave::graph::Tensor;
use warpweave::graph::reference::evaluate;
use warpweave::graph::text::parse;
use warpweave::graph::training::{Loss, Objective, Optimizer, StepOptions, training_step};
use warpweave_tests::suite::Suite;

/// Two normalisations that keep the same statistics; `mean` is what both call the mean.
fn twice(mean: &str) -> String {
    format!(
        "graph \"g\"\nv0 \"x\": f32[2x1x2] = input\nv1 \"z\": f32[2x1x2] = input\n\
        v2 \"scale\": f32[1] = variable [1]\nv3 \"bias\": f32[1] = variable [0]\n\
        v4 \"mean\": f32[1] = variable [0]\nv5 \"variance\": f32[1] = variable [1]\n\
        v6 \"same\": f32[1] = Identity \"i\" (v4)\n\
        v7 \"a\": f32[2x1x2] = BatchNormalization \"a\" (v0, v2, v3, {mean}, v5)\n\
        v8 \"b\": f32[2x1x2] = BatchNormalization \"b\" (v1, v2, v3, {mean}, v5)\n\
        v9 \"y\": f32[2x1x2] = Sub \"s\" (v7, v8)\ninput v0, v1\noutput v9\n"
    )
}

/// Trials of statistics that several normalisations keep, and of those that an identity stands before.
pub fn add(suite: &mut Suite) {
    suite.trial("statistics of two normalisations", || check(&twice("v4")));
    suite.trial("statistics behind an identity", || check(&twice("v6")));
}

fn check(text: &str) {
    let graph = parse(text, &Default::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = StepOptions {
        loss: Objective::Loss(Loss::MeanSquaredError),
        output: None,
        optimizer: Optimizer::SGD,
        largest_norm: None,
    };
    let step = training_step(&graph, &options).expect("there is a step");
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
    let after = |start: f64, batches: [f64; 2]| batches.iter().fold(start, |kept, own| 0.9 * kept + 0.1 * own);
    let wanted = [after(0.0, [2.0, -4.0]), after(1.0, [20.0 / 3.0, 8.0 / 3.0])];
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - wanted).abs() < 1e-6, "{found} instead of {wanted}");
    }
}
