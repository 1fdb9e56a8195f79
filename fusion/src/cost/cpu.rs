//! What the cost model knows of a processor: constants of one core and of what cores share, with where each comes from.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use warpweave_graph::ElementType;
use warpweave_graph::program::{Source, TensorId, TensorProgram};

use crate::cost::arch::{Constant, Provenance, assumed, datasheet, measured};

/// Constants of a processor.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuArch {
    /// Singles of a vector register.
    pub vector_lanes: Constant<usize>,
    /// Multiply-adds of singles a microsecond that a core reaches in products of panels.
    pub multiply_adds_per_microsecond: Constant<f64>,
    /// Scalar operations a microsecond that a core reaches on values side by side.
    pub operations_per_microsecond: Constant<f64>,
    /// Bytes of a core's first-level cache.
    pub level1_bytes: Constant<usize>,
    /// Bytes of a core's second-level cache.
    pub level2_bytes: Constant<usize>,
    /// Bytes of the cache that cores share.
    pub shared_cache_bytes: Constant<usize>,
    /// Bytes a microsecond from its second-level cache into a core.
    pub level2_bytes_per_microsecond: Constant<f64>,
    /// Bytes a microsecond from the shared cache into a core, while the others read, too.
    pub shared_cache_bytes_per_microsecond: Constant<f64>,
    /// Bytes a microsecond from memory, all cores together.
    pub memory_bytes_per_microsecond: Constant<f64>,
    /// Microseconds of an rTask beyond its work.
    pub task_microseconds: Constant<f64>,
    /// Microseconds until a thread sees what another one has signalled, while it looks for it.
    pub hand_over_microseconds: Constant<f64>,
    /// Microseconds until a thread runs that slept.
    pub wake_up_microseconds: Constant<f64>,
}

/// What is shipped of a kind of processor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CpuKind {
    /// x86 with vectors of 256 bits and fused multiply-adds.
    Avx2,
    /// x86 with vectors of 512 bits.
    Avx512,
    /// Arm with vectors of 128 bits.
    Neon,
}

impl CpuKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Avx2, Self::Avx512, Self::Neon];

    /// The kind whose vectors have so many singles; the least one where none has.
    pub fn of_lanes(lanes: usize) -> Self {
        match lanes {
            16.. => Self::Avx512,
            8.. => Self::Avx2,
            _ => Self::Neon,
        }
    }

    /// The name, as arguments have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }
}

impl fmt::Display for CpuKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for CpuKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or(())
    }
}

impl CpuArch {
    /// The constants that are shipped of a kind of processor.
    pub const fn of(kind: CpuKind) -> Self {
        match kind {
            CpuKind::Avx2 => Self::avx2(),
            CpuKind::Avx512 => Self::avx512(),
            CpuKind::Neon => Self::neon(),
        }
    }

    /// A core of x86 with vectors of 256 bits. Plans for the host are made for it unless other constants are given.
    pub const fn avx2() -> Self {
        Self {
            vector_lanes: datasheet(8),
            multiply_adds_per_microsecond: measured(40_000.0),
            operations_per_microsecond: measured(5000.0),
            level1_bytes: assumed(32 << 10),
            level2_bytes: assumed(512 << 10),
            shared_cache_bytes: assumed(16 << 20),
            level2_bytes_per_microsecond: assumed(80_000.0),
            shared_cache_bytes_per_microsecond: assumed(30_000.0),
            memory_bytes_per_microsecond: assumed(40_000.0),
            task_microseconds: assumed(1.0),
            hand_over_microseconds: assumed(0.15),
            wake_up_microseconds: assumed(5.0),
        }
    }

    /// A core of x86 with vectors of 512 bits.
    pub const fn avx512() -> Self {
        Self {
            vector_lanes: datasheet(16),
            multiply_adds_per_microsecond: assumed(80_000.0),
            operations_per_microsecond: assumed(6000.0),
            level1_bytes: assumed(48 << 10),
            level2_bytes: assumed(1 << 20),
            shared_cache_bytes: assumed(32 << 20),
            ..Self::avx2()
        }
    }

