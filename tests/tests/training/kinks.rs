//! Gradients at kinks and ties are PyTorch's.

use std::collections::BTreeSet;

use warpweave::graph::autodiff::append_gradients;
use warpweave::graph::expr::{BinaryOp, Reducer, Scalar, TensorExpr, UnaryOp};
use warpweave::graph::lower::lower_differentiable;
use warpweave::graph::program::{ProgramBuilder, TensorProgram};
use warpweave::graph::reference::evaluate;
use warpweave::graph::text::parse;
use warpweave::graph::{ElementType, Tensor, TensorType};
use warpweave::operators::samples;
use warpweave_tests::suite::Suite;

/// PyTorch's gradients, which `scripts/kinks.py` writes.
const TABLE: &str = include_str!("../../training/kinks.json");
/// The least number of cases, so that a lost table fails.
const FEWEST: usize = 54;

/// Piecewise operators without a case, by why they need none.
const WITHOUT_CASE: [(&str, &[&str]); 5] = [
    ("an index or a choice has no gradient", &["ArgMax", "ArgMin", "Binarizer", "Hardmax", "Imputer", "Multinomial"]),
    (
        "the largest score cancels, as in Softmax",
        &[
            "Attention",
            "FlexAttention",
            "GroupQueryAttention",
            "LinearClassifier",
            "MultiHeadAttention",
            "SoftmaxCrossEntropyLoss",
        ],
    ),
    ("an optimizer is not trained", &["Adam", "Momentum"]),
    ("PyTorch divides by a norm and an epsilon, or gives NaN for a row of zeros", &["LpNormalization", "Normalizer"]),
    ("GridSample, LpPool and MaxPool have the same expressions", &["DeformConv", "GlobalLpPool", "NhwcMaxPool"]),
];

/// An operator over inputs at a kink, and PyTorch's gradients of the sum of its output.
#[derive(Debug)]
struct Case {
    operator: String,
    attributes: String,
    inputs: Vec<Tensor>,
    output: Vec<usize>,
    gradients: Vec<Vec<f64>>,
}

impl Case {
    fn all() -> Vec<Self> {
        let table: serde_json::Value = serde_json::from_str(TABLE).expect("the table is JSON");
        table.as_array().expect("the table is a list").iter().map(Self::of).collect()
    }

    fn of(value: &serde_json::Value) -> Self {
        let arrays = |key: &str| value[key].as_array().expect("a list of arrays").iter().map(array);
        Self {
            operator: value["operator"].as_str().expect("an operator").to_owned(),
            attributes: value["attributes"].as_str().expect("attributes").to_owned(),
            inputs: arrays("inputs").collect(),
            output: extents(&value["output"]),
            gradients: arrays("gradients").map(|gradient| gradient.to_f64()).collect(),
        }
    }

    /// The graph, with inputs in doubles.
    fn text(&self) -> String {
        let ty = |shape: &[usize]| format!("f64[{}]", shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x"));
        let given = |(at, input): (usize, &Tensor)| format!("v{at} \"x{at}\": {} = input\n", ty(input.shape()));
        let given: String = self.inputs.iter().enumerate().map(given).collect();
        let names: Vec<String> = (0..self.inputs.len()).map(|at| format!("v{at}")).collect();
        let (names, count, output) = (names.join(", "), self.inputs.len(), ty(&self.output));
        let node = format!("v{count} \"y\": {output} = {} \"n\" ({names}) {}", self.operator, self.attributes);
        format!("graph \"g\"\n{given}{}\ninput {names}\noutput v{count}\n", node.trim_end())
    }

    fn check(&self) {
        let text = self.text();
        for (at, wanted) in self.gradients.iter().enumerate() {
            let found = match gradient_program(&text, at) {
                None => vec![0.0; wanted.len()],
                Some(program) => evaluate(&program, &self.inputs).expect("it has a value")[0].to_f64(),
            };
            let agree = |(found, wanted): (&f64, &f64)| {
                found == wanted || (found - wanted).abs() <= 1e-7 || (found.is_nan() && wanted.is_nan())
            };
            let all = found.len() == wanted.len() && found.iter().zip(wanted).all(agree);
            assert!(all, "by input {at}: {found:?}, not {wanted:?}\n{text}");
        }
    }
}

fn extents(value: &serde_json::Value) -> Vec<usize> {
    value.as_array().expect("extents").iter().map(|extent| extent.as_u64().expect("an extent") as usize).collect()
}

fn array(value: &serde_json::Value) -> Tensor {
    let number = |value: &serde_json::Value| match value.as_str() {
        Some(word) => word.parse().expect("a number that is not finite"),
        None => value.as_f64().expect("a number"),
    };
    let values: Vec<f64> = value["values"].as_array().expect("values").iter().map(number).collect();
    Tensor::from_f64(TensorType::new(ElementType::F64, extents(&value["shape"])), &values)
}

/// The operators whose values are pieced together, as their smallest applications are lowered.
fn piecewise() -> BTreeSet<&'static str> {
    let samples = samples(ElementType::F64).into_iter();
    samples.filter(|(_, graph)| has_kink(&lower_differentiable(graph).program)).map(|(name, _)| name).collect()
}

