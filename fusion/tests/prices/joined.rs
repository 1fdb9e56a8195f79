use warpweave_plan::template::contraction::joined::JoinedReduction;
use warpweave_plan::template::contraction::{AxisClass, Contraction};

use crate::{body, cycles};

const SHAPE: &str = "contraction/4x4 simt threads 16x16 warp 4x8 width 4 k-tile 32 register-prefetch tile 32x14x5";

/// Windows of seven by seven over three planes of images so wide, in so many columns.
fn windows((width, columns): (usize, usize), weights: &str) -> String {
    format!(
        "t0: f32[3x20x{width}] = input 0\nt1: f32[32x3x7x7] = input 1\n\
        e0 (t0, t1) -> t2: f32[32x14x{columns}] = [a0<32, a1<14, a2<{columns}] sum[a3<3, a4<7, a5<7] \
        mul(x0[a3, a1 + a4, a2 + a5], {weights})\noutput t2\n"
    )
}

const IN_ORDER: &str = "x1[a0, a3, a4, a5]";

#[track_caller]
fn check(program: &str, mut expected: [(&[usize], &[usize]); 2]) {
    let body = body(program);
    let contraction = Contraction::of(&body).expect("a contraction");
    let found = [AxisClass::Row, AxisClass::Column].map(|class| {
        let JoinedReduction { extents, positions } = JoinedReduction::of_rows(&body, &contraction, class);
        (extents, positions)
    });
    let mut found = found.each_ref().map(|(extents, positions)| (&extents[..], &positions[..]));
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_factor_walks_axes_along_which_it_reads_on_as_one() {
    let apart: (&[usize], &[usize]) = (&[3, 7, 7], &[0, 1, 2]);
    check(&windows((20, 14), IN_ORDER), [(&[147], &[2]), apart]);
    check(&windows((20, 14), "x1[a0, a3, a5, a4]"), [apart, apart]);
    // Taps of whole lines are one axis to both factors before.
    check(&windows((7, 1), IN_ORDER), [(&[147], &[1]), (&[3, 49], &[0, 1])]);
}

#[test]
fn places_of_what_reads_on_take_no_divisions() {
    let [joined, apart] = [IN_ORDER, "x1[a0, a3, a5, a4]"].map(|weights| cycles(&windows((20, 14), weights), SHAPE));
    assert!(joined < apart, "{joined}, and {apart} where weights lie across");
}
