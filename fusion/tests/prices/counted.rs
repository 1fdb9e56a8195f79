use warpweave_fusion::cost::counts::{KernelCounts, Sampling};
use warpweave_fusion::template::kernel_counts;

use crate::kernel;

/// A sample of warps stands for warps that do the same: those without a point stand for none.
fn is_sampled_well(program: &str, under: &str) {
    let kernel = kernel(program, under);
    let [exact, coarse] = [Sampling::EXACT, Sampling::COARSE].map(|sampling| kernel_counts(&kernel, sampling));
    let quantities: [fn(&KernelCounts) -> f64; 4] =
        [|of| of.load_sectors, |of| of.load_lines, |of| of.warp_loads, |of| of.store_sectors];
    for (at, quantity) in quantities.into_iter().enumerate() {
        let (exact, coarse) = (quantity(&exact), quantity(&coarse));
        assert!((exact - coarse).abs() <= 0.05 * exact, "{under}, quantity {at}: {coarse} for {exact}");
    }
}

/// A vector times the rows of a matrix.
const PRODUCT: &str = "t0: f32[512] = input 0\nt1: f32[64x512] = input 1\n\
    e0 (t0, t1) -> t2: f32[64] = [a0<64] sum[a1<512] mul(x0[a1], x1[a0, a1])\noutput t2\n";

#[test]
fn a_tile_with_fewer_points_than_threads() {
    is_sampled_well(PRODUCT, "pointwise/1 tile 64");
    is_sampled_well(PRODUCT, "pointwise/8/run tile 64");
}

#[test]
fn a_tile_with_fewer_gathered_points_than_threads() {
    let program = "t0: f32[100x64] = input 0\nt1: i64[1] = input 1\n\
        e0 (t0, t1) -> t2: f32[1x64] = [a0<1, a1<64] x0[place(x1[a0], 100), a1]\noutput t2\n";
    is_sampled_well(program, "pointwise/4 tile 64");
    is_sampled_well(program, "pointwise/4/run tile 64");
}

#[test]
fn a_tile_with_fewer_rows_than_warps() {
    is_sampled_well(PRODUCT, "row/warp tile 1");
    is_sampled_well(PRODUCT, "row/warp tile 3");
}
