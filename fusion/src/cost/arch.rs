//! What the cost model and the bound know of a device: constants with where each comes from.

use serde::{Deserialize, Serialize};

use warpweave_graph::ElementType;
use warpweave_plan::kernel::Kernel;
use warpweave_plan::template::contraction::unit::ComputeUnit;

use crate::cost::arithmetic::{MatrixPeak, Peak, Peaks, Rates};

/// Where a constant comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Provenance {
    /// Measured on such a device.
    Measured,
    /// The vendor's data sheet, or the device's own attributes.
    Datasheet,
    /// Taken over from a similar device or a publication; to be measured.
    Assumed,
}

/// A constant of a device.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Constant<T> {
    /// The value, in the unit that the field's name states.
    pub value: T,
    /// Where it comes from.
    pub provenance: Provenance,
}

pub(crate) const fn measured<T: Copy>(value: T) -> Constant<T> {
    Constant { value, provenance: Provenance::Measured }
}

pub(crate) const fn datasheet<T: Copy>(value: T) -> Constant<T> {
    Constant { value, provenance: Provenance::Datasheet }
}

pub(crate) const fn assumed<T: Copy>(value: T) -> Constant<T> {
    Constant { value, provenance: Provenance::Assumed }
}

const fn simt(lanes: Constant<usize>, multiply_adds: Constant<f64>, operations: Constant<f64>) -> Peaks {
    Peaks {
        simt_single: Peak { lanes, multiply_adds_per_cycle: multiply_adds, operations_per_microsecond: operations },
        mma: None,
    }
}

const fn with_mma(peaks: Peaks, multiply_adds: Constant<f64>, operations: Constant<f64>) -> Peaks {
    let mma = MatrixPeak { multiply_adds_per_cycle: multiply_adds, operations_per_microsecond: operations };
    Peaks { mma: Some(mma), ..peaks }
}

/// How much of a device a group has to itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum DeviceShare {
    /// All multiprocessors.
    Full,
    /// Every second one.
    Half,
    /// Every fourth one.
    Quarter,
    /// Every eighth one.
    Eighth,
}

impl DeviceShare {
    /// All shares, largest first.
    pub const ALL: [Self; 4] = [Self::Full, Self::Half, Self::Quarter, Self::Eighth];

    /// The largest share of which there are no more than `width` groups.
    pub fn of_width(width: f64) -> Self {
        let fits = |share: &Self| share.parts() as f64 <= width;
        Self::ALL.into_iter().rev().find(fits).unwrap_or(Self::Full)
    }

    /// Groups that run side by side.
    pub fn parts(self) -> usize {
        match self {
            Self::Full => 1,
            Self::Half => 2,
            Self::Quarter => 4,
            Self::Eighth => 8,
        }
    }
}

/// Constants of a GPU.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct GpuArch {
    /// Streaming multiprocessors (DeepCuts' NUM_SM).
    pub multiprocessors: Constant<usize>,
    /// Peaks of arithmetic.
    #[serde(flatten)]
    pub peaks: Peaks,
    pub cycles_per_microsecond: Constant<f64>,
    /// Bytes a microsecond from device memory, all multiprocessors together (BW_global).
    pub memory_bytes_per_microsecond: Constant<f64>,
    /// Bytes a microsecond from the second-level cache, all multiprocessors together.
    pub cache_bytes_per_microsecond: Constant<f64>,
    /// Bytes a cycle from the second-level cache into one multiprocessor while the others are silent.
    pub cache_bytes_per_cycle_alone: Constant<f64>,
    /// Bytes of the second-level cache.
    pub cache_bytes: Constant<usize>,
    /// Bytes of the smallest access to global memory (TRANS_global, there in elements).
    pub transaction_bytes: Constant<usize>,
    /// Cycles until a load that hits the second-level cache returns.
    pub load_latency_cycles: Constant<f64>,
    /// Cycles until a load from shared memory returns (LAT_shared).
    pub shared_latency_cycles: Constant<f64>,
    /// Bytes that a multiprocessor's shared memory delivers a cycle.
    pub shared_bytes_per_cycle: Constant<usize>,
    /// Bytes of shared memory that a block may have, opt-in included (MAX_shared).
    pub shared_bytes_per_block: Constant<usize>,
    /// Threads that a block may have (MAX_thread).
    pub threads_per_block: Constant<usize>,
    /// Registers of 32 bits that a thread may have.
    pub registers_per_thread: Constant<usize>,
    /// Registers of 32 bits of a multiprocessor.
    pub registers_per_multiprocessor: Constant<usize>,
    /// Warp schedulers of a multiprocessor.
    pub schedulers: Constant<usize>,
    /// Microseconds that a dependent step costs beyond its work: signal, wait and first load.
    pub step_microseconds: Constant<f64>,
}

