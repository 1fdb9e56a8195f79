use warpweave_fusion::cost::KernelCost;

use crate::{body, estimate, params};

#[test]
fn the_fewer_kernels_a_program_has_the_less_an_rtask_takes() {
    let sum = body("t0: f32[1024] = input 0\ne0 (t0) -> t1: f32[1024] = [a0<1024] add(x0[a0], 1.0)\noutput t1\n");
    let (cost, params) = (estimate(), params("pointwise/1 tile 256"));
    let dispatch =
        |kernels: usize| cost.dispatch_microseconds(&sum, &params, kernels) * cost.arch.cycles_per_microsecond.value;
    let found = [1, 2, 4, 16].map(dispatch);
    assert!(found.is_sorted_by(|fewer, more| fewer < more), "{found:?}");
    assert_eq!([32, 1000].map(dispatch), [0.0, 0.0], "prices hold the choice among many");
    let whole = cost.task_microseconds(&sum, &params) * cost.arch.cycles_per_microsecond.value;
    assert!(found[0] < 0.0 && -found[0] < 0.5 * whole, "{} of {whole}", found[0]);
}
