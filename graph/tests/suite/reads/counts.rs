//! Where elements go of which only some count.

use warpweave_graph::ops::Context;
use warpweave_graph::text::parse;

/// A node of up to three values, and of an input and a dimension the dimension of its outputs, if they have one.
type Followed = (&'static str, [&'static str; 3], &'static [(usize, usize, Option<usize>)]);

const FOLLOWED: [Followed; 13] = [
    ("Clip \"n\" (v0, v1, v2)", ["f32[7x4]", "f32[]", "f32[]"], &[(0, 0, Some(0)), (0, 1, Some(1))]),
    ("Where \"n\" (v0, v1, v2)", ["bool[7]", "f32[2x7]", "f32[]"], &[(0, 0, Some(1)), (1, 0, Some(0))]),
    ("Softmax \"n\" (v0) {axis = int -1}", ["f32[7x4]", "f32[]", "f32[]"], &[(0, 0, Some(0)), (0, 1, None)]),
    ("LogSoftmax \"n\" (v0) {axis = int 0}", ["f32[7x4]", "f32[]", "f32[]"], &[(0, 0, None), (0, 1, Some(1))]),
    (
        "Softmax \"n\" (v0) {axis = int 1, onward = int 1}",
        ["f32[7x4x3]", "f32[]", "f32[]"],
        &[(0, 0, Some(0)), (0, 1, None), (0, 2, None)],
    ),
    (
        "ArgMax \"n\" (v0) {axis = int 0, keepdims = int 0}",
        ["f32[3x7]", "f32[]", "f32[]"],
        &[(0, 0, None), (0, 1, Some(0))],
    ),
    (
        "ReduceMean \"n\" (v0) {axes = ints [0, 2], keepdims = int 0}",
        ["f32[3x7x5]", "f32[]", "f32[]"],
        &[(0, 0, None), (0, 1, Some(0)), (0, 2, None)],
    ),
    ("ReduceSum \"n\" (v0) {axes = ints [1]}", ["f32[7x5]", "f32[]", "f32[]"], &[(0, 0, Some(0)), (0, 1, None)]),
    (
        "MatMul \"n\" (v0, v1)",
        ["f32[2x7x4]", "f32[4x5]", "f32[]"],
        &[(0, 0, Some(0)), (0, 1, Some(1)), (0, 2, None), (1, 0, None), (1, 1, Some(2))],
    ),
    ("MatMul \"n\" (v0, v1)", ["f32[4]", "f32[3x4x7]", "f32[]"], &[(0, 0, None), (1, 0, Some(0)), (1, 2, Some(1))]),
    (
        "Gemm \"n\" (v0, v1, v2) {transB = int 1}",
        ["f32[7x4]", "f32[5x4]", "f32[5]"],
        &[(0, 0, Some(0)), (0, 1, None), (1, 0, Some(1)), (1, 1, None), (2, 0, Some(1))],
    ),
    (
        "Split \"n\" (v0) {axis = int 1, split = ints [4]}",
        ["f32[7x4]", "f32[]", "f32[]"],
        &[(0, 0, Some(0)), (0, 1, None)],
    ),
    ("Transpose \"n\" (v0) {perm = ints [1, 0]}", ["f32[7x4]", "f32[]", "f32[]"], &[(0, 0, Some(1)), (0, 1, Some(0))]),
];

#[test]
fn elements_that_count_are_followed() {
    for (node, types, expected) in FOLLOWED {
        let given = types.iter().enumerate().map(|(at, ty)| format!("v{at} \"i{at}\": {ty} = input\n"));
        let heading = format!("graph \"g\"\n{}", given.collect::<String>());
        let inputs = "input v0, v1, v2\noutput v3\n";
        // The output's type is not looked at.
        let text = format!("{heading}v3 \"y\": f32[1] = {node}\n{inputs}");
        let graph = parse(&text, &Default::default()).unwrap_or_else(|error| panic!("{node}: {error}"));
        let node = graph.nodes.values().next().expect("one node");
        let facts = graph.facts(&node.inputs);
        let context = Context::new(&facts, node.outputs.len());
        for &(input, dimension, wanted) in expected {
            let found = node.op.follows(&context, input, dimension);
            assert_eq!(found, wanted, "{types:?}, input {input}, dimension {dimension}");
        }
    }
}
