//! Gradients at kinks and ties are PyTorch's.

use warpweave::graph::autodiff::append_gradients;
use warpweave::graph::lower::lower_differentiable;
use warpweave::graph::program::{ProgramBuilder, TensorProgram};
use warpweave::graph::reference::evaluate;
use warpweave::graph::text::parse;
use warpweave::graph::{ElementType, Tensor, TensorType};
use warpweave_tests::suite::Suite;

/// A graph of one operator over `x`, the values of `x`, and PyTorch's gradient of the sum of its output.
type Case = (&'static str, &'static str, &'static [f64], &'static [f64]);

const CASES: [Case; 14] = [
    ("relu", "Relu \"n\" (v0)", &[-1.0, 0.0, 2.0, 0.0], &[0.0, 0.0, 1.0, 0.0]),
    ("abs", "Abs \"n\" (v0)", &[-1.0, 0.0, 2.0, 0.0], &[-1.0, 0.0, 1.0, 0.0]),
    ("leaky_relu", "LeakyRelu \"n\" (v0) {alpha = float 0.5}", &[-1.0, 0.0, 2.0, 0.0], &[0.5, 0.5, 1.0, 0.5]),
    ("elu", "Elu \"n\" (v0) {alpha = float 2.0}", &[1.0, 0.0, 2.0, 0.0], &[1.0, 2.0, 1.0, 2.0]),
    ("clip", "Clip \"n\" (v0) {min = float 0.0, max = float 1.0}", &[-1.0, 0.0, 1.0, 2.0], &[0.0, 1.0, 1.0, 0.0]),
    (
        "hard_sigmoid",
        "HardSigmoid \"n\" (v0) {alpha = float 0.5, beta = float 0.5}",
        &[-1.0, 0.0, 1.0, 2.0],
        &[0.0, 0.5, 0.0, 0.0],
    ),
    (
        "reduce_max",
        "ReduceMax \"n\" (v0) {axes = ints [0], keepdims = int 1}",
        &[1.0, 3.0, 3.0, 2.0],
        &[0.0, 0.5, 0.5, 0.0],
    ),
    (
        "reduce_min",
        "ReduceMin \"n\" (v0) {axes = ints [0], keepdims = int 1}",
        &[3.0, 1.0, 1.0, 1.0],
        &[0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0],
    ),
    ("norm", "ReduceL2 \"n\" (v0) {axes = ints [0], keepdims = int 1}", &[0.0, 2.0, 0.0, 0.0], &[0.0, 1.0, 0.0, 0.0]),
    ("norm of zeros", "ReduceL2 \"n\" (v0) {axes = ints [0], keepdims = int 1}", &[0.0; 4], &[0.0; 4]),
    ("maximum", "Max \"n\" (v0, v0)", &[1.0, 2.0, 3.0, 4.0], &[1.0, 1.0, 1.0, 1.0]),
    ("floor", "Floor \"n\" (v0)", &[0.5, 1.0, 2.0, -1.5], &[0.0, 0.0, 0.0, 0.0]),
    (
        "product",
        "ReduceProd \"n\" (v0) {axes = ints [0], keepdims = int 1}",
        &[0.0, 2.0, 3.0, 4.0],
        &[24.0, 0.0, 0.0, 0.0],
    ),
    (
        "products",
        "ReduceProd \"n\" (v0) {axes = ints [0], keepdims = int 1}",
        &[0.0, 0.0, 3.0, 4.0],
        &[0.0, 0.0, 0.0, 0.0],
    ),
];

/// A trial a case, and one of windows.
pub fn add(suite: &mut Suite) {
    for (name, operator, at, wanted) in CASES {
        suite.trial(format!("kinks {name}"), move || {
            let output = if operator.starts_with("Reduce") { "[1]" } else { "[4]" };
            let text = format!(
                "graph \"g\"\nv0 \"x\": f64[4] = input\nv1 \"y\": f64{output} = {operator}\ninput v0\noutput v1\n"
            );
            check(&text, &[4], at, wanted);
        });
    }
    for order in [1, 2, 3] {
        suite.trial(format!("kinks norm of windows of zeros {order}"), move || check_norm_of_windows(order));
    }
    suite.trial("kinks computed maximum", check_computed_maximum);
    suite.trial("kinks work of a product", check_work_of_product);
    suite.trial("kinks max_pool", || {
        let text = "graph \"g\"\nv0 \"x\": f64[1x1x4] = input\n\
                    v1 \"y\": f64[1x1x3] = MaxPool \"n\" (v0) {kernel_shape = ints [2], strides = ints [1]}\ninput v0\noutput v1\n";
        check(text, &[1, 1, 4], &[1.0, 1.0, 1.0, 0.0], &[1.0, 1.0, 1.0, 0.0]);
    });
}

