//! The reference reads no element beyond a dimension, also where another row's lies there.

use warpweave_graph::Tensor;
use warpweave_graph::program::text::parse;
use warpweave_graph::reference::{ReferenceError, evaluate};
use warpweave_graph::text::Tensors;

/// Reads of rows of three, and whether all of them lie inside.
const READS: [(&str, bool); 7] = [
    ("x0[a0, a1]", true),
    ("x0[a0, a1 + 1]", false),
    ("(a1 + 1 in 0..3 ? x0[a0, a1 + 1] : 0.0)", true),
    ("(a1 + 1 in 0..4 ? x0[a0, a1 + 1] : 0.0)", false),
    ("(a1 - 1 in 0..3 ? x0[a0, a1 - 1] : 0.0)", true),
    ("(a1 - 1 in -1..3 ? x0[a0, a1 - 1] : 0.0)", false),
    ("(a0 in 0..1, a1 in 0..1 ? x0[a0, a1 + 2] : 0.0)", true),
];

#[test]
fn reads_beyond_a_row_are_refused() {
    for (read, is_inside) in READS {
        let text = format!(
            "program\nt0 \"x\": f32[2x3] = input 0\ne0 (t0) -> t1: f32[2x3] = [a0<2, a1<3] {read}\noutput t1\n"
        );
        let program = parse(&text, &Tensors::new()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let found = evaluate(&program, &[Tensor::new([2, 3], &[1.0f32; 6])]);
        match is_inside {
            true => assert!(found.is_ok(), "{read}: {found:?}"),
            false => assert_eq!(found, Err(ReferenceError::OutOfBounds { operand: 0 }), "{read}"),
        }
    }
}
