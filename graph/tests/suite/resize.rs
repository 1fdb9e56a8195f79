//! Where `Resize` reads.

use warpweave_graph::text::{Tensors, parse};
use warpweave_graph::{Tensor, lower, reference};

/// The elements nearest below the positions that a row of `extent` elements is read at.
fn symmetric(extent: usize, scale: f64, expected: &[f32]) {
    let text = format!(
        "graph \"\"\nv0 \"x\": f32[{extent}] = input\nv1 \"scale\": f32[1] = constant [{scale:?}]\n\
         v2 \"y\": f32[{}] = Resize \"n\" (v0, _, v1) {{coordinate_transformation_mode = string \
         \"half_pixel_symmetric\", mode = string \"nearest\", nearest_mode = string \"floor\"}}\ninput v0\noutput v2\n",
        expected.len()
    );
    let graph = parse(&text, &Tensors::new()).expect("a graph");
    let row: Vec<f32> = (0..extent).map(|at| at as f32).collect();
    let outputs =
        reference::evaluate(&lower(&graph), &[Tensor::new([extent], &row)]).expect("the reference computes it");
    assert_eq!(outputs[0], Tensor::new([expected.len()], expected));
}

#[test]
fn symmetric_positions_round_as_the_definition_does() {
    symmetric(5, 0.5, &[1.0, 3.0]);
    symmetric(7, 1.5, &[0.0, 0.0, 1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 5.0, 6.0]);
}