impl GpuArch {
    /// An NVIDIA V100 with 16 GB, with the constants of the DeepCuts thesis where it names them. These are 80
    /// multiprocessors, 14 TFLOP/s, 900 GB/s, and its example's shared-memory latency of 20 cycles and 8 elements a
    /// transaction.
    pub fn v100() -> Self {
        Self {
            multiprocessors: datasheet(80),
            peaks: simt(datasheet(64), assumed(58.0), datasheet(14.0e6)),
            cycles_per_microsecond: datasheet(1380.0),
            memory_bytes_per_microsecond: datasheet(9.0e5),
            cache_bytes_per_microsecond: assumed(2.2e6),
            cache_bytes_per_cycle_alone: assumed(64.0),
            cache_bytes: datasheet(6 << 20),
            transaction_bytes: assumed(32),
            load_latency_cycles: assumed(193.0),
            shared_latency_cycles: assumed(20.0),
            shared_bytes_per_cycle: datasheet(128),
            shared_bytes_per_block: datasheet(98_304),
            threads_per_block: datasheet(1024),
            registers_per_thread: datasheet(255),
            registers_per_multiprocessor: datasheet(65_536),
            schedulers: datasheet(4),
            step_microseconds: assumed(2.0),
        }
    }

    /// An NVIDIA GeForce RTX 2080, the thesis' second device: 46 multiprocessors (2,944 lanes), 448 GB/s.
    pub fn rtx_2080() -> Self {
        Self {
            multiprocessors: datasheet(46),
            cycles_per_microsecond: datasheet(1710.0),
            peaks: Self::v100().peaks.with_operations(datasheet(10.07e6)),
            memory_bytes_per_microsecond: datasheet(4.48e5),
            cache_bytes_per_microsecond: assumed(1.5e6),
            cache_bytes: datasheet(4 << 20),
            shared_bytes_per_block: datasheet(65_536),
            ..Self::v100()
        }
    }

    /// An NVIDIA A100 with 40 GB.
    pub fn a100() -> Self {
        Self {
            multiprocessors: datasheet(108),
            cycles_per_microsecond: datasheet(1410.0),
            peaks: with_mma(Self::v100().peaks.with_operations(datasheet(19.5e6)), assumed(900.0), assumed(270.0e6)),
            memory_bytes_per_microsecond: datasheet(1.555e6),
            cache_bytes_per_microsecond: assumed(4.0e6),
            cache_bytes: datasheet(40 << 20),
            load_latency_cycles: assumed(200.0),
            shared_latency_cycles: assumed(29.0),
            shared_bytes_per_block: datasheet(166_912),
            step_microseconds: assumed(1.6),
            ..Self::v100()
        }
    }

    /// An NVIDIA A100 with 80 GB, as SXM module.
    pub fn a100_80gb() -> Self {
        Self { memory_bytes_per_microsecond: datasheet(2.039e6), ..Self::a100() }
    }

    /// An NVIDIA H100 as PCIe card, with 80 GB.
    pub fn h100_pcie() -> Self {
        let sxm = Self::h100();
        Self {
            memory_bytes_per_microsecond: datasheet(2.039e6),
            ..sxm.with_clock(1755.0).with_attributes(114, sxm.shared_bytes_per_block.value)
        }
    }

    /// An NVIDIA H100 NVL: a card with 94 GB.
    pub fn h100_nvl() -> Self {
        Self { memory_bytes_per_microsecond: datasheet(3.94e6), ..Self::h100().with_clock(1785.0) }
    }

