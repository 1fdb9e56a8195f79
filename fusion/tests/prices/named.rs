use crate::{cycles, estimate};

const THREADS: &str =
    "contraction/4x8 simt threads 8x4 warp 8x4 width 4 k-tile 64 register-prefetch k-slices 8 tile 32x32";

/// The product over so many points of 32 rows of a table, at the places that data name or the first, with 32 columns.
fn product(length: usize, names: bool) -> f64 {
    let [declared, read, row, to] = match names {
        true => ["t2: i64[32] = input 2\n", ", t2", "x0[place(x2[a0], 30000), a2]", "t3"],
        false => ["", "", "x0[a0, a2]", "t2"],
    };
    let program = format!(
        "t0: f32[30000x{length}] = input 0\nt1: f32[32x{length}] = input 1\n{declared}\
        e0 (t0, t1{read}) -> {to}: f32[32x32] = [a0<32, a1<32] sum[a2<{length}] mul({row}, x1[a1, a2])\noutput {to}\n"
    );
    cycles(&program, THREADS)
}

#[test]
fn elements_that_all_steps_name_come_from_memory_once() {
    let [eight, sixteen] = [512, 1024].map(|length| product(length, true) - product(length, false));
    let a_step = (sixteen - eight) / 8.0;
    let first = eight - 8.0 * a_step;
    assert!(first > 2.0 * a_step, "{first} cycles in the first step alone, {a_step} in each");
}

/// The sum of 16 elements, each of the row that `row` reads.
fn sum(row: &str) -> f64 {
    let program = format!(
        "t0: f32[100x16] = input 0\nt1: i64[256x16] = input 1\n\
        e0 (t0, t1) -> t2: f32[256] = [a0<256] sum[a1<16] x0[place({row}, 100), a1]\noutput t2\n"
    );
    cycles(&program, "pointwise/1 tile 256")
}

#[test]
fn elements_that_every_tap_names_are_waited_for_at_every_tap() {
    let latency = estimate().arch.load_latency_cycles.value;
    assert!(sum("x1[a0, a1]") - sum("x1[a0, 0]") > 15.0 * latency);
}
