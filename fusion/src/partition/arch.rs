//! What the cost model knows of a device.

use serde::{Deserialize, Serialize};

/// Constants of a GPU.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct GpuArch {
    /// Streaming multiprocessors.
    pub multiprocessors: usize,
    /// Single-precision multiply-adds a cycle and multiprocessor.
    pub multiply_adds_per_cycle: f64,
    /// Cycles a microsecond.
    pub cycles_per_microsecond: f64,
    /// Bytes a microsecond from device memory, all multiprocessors together.
    pub memory_bytes_per_microsecond: f64,
    /// Cycles until a load that hits the second-level cache returns.
    pub load_latency_cycles: f64,
    /// Microseconds that a dependent step costs beyond its work: signal, wait and first load.
    pub step_microseconds: f64,
}

impl GpuArch {
    /// An NVIDIA H200, as measured on one.
    pub fn h200() -> Self {
        Self {
            multiprocessors: 132,
            multiply_adds_per_cycle: 116.0,
            cycles_per_microsecond: 1980.0,
            memory_bytes_per_microsecond: 4.47e6,
            load_latency_cycles: 287.0,
            step_microseconds: 1.4,
        }
    }
}
