//! What instructions that NVRTC emits give, for sm_80 and sm_90a: kernels with a line of PTX each are compiled and executed, and
//! their results are compared with exact arithmetic and with PTX's documentation. Each case names the instruction that it must be
//! compiled to.

mod conversion;
mod copies;
mod exact;
mod half;
mod half_comparison;
mod harness;
mod local;
mod matrices;
mod polls;
