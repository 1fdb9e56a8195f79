//! How far windows reach.

use warpweave_graph::reference::evaluate;
use warpweave_graph::text::parse;
use warpweave_graph::{Tensor, lower, verify};

#[test]
fn a_transposed_window_narrower_than_its_stride_is_not_padded_beyond_what_it_reaches() {
    for padding in ["SAME_UPPER", "SAME_LOWER"] {
        let text = format!(
            "graph \"g\"\nv0 \"x\": f32[1x1x4] = input\nv1 \"w\": f32[1x1x1] = constant [2]\n\
             v2 \"y\": f32[1x1x10] = ConvTranspose \"n\" (v0, v1) {{auto_pad = string \"{padding}\", strides = ints [3]}}\n\
             input v0\noutput v2\n"
        );
        let graph = parse(&text, &Default::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(verify::verify(&graph), []);
        let outputs =
            evaluate(&lower(&graph), &[Tensor::new([1, 1, 4], &[1f32, 2.0, 3.0, 4.0])]).expect("it has values");
        assert_eq!(outputs[0].to_f64(), [2.0, 0.0, 0.0, 4.0, 0.0, 0.0, 6.0, 0.0, 0.0, 8.0]);
    }
}