    /// An NVIDIA H100 SXM.
    pub fn h100() -> Self {
        Self {
            memory_bytes_per_microsecond: datasheet(3.35e6),
            cache_bytes_per_microsecond: assumed(8.7e6),
            cache_bytes: datasheet(50 << 20),
            peaks: with_mma(simt(datasheet(128), assumed(116.0), assumed(60.5e6)), assumed(1310.0), assumed(610.0e6)),
            load_latency_cycles: assumed(287.0),
            shared_latency_cycles: assumed(29.0),
            ..Self::h200()
        }
    }

    /// An NVIDIA H200, as measured on one.
    pub fn h200() -> Self {
        Self {
            multiprocessors: datasheet(132),
            peaks: with_mma(
                simt(datasheet(128), measured(116.0), measured(60.5e6)),
                measured(1310.0),
                measured(610.0e6),
            ),
            cycles_per_microsecond: datasheet(1980.0),
            memory_bytes_per_microsecond: measured(4.47e6),
            cache_bytes_per_microsecond: measured(8.7e6),
            cache_bytes_per_cycle_alone: measured(64.0),
            cache_bytes: datasheet(62_914_560),
            transaction_bytes: datasheet(32),
            load_latency_cycles: measured(287.0),
            shared_latency_cycles: measured(29.0),
            shared_bytes_per_cycle: datasheet(128),
            shared_bytes_per_block: datasheet(232_448),
            threads_per_block: datasheet(1024),
            registers_per_thread: datasheet(255),
            registers_per_multiprocessor: datasheet(65_536),
            schedulers: datasheet(4),
            step_microseconds: assumed(1.4),
        }
    }

    /// The same generation with what a device says of itself; the rates of the whole device grow with its multiprocessors.
    pub fn with_attributes(self, multiprocessors: usize, shared_bytes_per_block: usize) -> Self {
        let times = multiprocessors as f64 / self.multiprocessors.value as f64;
        let scaled = |rate: Constant<f64>| if times == 1.0 { rate } else { assumed(rate.value * times) };
        Self {
            multiprocessors: datasheet(multiprocessors),
            shared_bytes_per_block: datasheet(shared_bytes_per_block),
            peaks: self.peaks.with_rates(scaled),
            cache_bytes_per_microsecond: scaled(self.cache_bytes_per_microsecond),
            ..self
        }
    }

    /// The same device at another clock, in cycles a microsecond, which a device says of itself; what multiprocessors and the
    /// second-level cache do a microsecond follows it.
    pub fn with_clock(self, cycles_per_microsecond: f64) -> Self {
        let times = cycles_per_microsecond / self.cycles_per_microsecond.value;
        let scaled = |rate: Constant<f64>| if times == 1.0 { rate } else { assumed(rate.value * times) };
        Self {
            cycles_per_microsecond: datasheet(cycles_per_microsecond),
            peaks: self.peaks.with_rates(scaled),
            cache_bytes_per_microsecond: scaled(self.cache_bytes_per_microsecond),
            ..self
        }
    }

    /// A constant that was measured on the device.
    pub fn measured<T: Copy>(value: T) -> Constant<T> {
        measured(value)
    }

    /// Whether every constant is a number that a device can have: finite and above 0.
    pub fn is_sound(&self) -> bool {
        let counts = [
            self.multiprocessors,
            self.peaks.simt_single.lanes,
            self.cache_bytes,
            self.transaction_bytes,
            self.shared_bytes_per_cycle,
            self.shared_bytes_per_block,
            self.threads_per_block,
            self.registers_per_thread,
            self.registers_per_multiprocessor,
            self.schedulers,
        ];
        let rates = [
            self.peaks.simt_single.multiply_adds_per_cycle,
            self.cycles_per_microsecond,
            self.peaks.simt_single.operations_per_microsecond,
            self.memory_bytes_per_microsecond,
            self.cache_bytes_per_microsecond,
            self.cache_bytes_per_cycle_alone,
            self.load_latency_cycles,
            self.shared_latency_cycles,
            self.step_microseconds,
        ];
        let is_count = |count: &Constant<usize>| (1..1 << 40).contains(&count.value);
        let of_mma = self.peaks.mma.iter();
        let of_mma = of_mma.flat_map(|peak| [peak.multiply_adds_per_cycle, peak.operations_per_microsecond]);
        let rates = rates.into_iter().chain(of_mma).collect::<Vec<_>>();
        counts.iter().all(is_count) && rates.iter().all(|rate| rate.value.is_finite() && rate.value > 0.0)
    }