/// Whether a floating-point result is chosen by floating-point values that depend on an input.
fn has_kink(program: &TensorProgram) -> bool {
    let expressions = program.statements.values().filter_map(|statement| statement.definition.expr());
    expressions.into_iter().any(|expr| {
        let extreme = matches!(expr.reducer, Some(Reducer::Maximum | Reducer::Minimum));
        let epilogue = expr.epilogue.iter();
        expr.element.is_float()
            && (extreme || [&expr.body].into_iter().chain(epilogue).any(|scalar| chooses(expr, scalar)))
    })
}

fn chooses(expr: &TensorExpr, scalar: &Scalar) -> bool {
    let is_float = |scalar: &Scalar| expr.element_of(scalar).is_float();
    match scalar {
        Scalar::Literal(_) | Scalar::Read(_) | Scalar::Index(..) | Scalar::Holds(_) | Scalar::Reduced => false,
        Scalar::Unary(UnaryOp::Absolute | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven, _) => true,
        Scalar::Unary(_, operand) | Scalar::Cast(_, operand) => chooses(expr, operand),
        Scalar::Binary(BinaryOp::Maximum | BinaryOp::Minimum, left, _) if is_float(left) => true,
        Scalar::Binary(_, left, right) => chooses(expr, left) || chooses(expr, right),
        Scalar::Select(condition, then, otherwise) => {
            compares(expr, condition) || chooses(expr, then) || chooses(expr, otherwise)
        }
    }
}

fn compares(expr: &TensorExpr, scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Binary(BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Equal, left, _) => {
            expr.element_of(left).is_float()
        }
        Scalar::Binary(_, left, right) => compares(expr, left) || compares(expr, right),
        Scalar::Unary(_, operand) => compares(expr, operand),
        _ => false,
    }
}

/// A trial a case, and those of what no table has.
pub fn add(suite: &mut Suite) {
    let cases = Case::all();
    assert!(cases.len() >= FEWEST, "the table of kinks has {} cases", cases.len());
    let tabled: BTreeSet<String> = cases.iter().map(|case| case.operator.clone()).collect();
    suite.trial("kinks of every operator", move || check_complete(&tabled));
    for (at, case) in cases.into_iter().enumerate() {
        suite.trial(format!("kinks {at} {}", case.operator), move || case.check());
    }
    for order in [1, 2, 3] {
        suite.trial(format!("kinks norm of windows of zeros {order}"), move || check_norm_of_windows(order));
    }
    suite.trial("kinks computed maximum", check_computed_maximum);
    suite.trial("kinks work of a product", check_work_of_product);
}

/// Every operator that has kinks is in the table, or has none that matters to its gradient.
fn check_complete(tabled: &BTreeSet<String>) {
    let found = piecewise();
    let without: BTreeSet<&str> = WITHOUT_CASE.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let missing: Vec<&&str> =
        found.iter().filter(|name| !tabled.contains(**name) && !without.contains(**name)).collect();
    assert!(missing.is_empty(), "scripts/kinks.py has no case of {missing:?}");
    let idle: Vec<&&str> = without.iter().filter(|name| !found.contains(**name)).collect();
    assert!(idle.is_empty(), "{idle:?} have no kink");
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
        let program = gradient_program(&text, 0).expect("it has a gradient");
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
    match gradient_program(text, 0) {
        None => vec![0.0; at.len()],
        Some(program) => evaluate(&program, &[Tensor::from_f64(ty, at)]).expect("it has a value")[0].to_f64(),
    }
}

/// What computes the gradient by one of the inputs, if it is not zero.
fn gradient_program(text: &str, by: usize) -> Option<TensorProgram> {
    let graph = parse(text, &Default::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let forward = lower_differentiable(&graph).with_reduced_values();
    let (input, output) = (forward.program.inputs[by], forward.program.outputs[0]);
    let mut program = ProgramBuilder::extending(forward.clone());
    let ones = forward.program.tensors[output].ty.clone();
    let seed = program.constant(Tensor::from_f64(ones.clone(), &vec![1.0; ones.shape.elements()]));
    let gradients =
        append_gradients(&mut program, &forward, &[(output, seed)], &[input]).expect("it is differentiable");
    gradients[0].map(|gradient| program.finish(vec![gradient]).pruned())
}
