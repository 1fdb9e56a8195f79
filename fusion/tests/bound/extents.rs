//! Erratum E1: how many input positions a window reads, against counting them one by one.

use std::collections::BTreeSet;

use warpweave_fusion::cost::bound::InputExtent;
use warpweave_fusion::cost::bound::footprint::Footprint;
use warpweave_graph::arena::Id;
use warpweave_graph::expr::{ExprBuilder, Index, ReadId, Reducer, TensorExpr};

use crate::operators::{F32, Window, tensor, zero};

/// A window over one dimension of 64 outputs.
fn window(window: Window) -> TensorExpr {
    let mut expr = ExprBuilder::new();
    let (output, tap) = (expr.parallel(64), expr.reduced(window.taps));
    let x = expr.operand(&tensor(&[1 << 12]));
    let place = Index::axis(output).times(window.stride as i64).add(&Index::axis(tap).times(window.dilation as i64));
    let x = expr.padded_read(x, vec![place.plus(-(window.padding as i64))], zero());
    expr.reduce(F32, Reducer::Sum, x, None)
}

fn elements(of: Window, outputs: usize, rule: InputExtent) -> u64 {
    let expr = window(of);
    let read = &expr.reads[ReadId::from_index(0)];
    Footprint::of_read(&expr, read, &[outputs, of.taps], rule).elements()
}

#[test]
fn printed_and_correct_extents_of_eight_outputs() {
    let cases = [((3, 1, 1), 10, 10), ((1, 1, 0), 10, 8), ((5, 1, 2), 10, 12), ((3, 1, 0), 12, 10)];
    let strided = [((3, 2, 1), 5, 17), ((7, 2, 3), 5, 21)];
    for ((taps, stride, padding), printed, correct) in cases.into_iter().chain(strided) {
        let window = Window::new(taps, stride, padding);
        assert_eq!(elements(window, 8, InputExtent::Printed), printed, "printed, {window:?}");
        assert_eq!(elements(window, 8, InputExtent::Exact), correct, "correct, {window:?}");
    }
}

#[test]
fn extents_match_counting_for_every_stride_and_dilation() {
    for taps in 1..=5 {
        for stride in 1..=6 {
            for dilation in 1..=3 {
                for outputs in 1..=9 {
                    let window = Window { taps, stride, padding: 0, dilation };
                    let places = (0..outputs).flat_map(|o| (0..taps).map(move |t| o * stride + t * dilation));
                    let counted = places.collect::<BTreeSet<_>>().len() as u64;
                    let derived = elements(window, outputs, InputExtent::Exact);
                    assert!(derived >= counted, "{window:?}, {outputs} outputs: {derived} < {counted}");
                    if dilation == 1 {
                        assert_eq!(derived, counted, "{window:?}, {outputs} outputs");
                    }
                }
            }
        }
    }
}
