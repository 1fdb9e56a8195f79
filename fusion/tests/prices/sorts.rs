use crate::{cycles, estimate};

/// The sort of a row of so many places.
fn sort(length: usize) -> f64 {
    let program = format!(
        "t0: i64[{length}] = input 0\n\
        e0 (t0) -> t1: i64[{length}] = sort ascending of [a0<{length}] each[a1<{length}] x0[a1]\noutput t1\n"
    );
    cycles(&program, "opaque tile none")
}

#[test]
fn every_step_of_a_sort_waits_for_its_own_chain() {
    // Rows of 16 places have 10 steps, of 32 have 15, of 64 have 21. The listing of the first takes 195 cycles a step.
    let [sixteen, more, most] = [16, 32, 64].map(sort);
    for a_step in [(more - sixteen) / 5.0, (most - more) / 6.0] {
        assert!((170.0..220.0).contains(&a_step), "{a_step} cycles a step");
    }
}

#[test]
fn a_short_row_is_read_as_slowly_as_one_a_thread() {
    let latency = estimate().arch.load_latency_cycles.value;
    let [sixteen, more] = [16, 32].map(sort);
    let beside_steps = sixteen - 10.0 * (more - sixteen) / 5.0;
    assert!(beside_steps > 3.0 * latency, "{beside_steps} cycles");
}
