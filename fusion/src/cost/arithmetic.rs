//! Peaks of a device's arithmetic, a row a compute unit and a type that it accumulates in.

use serde::{Deserialize, Serialize};
use warpweave_graph::ElementType;
use warpweave_plan::template::contraction::unit::ComputeUnit;

use crate::cost::arch::{Constant, Provenance};

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

/// The peaks of a device. In files the fields of [`Peaks::simt_single`] stand beside the device's other constants.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Peaks {
    /// Singles on the lanes of a multiprocessor.
    #[serde(flatten)]
    pub simt_single: Peak,
}

impl Peaks {
    /// The same with other operations a microsecond.
    pub fn with_operations(mut self, operations: Constant<f64>) -> Self {
        self.simt_single.operations_per_microsecond = operations;
        self
    }

    /// The peak of a unit that accumulates in a type. What is not computed in singles or integers counts as singles.
    pub fn of(&self, unit: ComputeUnit, accumulate: ElementType) -> Peak {
        match (unit, accumulate.is_integer()) {
            (ComputeUnit::Simt, false) => self.simt_single,
            (ComputeUnit::Simt, true) => self.simt_single.limited(INTEGER_MULTIPLY_ADDS),
        }
    }
}

impl Peak {
    /// The same with at most so many multiply-adds a cycle.
    fn limited(self, most: f64) -> Self {
        let own = self.multiply_adds_per_cycle;
        let limited = Constant { value: most, provenance: Provenance::Assumed };
        Self { multiply_adds_per_cycle: if own.value > most { limited } else { own }, ..self }
    }
}
