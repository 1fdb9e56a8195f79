//! The primitives that printed text calls, in two bodies: inline PTX for the device, C++17 for the host.
//!
//! Both define the same names with the same meaning. So the very text which NVRTC compiles for a target also runs on a
//! machine without a GPU: an operating-system thread per block, a fiber per CUDA thread.

pub use warpweave_plan::tables::{CONTROL_WORDS, COUNTER_STRIDE_WORDS, STATUS_WORDS};

const COMMON: &str = include_str!("common.hpp");
const DEVICE: &str = include_str!("device.cuh");
const DEVICE_MATH: &str = include_str!("device_math.cuh");
const DIVISION: &str = include_str!("division.hpp");
const POWERS: &str = include_str!("powers.hpp");
const TRIGONOMETRY: &str = include_str!("trigonometry.hpp");
const INDICES: &str = include_str!("indices.hpp");
const LAUNCH: &str = include_str!("launch.hpp");
const HALVES: &str = include_str!("halves.cuh");
const HOST_HALVES: &str = include_str!("halves.hpp");
const MATRICES: &str = include_str!("matrices.cuh");
const HOST_MATRICES: &str = include_str!("matrices.hpp");
const HOST_FIBERS: &str = include_str!("host_fibers.hpp");
const HOST: &str = include_str!("host.hpp");
const HOST_MAIN: &str = include_str!("host_main.hpp");

/// What stands before kernels that fetch operands wherever they are used.
pub const REFETCHED: &str = include_str!("refetched.cuh");

/// Options with which a device compiler keeps the meaning of printed text: no contraction, no flushing, exact division
/// and roots.
pub const DEVICE_OPTIONS: [&str; 5] =
    ["--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"];

/// Options with which a host compiler keeps the meaning of printed text: no contraction, memory read as other types, entries
/// found by name.
pub const HOST_OPTIONS: [&str; 8] =
    ["-std=c++17", "-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-pthread", "-rdynamic", "-ldl", "-w"];

/// `body`, which [`crate::print::cuda`] printed, as a whole translation unit for NVRTC.
pub fn device_source(body: &str) -> String {
    [COMMON, DEVICE, HALVES, MATRICES, LAUNCH, INDICES, DEVICE_MATH, DIVISION, POWERS, TRIGONOMETRY, body].concat()
}

/// `body`, kernels that are nodes with their entries, as a translation unit, which may be linked with others.
pub fn nodes_source(body: &str) -> String {
    ["#define WW_NODES\n", &device_source(body)].concat()
}

/// `body`, kernels or an entry that calls kernels of other units, as a translation unit to be linked with those.
pub fn linked_source(body: &str) -> String {
    ["#define WW_LINKED\n", &device_source(body)].concat()
}

/// `body`, which [`crate::print::cuda`] printed, as a whole program for a host C++ compiler. Its `main` takes the
/// directory that holds the launch; `runtime` describes the files.
pub fn host_source(body: &str) -> String {
    let libraries = [HOST_HALVES, HOST_MATRICES, LAUNCH, INDICES, POWERS, TRIGONOMETRY].concat();
    [COMMON, HOST_FIBERS, HOST, &libraries, body, HOST_MAIN].concat()
}

#[cfg(test)]
mod tests {
    use warpweave_plan::plan::{TAG_BITS, TAGS};
    use warpweave_plan::tables::RING_INSTRUCTIONS;

    use super::*;
    use crate::kernel_ir::LAUNCH_BYTES;

    #[test]
    fn sizes_agree_with_the_plan_tables() {
        for line in [
            format!("ww_counter_stride = {COUNTER_STRIDE_WORDS};"),
            format!("ww_control_words = {CONTROL_WORDS};"),
            format!("ww_status_words = {STATUS_WORDS};"),
            format!("ww_ring_instructions = {RING_INSTRUCTIONS};"),
            format!("ww_tags = {TAGS};"),
            format!("sizeof(ww_launch) == {LAUNCH_BYTES}"),
            format!("ww_tag_bits = {TAG_BITS:#x}u;"),
        ] {
            assert!(COMMON.contains(&line), "{line}");
        }
    }
}