/// Norms of windows, and of all places, have a gradient at 0 as others have.
fn check_norm_of_windows(order: usize) {
    let text = |shape: &str, operator: &str| {
        format!("graph \"g\"\nv0 \"x\": f64[1x1x4] = input\nv1 \"y\": f64{shape} = {operator}\ninput v0\noutput v1\n")
    };
    let windows = format!("LpPool \"n\" (v0) {{kernel_shape = ints [2], strides = ints [2], p = int {order}}}");
    check(&text("[1x1x2]", &windows), &[1, 1, 4], &[0.0; 4], &[0.0; 4]);
    // Roots of other orders are rounded.
    if order <= 2 {
        check(&text("[1x1x2]", &windows), &[1, 1, 4], &[0.0, 0.0, 0.0, -2.0], &[0.0, 0.0, 0.0, -1.0]);
    }
    let whole = format!("GlobalLpPool \"n\" (v0) {{p = int {order}}}");
    check(&text("[1x1x1]", &whole), &[1, 1, 4], &[0.0; 4], &[0.0; 4]);
}

/// The work of a product's gradient grows as the product does.
fn check_work_of_product() {
    let points = |extent: usize| {
        let text = format!(
            "graph \"g\"\nv0 \"x\": f64[{extent}] = input\nv1 \"y\": f64[1] = ReduceProd \"n\" (v0) \
             {{axes = ints [0], keepdims = int 1}}\ninput v0\noutput v1\n"
        );
        let program = gradient_program(&text).expect("it has a gradient");
        let expressions = program.statements.values().filter_map(|statement| statement.definition.expr());
        expressions.map(|expr| expr.axes.values().map(|axis| axis.extent).product::<usize>()).sum::<usize>()
    };
    let (short, long) = (points(64), points(640));
    assert!(long <= 10 * short, "{short} points, then {long}");
}

/// The largest weighted pixel of four samples: what is computed as a double and stored as a single has its gradient, too.
fn check_computed_maximum() {
    let text = "graph \"g\"\nv0 \"x\": f32[1x1x3x3] = input\nv1 \"r\": f32[1x4] = constant [0.1, 0.2, 1.7, 1.6]\n\
                v2 \"b\": i64[1] = constant [0]\nv3 \"y\": f32[1x1x1x1] = RoiAlign \"n\" (v0, v1, v2) \
                {mode = string \"max\", output_height = int 1, output_width = int 1, sampling_ratio = int 2, \
                coordinate_transformation_mode = string \"half_pixel\"}\ninput v0\noutput v3\n";
    let at: Vec<f64> = (0..9).map(|at| f64::from(at * at % 7) / 3.0).collect();
    let found = gradient(text, TensorType::new(ElementType::F32, vec![1, 1, 3, 3]), &at);
    let weights: Vec<f64> = found.into_iter().filter(|weight| *weight != 0.0).collect();
    assert!(matches!(weights[..], [weight] if (0.0..=1.0).contains(&weight)), "the weight of one pixel: {weights:?}");
}

fn check(text: &str, shape: &[usize], at: &[f64], wanted: &[f64]) {
    assert_eq!(gradient(text, TensorType::new(ElementType::F64, shape.to_vec()), at), wanted);
}

/// The gradient of the sum of a graph's output by its input.
fn gradient(text: &str, ty: TensorType, at: &[f64]) -> Vec<f64> {
    match gradient_program(text) {
        None => vec![0.0; at.len()],
        Some(program) => evaluate(&program, &[Tensor::from_f64(ty, at)]).expect("it has a value")[0].to_f64(),
    }
}

/// What computes it, if it is not zero.
fn gradient_program(text: &str) -> Option<TensorProgram> {
    let graph = parse(text, &Default::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let forward = lower_differentiable(&graph).with_reduced_values();
    let (input, output) = (forward.program.inputs[0], forward.program.outputs[0]);
    let mut program = ProgramBuilder::extending(forward.clone());
    let ones = forward.program.tensors[output].ty.clone();
    let seed = program.constant(Tensor::from_f64(ones.clone(), &vec![1.0; ones.shape.elements()]));
    let gradients =
        append_gradients(&mut program, &forward, &[(output, seed)], &[input]).expect("it is differentiable");
    gradients[0].map(|gradient| program.finish(vec![gradient]).pruned())
}
