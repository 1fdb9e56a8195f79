//! Which tensors of a program stay in singles when others are stored in 16 bits.

use std::collections::BTreeMap;

use warpweave_graph::pipeline::{PreparedProgram, prepare};
use warpweave_graph::program::precision::{Kept, Precision};
use warpweave_graph::text::{ContentHash, Tensors, parse};
use warpweave_graph::{ElementType, Graph, Tensor, TensorProgram, lower};

fn prepared(text: &str, tensors: &Tensors) -> PreparedProgram {
    let graph: Graph = parse(text, tensors).expect("a graph");
    prepare(&lower(&graph))
}

/// The reasons, sorted, and the program stored in halves.
fn stored(prepared: &PreparedProgram, precision: Precision) -> (Vec<Kept>, TensorProgram) {
    let (narrow, kept) = prepared.stored_in(precision, &BTreeMap::new());
    narrow.program.verify().unwrap_or_else(|error| panic!("{error}"));
    let mut reasons: Vec<Kept> = kept.into_values().collect();
    reasons.sort();
    (reasons, narrow.program)
}

fn tensors(program: &TensorProgram, element: ElementType) -> usize {
    program.tensors.values().filter(|tensor| tensor.ty.element == element).count()
}

#[test]
fn products_are_narrow_and_sums_are_not() {
    let text = "graph \"\"\nv0 \"x\": f32[4x8] = input\nv1 \"y\": f32[8x8] = input\n\
                v2 \"p\": f32[4x8] = MatMul \"n0\" (v0, v1)\n\
                v3 \"m\": f32[4x1] = ReduceMean \"n1\" (v2) {axes = ints [1]}\n\
                v4 \"z\": f32[4x8] = Sub \"n2\" (v2, v3)\ninput v0, v1\noutput v4\n";
    let prepared = prepared(text, &Tensors::new());
    let (reasons, program) = stored(&prepared, Precision::Fp16);
    assert_eq!(reasons, [Kept::Interface, Kept::Interface, Kept::Interface, Kept::Statistic]);
    assert_eq!(tensors(&program, ElementType::F16), 1, "{program:?}");
    let (reasons, program) = stored(&prepared, Precision::Fp32);
    assert_eq!((reasons.len(), tensors(&program, ElementType::F16)), (0, 0));
}

#[test]
fn logits_stay_and_weights_do_not() {
    let text = "graph \"\"\nv0 \"x\": f32[4x8] = input\nv1 \"a\": f32[4x8] = Sin \"n0\" (v0)\n\
                v2 \"s\": f32[4x8] = Softmax \"n1\" (v1) {axis = int 1}\nv3 \"y\": f32[4x8] = Cos \"n2\" (v2)\n\
                input v0\noutput v3\n";
    let (reasons, program) = stored(&prepared(text, &Tensors::new()), Precision::Bf16);
    assert_eq!(reasons, [Kept::Interface, Kept::Interface, Kept::Statistic, Kept::Logits]);
    assert!(tensors(&program, ElementType::BF16) > 0);
}

#[test]
fn parts_have_the_type_of_the_whole() {
    let text = "graph \"\"\nv0 \"x\": f32[4] = input\nv1 \"a\": f32[4] = Sin \"n0\" (v0)\nv2 \"b\": f32[4] = Cos \"n1\" (v0)\n\
                v3 \"y\": f32[8] = Concat \"n2\" (v1, v2) {axis = int 0}\ninput v0\noutput v3\n";
    let (reasons, _) = stored(&prepared(text, &Tensors::new()), Precision::Fp16);
    assert_eq!(reasons, [Kept::Interface, Kept::Interface, Kept::Part, Kept::Part]);
}

#[test]
fn constants_beyond_the_range_stay() {
    for (largest, precision, stays) in [
        (65_504.0, Precision::Fp16, false),
        (65_520.0, Precision::Fp16, true),
        (f32::NEG_INFINITY, Precision::Fp16, true),
        (1e38, Precision::Bf16, false),
        (f32::MAX, Precision::Bf16, true),
    ] {
        let constant = Tensor::new([4], &[largest, 1.0, 2.0, 3.0]);
        let hash = ContentHash::of(&constant);
        let text = format!(
            "graph \"\"\nv0 \"x\": f32[4] = input\nv1 \"c\": f32[4] = constant #{hash}\n\
             v2 \"y\": f32[4] = Mul \"n\" (v0, v1)\ninput v0\noutput v2\n"
        );
        let (reasons, _) = stored(&prepared(&text, &Tensors::from([(hash, constant)])), precision);
        assert_eq!(reasons.contains(&Kept::Range), stays, "{largest} in {precision}");
    }
}

#[test]
fn what_is_wanted_stays() {
    let text = "graph \"\"\nv0 \"x\": f32[4] = input\nv1 \"a\": f32[4] = Sin \"n0\" (v0)\nv2 \"y\": f32[4] = Cos \"n1\" (v1)\n\
                input v0\noutput v2\n";
    let prepared = prepared(text, &Tensors::new());
    let inner = prepared.program.statements.values().next().expect("a statement").output;
    for why in [Kept::Named, Kept::Samples] {
        let wanted = BTreeMap::from([(inner, why), (prepared.program.outputs[0], why)]);
        let (narrow, kept) = prepared.stored_in(Precision::Fp16, &wanted);
        assert_eq!((kept[&inner], kept[&prepared.program.outputs[0]]), (why, Kept::Interface));
        assert_eq!(tensors(&narrow.program, ElementType::F16), 0);
    }
}