    /// A core of Arm with vectors of 128 bits.
    pub const fn neon() -> Self {
        Self {
            vector_lanes: datasheet(4),
            multiply_adds_per_microsecond: assumed(25_000.0),
            operations_per_microsecond: assumed(4000.0),
            level1_bytes: assumed(64 << 10),
            ..Self::avx2()
        }
    }

    /// Rows and columns of the panels that micro-kernels multiply.
    pub fn panels(&self) -> [usize; 2] {
        if self.vector_lanes.value > 8 { [12, 32] } else { [6, 16] }
    }

    /// Elements a microsecond that a core packs into panels as they lie in memory.
    pub fn packed_per_microsecond(&self) -> f64 {
        self.operations_per_microsecond.value * PACKED_SHARE
    }

    /// Scalar operations a microsecond on elements that are computed before they are packed.
    pub fn computed_per_microsecond(&self) -> f64 {
        self.operations_per_microsecond.value * COMPUTED_SHARE
    }

    /// The same where elements of other tensors name places: each is found by itself.
    pub fn gathered_per_microsecond(&self) -> f64 {
        self.operations_per_microsecond.value * GATHERED_SHARE
    }

    /// Most sums of a tile: they take half of the second-level cache.
    pub fn most_sums(&self) -> usize {
        self.level2_bytes.value / 2 / ElementType::F32.bytes()
    }

    /// Microseconds in which a core that reads beside others brings so many bytes of a set of so many near.
    pub fn transfer_microseconds(&self, bytes: f64, set: f64) -> f64 {
        let rate = match set {
            set if set <= self.level1_bytes.value as f64 => return 0.0,
            set if set <= self.level2_bytes.value as f64 => self.level2_bytes_per_microsecond.value,
            set if set <= self.shared_cache_bytes.value as f64 => self.shared_cache_bytes_per_microsecond.value,
            _ => self.memory_bytes_per_microsecond.value / READERS,
        };
        bytes / rate
    }

    /// A constant that was measured on the processor.
    pub fn measured<T: Copy>(value: T) -> Constant<T> {
        measured(value)
    }

    /// A constant that the system states of the processor.
    pub fn stated<T: Copy>(value: T) -> Constant<T> {
        datasheet(value)
    }

    /// Whether every constant is one that a processor can have.
    pub fn is_sound(&self) -> bool {
        let caches = [self.level1_bytes, self.level2_bytes, self.shared_cache_bytes];
        let rates = [
            self.multiply_adds_per_microsecond,
            self.operations_per_microsecond,
            self.level2_bytes_per_microsecond,
            self.shared_cache_bytes_per_microsecond,
            self.memory_bytes_per_microsecond,
        ];
        let times = [self.task_microseconds, self.hand_over_microseconds, self.wake_up_microseconds];
        let lanes = self.vector_lanes.value;
        let are_caches = caches.iter().all(|bytes| (FEWEST_BYTES..1 << 40).contains(&bytes.value));
        let are_rates = rates.iter().all(|rate| (1.0..=MOST_A_MICROSECOND).contains(&rate.value));
        let are_times = times.iter().all(|time| (SHORTEST..=LONGEST).contains(&time.value));
        lanes.is_power_of_two() && (1..=MOST_LANES).contains(&lanes) && are_caches && are_rates && are_times
    }

    /// The names of the constants that were assumed, in the order of the fields.
    pub fn assumptions(&self) -> Vec<&'static str> {
        let constants = [
            ("vector_lanes", self.vector_lanes.provenance),
            ("multiply_adds_per_microsecond", self.multiply_adds_per_microsecond.provenance),
            ("operations_per_microsecond", self.operations_per_microsecond.provenance),
            ("level1_bytes", self.level1_bytes.provenance),
            ("level2_bytes", self.level2_bytes.provenance),
            ("shared_cache_bytes", self.shared_cache_bytes.provenance),
            ("level2_bytes_per_microsecond", self.level2_bytes_per_microsecond.provenance),
            ("shared_cache_bytes_per_microsecond", self.shared_cache_bytes_per_microsecond.provenance),
            ("memory_bytes_per_microsecond", self.memory_bytes_per_microsecond.provenance),
            ("task_microseconds", self.task_microseconds.provenance),
            ("hand_over_microseconds", self.hand_over_microseconds.provenance),
            ("wake_up_microseconds", self.wake_up_microseconds.provenance),
        ];
        constants.into_iter().filter(|(_, from)| *from == Provenance::Assumed).map(|(name, _)| name).collect()
    }
}

