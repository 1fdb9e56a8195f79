use warpweave_fusion::cost::KernelCost;

use crate::{estimate, kernel};

#[test]
fn a_call_from_a_stream_takes_a_little_off_an_rtask() {
    let sum = "t0: f32[1024] = input 0\ne0 (t0) -> t1: f32[1024] = [a0<1024] add(x0[a0], 1.0)\noutput t1\n";
    let (cost, kernel) = (estimate(), kernel(sum, "pointwise/1 tile 256"));
    let (dispatch, whole) = (cost.dispatch_microseconds(&kernel), cost.task_microseconds(&kernel));
    assert!((-0.1 * whole..0.0).contains(&dispatch), "{dispatch} of {whole}");
}
