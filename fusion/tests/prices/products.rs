use crate::{cycles, estimate};

const SLICES: &str =
    "contraction/4x8 simt threads 8x4 warp 8x4 width 4 k-tile 64 register-prefetch k-slices 8 tile 32x32";

/// The sums of so many products, and what follows them.
fn product(length: usize, then: &str, under: &str) -> f64 {
    let [declared, read, to] =
        if then.contains("x2") { ["t2: f32[32] = input 2\n", ", t2", "t3"] } else { ["", "", "t2"] };
    let program = format!(
        "t0: f32[32x{length}] = input 0\nt1: f32[32x{length}] = input 1\n{declared}\
        e0 (t0, t1{read}) -> {to}: f32[32x32] = [a0<32, a1<32] sum[a2<{length}] mul(x0[a0, a2], x1[a1, a2]){then}\noutput {to}\n"
    );
    cycles(&program, under)
}

#[test]
fn a_latency_behind_the_sums_belongs_to_what_is_loaded_there() {
    let [with, without] =
        [" then add(reduced, x2[a1])", " then add(reduced, 1.0)"].map(|then| product(512, then, SLICES));
    let (behind, latency) = (with - without, estimate().arch.load_latency_cycles.value);
    assert!((latency..1.2 * latency).contains(&behind), "{behind}");
}

#[test]
fn the_last_step_waits_for_no_fetch() {
    let shape =
        |pipeline| format!("contraction/1x1 simt threads 16x16 warp 2x16 width 1 k-tile 8 {pipeline} tile 16x16");
    let steps = |pipeline| [8, 16, 24].map(|length| product(length, "", &shape(pipeline)));
    let ([one, two, three], [alone, both, _]) = (steps("register-prefetch"), steps("unpipelined"));
    let latency = estimate().arch.load_latency_cycles.value;
    assert!(two - one > latency && both - alone < two - one + latency, "the fetch of another step is waited for");
    assert!((three - 2.0 * two + one).abs() < 0.05 * (two - one), "all others are alike");
    assert!(one < alone, "{one}, and {alone} without a pipeline");
}