/// What the price of a tile on a core follows from, beside the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Processor<'p> {
    pub arch: &'p CpuArch,
    /// The program, where constants are told from what is computed.
    pub program: Option<&'p TensorProgram>,
}

impl Processor<'_> {
    /// Whether a tensor is known to be the same in every run, so that its panels are packed before the first.
    pub fn is_constant(&self, tensor: TensorId) -> bool {
        let tensor = self.program.and_then(|program| program.tensors.get(tensor));
        tensor.is_some_and(|tensor| matches!(tensor.source, Source::Constant(_)))
    }
}

/// Elements that are packed in the time of a scalar operation.
const PACKED_SHARE: f64 = 0.5;
/// Scalar operations of computed elements in the time of one on values side by side.
const COMPUTED_SHARE: f64 = 0.06;
/// The same of gathered elements.
const GATHERED_SHARE: f64 = 0.004;
/// Cores that read at the same time.
const READERS: f64 = 4.0;
/// The least cache of a core.
const FEWEST_BYTES: usize = 1 << 10;
/// Most singles of a vector register.
const MOST_LANES: usize = 256;
/// The greatest rate; the least is 1.
const MOST_A_MICROSECOND: f64 = 1e12;
/// The shortest time in microseconds.
const SHORTEST: f64 = 1e-6;
/// The longest time in microseconds.
const LONGEST: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shipped_is_sound_and_has_a_name() {
        for kind in CpuKind::ALL {
            let arch = CpuArch::of(kind);
            assert!(arch.is_sound(), "{kind}");
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(CpuKind::of_lanes(arch.vector_lanes.value), kind);
            let caches = [arch.level1_bytes, arch.level2_bytes, arch.shared_cache_bytes].map(|bytes| bytes.value);
            assert!(caches.is_sorted(), "{kind}: caches grow outwards");
            let [_, columns] = arch.panels();
            assert_eq!(columns % arch.vector_lanes.value, 0, "{kind}: panels are whole vectors");
            assert!(arch.hand_over_microseconds.value < arch.wake_up_microseconds.value, "{kind}");
            assert!(arch.multiply_adds_per_microsecond.value > arch.operations_per_microsecond.value, "{kind}");
        }
        assert_eq!("pentium".parse::<CpuKind>(), Err(()));
    }

    #[test]
    fn what_lies_farther_off_takes_longer() {
        let arch = CpuArch::avx2();
        let sets = [arch.level1_bytes, arch.level2_bytes, arch.shared_cache_bytes].map(|bytes| bytes.value as f64);
        let times = sets.map(|set| arch.transfer_microseconds(1e6, set));
        assert_eq!(times[0], 0.0);
        assert!(times.is_sorted() && times[2] < arch.transfer_microseconds(1e6, 2.0 * sets[2]));
        assert_eq!(arch.transfer_microseconds(1e6, 1e12), 100.0, "a quarter of the bandwidth");
    }

    #[test]
    fn constants_that_no_processor_has_are_not_sound() {
        let base = CpuArch::avx2();
        let rate = CpuArch::measured::<f64>;
        let unsound = [
            CpuArch { vector_lanes: CpuArch::measured(0), ..base },
            CpuArch { vector_lanes: CpuArch::measured(7), ..base },
            CpuArch { level2_bytes: CpuArch::measured(0), ..base },
            CpuArch { level2_bytes: CpuArch::measured(usize::MAX), ..base },
            CpuArch { multiply_adds_per_microsecond: rate(0.0), ..base },
            CpuArch { operations_per_microsecond: rate(f64::MIN_POSITIVE), ..base },
            CpuArch { memory_bytes_per_microsecond: rate(f64::INFINITY), ..base },
            CpuArch { task_microseconds: rate(-1.0), ..base },
            CpuArch { wake_up_microseconds: rate(f64::NAN), ..base },
        ];
        unsound.iter().for_each(|arch| assert!(!arch.is_sound(), "{arch:?}"));
    }
}