    /// What a unit reaches that computes in a type.
    pub fn rates(&self, unit: ComputeUnit, compute: ElementType) -> Rates {
        self.peaks.rates(unit, compute)
    }

    /// What the kernel of a group reaches: its template's unit in the type that its first stage computes in.
    pub fn rates_of(&self, kernel: &Kernel) -> Rates {
        self.rates(kernel.rules().compute_unit(), kernel.body().stages[0].expr.numerics().compute)
    }

    /// The device that a group sees which has only a share of the multiprocessors: bandwidths shrink with them.
    pub fn share(&self, share: DeviceShare) -> Self {
        let parts = share.parts();
        let part = |all: Constant<f64>| Constant { value: all.value / parts as f64, ..all };
        Self {
            multiprocessors: Constant { value: (self.multiprocessors.value / parts).max(1), ..self.multiprocessors },
            peaks: self.peaks.with_rates(part),
            memory_bytes_per_microsecond: part(self.memory_bytes_per_microsecond),
            cache_bytes_per_microsecond: part(self.cache_bytes_per_microsecond),
            ..*self
        }
    }

    /// Cycles in which these bytes move between the second-level cache and one multiprocessor, while the others that have some
    /// of `tiles` tiles move theirs.
    pub fn cycles_of_bytes(&self, bytes: f64, tiles: usize) -> f64 {
        let all = self.cache_bytes_per_microsecond.value / self.cycles_per_microsecond.value;
        let active = tiles.clamp(1, self.multiprocessors.value) as f64;
        bytes / (all / active).min(self.cache_bytes_per_cycle_alone.value)
    }

    /// Operations a byte of device memory above which arithmetic is the limit: DeepCuts' ridge, 15.6 for the V100.
    pub fn ridge_operations_per_byte(&self) -> f64 {
        let rates = self.rates(ComputeUnit::Simt, ElementType::F32);
        rates.operations_per_microsecond / self.memory_bytes_per_microsecond.value
    }

    /// The names of the constants that were assumed, in the order of the fields.
    pub fn assumptions(&self) -> Vec<&'static str> {
        let constants = [
            ("multiprocessors", self.multiprocessors.provenance),
            ("lanes", self.peaks.simt_single.lanes.provenance),
            ("multiply_adds_per_cycle", self.peaks.simt_single.multiply_adds_per_cycle.provenance),
            ("cycles_per_microsecond", self.cycles_per_microsecond.provenance),
            ("operations_per_microsecond", self.peaks.simt_single.operations_per_microsecond.provenance),
            ("memory_bytes_per_microsecond", self.memory_bytes_per_microsecond.provenance),
            ("cache_bytes_per_microsecond", self.cache_bytes_per_microsecond.provenance),
            ("cache_bytes_per_cycle_alone", self.cache_bytes_per_cycle_alone.provenance),
            ("cache_bytes", self.cache_bytes.provenance),
            ("transaction_bytes", self.transaction_bytes.provenance),
            ("load_latency_cycles", self.load_latency_cycles.provenance),
            ("shared_latency_cycles", self.shared_latency_cycles.provenance),
            ("shared_bytes_per_cycle", self.shared_bytes_per_cycle.provenance),
            ("shared_bytes_per_block", self.shared_bytes_per_block.provenance),
            ("threads_per_block", self.threads_per_block.provenance),
            ("registers_per_thread", self.registers_per_thread.provenance),
            ("registers_per_multiprocessor", self.registers_per_multiprocessor.provenance),
            ("schedulers", self.schedulers.provenance),
            ("step_microseconds", self.step_microseconds.provenance),
        ];
        let of_mma = self.peaks.mma.iter().flat_map(|peak| {
            [
                ("mma multiply_adds_per_cycle", peak.multiply_adds_per_cycle.provenance),
                ("mma operations_per_microsecond", peak.operations_per_microsecond.provenance),
            ]
        });
        let constants = constants.into_iter().chain(of_mma);
        constants.filter(|(_, from)| *from == Provenance::Assumed).map(|(name, _)| name).collect()
    }
}
