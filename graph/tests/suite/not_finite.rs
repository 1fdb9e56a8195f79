//! Where an output that is no number, or infinite, comes from.

use warpweave_graph::reference::source_of_not_finite;
use warpweave_graph::text::{Tensors, parse};
use warpweave_graph::{Tensor, lower};

/// The name of what the output comes from, for this input.
fn source(nodes: &str, x: [f32; 3]) -> Option<String> {
    let text =
        format!("graph \"g\"\nv0 \"x\": f32[3] = input\nv1 \"mask\": f32[3] = constant [0.0, 0.0, -inf]\n{nodes}");
    let graph = parse(&text, &Tensors::new()).unwrap_or_else(|error| panic!("{error}"));
    let program = lower(&graph);
    let found = source_of_not_finite(&program, &[Tensor::new([3], &x)]).expect("the program has values");
    found.map(|tensor| program.tensor_name(tensor).unwrap_or_default().to_owned())
}

#[test]
fn what_does_not_reach_the_output_is_innocent() {
    let nodes = r#"v2 "masked": f32[3] = Add "" (v0, v1)
v3 "share": f32[3] = Softmax "" (v2) {axis = int 0}
v4 "root": f32[3] = Sqrt "" (v0)
v5 "y": f32[3] = Add "" (v3, v4)
output v5
"#;
    assert_eq!(source(nodes, [1.0, 2.0, 3.0]), None);
    assert_eq!(source(nodes, [1.0, -2.0, 3.0]).as_deref(), Some("root"));
    assert_eq!(source(nodes, [1.0, f32::NAN, 3.0]).as_deref(), Some("x"));
}

#[test]
fn what_overflows_before_it_is_no_number_is_the_source() {
    let nodes = r#"v2 "large": f32[3] = Exp "" (v0)
v3 "y": f32[3] = Div "" (v2, v2)
output v3
"#;
    assert_eq!(source(nodes, [1.0, 200.0, 3.0]).as_deref(), Some("large"));
}

#[test]
fn what_is_infinite_is_followed_back() {
    let nodes = r#"v2 "large": f32[3] = Exp "" (v0)
v3 "y": f32[3] = Neg "" (v2)
output v3
"#;
    assert_eq!(source(nodes, [1.0, 200.0, 3.0]).as_deref(), Some("large"));
    let masked = "v2 \"y\": f32[3] = Add \"\" (v0, v1)\noutput v2\n";
    assert_eq!(source(masked, [1.0, 2.0, 3.0]).as_deref(), Some("mask"));
}
