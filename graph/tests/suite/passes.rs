//! What the passes change, on small graphs in text form; the values stay.

use warpweave_graph::passes;
use warpweave_graph::reference::evaluate;
use warpweave_graph::text::{Tensors, parse, print};
use warpweave_graph::verify::{Violation, verify};
use warpweave_graph::{Graph, Tensor, lower};

fn graph(text: &str) -> Graph {
    let graph = parse(text, &Tensors::new()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(verify(&graph), []);
    graph
}

fn values(graph: &Graph) -> Vec<Vec<f32>> {
    let input = |&id| {
        let ty = graph.values[id].ty.as_tensor().expect("inputs are tensors");
        let elements: Vec<f64> = (0..ty.shape.elements()).map(|at| at as f64 / 7.0 - 1.0).collect();
        Tensor::from_f64(ty.clone(), &elements)
    };
    let inputs: Vec<Tensor> = graph.inputs.iter().map(input).collect();
    evaluate(&lower(graph), &inputs).expect("the graph evaluates").iter().map(Tensor::to_f32).collect()
}

/// Runs all passes; the operators that are left must be these.
#[track_caller]
fn check(text: &str, operators: &[&str]) -> Graph {
    let before = graph(text);
    let after = passes::run(&before).expect("the passes keep the graph valid");
    let left: Vec<&str> = after.nodes.values().map(|node| node.op.name()).collect();
    assert_eq!(left, operators, "{}", print(&after));
    for (before, after) in values(&before).iter().flatten().zip(values(&after).iter().flatten()) {
        assert!((before - after).abs() <= 1e-6 * before.abs().max(1.0), "{before} became {after}");
    }
    after
}

#[test]
fn constants_fold() {
    let text = r#"
v0 "x": f32[2] = input
v1 "a": f32[2] = constant [1.0, 2.0]
v2 "b": f32[2] = Exp "" (v1)
v3 "c": f32[2] = Add "" (v2, v1)
v4 "y": f32[2] = Mul "" (v0, v3)
output v4
"#;
    check(text, &["Mul"]);
}

#[test]
fn identities_and_dead_nodes_go() {
    let text = r#"
v0 "x": f32[2] = input
v1 "a": f32[2] = Identity "" (v0)
v2 "b": f32[2] = Dropout "" (v1)
v3 "dead": f32[2] = Exp "" (v2)
v4 "y": f32[2] = Relu "" (v2)
output v4, v1
"#;
    let after = check(text, &["Relu"]);
    assert_eq!(after.outputs[1].value, after.inputs[0]);
}

#[test]
fn reshapes_and_transposes_merge() {
    let text = r#"
v0 "x": f32[2x3x4] = input
v1 "t": i64[2] = constant [6, 4]
v2 "a": f32[6x4] = Reshape "" (v0, v1)
v3 "b": f32[1x24] = Flatten "" (v2) {axis = int 0}
v4 "c": f32[24] = Squeeze "" (v3)
v5 "d": f32[4x3x2] = Transpose "" (v0)
v6 "e": f32[3x4x2] = Transpose "" (v5) {perm = ints [1, 0, 2]}
v7 "f": f32[2x3x4] = Transpose "" (v6) {perm = ints [2, 0, 1]}
output v4, v7
"#;
    let after = check(text, &["Reshape"]);
    assert_eq!(after.outputs[1].value, after.inputs[0]);
}

#[test]
fn equal_nodes_merge() {
    let text = r#"
v0 "x": f32[2] = input
v1 "a": f32[] = constant 2.0
v2 "b": f32[] = constant 2.0
v3 "c": f32[2] = Mul "" (v0, v1)
v4 "d": f32[2] = Mul "" (v0, v2)
v5 "e": f32[2] = Exp "" (v3)
v6 "f": f32[2] = Exp "" (v4)
v7 "y": f32[2] = Add "" (v5, v6)
output v7
"#;
    check(text, &["Mul", "Exp", "Add"]);
}

const NORMALISED: &str = r#"
v0 "x": f32[1x2x4] = input
v1 "w": f32[2x1x2] = constant [1.0, 2.0, 3.0, 4.0]
v2 "scale": f32[2] = constant [2.0, 3.0]
v3 "bias": f32[2] = constant [-1.0, 5.0]
v4 "mean": f32[2] = constant [0.5, -0.25]
v5 "variance": f32[2] = constant [4.0, 0.5]
"#;

#[test]
fn batch_normalisation_folds_into_convolution() {
    let without = r#"
v6 "c": f32[1x2x3] = Conv "" (v0, v1) {group = int 2}
v7 "y": f32[1x2x3] = BatchNormalization "" (v6, v2, v3, v4, v5) {epsilon = float 0.25}
output v7
"#;
    check(&format!("{NORMALISED}{without}"), &["Conv"]);
    let with = r#"
v6 "c": f32[1x2x3] = Conv "" (v0, v1, v3) {group = int 2}
v7 "y": f32[1x2x3] = BatchNormalization "" (v6, v2, v3, v4, v5)
output v7
"#;
    check(&format!("{NORMALISED}{with}"), &["Conv"]);
}

#[test]
fn a_convolution_with_other_readers_is_left_alone() {
    let text = r#"
v6 "c": f32[1x2x3] = Conv "" (v0, v1) {group = int 2}
v7 "y": f32[1x2x3] = BatchNormalization "" (v6, v2, v3, v4, v5)
output v7, v6
"#;
    check(&format!("{NORMALISED}{text}"), &["Conv", "BatchNormalization"]);
}

#[test]
fn violations_are_reported() {
    let mut wrong = graph("v0 \"x\": f32[2] = input\nv1 \"y\": f32[2] = Relu \"\" (v0)\noutput v1\n");
    let (x, y) = (wrong.inputs[0], wrong.outputs[0].value);
    let relu = wrong.nodes.ids().next().expect("there is a node");
    wrong.values[y].ty = wrong.values[x].ty.clone();
    assert_eq!(verify(&wrong), []);
    wrong.nodes[relu].inputs[0] = Some(y);
    assert_eq!(verify(&wrong), [Violation::Order(relu, y)]);
    wrong.nodes[relu].inputs[0] = None;
    assert!(matches!(&verify(&wrong)[..], [Violation::Refused { .. }]));
    wrong.nodes[relu].inputs[0] = Some(x);
    wrong.inputs.clear();
    assert_eq!(verify(&wrong), [Violation::Input(x)]);
    wrong.inputs = vec![x];
    wrong.nodes[relu].outputs.clear();
    assert_eq!(verify(&wrong), [Violation::Origin(y)]);
}
