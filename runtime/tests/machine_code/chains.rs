//! Chains of dependent matrix products by `mma.sync`, in half precision, as whole programs that were measured on an H200.
//! Their waits are over at once, so steps are held against what was measured between waits.

use warpweave_runtime::sass::evaluate::launch::Launch;
use warpweave_runtime::sass::program::MachineCode;
use warpweave_runtime::sass::simulate::Surroundings;

use super::{NONE, assert_near, cycles_of, machine_code, timed_beside};

/// Blocks of both programs. All of them load at the same time.
const BLOCKS: u32 = 128;
/// Clock reads of a step.
const STAMPS: usize = 5;

/// The cycles of the clock reads of the first thread, in order.
fn stamps(code: &MachineCode, entry: &str, threads: u32, parameters: &[u32], active: u64) -> Vec<u64> {
    let mut launch = Launch::new(threads, 0, BLOCKS, parameters);
    let surroundings = Surroundings { cached: true, active };
    let (trace, timing) = timed_beside(code, entry, &mut launch, &["SR_CLOCKLO"], surroundings);
    assert_eq!((trace.unknowns.jumps, trace.unknowns.addresses), (0, 0), "only polls and guards are unknown");
    timing.watched.iter().filter(|issue| issue.warp == 0).map(|issue| issue.cycle).collect()
}

/// The parameters of a kernel: so many pointers to distinct places, then numbers.
fn parameters(pointers: u32, numbers: &[u32]) -> Vec<u32> {
    let pointers = (1..=pointers).flat_map(|pointer| [pointer << 28, 0]);
    pointers.chain(numbers.iter().copied()).collect()
}

fn microseconds(cycles: u64) -> f64 {
    cycles as f64 / 1980.0
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// 48 products without waits, on 128 blocks: the program, and the four kinds of steps. Steps load the weights themselves, or
/// load them for the next step when their sums are stored.
#[test]
fn products_without_waits_take_the_measured_time() {
    let code = machine_code("b2_mixed.cubin");
    for (entry, whole, measured) in [
        ("_Z5chainILi3ELi3ELi0ELi1EEv1P", 154.1, [2.72, 2.14, 3.20, 4.57]),
        ("_Z5chainILi3ELi3ELi2ELi1EEv1P", 159.4, [2.47, 2.66, 3.32, 4.74]),
    ] {
        let of = |active| stamps(&code, entry, 384, &parameters(10, &[12, 0]), active);
        let (own, alone) = (of(BLOCKS.into()), of(1));
        let total = |stamps: &[u64]| microseconds(stamps[stamps.len() - 1] - stamps[0]);
        assert_eq!(own.len(), 48 * STAMPS);
        assert_near(&format!("48 products of {entry}, us"), total(&own), whole, 0.15);
        assert!(total(&alone) < 0.75 * whole, "{:.1} us: a block alone has the cache to itself", total(&alone));
        for (kind, measured) in measured.into_iter().enumerate() {
            let step = |layer: usize| own[(4 * layer + kind + 1) * STAMPS] - own[(4 * layer + kind) * STAMPS];
            let step = microseconds(median((0..11).map(step).collect()));
            // Measured blocks drift apart, so that one loads while another multiplies.
            assert_near(&format!("step {kind} of {entry}, us"), step, measured, 0.26);
        }
    }
}

/// A convolution whose channels are split among 16 blocks, between its waits: loads; products and partial sums; reduction,
/// stores and signal.
#[test]
fn a_convolution_takes_the_measured_time_between_waits() {
    let code = machine_code("d.cubin");
    let own = stamps(&code, "_Z4conv2PD", 256, &parameters(8, &[16]), BLOCKS.into());
    assert_eq!(own.len(), 16 * STAMPS);
    let mut whole = 0.0;
    for (phase, (from, measured)) in [(0, 0.22), (1, 1.38), (3, 1.00)].into_iter().enumerate() {
        let of_layer = |layer: usize| own[layer * STAMPS + from + 1] - own[layer * STAMPS + from];
        let own = microseconds(median((0..16).map(of_layer).collect()));
        assert_near(&format!("phase {phase} of a convolution, us"), own, measured, 0.15);
        whole += own;
    }
    assert_near("a convolution without its waits, us", whole, 0.22 + 1.38 + 1.00, 0.15);
}

#[test]
fn products_keep_their_pipe_by_shape_and_type() {
    for (product, cycles) in [
        ("HMMA.16816.F32 R0, R4, R9, R0", 6),
        ("HMMA.16816.F16 R0, R4, R9, R0", 6),
        ("HMMA.16816.F32.BF16 R0, R4, R9, R0", 6),
        ("HMMA.1688.F32 R0, R4, R9, R0", 3),
        ("HMMA.1688.F32.BF16 R0, R4, R9, R0", 3),
        ("HMMA.1688.F32.TF32 R0, R4, R9, R0", 6),
        ("HMMA.1684.F32.TF32 R0, R4, R9, R0", 3),
        ("IMMA.16816.S8.S8 R0, R4.ROW, R9.COL, R0", 3),
        ("IMMA.16832.S8.S8 R0, R4.ROW, R9.COL, R0", 6),
    ] {
        let all = cycles_of(&[(product, 1, 0, NONE); 11]);
        assert_eq!(all, 10 * cycles + 1, "{product}");
    }
}
