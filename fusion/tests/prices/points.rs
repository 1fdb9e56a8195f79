use crate::{cycles, estimate};

/// A function of so many elements.
fn function(elements: usize) -> f64 {
    let program = format!(
        "t0: f32[{elements}] = input 0\n\
        e0 (t0) -> t1: f32[{elements}] = [a0<{elements}] mul(exp(x0[a0]), tanh(exp(neg(x0[a0]))))\noutput t1\n"
    );
    cycles(&program, &format!("pointwise/8/run tile {elements}"))
}

#[test]
fn neighbours_that_all_exist_fill_one_anothers_latencies() {
    let [whole, parted] = [512, 510].map(function);
    assert!(whole < 0.7 * parted, "{whole}, and {parted} where a branch stands before each");
}

/// The sums of rows of 415 elements, a load for each after the other.
fn sums(rows: usize) -> f64 {
    let program = format!(
        "t0: f32[{rows}x415] = input 0\n\
        e0 (t0) -> t1: f32[{rows}] = [a0<{rows}] sum[a1<415] x0[a0, a1]\noutput t1\n"
    );
    cycles(&program, &format!("pointwise/1 tile {rows}"))
}

#[test]
fn loads_of_some_warps_pass_while_others_wait() {
    let [two, eight] = [64, 256].map(sums);
    let (waits, passes) = (415.0 * estimate().arch.load_latency_cycles.value, 415.0 * 256.0);
    assert!(two > waits, "a warp waits for each");
    assert!(eight > passes, "every lane is a pass");
    assert!(eight < waits + passes / 2.0, "both take place at once");
}
