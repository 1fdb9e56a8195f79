//! The vector engine: stages as instructions over registers of neighbouring points.
//!
//! A group of stages is prepared once: the axes along which its points are lanes, the addresses of its reads, and the registers of
//! its values. A run then allocates nothing. The loops are compiled for what the processor at hand can do, and every result
//! depends on the tile alone, so it is the same for any number of threads.

mod frame;
mod functions;
mod group;
mod lanes;
mod load;
mod mathematics;
mod place;
mod program;
mod reduce;
mod stage;
mod store;
mod window;

use warpweave_graph::expr::Range;

pub(crate) use frame::{Counts, Frame};
pub(crate) use group::{Group, Scratch, Shared};
use mathematics::Processor;
pub(crate) use stage::StageReads;
pub(crate) use store::Target;
pub(crate) use window::{BLOCK, PLANE};

use super::memory::Memory;

/// What every processor of the architecture can do.
struct Portable;

impl Processor for Portable {
    const IS_FUSED: bool = cfg!(target_arch = "aarch64");
}

/// Processors with vectors of 256 bits and fused multiply-adds.
#[cfg(target_arch = "x86_64")]
struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Processor for Avx2 {
    const IS_FUSED: bool = true;
}

/// Computes a box of a group's shared axes.
pub(crate) fn run(group: &Group, ranges: &[Range], memory: &Memory, scratch: &mut Scratch, target: &mut Target) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        #[expect(unsafe_code, reason = "the function is compiled for features that were detected")]
        // SAFETY: the processor has both features.
        return unsafe { run_avx2(group, ranges, memory, scratch, target) };
    }
    group.run::<Portable>(ranges, memory, scratch, target);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2(group: &Group, ranges: &[Range], memory: &Memory, scratch: &mut Scratch, target: &mut Target) {
    group.run::<Avx2>(ranges, memory, scratch, target);
}
