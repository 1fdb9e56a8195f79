//! Peaks of a device's arithmetic, and what a compute unit reaches in a type.

use serde::{Deserialize, Serialize};
use warpweave_graph::ElementType;
use warpweave_plan::template::contraction::unit::ComputeUnit;

use crate::cost::arch::Constant;

/// 32-bit integer multiply-adds that a multiprocessor of any generation since Volta starts a cycle (CUDA C++ Programming
/// Guide, throughput of native arithmetic instructions).
const INTEGER_MULTIPLY_ADDS: f64 = 64.0;

/// What one kind of arithmetic reaches.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Peak {
    /// Lanes of a multiprocessor: multiply-adds that it can start a cycle.
    pub lanes: Constant<usize>,
    /// Multiply-adds a cycle and multiprocessor that kernels reach.
    pub multiply_adds_per_cycle: Constant<f64>,
    /// Operations a microsecond of the whole device, two a multiply-add (PERF_peak).
    pub operations_per_microsecond: Constant<f64>,
}

/// What products of matrices on tensor cores reach, of halves summed in singles.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct MatrixPeak {
    /// Multiply-adds a cycle and multiprocessor that kernels reach whose factors are in registers.
    pub multiply_adds_per_cycle: Constant<f64>,
    /// Operations a microsecond of the whole device, two a multiply-add.
    pub operations_per_microsecond: Constant<f64>,
}

/// The peaks of a device. In files the fields of [`Peaks::simt_single`] stand beside the device's other constants.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Peaks {
    /// Singles on the lanes of a multiprocessor.
    #[serde(flatten)]
    pub simt_single: Peak,
    /// Products of matrices; of no device before Ampere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mma: Option<MatrixPeak>,
}

impl Peaks {
    /// The same with other operations a microsecond.
    pub fn with_operations(mut self, operations: Constant<f64>) -> Self {
        self.simt_single.operations_per_microsecond = operations;
        self
    }

    /// The same of another number of multiprocessors or at another clock: `scaled` is what becomes of rates of the whole device.
    pub(crate) fn with_rates(self, scaled: impl Fn(Constant<f64>) -> Constant<f64>) -> Self {
        let mma = self
            .mma
            .map(|peak| MatrixPeak { operations_per_microsecond: scaled(peak.operations_per_microsecond), ..peak });
        Self { mma, ..self.with_operations(scaled(self.simt_single.operations_per_microsecond)) }
    }

    /// What a unit reaches that computes in a type. What is not computed in integers counts as singles.
    pub(crate) fn rates(&self, unit: ComputeUnit, compute: ElementType) -> Rates {
        match (unit, compute.is_integer()) {
            (ComputeUnit::Simt, false) => self.simt_single.rates(),
            (ComputeUnit::Simt, true) => self.simt_single.rates().limited(INTEGER_MULTIPLY_ADDS),
            (ComputeUnit::Mma, _) => self.mma.map_or(self.simt_single.rates(), |peak| Rates {
                multiply_adds_per_cycle: peak.multiply_adds_per_cycle.value,
                operations_per_microsecond: peak.operations_per_microsecond.value,
                ..self.simt_single.rates()
            }),
        }
    }
}

impl Peak {
    fn rates(&self) -> Rates {
        let multiply_adds = self.multiply_adds_per_cycle.value;
        Rates {
            lanes: self.lanes.value as f64,
            instructions_per_cycle: multiply_adds,
            multiply_adds_per_cycle: multiply_adds,
            operations_per_microsecond: self.operations_per_microsecond.value,
        }
    }
}

/// What a compute unit reaches in one type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rates {
    /// Lanes of a multiprocessor: instructions that it can start a cycle.
    pub lanes: f64,
    /// Instructions a cycle and multiprocessor that kernels reach, whatever they compute.
    pub instructions_per_cycle: f64,
    /// Multiply-adds a cycle and multiprocessor that kernels reach.
    pub multiply_adds_per_cycle: f64,
    /// Operations a microsecond of the whole device, two a multiply-add (PERF_peak).
    pub operations_per_microsecond: f64,
}

impl Rates {
    /// The same with at most so many multiply-adds a cycle.
    fn limited(self, most: f64) -> Self {
        Self { multiply_adds_per_cycle: self.multiply_adds_per_cycle.min(most), ..self }
    }
}
